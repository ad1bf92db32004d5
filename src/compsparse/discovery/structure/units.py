"""Units of inputs as powers of base units, by which pure numbers are told from other groups."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import reduce
from typing import Any

from compsparse.checks import brief, check_mapping, did_you_mean
from compsparse.errors import ConfigError

Dimension = Mapping[str, Fraction]
"""Powers of base units, none of them zero; a pure number has none."""

_BASES = ("m", "kg", "s", "A", "K", "mol", "cd", "bit", "€", "$")
_NAMED = {
    "g": "kg", "t": "kg", "min": "s", "h": "s", "d": "s", "day": "s", "yr": "s", "in": "m", "ft": "m", "lb": "kg",
    "N": "kg m / s^2", "Pa": "kg / m s^2", "bar": "kg / m s^2", "atm": "kg / m s^2", "psi": "kg / m s^2",
    "J": "kg m^2 / s^2", "eV": "kg m^2 / s^2", "cal": "kg m^2 / s^2", "W": "kg m^2 / s^3", "Hz": "1 / s",
    "V": "kg m^2 / s^3 A", "C": "A s", "F": "A^2 s^4 / kg m^2", "ohm": "kg m^2 / s^3 A^2", "Ω": "kg m^2 / s^3 A^2",
    "S": "A^2 s^3 / kg m^2", "H": "kg m^2 / s^2 A^2", "T": "kg / s^2 A", "Wb": "kg m^2 / s^2 A", "L": "m^3", "l": "m^3",
    "P": "kg / m s", "M": "mol / m^3", "degC": "K", "°C": "K", "lm": "cd", "lx": "cd / m^2", "Bq": "1 / s",
    "rad": "", "sr": "", "deg": "", "°": "", "%": "", "ppm": "", "1": "", "-": "",
}  # fmt: skip
_PREFIXES = ("k", "M", "G", "T", "h", "da", "d", "c", "m", "u", "µ", "μ", "n", "p", "f")
_FACTOR = re.compile(r"([^\d\s^*/·().+-]+|1|-)(?:\^|\*\*)?\(?([+-]?\d+(?:/\d+)?)?\)?$")


def read_units(units: Any, names: Sequence[str]) -> dict[str, Dimension]:
    """The dimensions of inputs and outputs, by name.

    Raises:
        ConfigError: a name is unknown, or a text is no unit.
    """
    found = {}
    for name, text in check_mapping("units", units).items():
        if name not in names:
            raise ConfigError(f"units name {brief(name)}, which is no input or output{did_you_mean(str(name), names)}")
        if not isinstance(text, str):
            raise ConfigError(f"the unit of {name!r} must be a text such as 'kg/m^3', got {brief(text)}")
        try:
            found[name] = dimension(text)
        except ValueError as error:
            raise ConfigError(f"the unit of {name!r}, {brief(text)}, cannot be read: {error}") from None
    return found


def dimension(text: str) -> Dimension:
    """A unit as powers of base units; what follows one stroke is all below it.

    >>> {base: int(power) for base, power in dimension("kg/m^3").items()}
    {'kg': 1, 'm': -3}
    >>> dimension("Pa s") == dimension("kg / (m s)")
    True
    >>> dimension("W h") == dimension("mJ")
    True
    """
    above, *below = text.split("/") if "^(" not in text else re.split(r"/(?![^(]*\))", text)
    parts = [(part, 1) for part in _factors(above)] + [(part, -1) for side in below for part in _factors(side)]
    return reduce(_times, (_power(part, sign) for part, sign in parts), {})


def of_product(powers: Sequence[tuple[Dimension, Fraction]]) -> Dimension:
    """The dimension of a product of powers."""
    raised = ({base: own * power for base, own in each.items()} for each, power in powers)
    return reduce(_times, raised, {})


def unit_of(names: Sequence[str], powers: Sequence[float], units: Mapping[str, Dimension]) -> Dimension | None:
    """The dimension of a product of powers; None where some unit is not known."""
    if not set(names) <= units.keys():
        return None
    return of_product([(units[name], Fraction(power)) for name, power in zip(names, powers, strict=True)])


def as_text(unit: Dimension) -> str:
    """A dimension as one writes it; nothing for a pure number."""
    return " ".join(base if power == 1 else f"{base}^{power}" for base, power in unit.items())


def _factors(side: str) -> list[str]:
    return [part for part in re.split(r"[\s*·]+(?![*\d])", side.replace("**", "^").strip(" ()")) if part]


def _power(part: str, sign: int) -> Dimension:
    match = _FACTOR.match(part)
    if match is None:
        raise ValueError(f"{part!r} is no power of a unit such as m^2")
    power = sign * Fraction(match[2] or 1)
    return {base: own * power for base, own in _unit(match[1]).items()}


def _unit(symbol: str) -> Dimension:
    if symbol in _BASES:
        return {symbol: Fraction(1)}
    if symbol in _NAMED:
        return dimension(_NAMED[symbol])
    for prefix in _PREFIXES:
        rest = symbol.removeprefix(prefix)
        if rest and rest != symbol and (rest in _BASES or rest in _NAMED):
            return _unit(rest)
    raise ValueError(f"there is no unit {symbol!r}{did_you_mean(symbol, (*_BASES, *_NAMED))}")


def _times(one: Dimension, other: Dimension) -> Dimension:
    total = {base: one.get(base, Fraction(0)) + other.get(base, Fraction(0)) for base in (*one, *other)}
    return {base: power for base, power in total.items() if power}
