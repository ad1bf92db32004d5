"""The rules by which claims on depth, subgraphs and locality are judged."""

import numpy as np

from compsparse.claims import Outcome
from compsparse.claims.subjects import discovery, mirrored_networks
from compsparse.claims.trials import Trials
from compsparse.graph import balanced_tree


def flat(value, n=3):
    return Trials(np.full(n, value))


def test_depth_is_judged_by_what_was_measured():
    def points(shallow_errors):
        result = []
        for n, error in zip((4, 8, 16), shallow_errors, strict=True):
            result += [
                mirrored_networks._Point(n, "mirrored", 100 * n, flat(0.001)),
                mirrored_networks._Point(n, "shallow", 50 * n, flat(0.5)),
            ]
            result.append(mirrored_networks._Point(n, "shallow", 400 * n**2, flat(error)))
        return result

    assert mirrored_networks.judge_depth((4, 8, 16), points([0.005, 0.005, 0.005]), 10**7).outcome is Outcome.SUPPORTED
    assert mirrored_networks.judge_depth((4, 8, 16), points([0.005, 0.005, 0.5]), 10**7).outcome is Outcome.SUPPORTED
    few = mirrored_networks.judge_depth((4, 8, 16), points([0.005, 0.005, 0.5]), rows=7000)
    assert few.outcome is Outcome.INCONCLUSIVE  # the sample is too small to say what the largest can
    # where no shallow net meets the bar at the smallest n, the gap may have been as large there
    assert mirrored_networks.judge_depth((4, 8, 16), points([0.5, 0.5, 0.5]), 10**7).outcome is Outcome.INCONCLUSIVE
    bounded = points([0.005, 0.005, 0.5])
    bounded = [p for p in bounded if (p.inputs, p.parameters) != (4, 6400)] + [
        mirrored_networks._Point(4, "shallow", 50_000, flat(0.005))
    ]
    assert mirrored_networks.judge_depth((4, 8, 16), bounded, 10**7).outcome is Outcome.INCONCLUSIVE
    equal = [mirrored_networks._Point(n, f, 100 * n, flat(0.001)) for n in (4, 8, 16) for f in ("mirrored", "shallow")]
    assert mirrored_networks.judge_depth((4, 8, 16), equal, 10**7).outcome is Outcome.REFUTED
    lost = [mirrored_networks._Point(n, f, 100 * n, flat(0.5)) for n in (4, 8, 16) for f in ("mirrored", "shallow")]
    assert mirrored_networks.judge_depth((4, 8, 16), lost, 10**7).outcome is Outcome.INCONCLUSIVE


def test_subgraphs_are_judged_by_what_was_measured():
    names = [
        "true graph",
        "+1 edge a node",
        "+2 edges a node",
        "+4 edges a node",
        "1 edge lost",
        "2 edges lost",
        "dense",
    ]

    def outcome(*errors):
        return mirrored_networks.judge_subgraph({n: flat(e) for n, e in zip(names, errors, strict=True)}).outcome

    assert outcome(1e-4, 1e-4, 2e-4, 2e-4, 0.1, 0.2, 0.05) is Outcome.SUPPORTED
    assert outcome(1e-4, 1e-2, 2e-2, 4e-2, 0.1, 0.2, 0.05) is Outcome.REFUTED
    assert outcome(1e-4, 1e-4, 1e-4, 1e-4, 1e-4, 1e-4, 0.05) is Outcome.REFUTED
    mixed = {n: flat(e) for n, e in zip(names, (1e-4, 1e-4, 2e-4, 2e-4, 0.1, 0.2, 0.05), strict=True)}
    mixed["+4 edges a node"] = Trials(np.array([1e-4, 1e-4, 1e-2]))
    assert mirrored_networks.judge_subgraph(mixed).outcome is Outcome.INCONCLUSIVE


def test_extra_and_lost_edges_are_what_they_say():
    graph, rng = balanced_tree(8), np.random.default_rng(0)
    richer = mirrored_networks.with_extra_edges(graph, 2, rng)
    assert all(set(richer[n.name].parents) > set(n.parents) for n in graph.nodes)
    poorer = mirrored_networks.without_edges(graph, 2, rng)
    assert poorer.n_edges == graph.n_edges - 2
    assert len(poorer.inert) == 2


def test_locality_is_judged_by_what_was_measured():
    def outcome(dense, local, shared, spread=1.0):
        errors = {
            (name, n): Trials(e * np.array([1, spread, 1 / spread]) ** (1 if name == "dense" else -1))
            for name, e in zip(mirrored_networks._NAMES, (dense, local, shared), strict=True)
            for n in (100, 1000)
        }
        return mirrored_networks.judge_locality((100, 1000), errors).outcome

    assert outcome(1e-1, 1e-3, 5e-4) is Outcome.SUPPORTED
    assert outcome(1e-1, 8e-2, 1e-4) is Outcome.REFUTED
    assert outcome(1e-1, 1e-2, 5e-3, spread=30) is Outcome.INCONCLUSIVE


def test_found_graphs_are_judged_by_every_seed():
    def outcome(found, same, more):
        points = [discovery._Point(100, "discovered graph", found), discovery._Point(100, "dense network", same)]
        points.append(discovery._Point(400, "dense network", more))
        return discovery._outcome(points, ["dense network"], 100)

    assert outcome((0.01, 0.02), (0.5, 0.4), (0.1, 0.2)) is Outcome.SUPPORTED
    assert outcome((0.01, 0.15), (0.5, 0.4), (0.1, 0.2)) is Outcome.INCONCLUSIVE
    assert outcome((0.6, 0.7), (0.5, 0.4), (0.1, 0.2)) is Outcome.REFUTED
