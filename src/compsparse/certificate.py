"""One certificate for all: what a number is, between which bounds its true value lies, and how sure that is."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from compsparse.checks import brief, check_kind, check_list
from compsparse.digest import equal_by_content
from compsparse.errors import ConfigError, DataError


class Rigour(Enum):
    """How sure a statement is, from the surest down; the value is the word in files and tables."""

    PROVED = "proved"
    RIGOROUS = "rigorous"
    DECLARED = "declared"
    MEMO = "memo"
    HEURISTIC = "heuristic"
    ESTIMATED = "estimated"

    @property
    def sentence(self) -> str:
        """What the word means."""
        return _SENTENCES[self]

    @property
    def holds(self) -> bool:
        """Whether the bounds can be relied on: by a theorem, or by a computation that looked at everything."""
        return self in (Rigour.PROVED, Rigour.RIGOROUS)


_SENTENCES = {
    Rigour.PROVED: "a theorem says so",
    Rigour.RIGOROUS: "computed so that nothing was left out, in double precision",
    Rigour.DECLARED: "rigorous if what the user declared holds",
    Rigour.MEMO: "a source says so without a full proof",
    Rigour.HEURISTIC: "not proved: a search may have missed something, or an assumption is not met",
    Rigour.ESTIMATED: "estimated from samples",
}
_ROUNDING = 1e-9  # share of their size by which bounds may cross because of rounding


@equal_by_content
@dataclass(frozen=True)
class Certificate:
    """What is known of a quantity.

    Attributes:
        quantity: what the number is, in words.
        value: the number that was obtained.
        lower, upper: the true value lies between them; infinite where nothing is known.
        rigour: how sure the bounds are.
        assumes: what they take for granted.
        obtained: how they were obtained.

    >>> Certificate("cost of the network", 2.0, 1.5, 2.0, Rigour.RIGOROUS, obtained="every cell was priced")
    Certificate(quantity='cost of the network', value=2.0, lower=1.5, upper=2.0, rigour=<Rigour.RIGOROUS: 'rigorous'>,
        assumes=(), obtained='every cell was priced')
    """

    quantity: str
    value: float
    lower: float
    upper: float
    rigour: Rigour
    assumes: tuple[str, ...] = ()
    obtained: str = ""

    def __post_init__(self) -> None:
        for name in ("quantity", "obtained"):
            if not isinstance(getattr(self, name), str):
                raise ConfigError(f"{name} of a certificate must be a text, got {brief(getattr(self, name))}")
        for name in ("value", "lower", "upper"):
            object.__setattr__(self, name, _real(name, getattr(self, name)))
        check_kind("rigour", self.rigour, Rigour)
        object.__setattr__(self, "assumes", tuple(check_list("assumes", self.assumes)))

    @classmethod
    def exact(
        cls, quantity: str, value: float, rigour: Rigour, *, assumes: tuple[str, ...] = (), obtained: str = ""
    ) -> Certificate:
        """Both bounds are the value."""
        return cls(quantity, value, value, value, rigour, assumes, obtained)

    @property
    def is_exact(self) -> bool:
        """Whether the bounds leave no room."""
        return self.lower == self.upper

    @property
    def holds(self) -> bool:
        """Whether the bounds can be relied on, see :attr:`Rigour.holds`."""
        return self.rigour.holds

    @property
    def gap(self) -> float:
        """How far apart the bounds are: 0 where they cross by rounding, NaN where by more."""
        if self.is_exact:
            return 0.0
        return max(self.upper - self.lower, 0.0) if self.lower <= self.upper + self._slack else math.nan

    @property
    def relative_gap(self) -> float:
        """The gap as a share of the larger bound's size."""
        size = max(abs(self.lower), abs(self.upper))
        return self.gap / size if size > 0 and math.isfinite(size) else self.gap

    @property
    def is_consistent(self) -> bool:
        """Whether the bounds are in order and the value lies between them, up to rounding."""
        return self.lower - self._slack <= self.value <= self.upper + self._slack

    @property
    def _slack(self) -> float:
        return _ROUNDING * max((abs(b) for b in (self.lower, self.upper) if math.isfinite(b)), default=0.0)

    def __str__(self) -> str:
        if self.is_exact:
            where = f"exactly {self.value:.6g}"
        elif math.isfinite(self.lower) and math.isfinite(self.upper):
            where = f"{self.value:.6g}, between {self.lower:.6g} and {self.upper:.6g}"
        elif math.isfinite(self.lower):
            where = f"{self.value:.6g}, at least {self.lower:.6g}"
        elif math.isfinite(self.upper):
            where = f"{self.value:.6g}, at most {self.upper:.6g}"
        else:
            where = f"{self.value:.6g}, with no bounds"
        how = f"; {self.obtained}" if self.obtained else ""
        return f"{self.quantity}: {where} ({self.rigour.value}: {self.rigour.sentence}{how})"

    def to_dict(self) -> dict[str, Any]:
        """The certificate as JSON values; infinite numbers are texts, and NaN is None."""
        bounds = {name: _plain(getattr(self, name)) for name in ("value", "lower", "upper")}
        words = {"rigour": self.rigour.value, "assumes": list(self.assumes), "obtained": self.obtained}
        return {"quantity": self.quantity, **bounds, **words}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Certificate:
        """Reads what :meth:`to_dict` wrote."""
        try:
            return cls(
                quantity=data["quantity"],
                value=_number(data["value"]),
                lower=_number(data["lower"]),
                upper=_number(data["upper"]),
                rigour=Rigour(data["rigour"]),
                assumes=tuple(data["assumes"]),
                obtained=data["obtained"],
            )
        except (KeyError, TypeError, ValueError, IndexError):
            raise DataError("the certificate is damaged or incomplete") from None


def _real(name: str, value: Any) -> float:
    """A bound may be infinite, and a value that was not computed is NaN."""
    if not isinstance(value, numbers.Real):
        raise ConfigError(f"{name} of a certificate must be a number, got {brief(value)}")
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf  # type: ignore[operator]


def _plain(number: float) -> float | str | None:
    if math.isnan(number):
        return None
    return float(number) if math.isfinite(number) else str(float(number))


def _number(plain: float | str | None) -> float:
    return math.nan if plain is None else float(plain)


def weakest(rigours: Iterable[Rigour]) -> Rigour:
    """How sure a conclusion is that rests on several statements: as sure as the least sure of them.

    >>> weakest([Rigour.PROVED, Rigour.HEURISTIC]).value
    'heuristic'
    """
    order = list(Rigour)
    found = [check_kind("a rigour", rigour, Rigour) for rigour in check_list("rigours", rigours)]
    return max(found, key=order.index, default=Rigour.PROVED)
