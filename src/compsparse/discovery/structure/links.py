"""Sums of parts that share inputs, under a change of scale: f = link(g_1 + g_2 + …).

Let psi undo the link, so that psi(f) is the sum. Inputs i and k do not act together when a swap of x_k leaves the slope
of psi(f) along x_i as it was: log|f_i| changes by q(f before) - q(f after), where q = log|psi'|. That is linear in q,
so a spline for q is fitted by least absolute errors to the swaps of one pair, and tried on all others; the q that frees
the most pairs is fitted again to all of these. A product that changes sign at c, and a link that is flat there, have
the pole log|f - c| in their q; the sign of a slope then goes with that of f - c.

Which pairs act together is a graph, whose cliques are the parts. One pair that does not fixes the link, up to scale.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import networkx as nx
import numpy as np
from scipy.interpolate import BSpline

from compsparse.discovery.structure.forest import Members, Part

FIRST_KNOTS, LAST_KNOTS = 14, 40
"""Knots of a first link, by the swaps of one pair, and of the last, by those of all pairs that it frees."""
_FEWEST_KNOTS = 8
PAIRS_TRIED = 8
"""Pairs whose own link is tried on all others, those that it fits best."""
BENDING = 2e-3
"""What a spline may leave of the logarithm of a slope where nothing acts together."""
WRONG_SIGNS = 0.01
"""Share of swaps that may change the sign of a slope where the link does not."""
POLES = (-1.0, -2 / 3)
"""Strengths of poles that are tried as they are: of a product, and of a cube."""
STEPS_OF_FIT, NEAR_POLE = 10, 0.01
"""Steps of a fit by absolute errors; distance from a pole, as a share of a swap's change, up to which nothing is
known, and the share of values between which a pole moves at most in a step."""
SIGNED = 10.0
"""Size of a slope, in units of its error, from which its sign counts."""
THIRD_ORDER = 0.01
"""Share of the changes by two inputs that may be left when both are made, where three act only two by two. Of 221 such
triples of tuned sums one had 0.02 and the others 0.003 at most; terms of three inputs had 0.17 and more, but the three
inputs inside a logarithm that a fourth one multiplies less than 0.06."""


@dataclass(frozen=True)
class LinkLimits:
    """When pairs are free of each other.

    Attributes:
        free: what a link leaves of them is at most so many errors.
        gap: of pairs that act together it leaves at least so many times as much as of any that are free; otherwise
            nothing is claimed.
        sure: the same from which a sum is sure.
        known: error of the logarithm of a slope up to which anything is said of a pair.
        many: whether all children but two, at least, must be free of another: of few, errors may be the reason.
    """

    free: float
    gap: float
    sure: float
    known: float
    many: bool


OF_QUERIES = LinkLimits(free=3.0, gap=3.0, sure=3.0, known=1.0, many=False)
"""What is left is the spline's own bending, and of pairs that act together a hundred times as much."""
OF_DATA = LinkLimits(free=4.0, gap=3.0, sure=8.0, known=0.1, many=True)
"""Errors of a smooth fit may be too small: free pairs were seen at up to 3.6 of them where noise is 2%. Where a pair
that acts together was taken for free the gap was 3.6 to 5.9, and three of four true sums had 9.8 and more."""


@dataclass(frozen=True)
class Swaps:
    """What swaps of one child of a node did to the slopes along another: one entry per swap and slope.

    Attributes:
        of, by: the children, by their numbers.
        before, after: values of the function.
        slope, slope_after: of the function.
        error: of the logarithm of their ratio.
    """

    of: np.ndarray
    by: np.ndarray
    before: np.ndarray
    after: np.ndarray
    slope: np.ndarray
    slope_after: np.ndarray
    error: np.ndarray

    def where(self, chosen: np.ndarray) -> Swaps:
        """Some of them."""
        return Swaps(**{name: values[chosen] for name, values in vars(self).items()})

    @property
    def usable(self) -> Swaps:
        """Those of which the logarithm is known at all."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.where(np.isfinite(np.log(np.abs(self.slope_after / self.slope))) & (self.error < 1))

    @property
    def change(self) -> np.ndarray:
        """By what the logarithm of the slope changed."""
        return np.asarray(np.log(np.abs(self.slope_after / self.slope)))

    @property
    def flips(self) -> np.ndarray:
        """Where the slope surely changed its sign, 1, surely kept it, -1, and where that cannot be told, 0."""
        sure = self.error < 1 / SIGNED
        return np.asarray(np.where(sure, np.where(self.slope_after * self.slope < 0, 1, -1), 0))


@dataclass(frozen=True)
class LinkScale:
    """q = log|psi'| as a spline of the function's value, and a pole where there is one.

    Attributes:
        flips: whether psi' changes its sign at the pole.
    """

    knots: np.ndarray
    coefficients: np.ndarray
    pole: float | None = None
    flips: bool = False

    def __call__(self, values: np.ndarray) -> np.ndarray:
        """q at some values."""
        return np.asarray(_columns(self.knots, self.pole, values) @ self.coefficients)

    def slopes(self, values: np.ndarray, slopes: np.ndarray) -> np.ndarray:
        """Slopes of the sum, up to scale, from those of the function."""
        sign = np.sign(values - self.pole) if self.flips and self.pole is not None else 1.0
        return np.asarray(sign * np.exp(self(values)) * slopes)

    def left(self, swaps: Swaps) -> np.ndarray:
        """What it leaves of every change, in units of its error; infinite where signs go wrong."""
        left = swaps.change + self(swaps.after) - self(swaps.before)
        return np.asarray(np.abs(left) / np.hypot(swaps.error, BENDING))

    def wrong(self, swaps: Swaps) -> np.ndarray:
        """Where a slope surely changes its sign and the link does not, or the other way round."""
        if not self.flips or self.pole is None:
            return np.asarray(swaps.flips > 0)
        before, after = swaps.before - self.pole, swaps.after - self.pole
        known = np.minimum(np.abs(before), np.abs(after)) > NEAR_POLE * np.abs(after - before)
        return np.asarray(known & (swaps.flips * np.where(before * after < 0, 1, -1) < 0))


@dataclass(frozen=True)
class LinkedSum:
    """A sum under a link.

    Attributes:
        left: (children, children): what the link leaves of their changes, in units of its error; infinite where
            slopes change their signs against it.
    """

    scale: LinkScale
    left: np.ndarray
    limits: LinkLimits

    @cached_property
    def _split(self) -> tuple[float, float]:
        """The largest that is left of a free pair, and by what factor more is left of the others."""
        sizes = np.unique(self.left[np.triu_indices(len(self.left), 1)])
        floored = np.maximum(sizes, self.limits.free / 4)
        with np.errstate(invalid="ignore"):
            ratios = np.r_[floored[1:], np.inf] / floored
        ratios[sizes > self.limits.free] = 0.0
        place = int(ratios.argmax())
        return (float(sizes[place]), float(ratios[place])) if ratios[place] > 0 else (-np.inf, 0.0)

    @property
    def together(self) -> np.ndarray:
        """(children, children): which pairs act together, as far as can be told."""
        return np.asarray(self.left > self.largest_of_free)

    @property
    def largest_of_free(self) -> float:
        """The largest that is left of a pair that does not act together."""
        return self._split[0]

    @property
    def is_clear(self) -> bool:
        """Whether every pair either acts together or does not, beyond doubt, and enough of them witness the link."""
        n_free = int((~self.together).sum()) // 2
        enough = n_free >= (len(self.left) - 2 if self.limits.many else 1)
        return self._split[1] >= self.limits.gap and enough

    @property
    def is_sure(self) -> bool:
        """Whether so much more is left of pairs that act together that none hides among the free ones."""
        return self._split[1] >= self.limits.sure

    @property
    def cliques(self) -> list[tuple[int, ...]]:
        """The largest sets all of whose pairs act together."""
        graph = nx.from_numpy_array(self.together & _off_diagonal(len(self.together)))
        return sorted(tuple(sorted(clique)) for clique in nx.find_cliques(graph))


def find_link(swaps: Swaps, n: int, limits: LinkLimits) -> LinkedSum | None:
    """The link that frees the most pairs of n children; None where none frees any, or too little is known of a pair."""
    swaps = swaps.usable
    if not _all_known(swaps, n, limits.known) or len(_knots(swaps, FIRST_KNOTS)) < _FEWEST_KNOTS:
        return None
    found = max((_freed(swaps, n, scale, limits) for scale in _first_scales(swaps, n)), key=_merit)
    for knots in (FIRST_KNOTS, LAST_KNOTS):
        if found.together[_off_diagonal(n)].all():
            return None
        free = swaps.where(~found.together[swaps.of, swaps.by])
        better = _freed(swaps, n, _fitted(free, _knots(swaps, knots), found.scale.pole, found.scale.flips), limits)
        found = max(found, better, key=_merit)
    return None if found.together[_off_diagonal(n)].all() else found


def confirmed_sum(found: LinkedSum, fresh: Swaps) -> LinkedSum | None:
    """The same judged by swaps that took no part in it; None where they say otherwise, or not clearly."""
    again = _freed(fresh.usable, len(found.left), found.scale, found.limits)
    return again if (again.together == found.together).all() and again.is_clear else None


def linked_parts(found: LinkedSum, sets: Sequence[tuple[int, ...]], children: Sequence[Members]) -> Part:
    """The sum drawn with a node for every set of two children and more."""
    users = [sum(child in inside for inside in sets) for child in range(len(children))]

    def node(inside: tuple[int, ...]) -> Members | Part:
        if len(inside) == 1:
            return children[inside[0]]
        shared = frozenset(children[c] for c in inside if users[c] > 1)
        return Part(tuple(children[c] for c in inside), shared)

    return Part(tuple(node(inside) for inside in sets), kind="complete")


def sets_without_third_order(
    cliques: Sequence[tuple[int, ...]], acts: dict[tuple[int, ...], bool]
) -> list[tuple[int, ...]]:
    """The largest sets inside cliques all of whose triples act together; pairs that are in none stand for themselves.

    Args:
        acts: of every triple of a clique, whether it acts together.
    """
    found: set[tuple[int, ...]] = set()
    for clique in cliques:
        sizes = range(len(clique), 2, -1)
        subsets = (subset for size in sizes for subset in combinations(clique, size))
        kept: list[tuple[int, ...]] = []
        for subset in subsets:
            if all(acts[t] for t in combinations(subset, 3)) and not any(set(subset) <= set(k) for k in kept):
                kept.append(subset)
        small = [(clique)] if len(clique) < 3 else list(combinations(clique, 2))
        found.update(kept, (pair for pair in small if not any(set(pair) <= set(k) for k in kept)))
    return sorted(s for s in found if not any(set(s) < set(other) for other in found))


# ---- fitting ------------------------------------------------------------------------------------


def _first_scales(swaps: Swaps, n: int) -> Iterator[LinkScale]:
    """No link, poles alone, and the links of pairs that a link of their own fits best, with and without a pole."""
    knots = _knots(swaps, FIRST_KNOTS)
    smooth = np.zeros(_columns(knots, None, knots).shape[1])
    yield LinkScale(knots, smooth)
    pairs = _pair(swaps, n)
    for pole, flips in ((None, False), (_flattest(swaps), False), (_crossing(swaps), True)):
        if pole is None and flips:
            continue
        if pole is not None:
            yield from (LinkScale(knots, np.r_[smooth, strength], pole, flips) for strength in POLES)
        own = []
        for pair in np.unique(pairs):
            rows = swaps.where(pairs == pair)
            scale = _fitted(rows, knots, pole, flips)
            own.append((_typical(scale.left(rows)), pair, scale))
        own.sort(key=lambda entry: entry[:2])
        yield from (scale for _, _, scale in own[:PAIRS_TRIED])


def _flattest(swaps: Swaps) -> float:
    """The value at which slopes are smallest: where a link such as a cube is flat, all of them are."""
    size = np.zeros(swaps.of.max() + 1)
    np.maximum.at(size, swaps.of, np.abs(swaps.slope))
    relative = np.abs(swaps.slope) / np.maximum(size[swaps.of], np.finfo(float).tiny)
    values, place = np.unique(swaps.before, return_inverse=True)
    steepest = np.zeros(len(values))
    np.maximum.at(steepest, place, relative)
    return float(values[steepest.argmin()])


def _crossing(swaps: Swaps) -> float | None:
    """The value at which slopes change their signs most often, if any does."""
    known = swaps.where(swaps.flips != 0)
    if not (known.flips > 0).any():
        return None
    values = np.unique(np.r_[known.before, known.after])
    middles = (values[1:] + values[:-1]) / 2
    low, high = np.minimum(known.before, known.after), np.maximum(known.before, known.after)
    score = np.zeros(len(middles) + 1)
    np.add.at(score, np.searchsorted(middles, low), known.flips)
    np.add.at(score, np.searchsorted(middles, high), -known.flips)
    return float(middles[score.cumsum()[:-1].argmax()])


def _fitted(swaps: Swaps, knots: np.ndarray, pole: float | None, flips: bool) -> LinkScale:
    """The link that leaves least of some changes, by absolute size: rows near a pole must not decide.

    The place of the pole is found on the way, by its derivative as one column more.
    """
    weight = 1 / np.hypot(swaps.error, BENDING)
    wanted = -swaps.change * weight
    pull = np.ones(len(wanted))
    for _ in range(STEPS_OF_FIT):
        columns = _columns(knots, pole, swaps.after) - _columns(knots, pole, swaps.before)
        if pole is not None:
            columns = np.c_[columns, _by_place(swaps, pole)]
        columns *= weight[:, None]
        floor = 1e-6 * np.linalg.norm(columns * pull[:, None]) * np.eye(columns.shape[1])
        rows, goal = np.vstack([columns * pull[:, None], floor]), np.r_[wanted * pull, np.zeros(len(floor))]
        coefficients = np.linalg.lstsq(rows, goal, rcond=None)[0]
        left = np.abs(wanted - columns @ coefficients)
        usual = max(float(np.median(left)), np.finfo(float).eps * float(weight.max()))
        pull = np.sqrt(usual / np.maximum(left, usual))
        if pole is None:
            continue
        *coefficients, strength, shift = coefficients
        coefficients = np.array([*coefficients, strength])
        most = float(np.quantile(np.abs(swaps.before - pole), NEAR_POLE))
        fitted = LinkScale(knots, coefficients, pole, flips)
        pole += float(np.clip(shift / strength if strength else 0.0, -most, most))
    return LinkScale(knots, coefficients, None, flips) if pole is None else fitted


def _by_place(swaps: Swaps, pole: float) -> np.ndarray:
    """What log|f - pole| changes by as the pole moves; nothing for values that are as good as on it."""
    near = NEAR_POLE * np.abs(swaps.after - swaps.before)
    before, after = swaps.before - pole, swaps.after - pole
    known = np.minimum(np.abs(before), np.abs(after)) > near
    return np.asarray(np.where(known, 1 / np.where(known, before, 1) - 1 / np.where(known, after, 1), 0.0))


def _freed(swaps: Swaps, n: int, scale: LinkScale, limits: LinkLimits) -> LinkedSum:
    """Which pairs a link frees."""
    pairs, left, wrong = _pair(swaps, n), scale.left(swaps), scale.wrong(swaps)
    sizes = np.full((n, n), np.inf)
    for pair in np.unique(pairs):
        rows = pairs == pair
        i, k = divmod(int(pair), n)
        size = np.inf if wrong[rows].mean() > WRONG_SIGNS else _typical(left[rows])
        sizes[i, k] = sizes[k, i] = size
    return LinkedSum(scale, sizes, limits)


def _all_known(swaps: Swaps, n: int, most: float) -> bool:
    """Whether the slopes of every pair are known well enough for nothing to hide."""
    pairs = _pair(swaps, n)
    seen = np.unique(pairs)
    return len(seen) == n * (n - 1) // 2 and all(np.median(swaps.error[pairs == pair]) < most for pair in seen)


def _merit(found: LinkedSum) -> tuple[int, int, float]:
    """How many pairs are free, how simple the link is, and how freely they are."""
    off = _off_diagonal(len(found.left))
    free = ~found.together & off
    parts_of_link = (found.scale.pole is not None) + found.scale.flips
    return int(free.sum()), -parts_of_link, -float(found.left[free].sum())


def _typical(left: np.ndarray) -> float:
    """The size of most: half of the rows may be far off near a pole or a kink."""
    return float(np.median(left)) / 0.6745


def _pair(swaps: Swaps, n: int) -> np.ndarray:
    low, high = np.minimum(swaps.of, swaps.by), np.maximum(swaps.of, swaps.by)
    return np.asarray(low * n + high)


def _knots(swaps: Swaps, n: int) -> np.ndarray:
    """Cubic knots at values between which equally many lie."""
    inner = np.unique(np.quantile(np.r_[swaps.before, swaps.after], np.linspace(0, 1, n)))
    apart = np.r_[True, np.diff(inner) > 1e-9 * (inner[-1] - inner[0])]
    inner = inner[apart]
    return np.asarray(np.r_[[inner[0]] * 3, inner, [inner[-1]] * 3])


def _columns(knots: np.ndarray, pole: float | None, values: np.ndarray) -> np.ndarray:
    """What q is made of: splines, and the logarithm of the distance from a pole."""
    spline = BSpline(knots, np.eye(len(knots) - 4), 3)(np.clip(values, knots[0], knots[-1]))
    if pole is None:
        return np.asarray(spline)
    least = 1e-12 * (knots[-1] - knots[0])
    return np.concatenate([spline, np.log(np.maximum(np.abs(values - pole), least))[..., None]], axis=-1)


def _off_diagonal(n: int) -> np.ndarray:
    return np.asarray(~np.eye(n, dtype=bool))
