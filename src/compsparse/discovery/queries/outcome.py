"""From decisions to the record: one graph, evidence for its modules, sentences of caution."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from compsparse.discovery.forest import Members, grow_forest, users_of_modules
from compsparse.discovery.queries.channels import Bundle, regrouped
from compsparse.discovery.queries.closure import close
from compsparse.discovery.queries.search import TURN, Search
from compsparse.discovery.queries.sharing import turn_between_outputs
from compsparse.discovery.record import Evidence
from compsparse.graph import FunctionGraph
from compsparse.graph.modules import ModuleTree

_RESAMPLES = 20
_THIN = 10.0


class Outcome:
    """What a search amounts to.

    Args:
        bundles: per output, the groups that pass several channels.
    """

    def __init__(self, search: Search, outputs: tuple[str, ...], bundles: Mapping[str, list[Bundle]]):
        self._search, self._bundles = search, bundles
        self._number = {name: o for o, name in enumerate(outputs)}
        self._position = {name: i for i, name in enumerate(search.names)}
        self._channels = {(b.members, output): b for output, found in bundles.items() for b in found}
        self.trees = {
            name: regrouped(search.decisions[o].tree, bundles.get(name, [])) for name, o in self._number.items()
        }
        self._same: dict[tuple[Members, str, str], bool] = {}

    def graph(self) -> FunctionGraph:
        widths = {key: bundle.channels for key, bundle in self._channels.items()}
        return grow_forest(self._search.names, self.trees, self._shared, widths)

    def evidence(self) -> tuple[Evidence, ...]:
        """One entry per inner module and function of it."""
        recurrence = {name: self._recurrence(name) for name in self.trees}
        of = {(m.members, name): m for name, tree in self.trees.items() for m in tree.inner}
        return tuple(
            self._evidence(of[members, users[0]], users, min(recurrence[u].get(members, math.nan) for u in users))
            for members, users in users_of_modules(self.trees, self._shared)
        )

    def _evidence(self, module: ModuleTree, users: tuple[str, ...], recurrence: float) -> Evidence:
        assert module.kind is not None
        bundle = self._channels.get((module.members, users[0]))
        if bundle is None:
            value = max(self._turn(module.members, u) for u in users)
            threshold = max(self._search.decisions[self._number[u]].threshold / self._unit(u) for u in users)
        else:
            value, threshold = bundle.beyond / self._unit(users[0]), bundle.threshold / self._unit(users[0])
        channels = 1 if bundle is None else bundle.channels
        return Evidence(
            module.members,
            module.kind,
            users,
            "direction change",
            value,
            threshold=threshold,
            recurrence=recurrence,
            channels=channels,
        )

    def _unit(self, output: str) -> float:
        return self._search.unit_turn(self._number[output])

    def _turn(self, members: Members, output: str) -> float:
        """The largest turn of the module's gradient by an input outside it, in radians for usual inputs."""
        o = self._number[output]
        inside = np.array([self._position[m] for m in members])
        outside = np.setdiff1d(self._search.active(o), inside)
        scores = self._search.pool.turn_scores()[o][np.ix_(inside, inside, outside)]
        return float(scores.max(initial=0.0)) / self._unit(output)

    def _recurrence(self, output: str) -> dict[Members, float]:
        """Share of resamples of the units in which each module comes back with its kind."""
        o = self._number[output]
        search, names = self._search, self._search.active_names(o)
        rng = np.random.default_rng(0)
        n = len(search.pool.units)
        counts = dict.fromkeys((_signature(m) for m in search.decisions[o].tree.inner), 0)
        for _ in range(_RESAMPLES):
            scores = search.pool.turn_scores(rng.integers(n, size=n).tolist())[o]
            turned = search.scores_between_active(o, scores) > search.decisions[o].threshold
            for module in close(turned, names).tree.inner:
                if _signature(module) in counts:
                    counts[_signature(module)] += 1
        return {members: count / _RESAMPLES for (members, _), count in counts.items()}

    def _shared(self, members: Members, one: str, other: str) -> bool:
        """Parallel gradients; modules of several channels are never taken for the same."""
        if any((members, o) in self._channels for o in (one, other)):
            return False
        key = (members, one, other)
        if key not in self._same:
            inside = np.array(sorted(self._position[m] for m in members))
            a, b = self._number[one], self._number[other]
            turn = turn_between_outputs(self._search.pool, inside, a, b)
            decisions = self._search.decisions
            self._same[key] = turn <= max(decisions[a].threshold, decisions[b].threshold)
        return self._same[key]

    # ---- caveats -------------------------------------------------------------------------

    def caveats(self, finished: bool) -> tuple[str, ...]:
        found = [self._caveats_of(name, finished) for name in self.trees]
        return tuple(sentence for sentences in found for sentence in sentences)

    def _caveats_of(self, output: str, finished: bool) -> list[str]:
        search, o = self._search, self._number[output]
        decision, tree = search.decisions[o], self.trees[output]
        sentences = []
        if len(tree.children) > 2 and tree.kind == "prime" and not tree.modules:
            sentences.append(f"{output}: no structure was found, the graph is one prime node")
        if not decision.consistent:
            sentences.append(
                f"{output}: some modules contradict each other (kinks that hide inputs, effects near the rounding "
                "error); more queries may resolve them"
            )
        elif not finished:
            sentences.append(f"{output}: two halves of the answers do not give the same graph yet")
        if decision.gap < (_THIN if not search.pool.noisy else search.limits.clear_gap):
            sentences.append(
                f"{output}: the gap between turns and no turns is thin, a factor of {decision.gap:.1f} in the threshold"
            )
        if search.smallest_visible_turn(o) > TURN:
            sentences.append(
                f"{output}: weak interactions would not be seen, for directions are known to "
                f"{search.smallest_visible_turn(o):.2g} radians only"
            )
        flat = [search.names[i] for i in search.flat(o)]
        if flat:
            sentences.append(
                f"{output}: no slope could be measured along {', '.join(flat)} (jumps, or an effect lost in rounding); "
                "its place in the graph is a guess"
            )
        return sentences


def _signature(module: ModuleTree) -> tuple[Members, str | None]:
    return module.members, module.kind if len(module.children) > 2 else None
