"""What was measured so far, in units that can be split and resampled, and what it says beyond the sheets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import reduce

import numpy as np

from compsparse.discovery.queries.gradients import Slopes
from compsparse.discovery.queries.limits import RARE_FOLLOWED, RARE_PAIRS, UNCONFIRMED_SHARE
from compsparse.discovery.queries.oracle import Oracle
from compsparse.discovery.queries.sheets import Sheet, largest_turns, random_points, shared_turns, turn_errors, turns


def confirmed(parts: Sequence[np.ndarray]) -> np.ndarray:
    """The second largest score, or a hundredth of the largest where that is more.

    Kinks may show once and then plainly; a faint turn that is seen once may be curvature that differences missed.
    """
    first = second = np.zeros_like(parts[0])
    for part in parts:
        second = np.maximum(second, np.minimum(first, part))
        first = np.maximum(first, part)
    score: np.ndarray = np.maximum(second, UNCONFIRMED_SHARE * first)
    return score


def pooled(sums: Sequence[np.ndarray], counts: Sequence[np.ndarray]) -> np.ndarray:
    """Sums of z1 z2 over the root of their number; another root brings products back to the scale of a z."""
    count = np.maximum(reduce(np.add, counts), 1)
    score: np.ndarray = np.sqrt(np.maximum(reduce(np.add, sums) / np.sqrt(count), 0))
    return score


@dataclass(frozen=True)
class Unit:
    """Sheets that were measured together, reduced to what every triple (i, j; k) and every input showed.

    Attributes:
        turns: largest z per triple, or the sum of z1 z2 where answers have noise, ``(k, d, d, d)``.
        turn_counts: terms of that sum (noise only).
        effects: the same for the change of the value when one input is swapped, ``(k, d)``.
    """

    sheets: tuple[tuple[Sheet, Slopes], ...]
    turns: np.ndarray
    turn_counts: np.ndarray
    effects: np.ndarray
    effect_counts: np.ndarray


@dataclass
class Pool:
    """All units.

    Args:
        value_error: standard error of one answer per output: rounding, or noise.
        noisy: whether scores come from products of two readings.
    """

    value_error: np.ndarray
    noisy: bool
    units: list[Unit] = field(default_factory=list)
    _noted: np.ndarray | None = None

    def add(self, sheets: Sequence[tuple[Sheet, Slopes]]) -> None:
        """Takes sheets that were measured together."""
        self.units.append(self._unit(sheets))

    def replace(self, slopes: Callable[[Sheet, Slopes], Slopes]) -> None:
        """Puts other slopes in the place of all; if that is interrupted, nothing changes."""
        self.units = [self._unit([(sheet, slopes(sheet, old)) for sheet, old in u.sheets]) for u in self.units]

    def turn_scores(self, which: Sequence[int] | None = None) -> np.ndarray:
        """z per output and triple, from all units or from some."""
        units = self.units if which is None else [self.units[i] for i in which]
        if self.noisy:
            return pooled([u.turns for u in units], [u.turn_counts for u in units])
        return confirmed([u.turns for u in units])

    def effect_scores(self) -> np.ndarray:
        """z of the effect of every input on every output, ``(k, d)``."""
        effects = [u.effects for u in self.units]
        seen = pooled(effects, [u.effect_counts for u in self.units]) if self.noisy else reduce(np.maximum, effects)
        return seen if self._noted is None else np.maximum(seen, self._noted)

    def change(self, one: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Size of the differences of answers in units of their standard error."""
        change: np.ndarray = np.abs(one - other) / self.unit_effect()
        return change

    def unit_effect(self) -> np.ndarray:
        """The standard error of a difference of two answers, per output."""
        unit: np.ndarray = np.sqrt(2) * self.value_error
        return unit

    def note_effects(self, inputs: np.ndarray, effects: np.ndarray) -> None:
        """Takes note of effects ``(len(inputs), k)`` that were seen outside the sheets."""
        if self._noted is None:
            self._noted = np.zeros_like(self.units[0].effects)
        self._noted[:, inputs] = np.maximum(self._noted[:, inputs], effects.T)

    def swaps_per_triple(self, output: int) -> float:
        """How many products stand behind a usual score (noise only)."""
        return float(np.median(reduce(np.add, [u.turn_counts for u in self.units])[output]))

    def gradient_size(self) -> np.ndarray:
        """Root mean square of every partial derivative, ``(k, d)``."""
        squares = [slopes.gradients[0] * slopes.gradients[-1] for u in self.units for _, slopes in u.sheets]
        known = np.concatenate(squares)
        counts = np.maximum(np.isfinite(known).sum(axis=0), 1)
        size: np.ndarray = np.sqrt(np.maximum(np.nansum(known, axis=0) / counts, 0))
        return size

    def _unit(self, sheets: Sequence[tuple[Sheet, Slopes]]) -> Unit:
        measure = self._noisy_unit if self.noisy else self._exact_unit
        return measure(tuple(sheets))

    def _exact_unit(self, sheets: tuple[tuple[Sheet, Slopes], ...]) -> Unit:
        turns = reduce(np.maximum, [largest_turns(slopes, sheet) for sheet, slopes in sheets])
        effects = reduce(np.maximum, [self._effects(sheet, slopes)[0] for sheet, slopes in sheets])
        return Unit(sheets, turns, np.zeros(0), effects, np.zeros(0))

    def _noisy_unit(self, sheets: tuple[tuple[Sheet, Slopes], ...]) -> Unit:
        turns, turn_counts = zip(*(shared_turns(slopes, sheet) for sheet, slopes in sheets), strict=True)
        effects, effect_counts = zip(*(self._effects(sheet, slopes) for sheet, slopes in sheets), strict=True)
        return Unit(
            sheets,
            reduce(np.add, turns),
            reduce(np.add, turn_counts),
            reduce(np.add, effects),
            reduce(np.add, effect_counts),
        )

    def _effects(self, sheet: Sheet, slopes: Slopes) -> tuple[np.ndarray, np.ndarray]:
        p, q, k = sheet.edges.T
        change = (slopes.values[:, p] - slopes.values[:, q]) / self.unit_effect()
        d = sheet.points.shape[1]
        effects, counts = np.zeros((change.shape[2], d)), np.zeros((change.shape[2], d))
        if self.noisy:
            np.add.at(effects.T, k, change[0] * change[1])
            np.add.at(counts.T, k, 1)
        else:
            np.maximum.at(effects.T, k, np.abs(change[0]))
        return effects, counts


# ---- beyond the sheets ---------------------------------------------------------------------------


def turn_between_outputs(pool: Pool, members: np.ndarray, one: int, other: int) -> float:
    """How far grad_S of two outputs are from parallel at the same points, as a z.

    If both outputs pass S through one number, g for one and g' for the other, their gradients are
    parallel everywhere exactly when g' is a function of g.
    """
    products, counts, sizes = [], [], []
    for slopes in (slopes for unit in pool.units for _, slopes in unit.sheets):
        a, b = (slopes.gradients[:, :, o][..., members] for o in (one, other))
        errors = (slopes.errors[:, o][:, members] for o in (one, other))
        with np.errstate(invalid="ignore"):  # 0/0 where neither gradient moves
            z = turns(a, b) / turn_errors(a.mean(axis=0), b.mean(axis=0), *errors)
        products.append(np.nansum(z[0] * z[-1], axis=0))
        counts.append(np.isfinite(z[0] * z[-1]).sum(axis=0))
        sizes.append(np.nan_to_num(np.abs(z[0])).max(axis=0))
    return float((pooled(products, counts) if pool.noisy else confirmed(sizes)).max())


def rare_effects(
    oracle: Oracle, pool: Pool, idle: np.ndarray, needed: np.ndarray, rng: np.random.Generator
) -> dict[int, np.ndarray]:
    """A last look at inputs that seem inert or weak: swaps them together at many points, then singly at the liveliest.

    Args:
        needed: the effect of every input from which it counts, ``(k, d)``.

    Returns:
        For each input that acts after all, a point at which it does; its effect is noted in the pool.
    """
    if not len(idle):
        return {}
    u = random_points(RARE_PAIRS, np.zeros(oracle.d), rng)
    swapped = u.copy()
    swapped[:, idle] = random_points(RARE_PAIRS, np.zeros(oracle.d), rng)[:, idle]
    change = (pool.change(oracle(u), oracle(swapped)) / needed[:, idle].min(axis=1)).max(axis=1)
    liveliest = np.argsort(-change, kind="stable")[:RARE_FOLLOWED]
    found: dict[int, np.ndarray] = {}
    for p in liveliest[change[liveliest] > 1]:
        singly = np.repeat(u[p][None], len(idle), axis=0)
        singly[np.arange(len(idle)), idle] = swapped[p, idle]
        effects = pool.change(oracle(u[p][None]), oracle(singly))
        pool.note_effects(idle, effects)
        found |= {int(i): u[p] for i in idle[(effects > needed[:, idle].T).any(axis=1)]}
    return found
