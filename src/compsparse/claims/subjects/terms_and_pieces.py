"""What is kept of an expansion, dictionaries that are learned, and how many straight pieces depth makes."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np
from scipy.fft import dct, idct

from compsparse.claims.claim import Profile
from compsparse.claims.declared import Measured
from compsparse.claims.seeds import FIRST_SEED
from compsparse.claims.shapes import each, figure_of, seen
from compsparse.construct.self_similar import hat_network
from compsparse.progress import Progress
from compsparse.representations.classical import haar, inverse_haar
from compsparse.sparse import SparseCodes, gaussian_dictionary, learn_dictionary, matched_atoms, omp

# ---- best terms against first terms ----------------------------------------------------------------

_KEPT = (64, 128, 256, 512, 1024)
_FIRST = FIRST_SEED + 100
"""Eight functions of the seeds before were looked at when the numbers of terms were settled."""


def best_terms(profile: Profile, progress: Progress) -> Measured:
    """Exponents of the L2 error in the number of terms kept, on functions with jumps and on smooth ones."""
    n_seeds, size = (24, 2**14) if profile == "quick" else (64, 2**16)
    errors: dict[str, list[np.ndarray]] = {}
    for seed, kind in each([(s, k) for s in range(n_seeds) for k in ("jumps", "smooth")], progress, "seed {}, {}"):
        f = _function(kind, size, np.random.default_rng([_FIRST, seed]))
        ways: dict[str, tuple[np.ndarray, Callable[[np.ndarray], np.ndarray], bool]] = {
            "first Haar terms": (haar(f), inverse_haar, False),
            "best Haar terms": (haar(f), inverse_haar, True),
            "first cosines": (dct(f, norm="ortho"), _cosines, False),
        }
        for name, (terms, back, best) in ways.items():
            found = [_left_out(f, terms, back, k, best) for k in _KEPT]
            errors.setdefault(f"{name}, {kind}", []).append(np.array(found))
    slopes = {name: np.array([np.polyfit(np.log(_KEPT), np.log(e), 1)[0] for e in es]) for name, es in errors.items()}
    points = [
        (k, float(e), name) for name, es in errors.items() for k, e in zip(_KEPT, np.mean(es, axis=0), strict=True)
    ]
    figure = figure_of("Error of what is kept", points, "terms", "error", "terms kept", log_x=True, log_y=True)
    return Measured(slopes, (figure,))


def _function(kind: str, size: int, rng: np.random.Generator) -> np.ndarray:
    """A sum of a few slow waves, with four jumps at random places or none."""
    x = (np.arange(size) + 0.5) / size
    f = sum(rng.normal() * np.sin(2 * np.pi * k * x + rng.uniform(0, 7)) for k in (1, 2, 3))
    if kind == "jumps":
        f = f + sum(2 * rng.normal() * (x > place) for place in rng.uniform(0.05, 0.95, 4))
    return np.asarray(f)


def _cosines(terms: np.ndarray) -> np.ndarray:
    return np.asarray(idct(terms, norm="ortho"))


def _left_out(f: np.ndarray, terms: np.ndarray, back: Callable[[np.ndarray], np.ndarray], k: int, best: bool) -> float:
    chosen = np.argsort(-np.abs(terms))[:k] if best else np.arange(k)
    kept = np.zeros_like(terms)
    kept[chosen] = terms[chosen]
    return float(np.linalg.norm(back(kept) - f) / np.linalg.norm(f))


# ---- a dictionary that is learned --------------------------------------------------------------------


def planted_dictionary(profile: Profile, progress: Progress) -> Measured:
    """Atoms that are found again from signals alone, beside those of scikit-learn and of signals without atoms."""
    d, n, k, rows, seeds = (16, 24, 3, 1500, 3) if profile == "quick" else (32, 64, 4, 8000, 5)
    found: dict[str, list[float]] = {"ours": [], "scikit-learn": [], "signals without atoms": []}
    for seed in each(range(FIRST_SEED, FIRST_SEED + seeds), progress, "seed {}"):
        W = gaussian_dictionary(d, n, random_state=seed)
        X = SparseCodes(W, k, noise=0.02).sample(rows, random_state=seed).X
        noise = np.random.default_rng(seed).standard_normal(X.shape)
        found["ours"].append(matched_atoms(learn_dictionary(X, n, k, random_state=seed).dictionary, W))
        without = learn_dictionary(noise, n, k, n_iterations=5, random_state=seed).dictionary
        found["signals without atoms"].append(matched_atoms(without, W))
        found["scikit-learn"].append(matched_atoms(_by_scikit_learn(X, n, k, seed), W))
    figure = figure_of("Atoms found again", found.items(), "by", "share", mark="bars")
    return Measured({name: np.array(v) for name, v in found.items()}, (figure,), seen(found, "scikit-learn"))


def _by_scikit_learn(X: np.ndarray, n: int, k: int, seed: int) -> np.ndarray:
    from sklearn.decomposition import MiniBatchDictionaryLearning

    model = MiniBatchDictionaryLearning(
        n, transform_algorithm="omp", transform_n_nonzero_coefs=k, batch_size=100, max_iter=60, random_state=seed
    )
    return np.asarray(model.fit(X).components_.T)


def atoms_of_digits(profile: Profile, progress: Progress) -> Measured:
    """What few atoms leave of fresh digits: learned ones, cosines and principal components."""
    k, seeds = 5, 3 if profile == "quick" else 8
    errors: dict[str, list[float]] = {"learned": [], "cosines": [], "principal": []}
    for seed in each(range(FIRST_SEED, FIRST_SEED + seeds), progress, "split {}"):
        fit, fresh = _digits(seed)
        atoms = learn_dictionary(fit, 128, k, n_iterations=10, random_state=seed).dictionary
        cosine = dct(np.eye(8), norm="ortho").T
        principal = np.linalg.svd(fit, full_matrices=False)[2].T
        for name, W in {"learned": atoms, "cosines": np.kron(cosine, cosine), "principal": principal}.items():
            codes = omp(fresh, W, n_nonzero=k).codes
            errors[name].append(float(np.mean((fresh - codes @ W.T) ** 2) / np.mean(fresh**2)))
    figure = figure_of(f"What {k} atoms leave of a digit", errors.items(), "atoms", "share left", mark="bars")
    return Measured({name: np.array(v) for name, v in errors.items()}, (figure,), seen(errors, *errors))


def _digits(seed: int) -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import load_digits

    X = load_digits().data / 16.0
    X = X[np.random.default_rng(seed).permutation(len(X))]
    X = X - X[:1300].mean(0)
    return X[:1300], X[1300:]


# ---- straight pieces ---------------------------------------------------------------------------------


def depth_makes_pieces(profile: Profile, progress: Progress) -> Measured:
    """Straight pieces of hat networks and of random networks, and what few pieces leave of many teeth."""
    depths = (2, 4, 6, 8, 10) if profile == "quick" else (2, 4, 6, 8, 10, 12, 14)
    values: dict[str, float] = {}
    points: list[tuple[float, float, str]] = []
    for m in each(depths, progress, "{} layers"):
        network = hat_network(m)
        x = np.linspace(0, 1, 2 ** (m + 2) + 1)
        pieces = count_pieces(x, network.values(x[:, None])[:, 0])
        units = network.size.units
        values[f"pieces over 2^m, m={m}"] = pieces / 2**m
        values[f"wrong by one layer of as many units, m={m}"] = least_wrong(2**m, units + 1)
        points += [(units, pieces, "hats"), (units, units + 1, "one layer at most")]
    rng = np.random.default_rng(FIRST_SEED)
    shares = [_random_pieces(rng, width, depth) for width in (4, 8, 16) for depth in (1, 2, 3)]
    values["pieces of random networks over the bound"] = max(shares)
    figure = figure_of("Straight pieces", points, "units", "pieces", "network", log_y=True)
    return Measured(values, (figure,), seen(values, "pieces of random networks over the bound"))


def count_pieces(x: np.ndarray, y: np.ndarray) -> int:
    """Straight pieces of values at even places that hold all its kinks, or of a function seen so finely.

    >>> count_pieces(np.linspace(0, 1, 5), np.array([0, 1, 2, 1, 0]))
    2
    """
    slopes = np.diff(y) / np.diff(x)
    return 1 + int((np.abs(np.diff(slopes)) > 1e-6 * np.abs(slopes).max()).sum())


def least_wrong(n_teeth: int, n_pieces: int) -> float:
    """The least share of so many points in alternate classes that the sign of so many straight pieces gets wrong.

    Each piece changes its sign once at most and so does each of its ends, so that there are at most 2p runs of one
    sign; a run of r points has half of them, rounded down, wrong (Telgarsky 2016).

    >>> least_wrong(8, 1), least_wrong(8, 4)
    (0.375, 0.0)
    """
    runs = min(2 * n_pieces, n_teeth)
    return ((n_teeth - runs) // 2) / n_teeth


def _random_pieces(rng: np.random.Generator, width: int, depth: int) -> float:
    """Pieces of a random network on a line over the bound: the product of (width + 1)."""
    x = np.linspace(-3, 3, 200_001)
    hidden = x[:, None]
    for _ in range(depth):
        W = rng.standard_normal((hidden.shape[1], width)) / math.sqrt(hidden.shape[1])
        hidden = np.maximum(hidden @ W + rng.standard_normal(width), 0)
    states = (hidden > 0) @ rng.standard_normal(width)
    pieces = 1 + sum(a != b for a, b in pairwise(states.tolist()))
    return float(pieces / (width + 1) ** depth)
