"""Does attention select the variables that a function reads, and when does it not?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import get_args

import numpy as np
import torch

from compsparse.claims.claim import Profile
from compsparse.claims.declared import Measured
from compsparse.claims.seeds import FIRST_SEED, TEST_SEED
from compsparse.claims.shapes import each, figure_of, seen
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
    score_metric_share,
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


# ---- selection ----------------------------------------------------------------------------------


def selects_the_support(profile: Profile, progress: Progress) -> Measured:
    """Precision on parities and juntas of three tokens among sixteen, softmax."""
    n_seeds = 5 if profile == "quick" else 20
    tasks = {
        "parity of 3": token_parity(_TOKENS, 3, random_state=FIRST_SEED),
        "junta of 3": token_junta(_TOKENS, 3, random_state=FIRST_SEED + 1),
    }
    runs = {name: _trained(tasks[name], n_seeds, 500) for name in each(tasks, progress)}
    values: dict[str, np.ndarray] = {}
    for name, run in runs.items():
        found, used = run.measures(), ablation(run.network, run.X, FIRST_SEED)
        values |= {
            f"precision, {name}": found.precision[:, 0], f"error, {name}": run.errors, f"mass, {name}": found.mass,
            f"AUROC, {name}": found.auroc, f"tokens with weight, {name}": found.non_zeros,
            f"ablation AUROC, {name}": edge_auroc(used, ancestor_matrix(run.task.graph)),
        }  # fmt: skip
    return Measured(values, (_weights_figure(runs),), seen(values, "mass", "AUROC", "tokens with weight"))


def _weights_figure(runs: dict[str, _Run]) -> Figure:
    weights = {name: mean_attention(run.network, run.X)[:, 0] for name, run in runs.items()}
    points = [
        (i, weights[name][:, i], f"{name}, which reads {', '.join(map(str, run.task.support))}")
        for name, run in runs.items()
        for i in range(run.task.n_tokens)
    ]
    return figure_of("Where the output's query looks", points, "token", "weight", "function", mark="bars",
                     y_title="attention weight (mean, range over seeds)")  # fmt: skip


def flat_parity_fails(profile: Profile, progress: Progress) -> Measured:
    """The case that does not work: a parity of six, with no steps in between."""
    n_seeds, n_steps = (5, 1000) if profile == "quick" else (10, 20_000)
    run = _trained(token_parity(_TOKENS, 6, random_state=FIRST_SEED), n_seeds, n_steps)
    progress.update(1, 2, "parity of 6")
    # the same network, rate and data learn an easier parity in at most half of the steps, or they could learn none
    control = _trained(token_parity(_TOKENS, 3, random_state=FIRST_SEED), n_seeds, min(n_steps // 2, 500))
    progress.update(2, 2, "parity of 3")
    found = run.measures()
    values = {"error": run.errors, "precision": found.precision[:, 0], "mass": found.mass, "control": control.errors}
    return Measured(
        values, also=seen(values, "precision", "mass", "control"),
        expected=f"the parity of 6 among 16 stays at chance for {n_steps} steps, at least twice the steps that the "
        "parity of 3 takes: test error at least 0.4 by the 95% interval over seeds; refuted if all of it is below 0.1",
    )  # fmt: skip


def entmax_is_sparse(profile: Profile, progress: Progress) -> Measured:
    """Mass and non-zeros of entmax 1.5 beside softmax on the parity of three."""
    return _selections(("softmax", "sparsemax", "entmax15"), profile, progress)


def threshold_is_sparse(profile: Profile, progress: Progress) -> Measured:
    """The same of scores above zero, normalised."""
    return _selections(("softmax", "relu"), profile, progress)


def _selections(names: tuple[str, ...], profile: Profile, progress: Progress) -> Measured:
    n_seeds = 5 if profile == "quick" else 20
    task = token_parity(_TOKENS, 3, random_state=FIRST_SEED)
    values: dict[str, np.ndarray] = {}
    points = []
    for name in each(names, progress):
        run = _trained(task, n_seeds, 500, selection=name)
        found = run.measures()
        values |= {
            f"mass, {name}": found.mass[:, 0], f"tokens with weight, {name}": found.non_zeros[:, 0],
            f"error, {name}": run.errors,
        }  # fmt: skip
        points += [(name, found.non_zeros, "tokens with weight"), (name, found.effective_tokens, "exp(entropy)")]
    figure = figure_of("How many tokens are attended to", points, "selection", "value", "figure", mark="bars",
                       y_title="tokens of 16 (mean, range over seeds)")  # fmt: skip
    return Measured(values, (figure,), seen(values, "mass", "tokens with weight"))


# ---- composition --------------------------------------------------------------------------------


def thoughts_make_parity_learnable(profile: Profile, progress: Progress) -> Measured:
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
    values = {"error at once": flat.errors, "error in steps": errors, "edge AUROC": edges}
    figures = (
        figure_of(f"Parity of {k}, answered at once and in steps", [("at once", flat.errors), ("in steps", errors)],
                  "answers", "error", mark="bars", y_title="test error (mean, range over seeds)"),
        Figure("What every step attends to", tuple(_cells(weights.mean(0))), "token", "step", mark="heat",
               value="weight", x_title=f"token (0 to {_TOKENS - 1}: inputs, then the answers of steps 1, 2, ...)"),
    )  # fmt: skip
    expected = (
        f"after {n_steps} steps of training the parity of {k} among 16 is at chance when it is answered at once "
        "(error at least 0.4) and learned when it is answered in steps of two variables that later steps read (error "
        "at most 0.05, steps being the network's own), by the 95% intervals over seeds; refuted if all of the first "
        "is below 0.1 or all of the second above 0.4"
    )
    return Measured(values, figures, seen(values, "edge AUROC"), expected=expected)


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


def _cells(weights: np.ndarray) -> list[dict[str, float]]:
    """The mean weights (steps, tokens) as cells of a grid."""
    return [
        {"token": token, "step": step + 1, "weight": float(weight)}
        for step, row in enumerate(weights)
        for token, weight in enumerate(row)
    ]


def rollout_finds_ancestors(profile: Profile, progress: Progress) -> Measured:
    """Rollout over two layers against the ancestors of a tree of gates."""
    n_seeds, n_steps = (5, 500) if profile == "quick" else (10, 3000)
    found: list[tuple[np.ndarray, ...]] = []
    for seed in each(range(2 if profile == "quick" else 5), progress, "tree {}"):
        task = token_gates(12, 4, random_state=FIRST_SEED + seed)
        run = _trained(task, n_seeds, n_steps, n_layers=2, rows=4000, width=32, batch_size=64, learning_rate=3e-3)
        truth = ancestor_matrix(task.graph)
        by_ablation = edge_auroc(ablation(run.network, run.X[:500], FIRST_SEED), truth)
        found.append((edge_auroc(rollout(run.network, run.X[:500]), truth), by_ablation, run.errors))
    names = ("rollout", "ablation", "error")
    values = {name: np.concatenate(part) for name, part in zip(names, zip(*found, strict=True), strict=True)}
    points = [(f"{i + 1}", part[k], names[k]) for i, part in enumerate(found) for k in (0, 1)]
    figure = figure_of("Ancestors of the output, by rollout and by ablation", points, "tree", "AUROC", "by",
                       mark="bars")  # fmt: skip
    return Measured(values, (figure,), seen(values, "ablation", "error"))


def attends_to_siblings(profile: Profile, progress: Progress) -> Measured:
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
    after, chance = sibling_mass(network, test.X[:500], model.s), 1 / (model.n_inputs - 1)
    values = {"before": before, "mass on siblings": after, "error": (answers != test.y).mean(1), "chance": chance}
    figure = figure_of(
        "Attention inside a tuple of the hierarchy", [("before", before), ("after", after)], "when", "mass",
        mark="bars", y_title=f"share of attention on siblings (chance {chance:.2f})",
    )  # fmt: skip
    return Measured(values, (figure,), seen(values, "before", "chance", "error"))


# ---- blocks and geometry ------------------------------------------------------------------------


def parallel_is_as_good(profile: Profile, progress: Progress) -> Measured:
    """Both forms of the block on juntas, with equally many steps."""
    n_seeds, n_tasks = (4, 2) if profile == "quick" else (5, 10)
    errors: dict[str, list[float]] = {"sequential": [], "parallel": [], "printed": []}
    for seed, form in each(product(range(n_tasks), get_args(BlockForm)), progress, "junta {}, {}"):
        task = token_junta(12, 3, random_state=FIRST_SEED + 100 + seed)
        run = _trained(task, n_seeds, 300, n_layers=2, rows=100, width=32, batch_size=64, form=form,
                       learning_rate=2e-3)  # fmt: skip
        errors[form] += run.errors.tolist()
    figure = figure_of("Three forms of the block", errors.items(), "form", "error", mark="bars",
                       y_title="test error (mean, range over tasks and seeds)")  # fmt: skip
    return Measured(errors, (figure,), seen(errors, *errors))


_Measures = dict[str, np.ndarray]
"""By name, one number per network: means over heads."""


def _before_and_after(
    title: str, profile: Profile, progress: Progress, first: int,
    measure: Callable[[AttentionNetwork, np.ndarray], _Measures],
) -> Measured:  # fmt: skip
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
    values = {
        f"{name} {when}": np.concatenate([m[name] for m in part])
        for when, part in zip(("before", "after"), found, strict=True)
        for name in part[0]
    }
    points = [(name.rpartition(" ")[0], of_seeds, name.rpartition(" ")[2]) for name, of_seeds in values.items()]
    figure = figure_of(title, points, "measure", "value", "when", mark="bars", y_title="value (mean, range)")
    return Measured(values | {"error": np.concatenate(errors)}, (figure,), seen(values, *values))


def learns_a_metric(profile: Profile, progress: Progress) -> Measured:
    """How much of the first block's forms is a metric, before and after training."""

    def measure(network: AttentionNetwork, X: np.ndarray) -> _Measures:
        return {"share of a metric": score_metric_share(network).mean(1), "symmetric": score_symmetry(network).mean(1)}

    return _before_and_after("How much of the learned form is a metric", profile, progress, FIRST_SEED + 50, measure)


def training_and_isometry(profile: Profile, progress: Progress) -> Measured:
    """Coherence and isometry of the first block's scores before and after training."""

    def measure(network: AttentionNetwork, X: np.ndarray) -> _Measures:
        geometry = score_geometry(network, X)
        return {"coherence": geometry.coherence.mean(-1), "isometry": geometry.isometry.mean(-1)}

    title = "Scores of tokens by tokens, before and after training"
    return _before_and_after(title, profile, progress, FIRST_SEED, measure)
