"""Images that are generated: motifs at random places on a smooth background, and their Gaussian twin."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from compsparse.checks import RandomState, check_count, check_number, check_numbers, generator_from
from compsparse.errors import ConfigError
from compsparse.sizes import check_size


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
