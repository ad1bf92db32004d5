"""Groups of inputs: products of powers, or weighted sums, through which alone a function acts on them.

If f = F(p, q, …) with p, q, … products of powers of x, the slopes of f along log x span the exponents of p, q, … at all
points; the weights of sums are spanned by the slopes along x itself. So the number of groups is a rank, and the space
of their exponents is known, though no single basis of it. The basis that is shown has the groups of fewest inputs,
then those of smallest whole exponents. Where f = p F(q, …), the slopes of log f less their mean span the exponents of
q, … alone: p is told from the other groups.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np

from compsparse.discovery.structure.forest import Members
from compsparse.discovery.structure.groups import LARGEST_DENOMINATOR, FoundGroups, GroupForm, InputGroup
from compsparse.discovery.structure.units import Dimension, unit_of
from compsparse.graph.modules import ModuleTree

SURELY_ACTS = 5.0
"""Sign of the last group, in units of the largest that passes for none, from which it is surely there."""
MOST_UNSEEN = 0.15
"""Share of the slopes that a further group must not have had unseen for the others to be claimed."""
ZERO, WITHIN = 4.0, 3.0
"""Errors up to which an exponent is none, and within which it is rounded."""
MOST_UNSURE = 0.12
"""Largest error of an exponent that is rounded: beyond it, most numbers would be near some fraction."""
LEAST_ERROR = 1e-3
"""Of an exponent, relative to the largest: what errors of a slope leave out, such as those of long differences."""
LARGEST_EXPONENT = 6
"""Of whole exponents: larger ones are some fraction that happened to be near."""
SMALL_EXPONENTS, MOST_VECTORS = (3, 2, 1), 600_000
"""Sizes of whole exponents that are all tried, the largest first that makes no more vectors than this."""
MOST_GROUPED = 12
"""Inputs up to which bases are compared."""


@dataclass(frozen=True, eq=False)
class SampledSlopes:
    """SampledSlopes of a function at some points, and how they may differ from what was measured.

    Attributes:
        mean: (points, inputs).
        draws: (points, inputs, draws) what they may be as well.
    """

    mean: np.ndarray
    draws: np.ndarray

    @classmethod
    def with_errors(cls, mean: np.ndarray, errors: np.ndarray, rng: np.random.Generator, n: int = 16) -> SampledSlopes:
        """Of independent errors."""
        return cls(mean, mean[..., None] + errors[..., None] * rng.standard_normal((*mean.shape, n)))

    def times(self, factor: np.ndarray) -> SampledSlopes:
        """SampledSlopes in another unit, by a factor for every point, or every point and input."""
        factor = factor if factor.ndim == 2 else factor[:, None]
        return SampledSlopes(self.mean * factor, self.draws * factor[..., None])

    def of(self, inputs: Sequence[int]) -> SampledSlopes:
        """Along some inputs alone."""
        return SampledSlopes(self.mean[:, list(inputs)], self.draws[:, list(inputs)])

    def centred(self) -> SampledSlopes:
        """Less their mean over all points."""
        return SampledSlopes(self.mean - self.mean.mean(0), self.draws - self.draws.mean(0))

    def each_of_length_one(self) -> SampledSlopes:
        """The directions at the points where there is one."""
        length = np.linalg.norm(self.mean, axis=1)
        error = np.sqrt(((self.draws - self.mean[..., None]) ** 2).mean(2).sum(1))
        kept = length > error
        return SampledSlopes(self.mean[kept] / length[kept, None], self.draws[kept] / length[kept, None, None])

    @property
    def usual(self) -> np.ndarray:
        """Their size along every input."""
        return np.asarray(np.sqrt((self.mean**2).mean(0)))


def find_groups(
    slopes: SampledSlopes,
    names: Sequence[str],
    threshold: float,
    form: GroupForm,
    of_logarithm: SampledSlopes | None = None,
    rank: int | None = None,
    units: Mapping[str, Dimension] | None = None,
) -> FoundGroups | None:
    """The groups of some inputs, where they are fewer than the inputs beyond doubt, or as many as are asked for.

    Args:
        slopes: along the logarithms of the inputs for products, along the inputs for sums.
        threshold: the largest sign that passes for none, in standard errors.
        of_logarithm: slopes of the logarithm of the function, where it keeps its sign.
        rank: number of groups that is to be taken for true.
        units: of inputs; of several bases the one of pure numbers is shown.
    """
    usual = slopes.usual
    if not 1 < len(names) <= MOST_GROUPED or not usual.all():
        return None
    whole = _Space.spanned(_directions(slopes), threshold, rank)
    if whole is None or not 0 < whole.rank < len(names):
        return None
    spaces = [whole]
    if of_logarithm is not None and whole.rank > 1:
        scaled = SampledSlopes(of_logarithm.mean / of_logarithm.usual, of_logarithm.draws / of_logarithm.usual[:, None])
        inner = _Space.spanned(
            scaled.centred(), threshold, None if rank is None else _rank(scaled.centred(), threshold)
        )
        if inner is not None and inner.rank == whole.rank - 1:
            spaces = [replace(inner, scale=of_logarithm.usual, offset=of_logarithm), whole]
    scaled_spaces = [replace(s, scale=s.scale if s.scale is not None else usual) for s in spaces]
    return _in_basis(scaled_spaces, names, form, units or {})


def fewest_groups(slopes: SampledSlopes, threshold: float) -> int:
    """How many groups are seen for sure."""
    return _rank(_directions(slopes), threshold) if slopes.usual.all() else 0


def _rank(slopes: SampledSlopes, threshold: float) -> int:
    n, d = slopes.mean.shape
    if n < 2 * d:
        return 0
    return int((_signs(slopes, *_principal(slopes.mean)) > threshold).sum())


def _directions(slopes: SampledSlopes) -> SampledSlopes:
    usual = slopes.usual
    return SampledSlopes(slopes.mean / usual, slopes.draws / usual[:, None]).each_of_length_one()


Ask = Callable[[Sequence[str], GroupForm], FoundGroups | None]
"""The groups of some inputs, by whoever can measure slopes along them."""


def groups_inside(node: ModuleTree, order: Sequence[str], positive: Collection[str], ask: Ask) -> FoundGroups | None:
    """The groups through which a node acts on its inputs, where it reads fewer numbers then than it has children.

    Asked about are all inputs below the node, then those alone that it reads itself.

    Args:
        order: of all inputs.
        positive: inputs of which there are powers.
    """
    own = [child.members for child in node.children]
    below = [name for name in order if name in node.members]
    directly = [name for name in below if frozenset([name]) in own]
    best: FoundGroups | None = None
    for names in (below, directly) if below != directly else (below,):
        for form in ("product", "sum"):
            asked = [name for name in names if form == "sum" or name in positive]
            if any(members & set(asked) and not members <= set(asked) for members in own):
                continue
            found = ask(asked, form) if len(asked) > 1 else None
            if found is not None and _n_read(found, own) < min(
                len(own), math.inf if best is None else _n_read(best, own)
            ):
                best = found
    return best


def _n_read(found: FoundGroups, children: Sequence[Members]) -> int:
    """How many numbers a node reads that acts through groups."""
    return len(found.groups) + sum(not members & found.inputs for members in children)


# ---- spaces --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Space:
    """What slopes span.

    Attributes:
        slopes: in units of ``scale``.
        basis: (rank, inputs) orthonormal, of the mean; the others, of the draws.
        threshold: the sign that passes for none.
    """

    slopes: SampledSlopes
    basis: np.ndarray
    of_draws: np.ndarray
    threshold: float
    last: float
    unseen: float
    scale: np.ndarray | None = None
    offset: SampledSlopes | None = None

    @property
    def rank(self) -> int:
        return len(self.basis)

    @classmethod
    def spanned(cls, slopes: SampledSlopes, threshold: float, rank: int | None = None) -> _Space | None:
        """The space, where its dimension is beyond doubt or given."""
        n, d = slopes.mean.shape
        if n < 2 * d:
            return None
        sizes, directions = _principal(slopes.mean)
        signs = _signs(slopes, sizes, directions)
        is_given, rank = rank is not None, int((signs > threshold).sum()) if rank is None else rank
        unseen = float(threshold * _errors_along(slopes, directions[rank:]).max(initial=0.0))
        last = float(signs[:rank].min(initial=np.inf) / threshold)
        if not is_given and (last < SURELY_ACTS or unseen > MOST_UNSEEN):
            return None
        of_draws = np.stack([_principal(slopes.draws[..., k])[1][:rank] for k in range(slopes.draws.shape[2])])
        return cls(slopes, directions[:rank], of_draws, threshold, last, unseen)

    def beyond(self, basis: np.ndarray) -> float:
        """The largest sign of slopes outside of what some rows span, in units of what passes for none."""
        others = np.linalg.svd(basis)[2][len(basis) :]
        if not len(others):
            return 0.0
        sizes = np.sqrt(((self.slopes.mean @ others.T) ** 2).mean(0))
        errors = np.maximum(_errors_along(self.slopes, others), np.finfo(float).tiny)
        return float((sizes / errors).max() / self.threshold)


def _principal(slopes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Root mean squares along the principal directions, and these as rows."""
    _, sizes, directions = np.linalg.svd(slopes, full_matrices=False)
    return sizes / math.sqrt(len(slopes)), directions


def _signs(slopes: SampledSlopes, sizes: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """Sizes in units of their errors."""
    return np.asarray(sizes / np.maximum(_errors_along(slopes, directions), np.finfo(float).tiny))


def _errors_along(slopes: SampledSlopes, directions: np.ndarray) -> np.ndarray:
    off = np.einsum("pij,ki->pkj", slopes.draws - slopes.mean[..., None], directions)
    return np.asarray(np.sqrt((off**2).mean((0, 2))))


# ---- bases ---------------------------------------------------------------------------------------


def _in_basis(
    spaces: Sequence[_Space], names: Sequence[str], form: GroupForm, units: Mapping[str, Dimension]
) -> FoundGroups | None:
    """The groups of a space, or of one inside another with a factor more."""
    inner, whole = spaces[0], spaces[-1]
    groups = _simplest(inner, names, form, units)
    if groups is None:
        return None
    if inner is not whole:
        factor = _factor(inner, groups, names)
        if factor is None:
            return _in_basis([whole], names, form, units)
        groups = [replace(factor, unit=unit_of(factor.inputs, factor.exponents, units)), *groups]
    assert whole.scale is not None
    rows = np.array([_row(group, names) / whole.scale for group in groups])
    if np.linalg.matrix_rank(rows) < len(groups):
        return None
    beyond = whole.beyond(rows)
    if beyond > 1:
        return None
    return FoundGroups(tuple(groups), beyond, min(s.last for s in spaces), max(s.unseen for s in spaces))


def _simplest(
    space: _Space, names: Sequence[str], form: GroupForm, units: Mapping[str, Dimension]
) -> list[InputGroup] | None:
    """A basis of fewest inputs and smallest exponents; rounded where that leaves nothing to see."""
    assert space.scale is not None
    found = [_group(*circuit, names, form) for circuit in _circuits(space)]
    if form == "product":
        found += [_made(names, v, np.full(len(v), error), form) for v, error in _small_whole(space)]
    chosen: list[InputGroup] = []
    if form == "product":
        found = [replace(g, unit=unit_of(g.inputs, g.exponents, units)) for g in found]
    for group in sorted(found, key=lambda g: (g.unit != {}, _effort(g))):
        rows = np.array([_row(g, names) / space.scale for g in (*chosen, group)])
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        if np.linalg.svd(rows, compute_uv=False)[-1] > 1e-3:
            chosen.append(group)
        if len(chosen) == space.rank:
            return chosen
    return None


def _small_whole(space: _Space) -> Iterator[tuple[np.ndarray, float]]:
    """Small whole exponents that lie in the space as far as can be told, without a common divisor; and their error."""
    assert space.scale is not None
    d = len(space.scale)
    largest = next((size for size in SMALL_EXPONENTS if (2 * size + 1) ** d <= MOST_VECTORS), 0)
    every = np.array(list(product(range(-largest, largest + 1), repeat=d)), dtype=float)
    first = every[np.arange(len(every)), (every != 0).argmax(1)]
    every = every[(np.gcd.reduce(every.astype(int), axis=1) == 1) & (first > 0)]
    rows = every / space.scale
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    inside = rows @ space.basis.T @ space.basis
    near = np.linalg.norm(rows - inside, axis=1) < MOST_UNSURE
    every, rows, inside = every[near], rows[near], inside[near]
    off = [rows @ basis.T @ basis - inside for basis in space.of_draws]
    errors = np.sqrt(np.mean([np.square(o).sum(1) for o in off], axis=0)) + LEAST_ERROR
    for vector, left, error in zip(every, np.linalg.norm(rows - inside, axis=1), errors, strict=True):
        if left <= WITHIN * error and error < MOST_UNSURE / WITHIN:
            yield vector if vector.sum() >= 0 else -vector, float(error * np.abs(vector).max())


def _circuits(space: _Space) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Vectors of the space that are zero in as many places as can be asked for, with their errors."""
    for zeros in combinations(range(space.basis.shape[1]), space.rank - 1):
        vector = _vanishing(space.basis, zeros)
        if vector is None:
            continue
        assert space.scale is not None
        own = vector * space.scale
        pivot = int(np.argmax(np.abs(vector)))
        others = [v for basis in space.of_draws if (v := _vanishing(basis, zeros)) is not None]
        if len(others) < 2:
            continue
        scaled = np.array([v / v[pivot] for v in others]) * space.scale / space.scale[pivot]
        own = own / own[pivot]
        yield own, np.sqrt(((scaled - own) ** 2).mean(0)) + LEAST_ERROR * np.abs(own).max()


def _vanishing(basis: np.ndarray, zeros: Sequence[int]) -> np.ndarray | None:
    """The vector spanned by rows that is zero in some places; None where there are several."""
    if not zeros:
        return np.asarray(basis[0])
    left, sizes, _ = np.linalg.svd(basis[:, list(zeros)])
    if sizes[-1] < 1e-2:
        return None
    vector = left[:, -1] @ basis
    vector[list(zeros)] = 0.0
    return np.asarray(vector)


def _group(vector: np.ndarray, errors: np.ndarray, names: Sequence[str], form: GroupForm) -> InputGroup:
    """A vector as exponents: those that may be none left out, the others rounded where all can be."""
    acting = np.flatnonzero(np.abs(vector) > ZERO * errors)
    exponents, sigma = vector[acting], errors[acting]
    if form == "product" and (whole := _whole(exponents, sigma)) is not None:
        ratio = abs(whole[0] / exponents[0])
        exponents, sigma = whole, sigma * ratio
    else:
        largest = exponents[int(np.argmax(np.abs(exponents)))]
        exponents, sigma = exponents / largest, sigma / abs(float(largest))
        if form == "sum" and (fractions := _rounded(exponents, sigma)) is not None:
            exponents = np.array([float(f) for f in fractions])
    if exponents.sum() < 0 or (exponents.sum() == 0 and exponents[0] < 0):
        exponents = -exponents
    return _made([names[i] for i in acting.tolist()], exponents, sigma, form)


def _made(
    names: Sequence[str], exponents: Iterable[Any], errors: Iterable[float], form: GroupForm, is_factor: bool = False
) -> InputGroup:
    acting = [(n, float(e), float(f"{error:.2g}")) for n, e, error in zip(names, exponents, errors, strict=True) if e]
    inputs, powers, rounded = zip(*acting, strict=True)
    return InputGroup(inputs, powers, rounded, form, is_factor)


def _whole(exponents: np.ndarray, errors: np.ndarray) -> np.ndarray | None:
    """Whole numbers in these ratios, without a common divisor."""
    fractions = _rounded(exponents, errors)
    if fractions is None:
        return None
    common = math.lcm(*(f.denominator for f in fractions))
    whole = [int(f * common) for f in fractions]
    divisor = math.gcd(*whole)
    found = np.array([w / divisor for w in whole])
    return found if np.abs(found).max() <= LARGEST_EXPONENT else None


def _rounded(exponents: np.ndarray, errors: np.ndarray) -> list[Fraction] | None:
    """The simplest fractions within the errors; None where these are too large, or there is none."""
    found = []
    for value, error in zip(exponents.tolist(), errors.tolist(), strict=True):
        if error > MOST_UNSURE:
            return None
        near = (Fraction(value).limit_denominator(q) for q in range(1, LARGEST_DENOMINATOR + 1))
        fraction = next((f for f in near if f and abs(float(f) - value) <= WITHIN * error), None)
        if fraction is None:
            return None
        found.append(fraction)
    return found


def _factor(inner: _Space, groups: Sequence[InputGroup], names: Sequence[str]) -> InputGroup | None:
    """The product of powers beside a function of some groups, of fewest inputs."""
    assert inner.offset is not None
    rows = np.array([_row(group, names) for group in groups])
    mean, of_draws = inner.offset.mean.mean(0), inner.offset.draws.mean(0).T
    found = []
    for zeros in combinations(range(len(names)), len(groups)):
        block = rows[:, list(zeros)]
        if abs(np.linalg.det(block)) < 1e-6:
            continue
        exponents, *others = (m - np.linalg.solve(block.T, m[list(zeros)]) @ rows for m in (mean, *of_draws))
        errors = np.sqrt(((np.array(others) - exponents) ** 2).mean(0)) + LEAST_ERROR * np.abs(mean).max()
        acting = np.flatnonzero(np.abs(exponents) > ZERO * errors)
        if len(acting):
            fractions = _rounded(exponents[acting], errors[acting])
            values = exponents[acting] if fractions is None else fractions
            found.append(_made([names[i] for i in acting.tolist()], values, errors[acting], "product", is_factor=True))
    return min(found, key=_effort, default=None)


def _row(group: InputGroup, names: Sequence[str]) -> np.ndarray:
    row = np.zeros(len(names))
    row[[names.index(name) for name in group.inputs]] = group.exponents
    return row


def _effort(group: InputGroup) -> tuple[float, ...]:
    """What a reader has to take in: exponents that are not whole, their size, and how many inputs there are."""
    exponents = np.abs(group.exponents)
    return float((exponents % 1 > 0).sum()), float(exponents.sum()), len(exponents)
