"""From measured P* to the verdict on a law: fits, figures and the finding."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass

from compsparse.claims.claim import Finding, Outcome
from compsparse.claims.p_star import MeasuredComplexity
from compsparse.claims.rules import RULE, StatedExponent, all_of, judge_law
from compsparse.measures import Law, fit_law
from compsparse.report.figure import Figure

Variable = Callable[[MeasuredComplexity], float]


@dataclass(frozen=True)
class LawPart:
    """One fit: points, what they depend on, and what is stated of the exponents.

    Attributes:
        name: of the part, such as ``L=3``; empty where a law has only one.
        variables: by name.
        group: points of one group share a prefactor; None gives all points one.
    """

    name: str
    points: Sequence[MeasuredComplexity]
    variables: Mapping[str, Variable]
    stated: Mapping[str, StatedExponent]
    group: Callable[[MeasuredComplexity], Hashable] | None = None

    def law(self) -> Law | None:
        """The fitted law; None where a P* was not seen from both sides."""
        if not all(p.p_star.bracketed for p in self.points):
            return None
        values = {name: [of(p) for p in self.points] for name, of in self.variables.items()}
        groups = None if self.group is None else [self.group(p) for p in self.points]
        return fit_law(values, [p.p_star.value for p in self.points], groups=groups)

    def label(self, name: str) -> str:
        """An exponent's name, told from that of other parts."""
        return f"{name} at {self.name}" if self.name else name


def law_finding(parts: Sequence[LawPart], figure: Figure, caveats: tuple[str, ...] = ()) -> Finding:
    """Judges every exponent of every part by the one rule for laws, and all together."""
    laws = [(part, part.law()) for part in parts]
    outcome = all_of(Outcome.INCONCLUSIVE if law is None else judge_law(law, part.stated) for part, law in laws)
    fitted = [(part, law, name) for part, law in laws if law is not None for name in part.stated]
    wanted = "; ".join(f"{part.label(name)}: {said.text()}" for part in parts for name, said in part.stated.items())
    found = "; ".join(f"{p.label(n)}: {law.exponents[n]:.2f} ± {law.errors[n]:.2f}" for p, law, n in fitted)
    open_ = [part.name or "all" for part, law in laws if law is None]
    ratios = [p.p_star.value / p.natural for part in parts for p in part.points]
    return Finding(
        outcome,
        expected=f"exponents of P*: {wanted}. {RULE[0].upper()}{RULE[1:]}",
        measured=(f"exponents {found}; " if found else "")
        + (f"P* not seen from both sides: {', '.join(open_)}; " if open_ else "")
        + f"P* / (n_c m^L) from {min(ratios):.2g} to {max(ratios):.2g}",
        numbers={f"exponent of {p.label(n)}": law.exponents[n] for p, law, n in fitted}
        | {f"half width of {p.label(n)}": law.errors[n] for p, law, n in fitted if math.isfinite(law.errors[n])},
        figures=(figure,),
        caveats=(
            "P* is the size at which the mean test error over seeds is 10%, interpolated in log P; every seed draws "
            "its own rules",
            *caveats,
        ),
    )


def law_figure(
    title: str,
    series: Sequence[tuple[str, Sequence[MeasuredComplexity]]],
    x: Variable,
    x_title: str,
    *,
    over_natural: bool = False,
) -> Figure:
    """P* against a variable on logarithmic axes, one line a series."""
    rows = []
    for name, points in series:
        for p in sorted(points, key=x):
            scale = p.natural if over_natural else 1
            values = {"P*": p.p_star.value, "low": p.p_star.low, "high": p.p_star.high}
            if all(math.isfinite(value) for value in values.values()):
                rows.append({x_title: x(p), "series": name, **{k: value / scale for k, value in values.items()}})
    y_title = "P* / (n_c m^L)" if over_natural else "P*"
    return Figure(
        title, tuple(rows), x_title, "P*", series="series", low="low", high="high", log_x=True,
        log_y=True, y_title=f"{y_title} (90% interval over seeds)",
    )  # fmt: skip
