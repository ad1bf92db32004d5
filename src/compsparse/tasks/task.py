"""Tasks: targets whose function graph is known, with inputs to draw and noise to add."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from scipy import special

from compsparse.boxes import Bounds, read_box
from compsparse.checks import (
    MOST_VARIABLES,
    RandomState,
    check_count,
    check_kind,
    check_number,
    check_text,
    generator_from,
)
from compsparse.errors import ConfigError
from compsparse.graph import FunctionGraph
from compsparse.graph.function_graph import check_graph
from compsparse.sizes import check_size
from compsparse.text import in_a_line

_SCALE_SAMPLE = 20_000


@dataclass(frozen=True)
class UniformInputs:
    """Independent or equally correlated inputs, each uniform on its own interval.

    Attributes:
        bounds: (low, high) per input.
        correlation: correlation of the normal variables behind each pair of inputs (a Gaussian
            copula), from 0 to below 1.
    """

    bounds: tuple[tuple[float, float], ...]
    correlation: float = 0.0

    def __post_init__(self) -> None:
        check_number("correlation", self.correlation, least=0, below=1)
        object.__setattr__(self, "bounds", read_box(self.bounds))

    @property
    def n_inputs(self) -> int:
        """Number of inputs."""
        return len(self.bounds)

    def sample(self, n: int, random_state: RandomState = None) -> np.ndarray:
        """Draws ``n`` rows of inputs."""
        n, rng, d = check_count("n", n), generator_from(random_state), len(self.bounds)
        check_size(f"{n:,} rows", 4.0 * n * d, "ask for fewer rows")
        if self.correlation:
            rho = self.correlation
            z = np.sqrt(1 - rho) * rng.standard_normal((n, d)) + np.sqrt(rho) * rng.standard_normal((n, 1))
            unit = special.ndtr(z)
        else:
            unit = rng.random((n, d))
        low, high = np.array(self.bounds).T
        return np.asarray(low + unit * (high - low))


@dataclass(frozen=True)
class BitInputs(UniformInputs):
    """Inputs that are 0 or 1 with equal chances: uniform on [0, 1], and rounded."""

    def sample(self, n: int, random_state: RandomState = None) -> np.ndarray:
        """Draws ``n`` rows of 0 and 1."""
        return (super().sample(n, random_state) >= 0.5).astype(float)


@dataclass(frozen=True)
class GaussianInputs:
    """Independent standard normal inputs."""

    n_inputs: int

    def __post_init__(self) -> None:
        check_count("n_inputs", self.n_inputs, most=MOST_VARIABLES)

    def sample(self, n: int, random_state: RandomState = None) -> np.ndarray:
        """Draws ``n`` rows of inputs."""
        n, rng = check_count("n", n), generator_from(random_state)
        check_size(f"{n:,} rows", 4.0 * n * self.n_inputs, "ask for fewer rows")
        return rng.standard_normal((n, self.n_inputs))


@in_a_line
@dataclass(frozen=True)
class Sample:
    """Inputs, observed targets, and the targets before noise."""

    X: np.ndarray
    y: np.ndarray
    clean: np.ndarray


@in_a_line
@dataclass(frozen=True)
class Task:
    """A function with a known graph, a distribution of inputs, and a noise level.

    Attributes:
        graph: the true function graph, with its constituents.
        noise: standard deviation of Gaussian noise, as a share of the clean target's.

    >>> from compsparse.tasks import tanh_tree
    >>> sample = tanh_tree().sample(5, random_state=0)
    >>> sample.X.shape, sample.y.shape
    ((5, 8), (5,))
    """

    name: str
    graph: FunctionGraph
    inputs: UniformInputs | GaussianInputs
    noise: float = 0.0

    def __post_init__(self) -> None:
        check_text("the name of a task", self.name)
        check_graph("graph", self.graph)
        if not isinstance(self.inputs, GaussianInputs):
            check_kind("inputs", self.inputs, UniformInputs)
        check_number("noise", self.noise, least=0)
        if self.inputs.n_inputs != self.graph.n_inputs:
            raise ConfigError(f"{self.graph.n_inputs} inputs need as many bounds, got {self.inputs.n_inputs}")
        if not self.graph.has_functions:
            raise ConfigError(f"task {self.name!r} needs a graph whose constituents are known")

    def sample(self, n: int, random_state: RandomState = None) -> Sample:
        """Draws ``n`` rows; the same seed gives the same rows, whatever the noise level."""
        rng = generator_from(random_state)
        n = check_count("n", n)
        most = max(self.graph.n_inputs, len(self.graph.outputs))
        check_size(f"{n:,} rows", 6.0 * n * most, "ask for fewer rows")
        X = self.inputs.sample(n, rng)
        clean = self.graph(X)
        noise = rng.standard_normal(clean.shape)
        return Sample(X, clean + self.noise * self.scale * noise, clean)

    @property
    def scale(self) -> np.ndarray:
        """Standard deviation of the clean target, per output."""
        return _scale(self.graph, self.inputs)

    def with_noise(self, noise: float) -> Task:
        """The same task with another noise level."""
        return replace(self, noise=noise)

    def with_correlation(self, correlation: float) -> Task:
        """The same task with correlated inputs; see :class:`UniformInputs`."""
        if not isinstance(self.inputs, UniformInputs):
            raise ConfigError(f"the inputs of task {self.name!r} are Gaussian: only uniform ones can be correlated")
        return replace(self, inputs=replace(self.inputs, correlation=correlation))


@lru_cache(maxsize=128)
def _scale(graph: FunctionGraph, inputs: UniformInputs | GaussianInputs) -> np.ndarray:
    return np.asarray(graph(inputs.sample(_SCALE_SAMPLE, 0)).std(axis=0))


def box(d: int, low: float = -1.0, high: float = 1.0) -> UniformInputs:
    """Independent inputs, uniform on one interval."""
    d = check_count("d", d, most=MOST_VARIABLES)
    return UniformInputs(((low, high),) * d)


def fair_bits(d: int) -> BitInputs:
    """Independent inputs, 0 or 1."""
    d = check_count("d", d, most=MOST_VARIABLES)
    return BitInputs(((0.0, 1.0),) * d)


def on(bounds: Bounds) -> UniformInputs:
    """Independent inputs, each uniform on its own interval."""
    return UniformInputs(read_box(bounds))
