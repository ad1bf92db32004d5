"""Text from files and users, made safe to show: control characters are seen, not obeyed."""

from __future__ import annotations

import codecs
import shlex
import unicodedata
from collections.abc import Mapping
from dataclasses import fields
from enum import Enum
from importlib import import_module
from typing import Any, TextIO, TypeVar

_UNSAFE = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Controls, invisible formats such as a change of direction, halves of surrogate pairs, separators of lines."""
_KEPT = {"\u200c", "\u200d"}  # joiners that scripts and emoji need


def printable(text: object, *, several_lines: bool = False) -> str:
    r"""The text with every control character as a visible escape.

    Args:
        several_lines: line breaks and tabs stay as they are, for sentences and tracebacks; a name has one line.

    >>> printable("a\x1b[2Jb\n")
    'a\\x1b[2Jb\\n'
    >>> printable("a\x1b[2Jb\n", several_lines=True)
    'a\\x1b[2Jb\n'
    """
    kept = _KEPT | ({"\n", "\t"} if several_lines is True else set())
    return "".join(c if c in kept or unicodedata.category(c) not in _UNSAFE else _escaped(c) for c in str(text))


def _escaped(character: str) -> str:
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")


def shell_word(name: object) -> str:
    """A file name as a shell reads it back: quoted where it must be, and never taken for an option.

    >>> shell_word("a;b.csv"), shell_word("-x.csv"), shell_word("data.csv")
    ("'a;b.csv'", './-x.csv', 'data.csv')
    """
    word = str(name)
    return shlex.quote(f"./{word}" if word.startswith("-") else word)


# ---- records in a line ---------------------------------------------------------------------------

_LONGEST_VALUE = 60
_Record = TypeVar("_Record")


def in_a_line(record: type[_Record]) -> type[_Record]:
    """A dataclass that shows itself in a line: arrays by their shape, long parts by their kind or number.

    >>> from dataclasses import dataclass
    >>> @in_a_line
    ... @dataclass
    ... class Sum:
    ...     terms: list
    ...     is_odd: bool
    >>> Sum(list(range(100)), False)
    Sum(terms=<100 values>, is_odd=False)
    """

    def shown(self: Any) -> str:
        parts = (f"{f.name}={_value_in_a_line(getattr(self, f.name))}" for f in fields(self) if f.repr)
        return f"{type(self).__qualname__}({', '.join(parts)})"

    record.__repr__ = shown  # type: ignore[method-assign]
    return record


def _value_in_a_line(value: Any) -> str:
    shape = getattr(value, "shape", ())
    if isinstance(shape, tuple) and shape:
        return f"<array of {' x '.join(map(str, shape))}>"
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, float):
        return f"{value:.6g}"
    text = repr(value)
    if len(text) <= _LONGEST_VALUE and "\n" not in text:
        return text
    if isinstance(value, str):
        return f"{text[: _LONGEST_VALUE - 1]}…"
    if isinstance(value, (list, tuple, set, frozenset, Mapping)):
        return f"<{len(value):,} value{'s' * (len(value) != 1)}>"
    return f"<{getattr(value, '__name__', type(value).__name__)}>"


# ---- notebooks --------------------------------------------------------------------------------------


def notebook_html(record: object, by: str) -> str:
    """HTML of a record, by the function of this name in :mod:`compsparse.report.notebook`.

    Records stand below the package that draws them, so the function is looked up when a notebook asks.
    """
    html: str = getattr(import_module("compsparse.report.notebook"), by)(record)
    return html


# ---- terminals of few characters ------------------------------------------------------------------

_LOOK_ALIKE = {
    **dict.fromkeys("─━═‐‑–—−╴╶", "-"),
    **dict.fromkeys("│┃║", "|"),
    **dict.fromkeys("├┝┣╞╠└╰┗╚┌╭┏╔┐╮┓╗┘╯┛╝┤┥┫╡╣┬┳┼╋┡┩╇╈┴┻", "+"),
    **dict.fromkeys("‘’‚′`", "'"),
    **dict.fromkeys("“”„″", '"'),
    **dict.fromkeys("•·⋅●∙", "*"),
    **dict.fromkeys("█▇▆▅▄▃▂▁■▪", "#"),
    **dict.fromkeys("\u00a0\u2009\u202f", " "),
    **{"…": "...", "×": "x", "÷": "/", "±": "+-", "≤": "<=", "≥": ">=", "≠": "!=", "≈": "~", "∞": "inf", "√": "sqrt"},
    "┄": ".",
    **{"→": "->", "←": "<-", "↑": "^", "↓": "v", "⇒": "=>", "∈": "in", "∧": "and", "∨": "or", "¬": "not "},
    **{"⊕": "xor", "✓": "ok", "✔": "ok", "✗": "x", "✘": "x"},
    **{sign: f"^{n}" for n, sign in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")},
}
"""What stands for the signs that compsparse and its tables draw, where a terminal does not have them."""


def _look_alike(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = error.object[error.start : error.end]
    return "".join(_LOOK_ALIKE.get(c, _escaped(c)) for c in missing), error.end


codecs.register_error("compsparse-look-alike", _look_alike)


def shown_on(stream: TextIO | None) -> None:
    """Has a stream print what its encoding lacks: signs as the nearest it has, letters of a user's names as escapes."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None and getattr(stream, "errors", "") in ("strict", "surrogateescape", "backslashreplace"):
        reconfigure(errors="compsparse-look-alike")
