"""What speaks for the modules that were found in data: turns of a smooth fit, or held-out errors without them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

from compsparse.discovery.data.found import FoundTree, FoundTrees
from compsparse.discovery.data.sketch import Sketch, Support
from compsparse.discovery.data.smooth.answer import ModuleFigures
from compsparse.discovery.data.smooth.limits import HAS_TREND, NEARLY_TURNED, WELL_SPANNED
from compsparse.discovery.record import DiscoveryStatus, Evidence
from compsparse.discovery.structure.bundles import Bundle
from compsparse.discovery.structure.forest import Members, users_of_modules
from compsparse.discovery.structure.statistics import BEYOND_DOUBT
from compsparse.graph.modules import ModuleTree

_UNMEASURED = Support(math.nan, 0.0)


def module_evidence(found: FoundTrees) -> tuple[Evidence, ...]:
    """One entry per inner module and function of it, the whole included."""
    entries = []
    for members, users in users_of_modules(found.trees, found.same):
        first = found.of[users[0]]
        if bundle := next((b for b in found.drawn[users[0]][1] if b.members == members), None):
            entries.append(_of_bundle(bundle, users))
            continue
        module = next(m for m in first.tree.inner if m.members == members)
        entries.append(_of_whole(first, users) if module is first.tree else _of_module(first, module, users))
    for (_, name), inside in found.insides.items():
        entries += [replace(e, doubts=(*e.doubts, *_doubts(found.of[name]))) for e in inside.evidence]
    return tuple(entries)


def _of_bundle(bundle: Bundle, users: tuple[str, ...]) -> Evidence:
    """Evidence of a module of several channels: what its slopes would span if it passed one number more."""
    doubts = ["the sign of one number more comes close to that"] * (bundle.beyond > NEARLY_TURNED * bundle.threshold)
    if bundle.last < WELL_SPANNED * bundle.threshold:
        unseen = bundle.threshold / bundle.last
        doubts.append(f"one number more would not be seen if it mattered {unseen:.0%} as much as the last")
    return Evidence(
        bundle.members,
        "prime",
        users,
        "volume",
        bundle.beyond,
        threshold=bundle.threshold,
        channels=bundle.channels,
        parts=len(bundle.children),
        statement=f"reach the rest through {bundle.channels} numbers",
        figures=f"the sign of one more is {bundle.beyond:.1f} standard errors at most, chance gives up to "
        f"{bundle.threshold:.1f}, and the last has {bundle.last:.0f}",
        doubts=tuple(doubts),
    )


def _of_module(found: FoundTree, module: ModuleTree, users: tuple[str, ...]) -> Evidence:
    if found.is_read_off:
        assert found.smooth is not None
        return _of_turns(found, found.smooth.modules[module.members], module, users)
    support = found.sketch.support.get(module.members, _UNMEASURED)
    effect = "cuts" if support.change <= 0 else "raises"
    return Evidence(
        module.members,
        module.kind,
        users,
        "held-out gain",
        support.change,
        support.spread,
        recurrence=found.recurrence.get(module.members, math.nan),
        parts=len(module.children),
        statement=f"joined into one number: that {effect} the error on unseen rows by {abs(support.change):.1%}",
        figures=f"± {support.spread:.1%}",
        doubts=(*_unfounded(found.sketch, module, support), *_turned(found, module), *_doubts(found)),
    )


def _unfounded(sketch: Sketch, module: ModuleTree, support: Support) -> list[str]:
    """The doubt that nothing measured speaks for a module: no gain, nor was it told apart from other groupings."""
    was_told_apart = sketch.told_apart.get(module.members, 0.0) >= BEYOND_DOUBT
    return ["unseen rows are predicted as well without it"] * (support.may_be_chance and not was_told_apart)


def _turned(found: FoundTree, module: ModuleTree) -> list[str]:
    """The doubt of a smooth fit, which may see what is too small for held-out errors."""
    if found.smooth is None:
        return []
    (turn, trend), chance = found.smooth.turn_of(module.members), found.smooth.least_turn
    figures = f"{turn:.1f} standard errors, chance gives {chance:.1f}"
    seen = f"a smooth fit sees other inputs change how they act together: {figures}"
    return [seen] * (turn > chance) + _with_trend(trend) + _untold(found.smooth.untold(module.members))


def _untold(inputs: Members) -> list[str]:
    """The doubt that inputs leave whose part in a module is too small to be seen."""
    return [f"a small change by {', '.join(sorted(inputs))} would not have been seen"] * bool(inputs)


def _with_trend(trend: float) -> list[str]:
    seen = f"other inputs change a little how they act together, {trend:.1f} standard errors over all points"
    return [seen] * (trend > HAS_TREND)


def _doubts(found: FoundTree) -> list[str]:
    """Why the modules of a tree hold only nearly, all of them; nothing where they do hold."""
    doubts, sketch, gate = [], found.sketch, found.gate
    if gate is None and found.status is not DiscoveryStatus.FINISHED:
        doubts.append("the search ended before the graph was compared with a free fit")
    if gate is not None and gate.loses:
        doubts.append(f"the graph explains {gate.cost:.2%} less of other rows than a free fit")
    if gate is not None and gate.is_unresolved:
        doubts.append(
            f"the graph leaves {gate.unexplained:.1%} that is not noise, so inputs may act beside the modules unseen"
        )
    if worse := [m for m in found.tree.modules if m in sketch.support and sketch.support[m].hurts]:
        doubts.append(f"the graph predicts better without {_listed(worse)}, so something is wrong with it")
    if sketch.may_lack:
        doubts.append(f"inputs that were left out may act: {', '.join(sketch.may_lack)}")
    if sketch.strays:
        doubts.append(f"inputs would help elsewhere in the graph too: {', '.join(sketch.strays)}")
    if sketch.leaks:
        leaks = _listed(set(sketch.leaks))
        doubts.append(f"inputs of {leaks} seem to act beside it, so those of other modules may too")
    return doubts


def _listed(modules: Iterable[Members]) -> str:
    return ", ".join("{" + ", ".join(names) + "}" for names in sorted(map(sorted, modules)))


def _of_turns(found: FoundTree, figures: ModuleFigures, module: ModuleTree, users: tuple[str, ...]) -> Evidence:
    """Evidence of a smooth fit: how far inputs outside turn the module's slopes."""
    on_outer = not math.isnan(figures.outer_turn)
    rows = f", {figures.outer_turn:.1f} in other rows alone" if on_outer else ""
    doubts = []
    if figures.unsure:
        doubts.append("a threshold that fits as well does without it")
    elif figures.turn > NEARLY_TURNED * figures.threshold:
        doubts.append("the largest sign comes close to that")
    doubts += _untold(found.smooth.untold(module.members) if found.smooth else frozenset())
    return Evidence(
        module.members,
        module.kind,
        users,
        "turn on other rows" if on_outer else "turn",
        figures.outer_turn if on_outer else figures.turn,
        threshold=figures.threshold,
        recurrence=figures.recurrence,
        parts=len(module.children),
        statement="act through one number: no other input was seen to change how they act together",
        figures=f"the largest sign is {figures.turn:.1f} standard errors{rows}; chance gives up to "
        f"{figures.threshold:.1f}; a change by {figures.resolution:.1g} radians would have been seen",
        doubts=(*doubts, *_with_trend(figures.trend), *_doubts(found)),
    )


def _of_whole(found: FoundTree, users: tuple[str, ...]) -> Evidence:
    tree, parts = found.tree, len(found.tree.children)
    if not found.sketch.path:
        return Evidence(tree.members, tree.kind, users, "held-out error", math.nan, parts=parts)
    last = found.sketch.path[-1]
    return Evidence(
        tree.members,
        tree.kind,
        users,
        "held-out error",
        last.error,
        last.spread,
        parts=parts,
        statement=f"explain {_explained(last.error)} of the variation in rows that the fit had not seen",
        figures=f"± {last.spread:.1g}",
    )


def _explained(error: float) -> str:
    """What a share of error explains, with as many decimals as the error needs."""
    decimals = min(8, max(0, math.ceil(-math.log10(error)) - 1)) if error > 0 else 0
    return f"{1 - error:.{decimals}%}"
