"""Text from files and users, made safe to show: control characters are seen, not obeyed."""

from __future__ import annotations

import unicodedata

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
