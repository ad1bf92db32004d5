"""The rows of a task as tables of the world have them: correlated, skewed, on few levels, with noise of other kinds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from compsparse.graph import FunctionGraph
from compsparse.tasks import Sample, Task

CORRELATION, LEVELS, GROWTH, DEGREES, TAILS, MUCH = 0.5, 8, 0.1, 2.5, 0.05, 0.2
N_FURTHER, N_ALIKE, ALIKE = 15, 8, 0.7

Rows = Callable[[Task, int, np.random.Generator], Sample]


def _of(task: Task, X: np.ndarray, noise: np.ndarray) -> Sample:
    clean = task.graph(X)
    return Sample(X, clean + task.noise * clean.std() * noise, clean)


def skewed(task: Task, n: int, rng: np.random.Generator) -> Sample:
    """Most rows near the lower end of every input."""
    low, high = np.array(task.inputs.bounds).T
    return _of(task, low + (high - low) * rng.random((n, len(low))) ** 3, rng.standard_normal(n))


def on_levels(task: Task, n: int, rng: np.random.Generator) -> Sample:
    """Every second input on eight levels."""
    low, high = np.array(task.inputs.bounds).T
    share = rng.random((n, len(low)))
    share[:, ::2] = (np.floor(LEVELS * share[:, ::2]) + 0.5) / LEVELS
    return _of(task, low + (high - low) * share, rng.standard_normal(n))


def growing(task: Task, n: int, rng: np.random.Generator) -> Sample:
    """Errors of a tenth of the answer."""
    sample = task.sample(n, rng)
    return replace(sample, y=sample.clean * (1 + GROWTH * rng.standard_normal(sample.clean.shape)))


def heavy_tailed(task: Task, n: int, rng: np.random.Generator) -> Sample:
    """Errors of Student's law with 2.5 degrees of freedom."""
    sample = task.sample(n, rng)
    return replace(sample, y=sample.clean + TAILS * sample.clean.std() * rng.standard_t(DEGREES, sample.clean.shape))


def with_further_columns(task: Task, n: int, rng: np.random.Generator) -> Sample:
    """Fifteen columns that do nothing, eight of them correlated with inputs that act."""
    sample = task.sample(n, rng)
    further = rng.standard_normal((n, N_FURTHER))
    like = sample.X[:, np.arange(N_ALIKE) % sample.X.shape[1]]
    further[:, :N_ALIKE] *= np.sqrt(1 - ALIKE**2)
    further[:, :N_ALIKE] += ALIKE * (like - like.mean(0)) / like.std(0)
    return replace(sample, X=np.concatenate([sample.X, further], axis=1))


DISTORTIONS: dict[str, Rows] = {
    "none": lambda task, n, rng: task.sample(n, rng),
    "correlated": lambda task, n, rng: task.with_correlation(CORRELATION).sample(n, rng),
    "skewed": skewed,
    "levels": on_levels,
    "growing": growing,
    "tails": heavy_tailed,
    "much noise": lambda task, n, rng: task.with_noise(MUCH).sample(n, rng),
    "columns": with_further_columns,
}


def graph_of(task: Task, distortion: str) -> FunctionGraph:
    """The true graph, over the further columns too where there are any."""
    if distortion != "columns":
        return task.graph
    further = [f"further {i}" for i in range(N_FURTHER)]
    return FunctionGraph([*task.graph.inputs, *further], task.graph.nodes, task.graph.outputs)
