import numpy as np
import pytest
import torch

from compsparse.errors import ConfigError
from compsparse.graph import balanced_tree
from compsparse.networks import layered, mirror, select
from compsparse.training import (
    PruningConfig,
    RegrowthConfig,
    SquaredLoss,
    TrainingConfig,
    TrainingStatus,
    prune,
    regrow,
    train,
    training_data,
)
from compsparse.training.pruning import connected_units, without_smallest
from compsparse.training.regrowth import exchange_, gradient_sizes

X = np.random.default_rng(0).standard_normal((200, 6))
Y = np.abs(X[:, 0] - X[:, 1]) + X[:, 2]
DATA = training_data(X, Y, dtype=torch.float64)
CONFIG = TrainingConfig(n_steps=30, batch_size=32)


def net(n_replicas=2, sizes=(6, 10, 8, 1)):
    return layered(sizes, n_replicas=n_replicas, random_state=0, dtype=torch.float64)


def test_a_round_drops_the_smallest_weights_and_rewinds_the_others():
    network = net()
    done = prune(network, DATA, CONFIG, pruning=PruningConfig(n_rounds=3), random_state=0)
    assert [r.number for r in done.rounds] == [0, 1, 2, 3]
    for before, after in zip(done.rounds, done.rounds[1:], strict=False):
        for layer, weight in enumerate(before.network.weights):
            old, new = before.network.masks()[layer], after.network.masks()[layer]
            if layer == 2:
                assert bool((new == 1).all())
                continue
            for r in range(2):
                kept = int(0.7 * int(old[r].sum()) + 1e-9)
                sizes = (weight[r].abs() * old[r]).flatten().sort(descending=True)
                expected = torch.zeros(old[r].numel(), dtype=torch.bool)
                expected[sizes.indices[:kept]] = True
                assert torch.equal(new[r].bool().flatten(), expected)
    # the network that was handed over is untouched, and so every round began with its weights
    assert all(torch.equal(a, b) for a, b in zip(network.parameters(), net().parameters(), strict=True))
    assert not torch.equal(done.rounds[0].network.weights[0], done.rounds[1].network.weights[0])


def test_rewinding_takes_the_steps_that_one_training_takes():
    """With plain gradient steps, rounds up to and from the rewind step add up to the whole schedule."""
    config = TrainingConfig(n_steps=40, batch_size=None, optimizer="sgd", momentum=0, learning_rate=0.01)
    whole = net()
    train(whole, DATA, config, random_state=0)
    done = prune(net(), DATA, config, pruning=PruningConfig(n_rounds=1, rewind_step=15), random_state=0)
    for a, b in zip(whole.parameters(), done.rounds[0].network.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-12)


def test_a_replica_is_pruned_the_same_alone_and_in_company():
    for criterion in ("magnitude", "random"):
        pruning = PruningConfig(n_rounds=2, criterion=criterion, rewind_step=5)
        together = prune(net(3), DATA, CONFIG, pruning=pruning, seeds=[4, 5, 6]).rounds[-1].network
        alone = prune(select(net(3), [2]), DATA, CONFIG, pruning=pruning, seeds=[6]).rounds[-1].network
        for a, b in zip(alone.masks(), together.masks(), strict=True):
            assert torch.equal(a[0], b[2])


def test_random_pruning_has_the_density_and_not_the_masks():
    by_size = prune(net(), DATA, CONFIG, pruning=PruningConfig(n_rounds=3), random_state=0)
    by_chance = prune(net(), DATA, CONFIG, pruning=PruningConfig(n_rounds=3, criterion="random"), random_state=0)
    for a, b in zip(by_size.rounds, by_chance.rounds, strict=True):
        np.testing.assert_array_equal(a.density, b.density)
    last = by_size.rounds[-1].network.masks()[0], by_chance.rounds[-1].network.masks()[0]
    assert not torch.equal(*last)
    assert torch.equal(last[0].sum((1, 2)), last[1].sum((1, 2)))


def test_pruning_stops_when_few_units_are_connected():
    done = prune(net(), DATA, CONFIG, pruning=PruningConfig(n_rounds=9, share=0.6, least_connected=0.5), random_state=0)
    assert done.status is TrainingStatus.STOPPED_EARLY
    assert (done.rounds[-1].connected < 0.5).all()
    for r, last in enumerate(done.last_round):
        assert all(done.rounds[k].connected[r] >= 0.5 for k in range(last + 1))
    assert done.best.number <= done.last_round.max()


def test_connected_units_by_hand():
    first = torch.tensor([[[1.0, 0], [0, 0], [0, 1]]])  # unit 1 reads nothing
    second = torch.tensor([[[1.0, 1, 0], [0, 1, 0]]])  # unit 2 is read by nobody, unit 1 of the next reads a dead one
    third = torch.ones(1, 1, 2)
    network = layered([2, 3, 2, 1], masks=[first, second, third], n_replicas=1)
    assert connected_units(network)[0] == pytest.approx(2 / 5)


def test_a_mirrored_network_can_be_pruned():
    network = mirror(balanced_tree(4), width=4, n_replicas=1, random_state=0, dtype=torch.float64)
    data = training_data(X[:, :4], Y, dtype=torch.float64)
    done = prune(network, data, CONFIG, pruning=PruningConfig(n_rounds=1))
    before, after = (r.network.masks()[0].sum() for r in done.rounds)
    assert int(after) == int(0.7 * int(before))


def test_gradients_of_masked_weights_are_those_of_finite_differences():
    network = net(2)
    masks = [m.clone() for m in network.masks()]
    masks[0][:, :, ::2] = 0
    network.set_masks(masks)
    rows = [torch.arange(50), torch.arange(50, 100)]
    sizes = gradient_sizes(network, DATA, rows, SquaredLoss())
    weights = [w.detach() for w in network.effective()]

    def loss(replica, change):
        moved = [w.clone() for w in weights]
        moved[0][replica, 3, 2] += change  # a place that is masked
        out = network.run_with(DATA.X[torch.stack(rows)].transpose(-1, -2), moved).transpose(-1, -2)
        return float((out - DATA.y[torch.stack(rows)]).square().mean((1, 2))[replica].detach())

    for replica in range(2):
        slope = (loss(replica, 1e-5) - loss(replica, -1e-5)) / 2e-5
        assert float(sizes[0][replica, 3, 2]) == pytest.approx(abs(slope), rel=1e-4, abs=1e-8)


def test_an_exchange_keeps_the_number_of_weights_and_grows_where_it_should():
    network = net(2)
    masks = [m.clone() for m in network.masks()]
    masks[0][:, :, 3:] = 0
    network.set_masks(masks)
    wish = torch.zeros_like(network.weights[0])
    wish[:, 2, 4], wish[:, 7, 5], wish[:, 8, 3] = 2.0, 1.0, 0.5
    smallest = network.weights[0].detach()[:, :, :3].abs().flatten(1).argsort(1)[:, :3]
    exchange_(network, 0, wish, 0.1)  # 3 of 30
    mask = network.mask(0)
    assert (mask.sum((1, 2)) == 30).all()
    assert (mask[:, 2, 4] == 1).all()
    assert (mask[:, 7, 5] == 1).all()
    for r in range(2):
        assert (mask[r, :, :3].flatten()[smallest[r]] == 0).all()
    grown = (mask == 1) & (torch.arange(6) >= 3)
    assert (network.weights[0].detach()[grown] == 0).all()


def by_the_paper(weight, mask, wish, share):
    """Algorithm 1 of Evci et al. (2020), one replica and one weight at a time."""
    inside = [i for i, m in enumerate(mask) if m]
    k = int(share * len(inside))
    dropped = sorted(inside, key=lambda i: abs(weight[i]))[:k]
    stayed = [i for i in inside if i not in dropped]
    grown = sorted((i for i in range(len(mask)) if i not in stayed), key=lambda i: -wish[i])[:k]
    return {i: weight[i] if i in inside else 0.0 for i in stayed + grown}


@pytest.mark.parametrize("density", [0.3, 0.9, 1.0])
def test_an_exchange_follows_the_paper_and_what_was_dropped_may_grow_again(density):
    network = net(3)
    generator = torch.Generator().manual_seed(0)
    masks = [m.clone() for m in network.masks()]
    masks[0] = (torch.rand(masks[0].shape, generator=generator) < density).to(masks[0].dtype)
    network.set_masks(masks)
    wish = torch.rand(network.weights[0].shape, generator=generator, dtype=torch.float64)
    wish[0] += masks[0][0]  # what is there is wished for most
    before = network.weights[0].detach().clone()
    exchange_(network, 0, wish, 0.4)
    for r in range(3):
        expected = by_the_paper(before[r].flatten().tolist(), masks[0][r].flatten().bool().tolist(),
                                wish[r].flatten().tolist(), 0.4)  # fmt: skip
        now = network.mask(0)[r].flatten().bool()
        assert now.nonzero().flatten().tolist() == sorted(expected)
        assert network.weights[0].detach()[r].flatten()[list(expected)].tolist() == list(expected.values())
    assert torch.equal(network.mask(0)[0], masks[0][0])
    assert torch.equal(network.weights[0].detach()[0] * masks[0][0], before[0] * masks[0][0])


@pytest.mark.parametrize("growth", ["gradient", "random"])
def test_regrowth_keeps_its_density_and_finds_the_inputs_that_matter(growth):
    x = np.random.default_rng(1).standard_normal((400, 30))
    data = training_data(x, x[:, 0] - x[:, 1], dtype=torch.float64)
    network = layered([30, 20, 1], n_replicas=2, random_state=0, dtype=torch.float64)
    config = TrainingConfig(n_steps=400, batch_size=64, learning_rate=1e-2)
    record = regrow(
        network, data, config, regrowth=RegrowthConfig(density=0.1, growth=growth, every=20), random_state=0
    )
    mask = record.network.masks()[0]
    assert (mask.sum((1, 2)) == 60).all()
    assert float(mask[:, :, :2].mean()) > 2 * float(mask[:, :, 2:].mean())
    assert bool((network.mask(0) == 1).all())


def test_kept_weights_come_with_the_masks_that_belong_to_them():
    """Validation picks weights of an earlier step; the masks must be those of that step."""
    noise = np.random.default_rng(1).standard_normal(200)
    data = training_data(X, noise, train=[range(60)] * 2, validation=[range(60, 200)] * 2, dtype=torch.float64)
    record = regrow(net(sizes=(6, 40, 1)), data, TrainingConfig(n_steps=300, batch_size=32),
                    regrowth=RegrowthConfig(density=0.3, every=10, until=1.0), random_state=0)  # fmt: skip
    assert (record.best_step < 300).any()
    with torch.no_grad():
        loss = (record.network(data.X[60:]) - data.y[60:]).square().mean((1, 2)).numpy()
    np.testing.assert_allclose(loss, record.validation_loss, rtol=1e-5)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: prune(net(), DATA, CONFIG, pruning=PruningConfig(n_rounds=9, share=0.95, least_connected=0.0)),
         "leave no weight in layer 0: ask for fewer rounds"),
        (lambda: prune(net(), DATA, CONFIG, pruning=PruningConfig(rewind_step=30)), "cannot go back to step 30 of 30"),
        (lambda: prune(net(), DATA, TrainingConfig(n_epochs=2)), "pruning counts in steps"),
        (lambda: PruningConfig(share=1.0), "share must be"),
        (lambda: PruningConfig(criterion="age"), "criterion must be one of 'magnitude', 'random'"),
        (lambda: regrow(net(), DATA, CONFIG, regrowth=RegrowthConfig(density=0.001)), "leaves no weight in layer 0"),
        (lambda: RegrowthConfig(growth="fast"), "growth must be one of 'random', 'gradient'"),
        (lambda: prune(3, DATA, CONFIG), "network must be a MaskedNetwork, got 3"),
    ],
)  # fmt: skip
def test_bad_requests_are_refused(make, message):
    with pytest.raises(ConfigError, match=message):
        make()


def test_time_that_is_over_ends_the_rounds():
    done = prune(net(), DATA, TrainingConfig(n_steps=10**6), pruning=PruningConfig(n_rounds=3), time_limit=0.3)
    assert done.status is TrainingStatus.OUT_OF_TIME
    assert len(done.rounds) == 1


def test_smallest_are_dropped_for_each_replica_alone():
    mask = torch.tensor([[[1.0, 1, 1, 0]], [[1, 1, 1, 1]]])
    score = torch.tensor([[[3.0, 1, 2, 9]], [[1, 2, 3, 4]]])
    left = without_smallest(mask, score, 0.4)
    assert left.tolist() == [[[1, 0, 0, 0]], [[0, 0, 1, 1]]] or left.tolist() == [[[1.0, 0, 0, 0]], [[0.0, 0, 1, 1]]]
