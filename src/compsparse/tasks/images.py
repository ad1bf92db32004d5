"""Images that are generated, their Gaussian twin, and targets on images that are sums over patches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from compsparse.checks import RandomState, check_count, check_flag, check_number, check_numbers, generator_from
from compsparse.errors import ConfigError
from compsparse.graph import Constituent, FunctionGraph, input_names
from compsparse.graph.formula import Apply, Argument, Constant, Formula, summed
from compsparse.graph.function_graph import Node
from compsparse.sizes import check_size, check_work
from compsparse.tasks.task import GaussianInputs, Task

# ---- motifs at random places on a smooth background -------------------------------------------------


@dataclass(frozen=True)
class MotifImages:
    """Every class has a small motif; an image shows it at random places, over a smooth background.

    What tells classes apart is local and may be anywhere, as in photographs; a single pixel says nothing.

    Attributes:
        size: pixels of a side.
        n_classes: motifs, drawn from ``random_state``.
        motif: pixels of a motif's side.
        copies: how often an image shows its motif.
        background: standard deviation of the background, beside motifs of standard deviation 1.
        smoothness: pixels over which the background is alike.
    """

    size: int = 12
    n_classes: int = 4
    motif: int = 4
    copies: int = 2
    background: float = 0.5
    smoothness: float = 1.5
    random_state: int = 0

    def __post_init__(self) -> None:
        for name in ("size", "n_classes", "motif", "copies"):
            check_count(name, getattr(self, name), most=4096)
        check_number("background", self.background, least=0)
        check_number("smoothness", self.smoothness, least=0)
        check_count("random_state", self.random_state, least=0)
        if self.motif > self.size:
            raise ConfigError(f"motifs of {self.motif} pixels do not fit into images of {self.size}")

    @property
    def motifs(self) -> np.ndarray:
        """``(n_classes, motif, motif)``, each of mean 0 and standard deviation 1."""
        drawn = np.random.default_rng(self.random_state).standard_normal((self.n_classes, self.motif, self.motif))
        centred = drawn - drawn.mean((1, 2), keepdims=True)
        return np.asarray(centred / np.maximum(centred.std((1, 2), keepdims=True), 1e-12))

    def sample(self, n: int, random_state: RandomState = None) -> tuple[np.ndarray, np.ndarray]:
        """Images ``(n, size^2)``, pixels row by row, and their classes.

        >>> X, y = MotifImages().sample(5, random_state=0)
        >>> X.shape, y.shape
        ((5, 144), (5,))
        """
        n, rng = check_count("n", n), generator_from(random_state)
        check_size(f"{n:,} images", 6.0 * n * self.size**2, "ask for fewer")
        y = rng.integers(self.n_classes, size=n)
        images = self.background * smooth_noise(n, self.size, self.smoothness, rng)
        motifs, free = self.motifs, self.size - self.motif + 1
        across = np.arange(self.motif)
        for _ in range(self.copies):
            top, left = rng.integers(free, size=(2, n))
            rows, columns = top[:, None, None] + across[:, None], left[:, None, None] + across
            images[np.arange(n)[:, None, None], rows, columns] += motifs[y]
        return images.reshape(n, -1), y


def smooth_noise(n: int, size: int, smoothness: float, random_state: RandomState = None) -> np.ndarray:
    """Gaussian fields ``(n, size, size)`` of variance 1, alike over ``smoothness`` pixels; periodic."""
    n, size = check_count("n", n), check_count("size", size, most=4096)
    check_number("smoothness", smoothness, least=0)
    check_size(f"{n:,} images", 6.0 * n * size**2, "ask for fewer")
    rng = generator_from(random_state)
    white = rng.standard_normal((n, size, size))
    frequency = np.fft.fftfreq(size)
    radius = np.hypot(frequency[:, None], frequency[None, : size // 2 + 1] if size > 1 else frequency[None, :1])
    gain = np.exp(-2 * (np.pi * smoothness * radius) ** 2)
    fields = np.fft.irfft2(np.fft.rfft2(white) * gain, (size, size))
    return np.asarray(fields / np.sqrt((np.abs(np.fft.irfft2(gain, (size, size))) ** 2).sum()))


def gaussian_twin(X: object, random_state: RandomState = None) -> np.ndarray:
    """Gaussian rows with the mean and the covariance of X, each by itself: no local feature is left.

    >>> X = np.random.default_rng(0).exponential(size=(5000, 2))
    >>> bool(abs(np.cov(gaussian_twin(X, 0).T) - np.cov(X.T)).max() < 0.1)
    True
    """
    table, rng = check_numbers("X", X, shape=(None, None)), generator_from(random_state)
    mixed = rng.standard_normal((len(table), len(table))) if len(table) < 2 * table.shape[1] else None
    if mixed is None:
        mean, covariance = table.mean(0), np.cov(table.T).reshape(table.shape[1], table.shape[1])
        values, vectors = np.linalg.eigh(covariance)
        white = rng.standard_normal((len(table), len(values)))
        return np.asarray(mean + white * np.sqrt(np.maximum(values, 0)) @ vectors.T)
    return np.asarray(table.mean(0) + mixed @ (table - table.mean(0)) / np.sqrt(max(len(table) - 1, 1)))


# ---- sums over patches: local graphs, and the same with scattered pixels ----------------------------


_MOST_PIXELS = 10_000


def patch_pixels(size: int, patch: int, stride: int | None = None) -> np.ndarray:
    """The pixels of every square patch of a square image, ``(n_patches, patch^2)``, row by row.

    >>> patch_pixels(4, 2).tolist()
    [[0, 1, 4, 5], [2, 3, 6, 7], [8, 9, 12, 13], [10, 11, 14, 15]]
    """
    size, patch = check_count("size", size), check_count("patch", patch)
    stride = patch if stride is None else check_count("stride", stride)
    check_work("the number of pixels", size**2, _MOST_PIXELS, "take a smaller image")
    if patch > size or (size - patch) % stride:
        raise ConfigError(f"patches of {patch} at stride {stride} do not cover a side of {size} exactly")
    pixels = np.arange(size**2).reshape(size, size)
    starts = range(0, size - patch + 1, stride)
    return np.array([pixels[i : i + patch, j : j + patch].ravel() for i in starts for j in starts])


def patch_sum(
    size: int = 12,
    patch: int = 3,
    noise: float = 0.0,
    random_state: RandomState = None,
    *,
    scattered: bool = False,
) -> Task:
    """Sum over disjoint patches p of abs(w_p . x_p), on white Gaussian images of ``size`` by ``size`` pixels.

    A dense network sees no trace of the patches in its inputs: only the target is local.

    Args:
        random_state: of the weights w_p.
        scattered: every pixel is moved to a random place, so that the graph is as sparse but not local.

    >>> task = patch_sum(4, 2)
    >>> task.graph.max_arity, task.graph.depth, task.sample(3, random_state=0).y.shape
    (4, 2, (3,))
    """
    rng = generator_from(random_state)
    groups = patch_pixels(size, patch)
    weights = rng.standard_normal(groups.shape)
    if check_flag("scattered", scattered):
        groups = rng.permutation(groups.size)[groups]
    names = input_names(groups.size)
    nodes = [
        Node(f"p{i}", tuple(names[j] for j in pixels), _projection(w))
        for i, (pixels, w) in enumerate(zip(groups, weights, strict=True))
    ]
    graph = FunctionGraph(names, [*nodes, Node("y", tuple(n.name for n in nodes), _sum(len(nodes)))])
    return Task("scattered sum" if scattered else "patch sum", graph, GaussianInputs(groups.size), noise)


def _projection(w: np.ndarray) -> Constituent:
    terms: list[Formula] = [Apply("mul", (Constant(float(c)), Argument(i))) for i, c in enumerate(w)]
    return Constituent.from_formula(Apply("abs", (summed(terms),)), len(w))


def _sum(arity: int) -> Constituent:
    return Constituent.from_formula(summed([Argument(i) for i in range(arity)]), arity)
