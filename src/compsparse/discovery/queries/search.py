"""The search: measure, decide, look closer where it matters, until the trees of two halves agree."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from compsparse.discovery.queries.calibration import StepCheck, limits_in_noise, limits_of_exact_answers, remeasured
from compsparse.discovery.queries.gradients import CentralDifferences, Differentiator, Slopes
from compsparse.discovery.queries.limits import (
    ASLEEP,
    COMPANIONS,
    FEWEST_UNITS,
    FIRST_SWAPS,
    LIVELY_TRIED,
    SLOPE_TOLD_FROM_ZERO,
    TURN,
    UNITS_GROWTH,
    WEAK_SHARE,
)
from compsparse.discovery.queries.oracle import Oracle, OutOfQueries
from compsparse.discovery.queries.pool import Pool, rare_effects
from compsparse.discovery.queries.sheets import Sheet, draw_sheet, n_points, random_points, swaps_per_input
from compsparse.discovery.structure.closure import Decision, decide
from compsparse.discovery.structure.turns import TurnTable


class QuerySearch:
    """Measurements and the decisions they lead to.

    Attributes:
        decisions: one per output, from all that was measured when the last round ended.
        limits: where thresholds are looked for.
    """

    def __init__(
        self, oracle: Oracle, slopes: Differentiator, pool: Pool, names: tuple[str, ...], rng: np.random.Generator
    ):
        self.oracle, self.slopes, self.pool, self.names, self.rng = oracle, slopes, pool, names, rng
        self.limits = limits_in_noise(len(names)) if pool.noisy else limits_of_exact_answers(slopes.null_turn)
        self._at_first = slopes
        self.decisions: list[Decision] = []
        self._rarely_active: dict[int, np.ndarray] = {}
        self._step_check: StepCheck | None = None
        if isinstance(slopes, CentralDifferences) and not pool.noisy:
            # scores without a turn that fill a clear gap would pass for turns
            self._step_check = StepCheck(slopes, self.limits.clear_gap * self.limits.low)

    @property
    def knows_something(self) -> bool:
        """Whether a round has ended and every output was seen to depend on something."""
        return bool(self.decisions) and all(decision.tree.members for decision in self.decisions)

    @property
    def unit_cost(self) -> int:
        """Evaluations of the smallest round."""
        d = len(self.names)
        return n_points(d) * self.slopes.cost(d)

    def run(self) -> bool:
        """Measures until the decisions are stable; False when the budget ended first."""
        wanted = max(FEWEST_UNITS, -(-FIRST_SWAPS // swaps_per_input(len(self.names))))
        try:
            while True:
                while len(self.pool.units) < wanted:
                    self._measure_unit()
                self.decisions = self.decide()
                if self._is_hopeless() or (self._is_stable() and not self._finds_rare_effects()):
                    return True
                wanted = int(np.ceil(UNITS_GROWTH * wanted))
        except OutOfQueries:
            self.conclude()
            return False

    def conclude(self) -> None:
        """Decides from whatever was measured."""
        if self.pool.units:
            self.decisions = self.decide()

    # ---- measuring -----------------------------------------------------------------------

    def _measure_unit(self) -> None:
        """One sheet over all inputs, and smaller ones where the decisions need it."""
        everything = np.arange(len(self.names))
        sheets: list[tuple[Sheet, Slopes]] = []
        try:
            sheets.append(self.measure(everything, everything))
            for swapped, watched in self._closer_looks():
                sheets.append(self.measure(swapped, watched))
        finally:
            if sheets:
                self.pool.add(sheets)
        self._check_steps(sheets)
        self.oracle.report(f"{len(self.pool.units)} rounds")

    def measure(self, swapped: np.ndarray, watched: np.ndarray) -> tuple[Sheet, Slopes]:
        """Swaps some inputs and takes the partial derivatives by some."""
        sheet = draw_sheet(swapped, self.lively_base(swapped, watched), self.slopes.margin, self.rng)
        return sheet, self.slopes(sheet.points, watched)

    def _check_steps(self, sheets: Sequence[tuple[Sheet, Slopes]]) -> None:
        """Shortens steps that prove too long, and takes anew what was taken with them."""
        if self._step_check is None:
            return
        inputs, differences = self._step_check.shortened(sheets), self._step_check.differences
        if len(inputs):
            self.pool.replace(lambda sheet, slopes: remeasured(differences, sheet.points, slopes, inputs))
            self.slopes = differences

    def _closer_looks(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """What to swap and what to watch: doubtful triples, or every module where none is in doubt."""
        doubtful = [self.active(o)[d.doubtful] for o, d in enumerate(self.decisions) if len(d.doubtful)]
        if not doubtful:
            return [(inputs, inputs) for inputs in self._modules_to_look_at()]
        triples = self.rng.permutation(np.concatenate(doubtful))[: len(self.names)]
        return [(self._with_company(k, doubtful), np.sort([i, j])) for i, j, k in triples]

    def _with_company(self, k: int, doubtful: list[np.ndarray]) -> np.ndarray:
        """An input and a few others that are in doubt beside it: their swaps share its points."""
        others = np.setdiff1d(np.unique(np.concatenate(doubtful)), k)
        swapped: np.ndarray = np.r_[k, self.rng.permutation(others)[:COMPANIONS]]
        return swapped

    def _modules_to_look_at(self) -> list[np.ndarray]:
        position = {name: i for i, name in enumerate(self.names)}
        modules = {m.members for decision in self.decisions for m in decision.tree.inner}
        chosen = [m for m in modules if 3 <= len(m) < len(self.names)]
        return [np.array(sorted(position[name] for name in m)) for m in sorted(chosen, key=sorted)]

    def lively_base(self, swapped: np.ndarray, watched: np.ndarray) -> np.ndarray:
        """A new point; the inputs that are not swapped keep values at which a watched one was seen to act.

        Where maxima hide most inputs most of the time, new points rarely show the rarer ones.
        """
        new: np.ndarray = random_points(1, self.slopes.margin, self.rng)[0]
        if len(swapped) == len(new) and not self._rarely_active:
            return new
        i = int(self.rng.choice(watched))
        base = self._rarely_active.get(i)
        if base is not None:  # here every value matters
            return base.copy()
        base = self._lively_point(i)
        base[swapped] = new[swapped]
        return base

    def _lively_point(self, i: int) -> np.ndarray:
        """Of a few points measured before, the one where the partial derivative by x_i is largest."""
        tried = []
        for _ in range(LIVELY_TRIED):
            sheet, slopes = self.pool.units[self.rng.integers(len(self.pool.units))].sheets[0]
            p = self.rng.integers(len(sheet.points))
            tried.append((float(np.nan_to_num(np.abs(slopes.gradients[0][p, :, i])).max()), p, sheet))
        _, p, sheet = max(tried, key=lambda t: t[0])
        point: np.ndarray = sheet.points[p].copy()
        return point

    def _finds_rare_effects(self) -> bool:
        """Asks for the effect of inputs that seem inert; True if one is not."""
        if self.pool.noisy:
            return False
        before = self._has_place()
        for idle in np.unique(~before, axis=0):
            found = rare_effects(self.oracle, self.pool, np.flatnonzero(idle), self._least_effects, self.rng)
            self._rarely_active |= found
        return bool((self._has_place() & ~before).any())

    # ---- deciding ------------------------------------------------------------------------

    def decide(self, which: Sequence[int] | None = None) -> list[Decision]:
        """One decision per output, from all units or from some."""
        scores = self.pool.turn_scores(which)
        return [
            decide(self.scores_between_active(o, s), self.active_names(o), self.limits, TURN * self.unit_turn(o))
            for o, s in enumerate(scores)
        ]

    def scores_between_active(self, output: int, scores: np.ndarray) -> np.ndarray:
        """Scores among the active inputs; those that act by jumps alone are taken to turn with everything."""
        active = self.active(output)
        inside: np.ndarray = scores[np.ix_(active, active, active)].copy()
        flat = np.isin(active, self.flat(output))
        inside[flat] = inside[:, flat] = np.inf
        return inside

    def active(self, output: int) -> np.ndarray:
        """Inputs that were seen to change the output by enough for their place to be told."""
        return np.flatnonzero(self._has_place()[output])

    def set_aside(self, output: int) -> dict[str, tuple[float, float]]:
        """Inputs that change the output by too little: the change that was seen, and the slope that is needed."""
        seen = self.pool.effect_scores()[output]
        weak = np.flatnonzero((seen > self.limits.active) & ~self._has_place()[output])
        sizes = seen * self.pool.unit_effect()[output]
        return {self.names[i]: (float(sizes[i]), float(self._least_slopes[output, i])) for i in weak}

    def _has_place(self) -> np.ndarray:
        """Which inputs act on which outputs by enough, ``(k, d)``."""
        seen, steep = self.pool.effect_scores(), self._at_first.usual > self._least_slopes
        placed: np.ndarray = (seen > self.limits.active) & (steep | (seen > self._least_effects))
        return placed

    @cached_property
    def _least_slopes(self) -> np.ndarray:
        """The usual slope along every input from which its place can be told, ``(k, d)``; the unit is the whole range.

        A turn by TURN, of the direction of its slope or by its swap, must stand clear of rounding: the slope must be
        so many times its error, or what errors usually are. Inputs not much weaker than the strongest stay anyway.
        """
        if self.pool.noisy:
            return np.zeros_like(self._at_first.error)
        error, usual = self._at_first.error, self._at_first.usual
        error = np.maximum(error, np.median(error, axis=1, keepdims=True))
        told: np.ndarray = np.minimum(
            self.limits.clear_gap * self.limits.low / TURN * error, WEAK_SHARE * usual.max(axis=1, keepdims=True)
        )
        return told

    @property
    def _least_effects(self) -> np.ndarray:
        """The score of an effect so large that its input has a place whatever its usual slope, ``(k, d)``."""
        asleep: np.ndarray = ASLEEP * self._least_slopes / self.pool.unit_effect()[:, None]
        return np.asarray(np.maximum(asleep, self.limits.active))

    def active_names(self, output: int) -> tuple[str, ...]:
        """Their names."""
        return tuple(self.names[i] for i in self.active(output))

    def flat(self, output: int) -> np.ndarray:
        """Active inputs whose partial derivative was never told from zero."""
        active = self.active(output)
        if self.pool.noisy:
            return active[:0]
        flat: np.ndarray = active[self.relative_errors(output)[active] > 1 / SLOPE_TOLD_FROM_ZERO]
        return flat

    @property
    def any_flat(self) -> bool:
        """Whether some output has an active input without a slope."""
        return any(len(self.flat(o)) for o in range(len(self.decisions)))

    def relative_errors(self, output: int) -> np.ndarray:
        """Error of every partial derivative over its root mean square."""
        error = np.sqrt(np.mean(self.pool.units[0].sheets[0][1].errors[:, output] ** 2, axis=0))
        size = self.pool.gradient_size()[output]
        relative: np.ndarray = np.divide(error, size, out=np.full_like(error, np.inf), where=size > 0)
        return relative

    def unit_turn(self, output: int) -> float:
        """The score of a turn by one radian, for two inputs whose derivatives are known as well as most."""
        sloping = np.setdiff1d(self.active(output), self.flat(output))
        usual = float(np.median(self.relative_errors(output)[sloping])) if len(sloping) else 1.0
        n_swaps = self.pool.swaps_per_triple(output) if self.pool.noisy else 1.0
        return float(n_swaps**0.25 / np.clip(usual, 1e-300, 1e3))

    def _is_hopeless(self) -> bool:
        """Whether some output has inputs that act, but none with a slope."""
        return any(0 < len(self.active(o)) == len(self.flat(o)) for o in range(len(self.decisions)))

    def turn_table(self, output: int) -> TurnTable:
        """Every turn among the inputs that have a place."""
        scores = self.scores_between_active(output, self.pool.turn_scores()[output])
        d = len(scores)
        visible = np.full((d, d, d), self.smallest_visible_turn(output))
        return TurnTable(self.active_names(output), scores / self.decisions[output].threshold, visible, TURN)

    def smallest_visible_turn(self, output: int) -> float:
        """In radians: what errors of the derivatives could not hide."""
        return self.limits.clear_gap * self.limits.low / self.unit_turn(output)

    def _is_stable(self) -> bool:
        """Whether two halves of the units give the same trees, consistent and across a clear gap."""
        n = len(self.pool.units)
        if n < FEWEST_UNITS or any(not d.consistent or d.gap < self.limits.clear_gap for d in self.decisions):
            return False
        if any(self.smallest_visible_turn(o) > TURN for o in range(len(self.decisions))):
            return False
        halves = [self.decide(range(start, n, 2)) for start in (0, 1)]
        return all(a.tree == b.tree == d.tree for a, b, d in zip(*halves, self.decisions, strict=True))
