"""Dictionaries: d x n matrices of unit columns, from random to as incoherent as can be."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from compsparse.checks import RandomState, check_count, check_flag, check_numbers, generator_from
from compsparse.errors import ConfigError, DataError
from compsparse.sizes import check_size, check_work

_ROUNDS = 2000
_LARGEST_FRAME = 10_000


def check_dictionary(W: ArrayLike, *, unit: bool = False) -> np.ndarray:
    """The dictionary as a (d, n) array of float64, if it is one.

    Args:
        unit: whether columns must have norm 1.
    """
    check_flag("unit", unit)
    array = np.array(check_numbers("a dictionary", W, finite=False, form="a table of numbers"))
    if array.ndim != 2 or 0 in array.shape:
        raise DataError(f"a dictionary must be a table of d rows and n columns, got shape {array.shape}")
    if not np.isfinite(array).all():
        column = int(np.argwhere(~np.isfinite(array))[0, 1])
        raise DataError(f"the dictionary holds NaN or infinite values, first in column {column}")
    norms = np.linalg.norm(array, axis=0)
    if not norms.all():
        raise DataError(f"column {int(np.argmin(norms))} of the dictionary is zero: no code can use it; leave it out")
    if unit and not np.allclose(norms, 1, atol=1e-6):
        worst = int(np.argmax(np.abs(norms - 1)))
        raise DataError(
            f"column {worst} of the dictionary has norm {norms[worst]:.4g}, not 1: "
            "divide W by np.linalg.norm(W, axis=0)"
        )
    return array


def gaussian_dictionary(d: int, n: int, random_state: RandomState = None) -> np.ndarray:
    """Independent directions, uniform on the sphere.

    >>> gaussian_dictionary(8, 20, random_state=0).shape
    (8, 20)
    """
    d, n = _sizes(d, n)
    check_size(f"{n:,} columns of {d:,} numbers", 3.0 * d * n, "ask for a smaller dictionary")
    W = generator_from(random_state).standard_normal((d, n))
    return np.asarray(W / np.linalg.norm(W, axis=0))


def spikes_and_hadamard(d: int) -> np.ndarray:
    """The d unit vectors beside the columns of a Hadamard matrix: 2d columns of coherence 1/sqrt(d)."""
    from scipy.linalg import hadamard

    d = check_count("d", d)
    check_size(f"{2 * d:,} columns of {d:,} numbers", 6.0 * d * d, "ask for a smaller dictionary")
    if d & (d - 1):
        raise ConfigError(f"Hadamard matrices are made for powers of two, got d = {d}; spikes_and_dct takes any d")
    return np.hstack([np.eye(d), hadamard(d) / math.sqrt(d)])


def spikes_and_dct(d: int) -> np.ndarray:
    """The d unit vectors beside the cosines of the DCT: 2d columns of coherence at most sqrt(2/d)."""
    from scipy.fft import dct

    d = check_count("d", d)
    check_size(f"{2 * d:,} columns of {d:,} numbers", 6.0 * d * d, "ask for a smaller dictionary")
    return np.hstack([np.eye(d), dct(np.eye(d), axis=1, norm="ortho")])


def welch_bound(d: int, n: int) -> float:
    """The least coherence that n unit vectors in d dimensions can have; only equiangular frames reach it.

    >>> round(welch_bound(3, 6), 4)
    0.4472
    """
    d, n = _sizes(d, n)
    return 0.0 if n <= d else math.sqrt((n - d) / (d * (n - 1)))


def equiangular_frame(d: int, n: int, *, approximate: bool = False, random_state: RandomState = None) -> np.ndarray:
    """n unit vectors in d dimensions, any two at the same angle, that meet the Welch bound.

    Known here: simplices (n = d + 1), Paley conference graphs (n = 2d with n - 1 a prime, or the square of
    one, that leaves 1 when divided by 4), Steiner systems of pairs and of lines over two elements (6 x 16,
    28 x 64, 7 x 28, 35 x 120, …), and the complement of each (n - d instead of d).

    Args:
        approximate: where none is known, a frame near the bound by alternating projection
            (Tropp, Dhillon, Heath and Strohmer 2005); its angles differ.
        random_state: seed of that search.

    >>> W = equiangular_frame(3, 6)
    >>> np.round(abs(W.T @ W) - np.eye(6), 3).max()
    np.float64(0.447)
    """
    d, n = _sizes(d, n)
    check_flag("approximate", approximate)
    check_work("the number of vectors of a frame", n, _LARGEST_FRAME, "ask for fewer")
    if n <= d:
        raise ConfigError(f"an equiangular frame has more vectors than dimensions, got d = {d} and n = {n}")
    frame = _known_frame(d, n)
    if frame is not None:
        return frame
    other = _known_frame(n - d, n)
    if other is not None:
        return _from_gram((np.eye(n) - (n - d) / n * (other.T @ other)) * n / d, d)
    if approximate:
        return _near_equiangular(d, n, generator_from(random_state))
    raise ConfigError(
        f"no equiangular frame of {n} vectors in {d} dimensions is known here (there may be none); "
        "approximate=True looks for one with angles nearly equal"
    )


def _sizes(d: int, n: int) -> tuple[int, int]:
    return check_count("d", d), check_count("n", n)


# ---- constructions -----------------------------------------------------------------------


def _known_frame(d: int, n: int) -> np.ndarray | None:
    if n == d + 1:
        return _from_gram(((d + 1) * np.eye(n) - 1) / d, d)
    if n == 2 * d and (conference := _paley_conference(n - 1)) is not None:
        return _from_gram(np.eye(n) + conference / math.sqrt(n - 1), d)
    blocks = _steiner_blocks(d, n)
    return None if blocks is None else _steiner_frame(blocks)


def _from_gram(gram: np.ndarray, d: int) -> np.ndarray:
    """The d-dimensional vectors with these inner products."""
    values, vectors = np.linalg.eigh(gram)
    frame = (vectors[:, -d:] * np.sqrt(np.maximum(values[-d:], 0))).T
    return np.asarray(frame / np.linalg.norm(frame, axis=0))


def _paley_conference(q: int) -> np.ndarray | None:
    """The symmetric conference matrix of order q + 1, for q = 1 mod 4 a prime or the square of one."""
    root = math.isqrt(q)
    square = root * root == q and _is_prime(root) and root > 2
    if q % 4 != 1 or not (square or _is_prime(q)):
        return None
    p, elements = (
        (root, [(a, b) for a in range(root) for b in range(root)]) if square else (q, [(a, 0) for a in range(q)])
    )
    # the field of p^2 elements is a + b sqrt(s), s not a square modulo p
    s = next(x for x in range(2, p) if pow(x, (p - 1) // 2, p) == p - 1) if p > 2 else 0
    squares = {((a * a + s * b * b) % p, 2 * a * b % p) for a, b in elements} - {(0, 0)}
    chi = {e: 0 if e == (0, 0) else (1 if e in squares else -1) for e in elements}
    C = np.ones((q + 1, q + 1))
    C[1:, 1:] = [[chi[(a - c) % p, (b - e) % p] for c, e in elements] for a, b in elements]
    np.fill_diagonal(C, 0)
    return C


def _is_prime(q: int) -> bool:
    return q > 1 and all(q % f for f in range(2, math.isqrt(q) + 1))


def _steiner_blocks(d: int, n: int) -> list[tuple[int, ...]] | None:
    """A Steiner system whose d blocks meet each of v points r times, n = v (r + 1), r + 1 a power of two."""
    v = math.isqrt(n)
    if v * v == n and v > 2 and v & (v - 1) == 0 and 2 * d == v * (v - 1):
        return list(combinations(range(v), 2))
    # lines of the projective space over two elements: {a, b, a xor b}
    for bits in range(3, 12):
        points = 2**bits - 1
        if n == points * 2 ** (bits - 1) and 6 * d == points * (points - 1):
            return [(a - 1, b - 1, (a ^ b) - 1) for a, b in combinations(range(1, points + 1), 2) if b < a ^ b]
    return None


def _steiner_frame(blocks: list[tuple[int, ...]]) -> np.ndarray:
    """Each point's blocks carry the rows of a Hadamard matrix (Fickus, Mixon and Tremain 2012)."""
    from scipy.linalg import hadamard

    v = 1 + max(max(block) for block in blocks)
    meets: list[list[int]] = [[] for _ in range(v)]
    for i, block in enumerate(blocks):
        for point in block:
            meets[point].append(i)
    r = len(meets[0])
    rows = hadamard(r + 1)[1:] / math.sqrt(r)
    frame = np.zeros((len(blocks), v * (r + 1)))
    for point, places in enumerate(meets):
        frame[places, point * (r + 1) : (point + 1) * (r + 1)] = rows
    return frame


def _near_equiangular(d: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """Projects in turn on Gram matrices of small entries and on those of tight frames; keeps the least coherent."""
    bound = welch_bound(d, n)
    frame = gaussian_dictionary(d, n, rng)
    best, least = frame, math.inf
    for _ in range(_ROUNDS):
        gram = frame.T @ frame
        mu = float(np.abs(gram - np.diag(np.diag(gram))).max())
        if mu < least:
            best, least = frame, mu
        gram = np.clip(gram, -bound, bound)
        np.fill_diagonal(gram, 1.0)
        frame = _from_gram(gram, d)
    return best
