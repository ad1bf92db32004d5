"""Statements on losses pay for what was chosen on the data: codes are as long as they must be, nothing is free."""

import math
from itertools import combinations, product

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.utils import prune as torch_prune

import compsparse as cs
from compsparse.bounds import compare, lower
from compsparse.bounds.description import (
    GRID_SLACK,
    code_choice,
    count_nats,
    graph_choice,
    mask_choice,
    norms_nats,
    step_above,
    step_nats,
    support_nats,
    zeros_choice,
)
from compsparse.bounds.losses import BoundedLoss
from compsparse.certificate import Rigour
from compsparse.errors import ConfigError
from compsparse.graph import FunctionGraph, Node, balanced_tree
from compsparse.models import FittedGraph, fit_model
from compsparse.networks import MaskedNetwork, convolutional, dense, layered, local, mirror, only, to_masked
from compsparse.origin import Origin
from compsparse.training import FitConfig, PruningConfig, RegrowthConfig, TrainingConfig, prune, regrow, training_data

RNG = np.random.default_rng(2)
TINY = FitConfig(n_restarts=2, training=TrainingConfig(n_steps=20))


# ---- codes --------------------------------------------------------------------------------------


def test_points_of_a_grid_have_a_prefix_code():
    """Kraft: the shares of all points, and that of a norm of zero, add up to one."""
    total = math.exp(-count_nats(0)) + sum(math.exp(-step_nats(j)) for j in range(-20_000, 20_001))
    assert total == pytest.approx(1, abs=1e-4)
    assert norms_nats([0.0], 3) == count_nats(0)
    assert norms_nats([1.0, 2.0], 2) == step_nats(0) + step_nats(16)
    assert norms_nats([math.inf], 1) == norms_nats([math.nan], 1) == math.inf


@pytest.mark.parametrize("n", [1, 4])
def test_masks_have_a_prefix_code(n):
    shares = [math.exp(-support_nats(n, sum(mask))) for mask in product((0, 1), repeat=n)]
    assert sum(shares) == pytest.approx(1)
    dense_one, sparse = zeros_choice([], 1), [zeros_choice([torch.tensor(m)], 1) for m in product((0, 1), repeat=n)]
    assert math.exp(-dense_one.nats) + sum(math.exp(-choice.nats) for choice in sparse) <= 1


def test_graphs_have_a_prefix_code():
    """All graphs of at most two nodes over two of three columns, each once for every order of its nodes."""
    total, n_graphs = 0.0, 0
    for columns in combinations("abc", 2):
        for first in parent_sets(columns):
            one = Node("u", first)
            for second in [None, *parent_sets((*columns, "u"))]:
                nodes = [one] if second is None else [one, Node("v", second)]
                for output in (*columns, *(n.name for n in nodes)):
                    total += math.exp(-graph_choice(FunctionGraph(columns, nodes, output), 3, ordered=False).nats)
                    n_graphs += 1
    assert n_graphs == 3 * 3 * (3 + 7 * 4)
    assert total <= 1


def parent_sets(names):
    return [c for k in range(1, len(names) + 1) for c in combinations(names, k)]


def test_the_order_of_parents_is_paid_for_where_it_matters():
    graph = FunctionGraph("abc", [Node("y", ("c", "a", "b"))])
    free, ordered = (graph_choice(graph, 3, ordered=o).nats for o in (False, True))
    assert ordered - free == pytest.approx(math.log(6))
    assert graph_choice(graph, 300, ordered=False).nats > free + math.log(math.comb(300, 3))


@pytest.mark.parametrize("classes", [False, True])
@pytest.mark.parametrize("margin", [1e-3, 0.3, 0.5, 1.0, 1.7, 1e3, 1e308, 5e-324])
def test_the_loss_on_the_grid_is_nowhere_below_the_one_that_was_asked_for(classes, margin):
    outputs = torch.as_tensor(RNG.normal(size=(200, 1))) * min(margin, 1e300) * 2
    target = torch.as_tensor(RNG.integers(2, size=200)) if classes else torch.zeros(200, 1, dtype=torch.double)
    asked = BoundedLoss(target, margin, classes)
    moved = asked.on_grid()
    assert (moved.values(outputs) >= asked.values(outputs) - 1e-8).all()
    if 1e-300 < margin < 1e300:
        assert 1 / GRID_SLACK - 1e-8 <= moved.margin / margin <= GRID_SLACK + 1e-8
        assert moved.step == asked.step
    if margin in (0.5, 1.0):
        assert moved.margin == margin


def test_a_margin_far_from_one_costs_more():
    X, y = RNG.normal(size=(50, 3)), RNG.integers(2, size=50)
    module = nn.Linear(3, 1)
    paid = [compare(module, X, y, margin=m)["parameter counting"].terms["nats paid for"] for m in (1.0, 1e-3, 1e-30)]
    assert paid == sorted(paid)
    assert paid[2] - paid[0] == pytest.approx(step_nats(step_above(1e-30)) - step_nats(0))


# ---- where models come from ---------------------------------------------------------------------


def origin_of(model, X):
    (choice,) = lower(model, X).structure
    return choice.origin


def test_what_the_library_lays_out_by_sizes_is_given_and_the_rest_is_not_known():
    X = RNG.normal(size=(5, 8))
    masks = [torch.ones(3, 8), torch.ones(1, 3)]
    for made in (dense(8), local(8, 2, 2), convolutional(8, 2, 2), layered([8, 3, 1]), to_masked(local(8, 2, 2))):
        assert origin_of(made, X) is Origin.GIVEN
    active = [torch.ones(3, dtype=torch.bool), torch.zeros(1, dtype=torch.bool)]
    unknown = MaskedNetwork(masks, active, "relu")
    said = MaskedNetwork(masks, active, "relu", mask_origin=Origin.GIVEN)
    for made in (mirror(balanced_tree(8)), to_masked(mirror(balanced_tree(8))), unknown, nn.Linear(8, 1)):
        assert origin_of(made, X) is Origin.UNKNOWN
    assert origin_of(said, X) is Origin.GIVEN
    said.set_masks([m[None] for m in masks])
    assert origin_of(said, X) is Origin.UNKNOWN
    with pytest.raises(ConfigError, match="mask_origin must be a Origin, got 'given'"):
        MaskedNetwork(masks, active, "relu", mask_origin="given")


def test_graphs_carry_their_origin_wherever_they_go(tmp_path):
    graph = FunctionGraph.from_expression("a*b + sin(c)").from_origin(Origin.DISCOVERED)
    moved = [
        graph.rename({"a": "z"}),
        graph.structure(),
        graph.pruned(),
        FunctionGraph(graph.inputs, graph.nodes, [graph.nodes[0].name]).pruned(),
        FunctionGraph.from_json(graph.to_json()),
        mirror(graph).graph,
        only(mirror(graph, n_replicas=2)).graph,
    ]
    assert {g.origin for g in moved} == {Origin.DISCOVERED}
    assert graph == graph.from_origin(Origin.GIVEN)
    assert hash(graph) == hash(graph.from_origin(Origin.GIVEN))
    added = FunctionGraph(graph.inputs, [*graph.nodes, Node("more", ("a",), origin=Origin.GIVEN)], graph.outputs)
    assert added.origin is Origin.DISCOVERED
    assert FunctionGraph("ab", [Node("u", "a", origin=Origin.GIVEN), Node("v", ("u", "b"))]).origin is Origin.UNKNOWN


def test_models_of_discovered_graphs_know_it_after_a_file(tmp_path):
    X = RNG.normal(size=(60, 3))
    found = cs.discover(lambda X: X[:, 0] * X[:, 1] + X[:, 2], bounds=[(-1, 1)] * 3, random_state=0)
    assert found.graph.origin is Origin.DISCOVERED
    model = fit_model(found.graph, X, X[:, 0], config=TINY, width=4, random_state=0)
    model.save(tmp_path / "model.json")
    members, target = count_nats(model.network.n_replicas), 2 * 64 * math.log(2)
    # five kinds of columns; mean, scale and ends; three decimal signs, no unit, gaps marked or not, ends clipped or
    # not, no pieces
    column = math.log(5) + 4 * 64 * math.log(2) + math.log(3) + count_nats(1) + math.log(257) + 2 * math.log(2)
    column += count_nats(0)
    for fitted in (model, FittedGraph.load(tmp_path / "model.json")):
        graph, code = (lower(fitted, X).structure[0], lower(fitted, X).coding[0])
        assert graph.origin is Origin.DISCOVERED
        assert code.nats == code_choice(model).nats == pytest.approx(members + target + 3 * column)
    assert origin_of(fit_model(None, X, X[:, 0], config=TINY, width=4, random_state=0), X) is Origin.GIVEN


def test_masks_that_training_chose_know_it():
    X = RNG.normal(size=(40, 6)).astype(np.float32)
    data, config = training_data(X, X[:, :1]), TrainingConfig(n_steps=4)
    network = layered([6, 8, 1], random_state=0)
    rounds = prune(network, data, config, pruning=PruningConfig(n_rounds=2), random_state=0).rounds
    assert [r.network.mask_origin for r in rounds] == [Origin.GIVEN, Origin.PRUNED, Origin.PRUNED]
    regrown = regrow(network, data, config, regrowth=RegrowthConfig(every=2, density=0.5), random_state=0).network
    assert regrown.mask_origin is Origin.PRUNED
    assert mask_choice(rounds[-1].network).nats > support_nats(48, int(rounds[-1].network.mask(0).sum()))


def test_texts_of_a_table_are_paid_for():
    y = RNG.normal(size=40)
    pandas = pytest.importorskip("pandas")
    tables = [pandas.DataFrame({"c": [name * n for name in "ab"] * 20}) for n in (1, 30)]
    paid = [code_choice(fit_model(None, t, y, config=TINY, width=2, random_state=0)).nats for t in tables]
    assert paid[1] - paid[0] == pytest.approx(2 * 29 * math.log(257))


# ---- violations ---------------------------------------------------------------------------------


def proved_losses(table):
    return [b.expected_loss for b in table.bounds if b.rigours.get("expected loss") is Rigour.PROVED]


def pruned_linear(X, y, n_kept):
    layer = nn.Linear(X.shape[1], 1, bias=False)
    weights = X.T @ (2.0 * y - 1)
    with torch.no_grad():
        layer.weight.copy_(torch.as_tensor(weights / np.abs(weights).max())[None])
    return torch_prune.l1_unstructured(layer, "weight", amount=X.shape[1] - n_kept)


def as_masked(layer):
    network = layered([layer.in_features, 1], random_state=0)
    network.set_masks([(layer.weight != 0).detach()[None]])
    with torch.no_grad():
        network.weights[0].copy_(layer.weight)
    return network


@pytest.mark.parametrize("seed", range(2))
def test_a_linear_model_of_random_labels_pruned_on_the_same_rows_is_promised_nothing_false(seed):
    """Labels are coin flips; a mask free of charge promised an error below a half, whoever keeps the mask."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(500, 8000)), rng.integers(2, size=500)
    layer = pruned_linear(X, y, 250)
    assert min(proved_losses(compare(layer, X, y, given=True, random_state=0))) < 0.5  # which it was not
    shown = compare(layer, X, y)
    assert 0.5 < min(proved_losses(shown)) < 1
    assert "which weights are zero: of unknown origin, paid for" in str(shown)
    if seed == 0:
        bare = nn.Linear(8000, 1, bias=False)
        bare.load_state_dict({"weight": layer.weight.detach()})
        for same in (bare, as_masked(layer)):
            assert proved_losses(compare(same, X, y)) == pytest.approx(proved_losses(shown), rel=0.05)


@pytest.mark.heavy
@pytest.mark.parametrize("seed", range(3))
def test_the_same_at_the_size_at_which_it_was_found(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((2000, 20_000), dtype=np.float32), rng.integers(2, size=2000)
    layer = pruned_linear(X, y, 200)
    assert min(proved_losses(compare(layer, X, y, given=True, random_state=0))) < 0.5
    assert 0.5 < min(proved_losses(compare(layer, X, y))) < 1


def test_discovered_and_pruned_networks_on_random_labels_are_promised_nothing_false():
    X, y = RNG.normal(size=(60, 4)), RNG.integers(2, size=60)
    found = cs.discover(X, 2.0 * y - 1, fit=False, effort=0.01, resamples=0, random_state=0)
    assert found.graph.origin is Origin.DISCOVERED
    network = mirror(found.graph, 4, 1, "relu", random_state=0)
    data = training_data(X.astype(np.float32), 2.0 * y - 1)
    sparse = prune(layered([4, 12, 1], random_state=0), data, TrainingConfig(n_steps=30), random_state=0).rounds[4]
    for model in (network, sparse.network, fit_model(found.graph, X, y, classification=True, config=TINY, width=4)):
        table = compare(model, X, y)
        assert min(proved_losses(table)) >= 0.5
        assert any("on the data, paid for with" in note for note in table.notes)


def test_rows_say_what_they_rest_on():
    X, y = RNG.normal(size=(50, 4)), RNG.integers(2, size=50)
    module = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 1))
    table, given = compare(module, X, y), compare(module, X, y, given=True)
    noisy = table["PAC-Bayes, Gaussian"]
    assert "of the noisy network" in noisy.status
    assert noisy.rigours["expected loss"] is Rigour.PROVED
    assert noisy.rigours.get("gap", Rigour.ESTIMATED) is Rigour.ESTIMATED
    for bound in (table["block paths"], table["parameter counting"], noisy):
        assert any("fixed before the data were seen" in a for a in bound.assumes)
        assert any("all rows of the table hold at once" in a for a in bound.assumes)
        assert any("which weights are zero (none): of unknown origin, paid for" in a for a in bound.assumes)
    assert any("which weights are zero (none): fixed before" in a for a in given["block paths"].assumes)
    assert given["block paths"].gap < table["block paths"].gap
    assert given["block paths"].complexity == table["block paths"].complexity
    with pytest.raises(ConfigError, match="given must be True or False"):
        compare(module, X, y, given="yes")


def test_units_without_connections_are_read():
    """A unit whose weights are all pruned is a constant, which the others do not care about."""
    module = nn.Sequential(nn.Linear(4, 3, bias=False), nn.ReLU(), nn.Linear(3, 1, bias=False)).double()
    with torch.no_grad():
        module[0].weight[1] = 0.0
    X = RNG.normal(size=(20, 4))
    lowered = lower(module, X)
    assert torch.allclose(lowered.members[0](lowered.X), module(torch.as_tensor(X)).detach())
    table = compare(module, X, RNG.integers(2, size=20))
    assert all(math.isfinite(b.complexity) for b in table.bounds[:4])


def test_zeros_before_a_normalisation_are_weights_like_others():
    module = nn.Sequential(nn.Linear(4, 3), nn.Dropout(), nn.BatchNorm1d(3), nn.ReLU(), nn.Linear(3, 1)).eval()
    with torch.no_grad():
        module[0].weight[0, 0] = 0.0
    (choice,) = lower(module, np.ones((3, 4))).structure
    assert choice.nats == math.log(2)
