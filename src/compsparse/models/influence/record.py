"""What is known of the importance of inputs, modules and pairs, with its errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from compsparse.checks import check_name_list
from compsparse.errors import DataError
from compsparse.optional import needs
from compsparse.text import in_a_line

if TYPE_CHECKING:
    import pandas

Meaning = Literal["Sobol indices", "effects within the data"]
_MOST_LINES, _LONGEST_NAME = 12, 40
_FAINTEST = 5e-3
"""Strength of a pair below which it is not said to act together."""


@dataclass(frozen=True)
class Importance:
    """Shares of the variance that go with one input, or with all inputs of a module.

    Attributes:
        name: of the input, or of the node whose value the module is.
        members: the inputs that it stands for.
        first: what it explains alone.
        total: what is lost where it alone is not known.
        first_error, total_error: standard errors.
    """

    name: str
    members: tuple[str, ...]
    first: float
    first_error: float
    total: float
    total_error: float


@dataclass(frozen=True)
class PairStrength:
    """Share of the variance that two inputs make together and neither by itself, with its standard error."""

    pair: tuple[str, str]
    strength: float
    error: float


@in_a_line
@dataclass(frozen=True)
class Importances:
    """Importances of inputs, modules and pairs, each with its standard error.

    Attributes:
        meaning: ``Sobol indices`` over a box of independent inputs, or ``effects within the data``, where inputs depend
            on one another and shares do not add up.
        inputs: in the order of the function.
        modules: in the order of the graph.
        pairs: the strongest first.
        pairs_not_asked: pairs for which the budget left no answers.
        noise: share of the variance of the answers that is noise: the same point asked twice.
        n_evaluations: rows asked.
        n_lost: answers that were not finite; they are left out.
    """

    meaning: Meaning
    inputs: tuple[Importance, ...]
    modules: tuple[Importance, ...]
    pairs: tuple[PairStrength, ...]
    pairs_not_asked: tuple[tuple[str, str], ...] = ()
    noise: float = 0.0
    n_evaluations: int = 0
    n_lost: int = 0

    @property
    def ranking(self) -> tuple[str, ...]:
        """Names of the inputs by their total share, the largest first."""
        return tuple(i.name for i in sorted(self.inputs, key=lambda i: -i.total))

    def of(self, *names: str) -> Importance:
        """The entry of an input, of a node by its name, or of the module over the inputs that are named."""
        wanted = set(check_name_list("names", names))
        for entry in (*self.inputs, *self.modules):
            if set(entry.members) == wanted or {entry.name} == wanted:
                return entry
        known = ", ".join(entry.name for entry in (*self.inputs, *self.modules))
        raise DataError(f"there is no importance of {', '.join(sorted(wanted))}; there are {known}")

    def strength(self, first: str, second: str) -> PairStrength:
        """The strength of a pair of inputs."""
        wanted = set(check_name_list("a pair", [first, second]))
        for pair in self.pairs:
            if set(pair.pair) == wanted:
                return pair
        raise DataError(f"the pair of {first!r} and {second!r} was not asked for")

    @property
    def together(self) -> tuple[PairStrength, ...]:
        """Pairs that act together beyond what chance gives, the strongest first."""
        return tuple(p for p in self.pairs if p.strength > max(2 * p.error, _FAINTEST))

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Importances:
        """Reads what :meth:`to_dict` made.

        Raises:
            TypeError, ValueError, KeyError: something is missing or wrong; a discovery says so of itself.
        """
        if data["meaning"] not in get_args(Meaning):
            raise ValueError(f"no kind of importances: {data['meaning']!r}")
        inputs, modules = (
            tuple(Importance(**{**entry, "members": tuple(entry["members"])}) for entry in data[which])
            for which in ("inputs", "modules")
        )
        pairs = tuple(PairStrength(**{**entry, "pair": tuple(entry["pair"])}) for entry in data["pairs"])
        not_asked = tuple((str(a), str(b)) for a, b in data["pairs_not_asked"])
        lists = {"inputs": inputs, "modules": modules, "pairs": pairs, "pairs_not_asked": not_asked}
        found = cls(**{**data, **lists})
        numbers = [x for i in (*inputs, *modules) for x in (i.first, i.first_error, i.total, i.total_error)]
        numbers += [x for p in pairs for x in (p.strength, p.error)]
        for number in (*numbers, found.noise, found.n_evaluations, found.n_lost):
            if isinstance(number, bool) or not isinstance(number, (int, float)):
                raise TypeError(f"expected a number, got {number!r}")
        return found

    def frame(self) -> pandas.DataFrame:
        """Inputs and modules, one row each."""
        library: Any = needs("pandas", "tables", "report")
        rows = [asdict(i) | {"kind": "input"} for i in self.inputs] + [
            asdict(m) | {"kind": "module"} for m in self.modules
        ]
        frame: pandas.DataFrame = library.DataFrame(rows)
        return frame

    def pair_frame(self) -> pandas.DataFrame:
        """Pairs, one row each."""
        library: Any = needs("pandas", "tables", "report")
        rows = [{"a": p.pair[0], "b": p.pair[1], "strength": p.strength, "error": p.error} for p in self.pairs]
        frame: pandas.DataFrame = library.DataFrame(rows, columns=["a", "b", "strength", "error"])
        return frame

    def __str__(self) -> str:
        ranked = sorted(self.inputs, key=lambda i: -i.total)
        shown, left_out = ranked[:_MOST_LINES], ranked[_MOST_LINES:]
        entries = [(i.name, i) for i in shown]
        entries += [("{" + ", ".join(m.members) + "}", m) for m in self.modules[:_MOST_LINES]]
        pairs = [(" and ".join(p.pair), p) for p in self.together[:_MOST_LINES]]
        width = min(max((len(name) for name, _ in [*entries, *pairs]), default=0), _LONGEST_NAME)
        lines = [
            f"importance as a share of the variance, ± one standard error ({self.meaning}, "
            f"{self.n_evaluations:,} answers)",
            f"  {'':{width}}  alone          in all",
            *(f"  {_cut(name, width):{width}}  {_shares(entry)}" for name, entry in entries),
        ]
        if left_out:
            lines.append(f"  and {len(left_out)} inputs of {left_out[0].total:.3f} in all at most")
        if pairs:
            lines.append("act together")
        lines += [f"  {_cut(name, width):{width}}  {p.strength:.3f} ± {p.error:.3f}" for name, p in pairs]
        if self.noise:
            lines.append(f"noise makes {self.noise:.1%} of the variance of the answers")
        return "\n".join(lines)


def _shares(entry: Importance) -> str:
    return f"{entry.first:.3f} ± {entry.first_error:.3f}  {entry.total:.3f} ± {entry.total_error:.3f}"


def _cut(name: str, width: int) -> str:
    return name if len(name) <= width else f"{name[: width - 1]}…"
