"""What speaks for the modules that were found in data: turns of a smooth fit, or held-out errors without them."""

from __future__ import annotations

import math
from collections.abc import Iterable

from compsparse.discovery.data.outputs import FoundTree, FoundTrees
from compsparse.discovery.data.sketch import Support
from compsparse.discovery.data.smooth.asking import ModuleFigures
from compsparse.discovery.data.smooth.limits import HAS_TREND, NEARLY_TURNED, WELL_SPANNED
from compsparse.discovery.record import DiscoveryStatus, Evidence
from compsparse.discovery.structure.bundles import Bundle
from compsparse.discovery.structure.forest import Members, users_of_modules
from compsparse.graph.modules import ModuleTree

_UNMEASURED = Support(math.nan, 0.0)


def module_evidence(found: FoundTrees) -> tuple[Evidence, ...]:
    """One entry per inner module and function of it, the whole included."""
    entries = []
    for members, users in users_of_modules(found.trees, found.same):
        first = found.of[users[0]]
        if bundle := next((b for b in first.bundles if b.members == members), None):
            entries.append(_of_bundle(bundle, users))
            continue
        module = next(m for m in first.tree.inner if m.members == members)
        entries.append(_of_whole(first, users) if module is first.tree else _of_module(first, module, users))
    return tuple(entries)


def _of_bundle(bundle: Bundle, users: tuple[str, ...]) -> Evidence:
    """Evidence of a module of several channels: what its slopes would span if it passed one number more."""
    unseen = bundle.threshold / bundle.last
    is_near = bundle.beyond > NEARLY_TURNED * bundle.threshold
    doubt = "; that is near it" if is_near else ""
    if bundle.last < WELL_SPANNED * bundle.threshold:
        doubt += f"; one of up to {unseen:.0%} of the last would not be seen"
    return Evidence(
        bundle.members,
        "prime",
        users,
        "volume",
        bundle.beyond,
        threshold=bundle.threshold,
        channels=bundle.channels,
        wording=f"passes {bundle.channels} numbers on: the sign of one more is {bundle.beyond:.1f} standard errors at "
        f"most (chance gives up to {bundle.threshold:.1f}; the last that passes has {bundle.last:.0f}){doubt}",
        approximate=bool(doubt),
    )


def _of_module(found: FoundTree, module: ModuleTree, users: tuple[str, ...]) -> Evidence:
    if found.is_read_off:
        assert found.smooth is not None
        return _of_turns(found, found.smooth.modules[module.members], module, users)
    support = found.sketch.support.get(module.members, _UNMEASURED)
    doubts = _turned(found, module) + _doubts(found)
    return Evidence(
        module.members,
        module.kind,
        users,
        "held-out gain",
        support.change,
        support.spread,
        recurrence=found.recurrence.get(module.members, math.nan),
        wording=f"held-out error {support.change:+.1%} ± {support.spread:.1%} when the module is imposed" + doubts,
        approximate=bool(doubts),
    )


def _turned(found: FoundTree, module: ModuleTree) -> str:
    """The doubt of a smooth fit, which may see what is too small for held-out errors."""
    if found.smooth is None:
        return ""
    (turn, trend), chance = found.smooth.turn_of(module.members), found.smooth.least_turn
    by_turn = (
        f"; a smooth fit sees inputs outside turn its slopes by {turn:.1f} standard errors (chance gives {chance:.1f})"
    )
    return (by_turn if turn > chance else "") + _with_trend(trend)


def _with_trend(trend: float) -> str:
    if trend <= HAS_TREND:
        return ""
    return f"; small turns of its slopes go with the function, {trend:.1f} standard errors over all points"


def _doubts(found: FoundTree) -> str:
    """Why the modules of a tree are approximate, all of them; nothing where they are not."""
    doubts, sketch = "", found.sketch
    if found.gate is None and found.status is not DiscoveryStatus.FINISHED:
        doubts += "; the search ended before the graph was compared with a free fit"
    if found.gate is not None and found.gate.loses:
        doubts += f"; the graph explains {found.gate.cost:.2%} less of other rows than a free fit"
    if found.gate is not None and found.gate.is_unresolved:
        doubts += (
            f"; the graph leaves {found.gate.unexplained:.1%} that is not noise, so inputs may act beside it unseen"
        )
    if worse := [m for m in found.tree.modules if m in found.sketch.support and found.sketch.support[m].hurts]:
        doubts += f"; the graph predicts better without {_listed(worse)}, so something is wrong with it"
    if sketch.may_lack:
        doubts += f"; inputs that were left out may act: {', '.join(sketch.may_lack)}"
    if sketch.strays:
        doubts += f"; inputs would help elsewhere in the graph too: {', '.join(sketch.strays)}"
    if sketch.leaks:
        leaks = _listed(set(sketch.leaks))
        doubts += f"; inputs of {leaks} seem to act beside it, so those of other modules may too"
    return doubts


def _listed(modules: Iterable[Members]) -> str:
    return ", ".join("{" + ", ".join(names) + "}" for names in sorted(map(sorted, modules)))


def _of_turns(found: FoundTree, figures: ModuleFigures, module: ModuleTree, users: tuple[str, ...]) -> Evidence:
    """Evidence of a smooth fit: how far inputs outside turn the module's slopes."""
    on_outer = not math.isnan(figures.outer_turn)
    value = figures.outer_turn if on_outer else figures.turn
    rows = f"{figures.outer_turn:.1f} by other rows alone, " if on_outer else ""
    is_near = figures.turn > NEARLY_TURNED * figures.threshold
    doubt = "; a threshold as good does without it" if figures.unsure else "; that is near it" if is_near else ""
    doubt += _with_trend(figures.trend) + _doubts(found)
    return Evidence(
        module.members,
        module.kind,
        users,
        "turn on other rows" if on_outer else "turn",
        value,
        threshold=figures.threshold,
        recurrence=figures.recurrence,
        wording=f"inputs outside turn its slopes by {figures.turn:.1f} standard errors at most ({rows}"
        f"chance gives up to {figures.threshold:.1f}, as would {figures.resolution:.1g} radians){doubt}",
        approximate=bool(doubt),
    )


def _of_whole(found: FoundTree, users: tuple[str, ...]) -> Evidence:
    kind = found.tree.kind
    if not found.sketch.path:
        return Evidence(found.tree.members, kind, users, "held-out error", math.nan)
    last = found.sketch.path[-1]
    return Evidence(
        found.tree.members,
        kind,
        users,
        "held-out error",
        last.error,
        last.spread,
        wording=f"held-out error {last.error:.3g} ± {last.spread:.1g} of what the best constant leaves",
    )
