"""What speaks for the modules that were found in data: held-out errors with and without them."""

from __future__ import annotations

import math

from compsparse.discovery.data.audit import Support
from compsparse.discovery.data.outputs import FoundTree, FoundTrees
from compsparse.discovery.forest import users_of_modules
from compsparse.discovery.record import Evidence
from compsparse.graph.modules import ModuleTree

_UNMEASURED = Support(math.nan, 0.0, math.nan)


def module_evidence(found: FoundTrees) -> tuple[Evidence, ...]:
    """One entry per inner module and function of it, the whole included."""
    entries = []
    for members, users in users_of_modules(found.trees, found.same):
        first = found.of[users[0]]
        module = next(m for m in first.tree.inner if m.members == members)
        entries.append(_of_whole(first, users) if module is first.tree else _of_module(first, module, users))
    return tuple(entries)


def _of_module(found: FoundTree, module: ModuleTree, users: tuple[str, ...]) -> Evidence:
    support = found.support.get(module.members, _UNMEASURED)
    return Evidence(
        module.members,
        module.kind,
        users,
        "held-out gain",
        support.change,
        support.spread,
        recurrence=support.recurrence,
        wording=f"held-out error {support.change:+.1%} ± {support.spread:.1%} when the module is imposed",
    )


def _of_whole(found: FoundTree, users: tuple[str, ...]) -> Evidence:
    kind = found.tree.kind
    if not found.path:
        return Evidence(found.tree.members, kind, users, "held-out error", math.nan)
    last = found.path[-1]
    return Evidence(
        found.tree.members,
        kind,
        users,
        "held-out error",
        last.error,
        last.spread,
        wording=f"held-out error {last.error:.3g} ± {last.spread:.1g} of what the best constant leaves",
    )
