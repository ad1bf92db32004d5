"""A strong free fit first: fit a smooth function, ask it what is inert and what turns what, and read the tree."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import torch
from torch import Tensor

from compsparse.clock import Deadline
from compsparse.discovery.data.smooth.answer import SmoothAnswer, figures_of
from compsparse.discovery.data.smooth.channels import bundles_of_fit
from compsparse.discovery.data.smooth.groups import GroupsOfFit
from compsparse.discovery.data.smooth.limits import (
    ACTS,
    DOUBT,
    DRAWS,
    EXPLAINED,
    EXPLAINED_FOR_EFFECTS,
    EXPLAINED_FOR_PAIRS,
    FEWEST_OUTER_ROWS,
    FINEST,
    FIRST_NOISE,
    LEAST_INFLATION,
    LEVELLED_OFF,
    LIKELIER,
    MANY_COLUMNS,
    MORE_ROWS_FOR_KERNEL,
    MOST_ACTIVE,
    MOST_LEFT,
    MOST_OUTER_ROWS,
    MOST_ROWS,
    MOSTLY_NOISE,
    MUCH_NOISE,
    NEARLY_LEVELLED_OFF,
    NO_EFFECT,
    RESAMPLED_SHARE,
    ROWS_FOR_KERNEL,
    SURELY_NO_EFFECT,
    TIME_TO_RESAMPLE,
    TREND_BELIEVED,
)
from compsparse.discovery.data.smooth.maps import Coordinate, MappedTarget, maps_of
from compsparse.discovery.data.smooth.noise import NoiseByHeight
from compsparse.discovery.data.smooth.process import Kernel, SmoothFit, conditioned, fit_kernel
from compsparse.discovery.data.smooth.reading import (
    Reading,
    chance_turn,
    read_tree,
    table_of_turns,
    weak_inputs,
)
from compsparse.discovery.data.smooth.turning import (
    Turns,
    acts_by_three,
    largest_changes,
    measured_effects,
    measured_swaps,
    measured_turns,
    trend_of,
)
from compsparse.discovery.shared_inputs import FoundSum, wide_nodes
from compsparse.discovery.structure.forest import Members
from compsparse.discovery.structure.groups import FoundGroups
from compsparse.discovery.structure.links import OF_DATA, find_link, sets_without_third_order
from compsparse.discovery.structure.statistics import MAY_BE_CHANCE, NOT_WORSE, t_statistic
from compsparse.discovery.structure.units import Dimension
from compsparse.graph.modules import ModuleTree
from compsparse.tables.scaling import Scale, scale_of


class SmoothSearch:
    """A table of smooth inputs, split into rows that choose and rows that judge.

    Args:
        X: (rows, inputs) standardised, double precision.
        y: (rows,) the target.
        weight: (rows,) of mean one.
        outer: rows that choose nothing.
        scales: from standardised inputs to their own values.
        units: of inputs, where they are known.
    """

    def __init__(
        self,
        X: Tensor,
        y: np.ndarray,
        weight: Tensor,
        names: Sequence[str],
        outer: np.ndarray,
        seed: int,
        deadline: Deadline | None = None,
        scales: Sequence[Scale] | None = None,
        units: Mapping[str, Dimension] | None = None,
    ):
        self.X, self.y, self.weight, self.names = X, y, weight, tuple(names)
        self.precision = torch.ones_like(weight)
        rng = np.random.default_rng(seed)
        inner = np.setdiff1d(np.arange(len(X)), outer)
        self.inner = rng.permutation(inner)[:MOST_ROWS]
        self.outer = rng.permutation(outer)[:MOST_OUTER_ROWS]
        self.seed, self.deadline = seed, deadline or Deadline()
        self.units = units or {}
        known = [Scale(0.0, 1.0)] * len(names) if scales is None else scales
        self.coordinates = [Coordinate(scale) for scale in known]

    def ask(self, n_resamples: int = 0) -> SmoothAnswer:
        """Fits, leaves out what is inert, and reads the tree where the fit is good enough.

        Raises:
            TimeIsOver: it is.
        """
        mapped, kernel = self._best_map()
        active = list(range(len(self.names)))
        with_all = self._fit(mapped, kernel, active, self.inner)
        fit, active = self._without_inert(mapped, with_all, active)
        inert = tuple(name for i, name in enumerate(self.names) if i not in active)
        room = {name: effect for name, effect in self._room(mapped, with_all).items() if name in inert}
        unexplained, spread = self._unexplained(mapped, fit, active)
        errors, inflation = self._on_fresh_rows(mapped, fit, active)
        effects = zip(active, measured_effects(fit, inflation, self.seed), strict=True)
        acting = frozenset(self.names[i] for i, size in effects if size > ACTS)
        of_map = float(errors.mean())
        if of_map > 1 - EXPLAINED_FOR_PAIRS or not 1 < len(active) <= MOST_ACTIVE:
            return SmoothAnswer(None, inert, acting, unexplained, spread, {}, room=room)
        names = [self.names[i] for i in active]
        turns = _believed(measured_turns(fit, inflation, self.seed), of_map)
        said = SmoothAnswer(
            None,
            inert,
            acting,
            unexplained,
            spread,
            {},
            room=room,
            turns=turns,
            turned=tuple(names),
            most_turn=DOUBT * chance_turn(of_map),
        )
        if of_map > 1 - EXPLAINED:
            return replace(said, **self._told_in_noise(mapped, fit, active, errors, turns))
        reading = read_tree(turns, names, of_map)
        outer_turns = self._outer_turns(mapped, fit.kernel, active)
        again = self._resampled(mapped, fit.kernel, active, inflation, of_map, n_resamples)
        figures = {
            m: figures_of(m, reading, names, turns, self._trend(fit, m, names, of_map, inflation), outer_turns, again)
            for m in reading.tree.modules
        }
        answer = replace(
            said,
            tree=reading.tree,
            modules=figures,
            consistent=reading.consistent,
            unplaced=reading.unplaced,
            weak=frozenset(names[i] for i in np.flatnonzero(weak_inputs(turns))),
            table=reading.table,
            sums=self._sums(fit, reading.tree, names, inflation),
            groups=self._groups(mapped, fit, reading, active, inflation),
            resampled=len(again),
        )
        if answer.leaves_doubt or not reading.consistent:
            return answer
        return replace(
            answer, bundles=bundles_of_fit(fit, reading.tree, names, inflation, reading.threshold, self.seed)
        )

    # ---- fits ----------------------------------------------------------------------------

    def _best_map(self) -> tuple[MappedTarget, Kernel]:
        """The map of the target under which few rows predict fresh ones best, and its kernel.

        Inputs are seen as their logarithms where that does better still.
        """
        every = list(range(len(self.names)))
        few = self.inner[:ROWS_FOR_KERNEL]
        maps = list(maps_of(self.y))
        unexplained, mapped, kernel = self._best_of(maps)
        as_given = self.X, self.coordinates
        if self._takes_logarithms():
            by_logarithms = self._best_of([m for m in maps if m.name != "normal scores"])
            if by_logarithms[0] < unexplained:
                unexplained, mapped, kernel = by_logarithms
            else:
                self.X, self.coordinates = as_given
        if unexplained > MOSTLY_NOISE and (by_height := self._by_height(mapped, kernel)) is not None:
            return mapped, by_height
        if unexplained > 1 - EXPLAINED:
            of_noise = self._kernel(mapped, every, first_noise=MUCH_NOISE)
            if (left := self._left(mapped, of_noise, every, few)) < unexplained:
                unexplained, kernel = left, of_noise
        if unexplained > 1 - EXPLAINED_FOR_EFFECTS and len(every) > MANY_COLUMNS and len(self.inner) > len(few):
            kernel = self._kernel(mapped, every, MORE_ROWS_FOR_KERNEL)
        return mapped, kernel

    def _best_of(self, maps: Sequence[MappedTarget]) -> tuple[float, MappedTarget, Kernel]:
        """What few rows leave of fresh ones under the best of some maps, the map, and its kernel."""
        every, few = list(range(len(self.names))), self.inner[:ROWS_FOR_KERNEL]
        kernels = [self._kernel(mapped, every) for mapped in maps]
        left = [self._left(mapped, kernel, every, few) for mapped, kernel in zip(maps, kernels, strict=True)]
        best = int(np.argmin(left))
        return left[best], maps[best], kernels[best]

    def _takes_logarithms(self) -> bool:
        """Puts logarithms in the place of positive inputs; False where there are none."""
        columns = zip(self.X.T.cpu().numpy(), self.coordinates, strict=True)
        seen = [Coordinate.logarithm_of(column, coordinate.scale) for column, coordinate in columns]
        self.X = torch.as_tensor(np.stack([column for column, _ in seen], axis=1)).to(self.X)
        self.coordinates = [coordinate for _, coordinate in seen]
        return any(coordinate.is_logarithm for coordinate in self.coordinates)

    # ---- noise ---------------------------------------------------------------------------

    def _by_height(self, mapped: MappedTarget, kernel: Kernel) -> Kernel | None:
        """Gives every row its precision, and a kernel with them, where that makes fresh rows clearly likelier."""
        every = list(range(len(self.names)))
        even = self._fit(mapped, kernel, every, self.inner)
        if self._on_fresh_rows(mapped, even, every)[0].mean() > MOST_LEFT:
            return None
        density = self._log_density(mapped, even)
        mean, left = self._left_by(mapped, even, self.inner)
        noise = NoiseByHeight.seen(mean, left)
        for rows in (self.inner, self.outer):
            precision = noise.precision(self._left_by(mapped, even, rows)[0])
            self.precision[torch.as_tensor(rows, device=self.X.device)] = torch.as_tensor(precision).to(self.X)
        of_heights = self._kernel(mapped, every)
        gain = self._log_density(mapped, self._fit(mapped, of_heights, every, self.inner)) - density
        if t_statistic(gain, np.ones(len(gain))) > LIKELIER:
            return of_heights
        self.precision = torch.ones_like(self.weight)
        return None

    def _left_by(self, mapped: MappedTarget, fit: SmoothFit, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What a fit of all inputs predicts for some rows, and what it leaves."""
        X, y, _ = self._rows(mapped, range(len(self.names)), rows)
        mean = fit.values(X)[0]
        return mean.cpu().numpy(), (y - mean).cpu().numpy()

    def _log_density(self, mapped: MappedTarget, fit: SmoothFit) -> np.ndarray:
        """Of the outer rows under a fit of all inputs."""
        X, y, precision = self._rows(mapped, range(len(self.names)), self.outer)
        mean, draws = fit.values(X)
        variance = (draws - mean[:, None]).square().mean(1) + fit.kernel.noise * fit.kernel.level / precision
        density: np.ndarray = (-0.5 * ((y - mean).square() / variance + variance.log())).cpu().numpy()
        return density

    def _told_in_noise(
        self, mapped: MappedTarget, fit: SmoothFit, active: list[int], errors: np.ndarray, turns: Turns
    ) -> dict[str, Any]:
        """What can be said of turns by a fit that leaves too much for a tree, if that is noise."""
        left, half = float(errors.mean()), self._half_of_rows(mapped, fit, active)
        if left > MOST_LEFT or float(half.mean()) > NEARLY_LEVELLED_OFF * left:
            return {}
        threshold = math.sqrt(DOUBT) * chance_turn(left)
        return {"table": table_of_turns(turns, tuple(self.names[i] for i in active), threshold), "is_noisy": True}

    def _left(self, mapped: MappedTarget, kernel: Kernel, active: Sequence[int], rows: np.ndarray) -> float:
        """Share of the variance of fresh rows that some rows leave."""
        return float(self._on_fresh_rows(mapped, self._fit(mapped, kernel, active, rows), active)[0].mean())

    def _kernel(
        self,
        mapped: MappedTarget,
        active: Sequence[int],
        n_rows: int = ROWS_FOR_KERNEL,
        first_noise: float = FIRST_NOISE,
    ) -> Kernel:
        return fit_kernel(*self._rows(mapped, active, self.inner[:n_rows]), self.deadline.check, first_noise)

    def _fit(self, mapped: MappedTarget, kernel: Kernel, active: Sequence[int], rows: np.ndarray) -> SmoothFit:
        self.deadline.check()
        return conditioned(kernel, *self._rows(mapped, active, rows), n_draws=DRAWS, seed=self.seed)

    def _rows(self, mapped: MappedTarget, active: Sequence[int], rows: np.ndarray) -> tuple[Tensor, Tensor, Tensor]:
        index = torch.as_tensor(rows, device=self.X.device)
        y = torch.as_tensor(mapped.values[rows], dtype=self.X.dtype, device=self.X.device)
        return _even(self.X[index][:, list(active)]), _even(y), self.weight[index] * self.precision[index]

    # ---- fresh rows ----------------------------------------------------------------------

    def _on_fresh_rows(self, mapped: MappedTarget, fit: SmoothFit, active: Sequence[int]) -> tuple[np.ndarray, float]:
        """Squared errors on the outer rows, and by what the variance of the draws falls short of them."""
        X, y, weight = self._rows(mapped, active, self.outer)
        mean, draws = fit.values(X)
        errors = (mean - y).square()
        expected = (draws - mean[:, None]).square().mean(1) + fit.kernel.noise * fit.kernel.level / weight
        inflation = max(LEAST_INFLATION, float((errors / expected).mean()))
        sure = self.precision[torch.as_tensor(self.outer, device=self.X.device)]
        sure = sure / sure.mean()
        spread = (sure * (y - (sure * y).mean()).square()).mean()
        return (sure * errors / spread).cpu().numpy(), inflation

    def _room(self, mapped: MappedTarget, fit: SmoothFit) -> dict[str, float]:
        """The largest change by each input that a fit of all leaves room for, as a share of the target's spread."""
        _, inflation = self._on_fresh_rows(mapped, fit, range(len(self.names)))
        return dict(zip(self.names, largest_changes(fit, inflation, self.seed), strict=True))

    def _unexplained(self, mapped: MappedTarget, fit: SmoothFit, active: Sequence[int]) -> tuple[float, float]:
        """Share of the target's own variance that is left on the outer rows, with its standard error."""
        X, _, weight = self._rows(mapped, active, self.outer)
        predicted = mapped.restored(fit.values(X)[0].cpu().numpy())
        true = self.y[self.outer]
        scale = float(np.abs(true).max()) or 1.0
        errors = ((predicted - true) / scale) ** 2 / np.var(true / scale)
        w = weight.cpu().numpy()
        left = float(np.average(errors, weights=w))
        return left, float(np.sqrt(np.sum((w * (errors - left)) ** 2)) / w.sum())

    # ---- inert inputs --------------------------------------------------------------------

    def _without_inert(self, mapped: MappedTarget, fit: SmoothFit, active: list[int]) -> tuple[SmoothFit, list[int]]:
        """The fit without inputs that seem to do nothing, if fresh rows are predicted as well without them all."""
        with_all, inflation = self._on_fresh_rows(mapped, fit, active)
        left = float(with_all.mean())
        is_good = left <= 1 - EXPLAINED or (left <= 1 - EXPLAINED_FOR_EFFECTS and len(active) > MANY_COLUMNS)
        if not (
            is_good or (left <= 1 - EXPLAINED_FOR_EFFECTS and self._has_levelled_off(mapped, fit, active, with_all))
        ):
            return fit, active
        effects = measured_effects(fit, inflation, self.seed)
        for no_effect in (NO_EFFECT, SURELY_NO_EFFECT) if is_good else (SURELY_NO_EFFECT,):
            others = [i for i, size in zip(active, effects, strict=True) if size > no_effect]
            if not others or len(others) == len(active):
                continue
            kernel = self._kernel(mapped, others, first_noise=FIRST_NOISE if is_good else MUCH_NOISE)
            without = self._fit(mapped, kernel, others, self.inner)
            errors, _ = self._on_fresh_rows(mapped, without, others)
            if float(t_statistic(errors - with_all, np.ones(len(errors)))) <= MAY_BE_CHANCE:
                return without, others
        return fit, active

    def _has_levelled_off(self, mapped: MappedTarget, fit: SmoothFit, active: list[int], with_all: np.ndarray) -> bool:
        """Whether half of the rows do as well, as far as fresh rows can tell: what is left is noise, not structure."""
        errors = self._half_of_rows(mapped, fit, active)
        is_near = float(errors.mean()) < LEVELLED_OFF * float(with_all.mean())
        return is_near and float(t_statistic(errors - with_all, np.ones(len(errors)))) <= MAY_BE_CHANCE

    def _half_of_rows(self, mapped: MappedTarget, fit: SmoothFit, active: list[int]) -> np.ndarray:
        """Squared errors on the outer rows with the same kernel and half of the rows."""
        half = self._fit(mapped, fit.kernel, active, self.inner[: len(self.inner) // 2])
        return self._on_fresh_rows(mapped, half, active)[0]

    # ---- figures -------------------------------------------------------------------------

    def _trend(
        self, fit: SmoothFit, members: Members, names: Sequence[str], unexplained: float, inflation: float
    ) -> float:
        """Of the turns of a module's slopes by all inputs outside together; zero where the fit is too poor for it."""
        if unexplained > MOSTLY_NOISE:
            return 0.0
        return trend_of(fit, [i for i, name in enumerate(names) if name in members], inflation, self.seed)

    def _sums(
        self, fit: SmoothFit, tree: ModuleTree, names: Sequence[str], inflation: float
    ) -> dict[Members, FoundSum]:
        """The sums under a link that wide nodes are, where that is beyond doubt."""
        found = {}
        for node in wide_nodes(tree):
            children = [[names.index(name) for name in sorted(child.members)] for child in node.children]
            linked = find_link(measured_swaps(fit, inflation, children, self.seed), len(children), OF_DATA)
            if linked is not None and linked.is_clear:
                triples: set[tuple[int, ...]] = {t for clique in linked.cliques for t in combinations(clique, 3)}
                acts = {t: acts_by_three(fit, inflation, linked, [children[c] for c in t], self.seed) for t in triples}
                found[node.members] = FoundSum(linked, sets_without_third_order(linked.cliques, acts))
        return found

    def _groups(
        self, mapped: MappedTarget, fit: SmoothFit, reading: Reading, active: Sequence[int], inflation: float
    ) -> dict[Members, FoundGroups]:
        """The groups through which wide nodes act on their inputs."""
        nodes = wide_nodes(reading.tree)
        if not nodes:
            return {}
        names, seen = [self.names[i] for i in active], [self.coordinates[i] for i in active]
        lowest = [c.restored(self.X[:, i].cpu().numpy()).min() for i, c in zip(active, seen, strict=True)]
        positive = frozenset(name for name, low in zip(names, lowest, strict=True) if low > 0)
        errors, _ = self._on_fresh_rows(mapped, fit, active)

        def confirms(found: FoundGroups) -> bool:
            through = self._errors_through(mapped, found, active)
            return float(t_statistic(through - errors, np.ones(len(errors)))) <= NOT_WORSE

        asked = GroupsOfFit(
            fit, mapped, names, seen, positive, inflation, reading.threshold, confirms, self.units, self.seed
        )
        found = {node.members: asked.inside(node) for node in nodes}
        return {members: groups for members, groups in found.items() if groups is not None}

    def _errors_through(self, mapped: MappedTarget, found: FoundGroups, active: Sequence[int]) -> np.ndarray:
        """Squared errors on the outer rows of a fit that sees groups in the place of their inputs."""
        place = self.names.index
        own = {n: self.coordinates[place(n)].restored(self.X[:, place(n)].cpu().numpy()) for n in found.inputs}
        seen = own if found.groups[0].form == "sum" else {name: np.log(column) for name, column in own.items()}
        columns = [sum(e * seen[n] for n, e in zip(g.inputs, g.exponents, strict=True)) for g in found.groups]
        columns = [scale_of(column).standardised(column) for column in map(np.asarray, columns)]
        rest = [self.X[:, i].cpu().numpy() for i in active if self.names[i] not in found.inputs]
        through = copy(self)
        through.X = torch.as_tensor(np.stack([*columns, *rest], axis=1)).to(self.X)
        every = range(through.X.shape[1])
        return through._on_fresh_rows(
            mapped, through._fit(mapped, through._kernel(mapped, every), every, self.inner), every
        )[0]

    def _outer_turns(self, mapped: MappedTarget, kernel: Kernel, active: list[int]) -> Turns | None:
        """Turns as the rows that chose nothing see them by themselves, if there are enough."""
        if len(self.outer) < FEWEST_OUTER_ROWS:
            return None
        return measured_turns(self._fit(mapped, kernel, active, self.outer), 1.0, self.seed)

    def _resampled(
        self,
        mapped: MappedTarget,
        kernel: Kernel,
        active: list[int],
        inflation: float,
        unexplained: float,
        n_resamples: int,
    ) -> list[frozenset[Members]]:
        """The modules found on random parts of the rows, with the kernel of the whole; fewer where time is short."""
        names = [self.names[i] for i in active]
        found: list[frozenset[Members]] = []
        last = self.deadline.within(TIME_TO_RESAMPLE * self.deadline.left)
        for k in range(n_resamples):
            if last.is_over:
                break
            part = np.random.default_rng([self.seed, k]).permutation(self.inner)
            part = part[: round(RESAMPLED_SHARE * len(part))]
            turns = measured_turns(self._fit(mapped, kernel, active, part), inflation, self.seed + k)
            found.append(read_tree(_believed(turns, unexplained), names, unexplained).tree.modules)
        return found


def _even(values: Tensor) -> Tensor:
    """Standardised numbers without their last digits, which depend on the unit of the table."""
    return torch.round(values * FINEST) / FINEST


def _believed(turns: Turns, unexplained: float) -> Turns:
    """Turns without their trends where the fit is too poor for these."""
    return turns if unexplained <= TREND_BELIEVED else replace(turns, trend=np.zeros_like(turns.trend))
