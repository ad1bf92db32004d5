"""The number of threads: the fastest one is found, given back, and changes no number."""

import pytest
import torch

from compsparse.networks import mirror
from compsparse.tasks import tanh_tree
from compsparse.training import TrainingConfig, train, training_data
from compsparse.training import threads as under_test
from compsparse.training.threads import ThreadPace

CPU = torch.device("cpu")


class Machine:
    """A clock, and steps whose seconds depend on the number of threads."""

    def __init__(self, seconds):
        self.seconds, self.now, self.counts = seconds, 0.0, []

    def clock(self):
        return self.now

    def step(self):
        count = torch.get_num_threads()
        self.counts.append(count)
        self.now += self.seconds[count]


@pytest.fixture(autouse=True)
def four_threads(monkeypatch):
    given = [4]
    monkeypatch.setattr(torch, "get_num_threads", lambda: given[0])
    monkeypatch.setattr(torch, "set_num_threads", lambda count: given.__setitem__(0, count))
    monkeypatch.setattr(under_test, "_memory", under_test._Memory())
    return given


@pytest.mark.parametrize(
    ("seconds", "best"),
    [
        ({1: 0.004, 2: 0.002, 4: 0.001}, 4),
        ({1: 0.004, 2: 0.003, 4: 0.3}, 2),
        ({1: 0.001, 2: 0.3, 4: 0.3}, 1),
        ({1: 0.001, 2: 0.00095, 4: 0.00095}, 1),
    ],
    ids=["quiet", "half of it busy", "busy", "not worth it"],
)
def test_the_fastest_number_is_taken(four_threads, seconds, best):
    machine = Machine(seconds)
    with ThreadPace(CPU, machine.clock) as pace:
        for _ in range(100):
            pace.run(machine.step)
    assert machine.counts[-1] == best
    assert four_threads == [4]
    slow = sum(seconds[count] > 2 * seconds[best] for count in machine.counts)
    assert slow <= 4 + 2 + 2


def test_it_is_looked_at_again_when_the_machine_changes(four_threads):
    machine = Machine({1: 0.01, 2: 1.0, 4: 1.0})
    with ThreadPace(CPU, machine.clock) as pace:
        for _ in range(50):
            pace.run(machine.step)
        assert machine.counts[-1] == 1
        machine.seconds = {1: 0.01, 2: 0.005, 4: 0.002}
        for _ in range(int(2 * under_test.SECONDS_BETWEEN / 0.01)):
            pace.run(machine.step)
    assert machine.counts[-1] == 4


def test_the_next_training_begins_with_what_was_found(four_threads):
    machine = Machine({1: 0.01, 2: 1.0, 4: 1.0})
    for _ in range(2):
        with ThreadPace(CPU, machine.clock) as pace:
            for _ in range(30):
                pace.run(machine.step)
    assert set(machine.counts[30:]) == {1}


def test_a_graphics_card_is_not_paced(four_threads):
    machine = Machine({4: 0.1})
    with ThreadPace(torch.device("cuda"), machine.clock) as pace:
        for _ in range(30):
            pace.run(machine.step)
    assert set(machine.counts) == {4}


def test_no_number_depends_on_the_threads(monkeypatch):
    monkeypatch.undo()
    sample = tanh_tree(4).sample(300, random_state=0)
    data = training_data(torch.tensor(sample.X).float(), torch.tensor(sample.y).float()[:, None])
    weights = []
    before = torch.get_num_threads()
    try:
        for count in (1, 2):
            torch.set_num_threads(count)
            network = mirror(tanh_tree(4).graph, n_replicas=3, random_state=0)
            train(network, data, TrainingConfig(n_steps=30), random_state=0)
            weights.append(torch.cat([p.detach().flatten() for p in network.parameters()]))
    finally:
        torch.set_num_threads(before)
    assert torch.equal(*weights)
