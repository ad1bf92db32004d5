"""Does attention select the variables that a function reads, and when does it not?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import get_args

import numpy as np
import torch

from compsparse.claims.claim import Finding, Premise, Profile
from compsparse.claims.rules import (
    Interval,
    interval_if_known,
    interval_of_seeds,
    judge_at_least,
    judge_at_most,
    judge_equal,
    mean_interval,
)
from compsparse.claims.seeds import FIRST_SEED, TEST_SEED
from compsparse.claims.shapes import each, figure_of, finding_of
from compsparse.claims.trials import answers_of, gpu_if_any, placed
from compsparse.measures import (
    SelectionMeasures,
    ablation,
    ancestor_matrix,
    edge_auroc,
    mean_attention,
    parent_matrix,
    rollout,
    score_geometry,
    score_symmetry,
    selection_measures,
    sibling_mass,
)
from compsparse.networks.attention import AttentionNetwork, think
from compsparse.networks.attention.blocks import BlockForm
from compsparse.progress import Progress
from compsparse.report.figure import Figure
from compsparse.tasks import RandomHierarchy, TokenTask, token_chain, token_gates, token_junta, token_parity
from compsparse.training import CrossEntropy, Loss, TrainingConfig, train, training_data

_TOKENS, _ROWS, _TEST_ROWS = 16, 40_000, 2000


@dataclass(frozen=True)
class _Run:
    """Five or so replicas of one network on one task."""

    task: TokenTask
    network: AttentionNetwork
    X: np.ndarray
    errors: np.ndarray

    def measures(self) -> SelectionMeasures:
        return selection_measures(self.network, self.X, ancestor_matrix(self.task.graph))


def _trained(
    task: TokenTask, n_seeds: int, n_steps: int, *, n_layers: int = 1, rows: int = _ROWS, batch_size: int = 256,
    selection: str = "softmax", form: BlockForm = "sequential", width: int = 64, learning_rate: float = 1e-3,
) -> _Run:  # fmt: skip
    """The network of the pilot, Adam at a constant rate; errors are shares of wrong signs of the last output."""
    outputs = len(task.graph.outputs)
    network = AttentionNetwork(
        task.n_tokens, outputs, n_layers, width, selection=selection, form=form, n_replicas=n_seeds,
        random_state=FIRST_SEED,
    )  # fmt: skip
    sample, test = task.sample(rows, FIRST_SEED), task.sample(_TEST_ROWS, TEST_SEED)
    _learn(network, sample.X, sample.y, n_steps, batch_size, learning_rate)
    return _Run(task, network, test.X, _wrong(answers_of(network, test.X), test.y))


def _learn(
    network: AttentionNetwork, X: np.ndarray, y: np.ndarray, n_steps: int, batch_size: int = 256,
    learning_rate: float = 1e-3, *, loss: Loss | None = None, progress: Progress | None = None,
) -> None:  # fmt: skip
    config = TrainingConfig(
        n_steps=n_steps, batch_size=batch_size, learning_rate=learning_rate, weight_decay=0.0, schedule="constant",
        evaluate_every=100,
    )  # fmt: skip
    data = training_data(X, y, classification=loss is not None, device=gpu_if_any())
    train(placed(network), data, config, loss=loss, random_state=FIRST_SEED, progress=progress)


def _wrong(answers: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.asarray((np.sign(answers[..., -1]) != y.reshape(len(y), -1)[:, -1]).mean(1))


def _learned(what: str, errors: np.ndarray, most: float = 0.1) -> Premise:
    """Answers are signs, so that an error of 0.5 is chance."""
    return Premise.at_most(what, errors, most)


# ---- selection ----------------------------------------------------------------------------------


def selects_the_support(profile: Profile, progress: Progress) -> Finding:
    """Precision on parities and juntas of three tokens among sixteen, softmax."""
    n_seeds = 5 if profile == "quick" else 20
    tasks = {
        "parity of 3": token_parity(_TOKENS, 3, random_state=FIRST_SEED),
        "junta of 3": token_junta(_TOKENS, 3, random_state=FIRST_SEED + 1),
    }
    runs = {name: _trained(tasks[name], n_seeds, 500) for name in each(tasks, progress)}
    used = {name: ablation(run.network, run.X, FIRST_SEED) for name, run in runs.items()}
    return judge_support({n: r.measures() for n, r in runs.items()}, runs, used)


def judge_support(
    measured: dict[str, SelectionMeasures], runs: dict[str, _Run], used: dict[str, np.ndarray]
) -> Finding:
    precision = {name: m.precision[:, 0] for name, m in measured.items()}
    listed = "; ".join(
        f"{name}: precision {p.mean():.2f}, mass {measured[name].mass.mean():.2f} of chance {3 / _TOKENS:.2f}, "
        f"AUROC {measured[name].auroc.mean():.2f}, {measured[name].non_zeros.mean():.1f} tokens with weight, test "
        f"error {runs[name].errors.mean():.3f}"
        for name, p in precision.items()
    )
    reads = {name: ancestor_matrix(run.task.graph) for name, run in runs.items()}
    return finding_of(
        [judge_at_least(interval_of_seeds(p), 0.99, refuted_below=0.9) for p in precision.values()],
        measured=listed,
        numbers={
            **{f"precision, {n}": p for n, p in precision.items()},
            **{f"mass, {n}": m.mass for n, m in measured.items()},
            **{f"ablation AUROC, {n}": float(edge_auroc(used[n], reads[n]).mean()) for n in runs},
        },
        figures=_weights_figure(runs),
        premises=tuple(_learned(f"the test error on the {name}", run.errors) for name, run in runs.items()),
    )


def _weights_figure(runs: dict[str, _Run]) -> Figure:
    weights = {name: mean_attention(run.network, run.X)[:, 0] for name, run in runs.items()}
    points = [
        (i, weights[name][:, i], f"{name}, which reads {', '.join(map(str, run.task.support))}")
        for name, run in runs.items()
        for i in range(run.task.n_tokens)
    ]
    return figure_of("Where the output's query looks", points, "token", "weight", "function", mark="bars",
                     y_title="attention weight (mean, range over seeds)")  # fmt: skip


def flat_parity_fails(profile: Profile, progress: Progress) -> Finding:
    """The case that does not work: a parity of six, with no steps in between."""
    n_seeds, n_steps = (5, 1000) if profile == "quick" else (10, 20_000)
    run = _trained(token_parity(_TOKENS, 6, random_state=FIRST_SEED), n_seeds, n_steps)
    progress.update(1, 2, "parity of 6")
    # the same network, rate and data learn an easier parity in at most half of the steps, or they could learn none
    control = _trained(token_parity(_TOKENS, 3, random_state=FIRST_SEED), n_seeds, min(n_steps // 2, 500))
    progress.update(2, 2, "parity of 3")
    return judge_failure(run.errors, run.measures(), n_steps, control.errors)


def judge_failure(errors: np.ndarray, measured: SelectionMeasures, n_steps: int, control: np.ndarray) -> Finding:
    interval, precision = mean_interval(errors), measured.precision[:, 0]
    return finding_of(
        judge_at_least(interval, 0.4, refuted_below=0.1),
        expected=f"the parity of 6 among 16 stays at chance for {n_steps} steps, at least twice the steps that the "
        "parity of 3 takes: test error at least 0.4 by the 95% interval over seeds; refuted if all of it is below 0.1",
        measured=f"test error {errors.mean():.3f} ({interval.text()}), precision {precision.mean():.2f} (chance "
        f"{6 / _TOKENS:.2f}), mass {measured.mass.mean():.2f}",
        numbers={"error": errors, "precision": precision, "error on the parity of 3": control},
        premises=_learned("the same network's error on the parity of 3, after at most half of the steps", control),
    )


def entmax_is_sparse(profile: Profile, progress: Progress) -> Finding:
    """Mass and non-zeros of entmax 1.5 beside softmax on the parity of three."""
    n_seeds = 5 if profile == "quick" else 20
    task = token_parity(_TOKENS, 3, random_state=FIRST_SEED)
    found = {
        name: _trained(task, n_seeds, 500, selection=name).measures()
        for name in each(("softmax", "sparsemax", "entmax15"), progress)
    }
    return judge_entmax(found)


def judge_entmax(found: dict[str, SelectionMeasures]) -> Finding:
    entmax = found["entmax15"]
    parts = [
        judge_at_least(mean_interval(entmax.mass[:, 0]), 0.6, refuted_below=0.5),
        judge_at_most(mean_interval(entmax.non_zeros[:, 0]), 8),
        judge_at_least(mean_interval(found["softmax"].non_zeros[:, 0] - entmax.non_zeros[:, 0]), 4, refuted_below=0),
    ]
    points = [
        (name, values, figure)
        for name, m in found.items()
        for figure, values in (("tokens with weight", m.non_zeros), ("exp(entropy)", m.effective_tokens))
    ]
    return finding_of(
        parts,
        measured="; ".join(
            f"{name}: mass {m.mass.mean():.2f}, {m.non_zeros.mean():.1f} tokens with weight, exp(entropy) "
            f"{m.effective_tokens.mean():.1f}"
            for name, m in found.items()
        ),
        numbers={
            f"{what}, {name}": v
            for name, m in found.items()
            for what, v in (("mass", m.mass), ("non-zeros", m.non_zeros))
        },
        figures=figure_of("How many tokens are attended to", points, "selection", "value", "figure", mark="bars",
                          y_title="tokens of 16 (mean, range over seeds)"),
    )  # fmt: skip


# ---- composition --------------------------------------------------------------------------------


def thoughts_make_parity_learnable(profile: Profile, progress: Progress) -> Finding:
    """The same parity of six, flat and in steps that are read again."""
    n_seeds, n_steps, k = (5, 600, 6) if profile == "quick" else (10, 3000, 8)
    flat = _trained(token_parity(_TOKENS, k, random_state=FIRST_SEED), n_seeds, n_steps)
    progress.update(1, 2, "flat")
    task = token_chain(_TOKENS, k, random_state=FIRST_SEED)
    network, errors = _trained_in_steps(task, n_seeds, n_steps)
    progress.update(2, 2, "in steps")
    test = task.sample(_TEST_ROWS, TEST_SEED)
    tokens = [*task.graph.inputs, *task.graph.outputs[:-1]]
    rows = np.concatenate([test.X, test.y[:, :-1]], axis=1)
    weights = mean_attention(network, rows)
    edges = edge_auroc(weights, parent_matrix(task.graph, tokens))
    return judge_thoughts(flat.errors, errors, edges, weights.mean(0), k, n_steps)


def _trained_in_steps(task: TokenTask, n_seeds: int, n_steps: int) -> tuple[AttentionNetwork, np.ndarray]:
    """Trains with the true thoughts; errors are those of answers that rest on the network's own."""
    n_outputs = len(task.graph.outputs)
    network = AttentionNetwork(
        task.n_tokens + n_outputs - 1, n_outputs, n_thoughts=n_outputs - 1, n_replicas=n_seeds, random_state=FIRST_SEED
    )
    sample, test = task.sample(_ROWS // 2, FIRST_SEED), task.sample(_TEST_ROWS, TEST_SEED)
    _learn(network, np.concatenate([sample.X, sample.y[:, :-1]], axis=1), sample.y, n_steps)
    rows = torch.as_tensor(test.X, dtype=torch.float32, device=next(network.parameters()).device)
    return network, _wrong(think(network, rows).cpu().numpy(), test.y)


def judge_thoughts(
    flat: np.ndarray, steps: np.ndarray, edges: np.ndarray, weights: np.ndarray, k: int, n_steps: int
) -> Finding:
    parts = [
        judge_at_most(interval_of_seeds(steps), 0.05, refuted_above=0.4),
        judge_at_least(interval_of_seeds(flat), 0.4, refuted_below=0.1),
    ]
    return finding_of(
        parts,
        expected=f"after {n_steps} steps of training the parity of {k} among 16 is at chance when it is answered at "
        "once (error at least 0.4) and learned when it is answered in steps of two variables that later steps read "
        "(error at most 0.05, steps being the network's own), by the 95% intervals over seeds; refuted if all of the "
        "first is below 0.1 or all of the second above 0.4",
        measured=f"test error {flat.mean():.3f} at once, {steps.mean():.4f} in steps; AUROC of the attention of every "
        f"step against the graph's edges {edges.mean():.2f}",
        numbers={"flat": flat, "in steps": steps, "edge AUROC": edges},
        figures=(
            figure_of(f"Parity of {k}, answered at once and in steps", [("at once", flat), ("in steps", steps)],
                      "answers", "error", mark="bars", y_title="test error (mean, range over seeds)"),
            Figure("What every step attends to", tuple(_cells(weights)), "token", "step", mark="heat", value="weight",
                   x_title=f"token (0 to {_TOKENS - 1}: inputs, then the answers of steps 1, 2, ...)"),
        ),
    )  # fmt: skip


def _cells(weights: np.ndarray) -> list[dict[str, float]]:
    """The mean weights (steps, tokens) as cells of a grid."""
    return [
        {"token": token, "step": step + 1, "weight": float(weight)}
        for step, row in enumerate(weights)
        for token, weight in enumerate(row)
    ]


def rollout_finds_ancestors(profile: Profile, progress: Progress) -> Finding:
    """Rollout over two layers against the ancestors of a tree of gates."""
    n_seeds, n_steps = (5, 500) if profile == "quick" else (10, 3000)
    found = {}
    for seed in each(range(2 if profile == "quick" else 5), progress, "tree {}"):
        task = token_gates(12, 4, random_state=FIRST_SEED + seed)
        run = _trained(task, n_seeds, n_steps, n_layers=2, rows=4000, width=32, batch_size=64, learning_rate=3e-3)
        truth = ancestor_matrix(task.graph)
        found[seed] = (
            edge_auroc(rollout(run.network, run.X[:500]), truth),
            edge_auroc(ablation(run.network, run.X[:500], FIRST_SEED), truth),
            run.errors,
        )
    return judge_rollout(found)


def judge_rollout(found: dict[int, tuple[np.ndarray, np.ndarray, np.ndarray]]) -> Finding:
    by_rollout, by_ablation, errors = (np.concatenate(part) for part in zip(*found.values(), strict=True))
    learned = errors <= 0.05
    interval = mean_interval(by_rollout[learned]) if learned.sum() > 1 else Interval(0, 1)
    points = [
        (f"{seed + 1}", a, name)
        for seed, parts in found.items()
        for name, a in zip(("rollout", "ablation"), parts[:2], strict=True)
    ]
    return finding_of(
        judge_at_least(interval, 0.9, refuted_below=0.75),
        measured=f"{learned.sum()} of {len(errors)} learned; AUROC of rollout {interval.text()}, of ablation "
        f"{by_ablation[learned].mean() if learned.any() else float('nan'):.2f}",
        numbers={"rollout AUROC": by_rollout, "ablation AUROC": by_ablation},
        figures=figure_of("Ancestors of the output, by rollout and by ablation", points, "tree", "AUROC", "by",
                          mark="bars"),
    )  # fmt: skip


def attends_to_siblings(profile: Profile, progress: Progress) -> Finding:
    """Whether the first layer's tokens attend to the tuple that a rule of the hierarchy wrote them with."""
    n_seeds, n_steps, n_train = (4, 500, 4000) if profile == "quick" else (8, 4000, 20_000)
    model = RandomHierarchy(4, multiplicity=2, n_levels=3, rules_seed=FIRST_SEED)
    sample = model.sample(n_train, random_state=FIRST_SEED)
    test = model.sample(_TEST_ROWS, random_state=TEST_SEED)
    network = AttentionNetwork(
        model.n_inputs, model.n_labels, 2, 32, n_symbols=model.v, n_replicas=n_seeds, random_state=FIRST_SEED
    )
    before = sibling_mass(placed(network), test.X[:500], model.s)
    _learn(network, sample.X, sample.y, n_steps, 64, 3e-3, loss=CrossEntropy(), progress=progress)
    answers = answers_of(network, test.X).argmax(-1)
    after = sibling_mass(network, test.X[:500], model.s)
    return judge_siblings(before, after, (answers != test.y).mean(1), 1 / (model.n_inputs - 1))


def judge_siblings(before: np.ndarray, after: np.ndarray, errors: np.ndarray, chance: float) -> Finding:
    learned = errors <= 0.1
    interval = mean_interval(after[learned] / chance) if learned.sum() > 1 else Interval(0, np.inf)
    return finding_of(
        judge_at_least(interval, 2.0, refuted_below=1.25),
        measured=f"{learned.sum()} of {len(errors)} learned (error {errors.mean():.3f}); mass on siblings "
        f"{before.mean():.2f} before, {after.mean():.2f} after, chance {chance:.2f}: {interval.text()} times chance",
        numbers={"before": before, "after": after, "error": errors},
        figures=figure_of(
            "Attention inside a tuple of the hierarchy", [("before", before), ("after", after)], "when", "mass",
            mark="bars", y_title=f"share of attention on siblings (chance {chance:.2f})",
        ),
    )  # fmt: skip


# ---- blocks and geometry ------------------------------------------------------------------------


def parallel_is_as_good(profile: Profile, progress: Progress) -> Finding:
    """Both forms of the block on juntas, with equally many steps."""
    n_seeds, n_tasks = (4, 2) if profile == "quick" else (5, 10)
    errors: dict[str, list[float]] = {"sequential": [], "parallel": [], "printed": []}
    for seed, form in each(product(range(n_tasks), get_args(BlockForm)), progress, "junta {}, {}"):
        task = token_junta(12, 3, random_state=FIRST_SEED + 100 + seed)
        run = _trained(task, n_seeds, 300, n_layers=2, rows=100, width=32, batch_size=64, form=form,
                       learning_rate=2e-3)  # fmt: skip
        errors[form] += run.errors.tolist()
    return judge_forms({form: np.array(e) for form, e in errors.items()})


def judge_forms(errors: dict[str, np.ndarray]) -> Finding:
    gap = errors["parallel"] - errors["sequential"]
    interval = mean_interval(gap)
    return finding_of(
        judge_equal(gap, 0.05),
        measured=f"difference {interval.text()}; mean errors "
        + ", ".join(f"{form} {e.mean():.3f}" for form, e in errors.items()),
        numbers=errors,
        figures=figure_of("Three forms of the block", errors.items(), "form", "error", mark="bars",
                          y_title="test error (mean, range over tasks and seeds)"),
        premises=_learned("the error of sequential blocks", errors["sequential"], 0.2),
    )  # fmt: skip


_Measures = dict[str, np.ndarray]
"""By name, one number per network: means over heads."""


def _before_and_after(
    profile: Profile, progress: Progress, first: int, measure: Callable[[AttentionNetwork, np.ndarray], _Measures]
) -> tuple[_Measures, _Measures, np.ndarray]:
    """What is measured of untrained networks and of those that learned trees of gates, and their errors."""
    n_seeds, n_tasks = (4, 2) if profile == "quick" else (5, 10)
    found: list[list[_Measures]] = [[], []]
    errors = []
    for seed in each(range(first, first + n_tasks), progress, "gates of seed {}"):
        fresh = AttentionNetwork(12, 1, 2, 32, n_replicas=n_seeds, random_state=FIRST_SEED)
        task = token_gates(12, 4, random_state=seed)
        run = _trained(task, n_seeds, 500, n_layers=2, rows=4000, width=32, batch_size=64, learning_rate=3e-3)
        for measured, network in zip(found, (fresh, run.network), strict=True):
            measured.append(measure(network, run.X[:5]))
        errors.append(run.errors)
    before, after = ({name: np.concatenate([m[name] for m in part]) for name in part[0]} for part in found)
    return before, after, np.concatenate(errors)


def learns_a_metric(profile: Profile, progress: Progress) -> Finding:
    """The symmetric share of the first block's forms before and after training."""

    def measure(network: AttentionNetwork, X: np.ndarray) -> _Measures:
        return {"symmetry": score_symmetry(network).mean(1)}

    before, after, errors = _before_and_after(profile, progress, FIRST_SEED + 50, measure)
    return judge_metric(before["symmetry"], after["symmetry"], errors)


def judge_metric(before: np.ndarray, after: np.ndarray, errors: np.ndarray) -> Finding:
    interval = interval_if_known(after)
    return finding_of(
        judge_at_least(interval, 0.75, refuted_below=0.6),
        measured=f"symmetric share {before.mean():.2f} before, {after.mean():.2f} after ({interval.text()})",
        numbers={"before": before, "after": after},
        figures=figure_of("How much of the learned form is symmetric", [("before", before), ("after", after)], "when",
                          "share", mark="bars", y_title="symmetric share (mean, range)"),
        premises=_learned("the test error of the trained networks", errors),
    )  # fmt: skip


_LEAST_FALL = 0.05
"""Of an isometry constant, which lies between 0 and 1 here, to be called a fall."""


def training_and_isometry(profile: Profile, progress: Progress) -> Finding:
    """Coherence and isometry of the first block's scores before and after training."""

    def measure(network: AttentionNetwork, X: np.ndarray) -> _Measures:
        geometry = score_geometry(network, X)
        return {"coherence": geometry.coherence.mean(-1), "isometry": geometry.isometry.mean(-1)}

    return judge_isometry(*_before_and_after(profile, progress, FIRST_SEED, measure))


def judge_isometry(before: _Measures, after: _Measures, errors: np.ndarray) -> Finding:
    change = interval_if_known(after["isometry"] - before["isometry"])
    both = {"before": before, "after": after}
    points = [(name, v[name], when) for when, v in both.items() for name in ("coherence", "isometry")]
    return finding_of(
        judge_at_most(change, -_LEAST_FALL, refuted_above=0.0),
        measured=f"isometry constant of 2 columns {before['isometry'].mean():.2f} before, "
        f"{after['isometry'].mean():.2f} after (change {change.text()}); coherence "
        f"{before['coherence'].mean():.2f} before, {after['coherence'].mean():.2f} after",
        numbers={f"{n}, {when}": v[n] for when, v in both.items() for n in v},
        figures=figure_of("Scores of tokens by tokens, before and after training", points, "measure", "value", "when",
                          mark="bars"),
        premises=_learned("the test error of the trained networks", errors),
    )  # fmt: skip
