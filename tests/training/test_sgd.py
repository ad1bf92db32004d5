"""SGD with a rate per replica, epochs of each replica's own, stopping at a training loss."""

import copy

import numpy as np
import pytest
import torch

from compsparse.errors import ConfigError
from compsparse.networks import dense, replica_seeds, select
from compsparse.networks.replicas import replica_buffers
from compsparse.training import TrainingConfig, train
from compsparse.training.data import BatchStream, TrainingData
from compsparse.training.record import ReplicaStatus, TrainingStatus
from compsparse.training.schedules import cosine, cosine_over
from compsparse.training.sgd import ReplicaSGD

X = torch.randn(300, 4, generator=torch.Generator().manual_seed(0))
Y = X.prod(1, keepdim=True)
ROWS = (torch.arange(100), torch.arange(230), torch.arange(300))


def config(**settings) -> TrainingConfig:
    defaults = {"optimizer": "sgd", "batch_size": 50, "learning_rate": 0.05, "weight_decay": 0.0}
    return TrainingConfig(**{**defaults, **settings})


@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
def test_steps_are_those_of_torch(weight_decay):
    ours = [torch.randn(2, 3), torch.randn(2, 4, 5)]
    theirs = [[p[r].clone().requires_grad_() for p in ours] for r in range(2)]
    optimizer = ReplicaSGD(ours, 0.9, weight_decay)
    optimizer.set_rates([0.1, 0.02])
    references = [
        torch.optim.SGD(theirs[r], rate, momentum=0.9, weight_decay=weight_decay) for r, rate in enumerate((0.1, 0.02))
    ]
    for step in range(5):
        generator = torch.Generator().manual_seed(step)
        for i, parameter in enumerate(ours):
            parameter.grad = torch.randn(parameter.shape, generator=generator)
            for r in range(2):
                theirs[r][i].grad = parameter.grad[r].clone()
        optimizer.step()
        for reference in references:
            reference.step()
    for i, parameter in enumerate(ours):
        for r in range(2):
            torch.testing.assert_close(parameter[r], theirs[r][i].detach())


def test_every_replica_has_epochs_and_a_schedule_of_its_own():
    together = dense(4, 8, 2, n_replicas=3, random_state=0)
    start = copy.deepcopy(together)
    record = train(together, TrainingData(X, Y, train=ROWS), config(n_epochs=7, schedule="cosine"), random_state=0)
    assert record.best_step.tolist() == [14, 35, 42]
    assert record.status is TrainingStatus.FINISHED
    assert set(record.replica_status) == {ReplicaStatus.FINISHED}
    seeds = replica_seeds(0, 3)
    for r in range(3):
        torch.testing.assert_close(
            by_hand(select(start, [r]), ROWS[r], seeds[r], int(record.best_step[r])), together(X)[r]
        )


def by_hand(network, rows, seed, n_steps) -> torch.Tensor:
    """The same training of one replica, with torch's optimiser."""
    optimizer = torch.optim.SGD(network.parameters(), 0.05, momentum=0.9)
    stream = BatchStream([rows], 50, [seed], torch.device("cpu"))
    for step in range(n_steps):
        optimizer.param_groups[0]["lr"] = 0.05 * cosine(step / n_steps)
        batch = stream.next()
        optimizer.zero_grad()
        (network(X[batch]) - Y[batch]).square().mean().backward()
        optimizer.step()
    return network(X)[0]


def test_a_replica_ends_where_its_loss_is_low_enough_and_keeps_those_weights():
    network = dense(4, 16, 2, n_replicas=3, random_state=0)
    settings = config(n_epochs=2000, schedule="constant", learning_rate=0.01, stop_at_loss=0.02, evaluate_every=20)
    record = train(network, TrainingData(X, Y, train=ROWS), settings, random_state=0)
    assert set(record.replica_status) == {ReplicaStatus.REACHED}
    assert record.status is TrainingStatus.STOPPED_EARLY
    assert (record.train_loss < 0.04).all()
    first = int(np.argmin(record.best_step))
    alone = select(dense(4, 16, 2, n_replicas=3, random_state=0), [first])
    again = train(
        alone, TrainingData(X, Y, train=ROWS[first : first + 1]), settings, seeds=replica_seeds(0, 3)[first : first + 1]
    )
    assert again.best_step[0] == record.best_step[first]
    torch.testing.assert_close(alone(X)[0], network(X)[first])


def test_a_replica_that_diverges_ends():
    network = dense(4, 8, 2, n_replicas=2, random_state=0)
    with torch.no_grad():
        next(iter(network.parameters()))[0] = torch.nan
    data = TrainingData(X, Y, train=(ROWS[0], ROWS[0]))
    record = train(network, data, config(n_steps=200, learning_rate=1e-3, evaluate_every=10), random_state=0)
    assert record.replica_status == (ReplicaStatus.DIVERGED, ReplicaStatus.FINISHED)
    assert record.best_step.tolist() == [10, 200]


def test_epochs_of_different_lengths_need_sgd():
    network = dense(4, 8, 2, n_replicas=3, random_state=0)
    with pytest.raises(ConfigError, match="optimizer='sgd'"):
        train(network, TrainingData(X, Y, train=ROWS), config(optimizer="adamw", n_epochs=3))


def test_a_network_with_masks_per_replica_comes_back_whole():
    from compsparse.discovery.data.candidates import Candidate, CandidateNetwork

    candidates = [Candidate(frozenset({0, 1}), frozenset({2, 3})), Candidate(frozenset(), frozenset(range(4)))]
    network = CandidateNetwork(candidates, [range(i, i + 1) for i in range(4)], 1, [0, 1])
    masks = [buffer.clone() for _, _, buffer in replica_buffers(network)]
    data = TrainingData(X, Y, train=(ROWS[0], ROWS[2]))
    record = train(network, data, config(n_epochs=3, evaluate_every=1, learning_rate=1e-3))
    assert record.best_step.tolist() == [6, 18]  # the first replica left the program, and its masks with it
    assert masks
    assert all(torch.equal(a, b) for a, (_, _, b) in zip(masks, replica_buffers(network), strict=True))
    assert network(X).shape == (2, 300, 1)


def test_a_cosine_over_a_share_is_torchs_annealing_and_comes_back():
    parameter = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([parameter], lr=1.0)
    annealing = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=0.8 * 50)
    for epoch in range(50):
        assert cosine_over(0.8)(epoch / 50) == pytest.approx(optimizer.param_groups[0]["lr"], abs=1e-6)
        optimizer.step()
        annealing.step()
    with pytest.raises(ConfigError, match="share must be"):
        cosine_over(0.0)
