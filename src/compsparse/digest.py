"""What a file says: JSON read without guessing, and digests by which a change made by accident is seen."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeVar

import numpy as np

from compsparse.errors import DataError
from compsparse.text import printable

SEAL = "digest"
"""The key under which a JSON object or the description of a binary file keeps the digest of all the rest."""
TO_ACCEPT = "if the change is meant, run 'compsparse accept' on the file"
"""What to do about a file that was changed, where it is one that may be changed by hand."""


_Record = TypeVar("_Record")


def equal_by_content(cls: type[_Record]) -> type[_Record]:
    """A dataclass whose records are equal where their fields are, a NaN being equal to a NaN.

    From Python 3.13 on a dataclass compares field by field, so that a record with a NaN in it equals no other.

    >>> from dataclasses import dataclass
    >>> @equal_by_content
    ... @dataclass(frozen=True)
    ... class Figure:
    ...     value: float
    >>> Figure(math.nan) == Figure(float("nan")), Figure(1.0) == Figure(2.0)
    (True, False)
    """

    names = [f.name for f in fields(cls) if f.compare]  # type: ignore[arg-type]

    def same(self: Any, other: Any) -> Any:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return all(_is_same(getattr(self, name), getattr(other, name)) for name in names)

    cls.__eq__ = same  # type: ignore[method-assign]
    return cls


def _is_same(a: Any, b: Any) -> bool:
    both_nan = isinstance(a, float) and isinstance(b, float) and math.isnan(a) and math.isnan(b)
    return both_nan or bool(a == b)


def canonical(data: Any) -> str:
    """JSON with one way to write each value."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def digest_of(content: str | bytes) -> str:
    """The SHA-256 of a text or of bytes.

    >>> digest_of(canonical({"b": 1, "a": [2.5]}))[:8]
    '11cf7051'
    """
    return hashlib.sha256(content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content).hexdigest()


def arrays_digest(arrays: Mapping[str, np.ndarray]) -> str:
    """One digest for arrays by name: their types, shapes and numbers, whatever their order or layout in memory."""
    found = hashlib.sha256()
    for name in sorted(arrays):
        array = np.asarray(arrays[name])
        little = array.astype(array.dtype.newbyteorder("<"), copy=False)
        found.update(canonical([name, little.dtype.str, list(array.shape)]).encode("utf-8", "surrogatepass"))
        found.update(np.ascontiguousarray(little).tobytes())
    return found.hexdigest()


# ---- JSON objects that carry their digest --------------------------------------------------------


def sealed(data: Mapping[str, Any]) -> dict[str, Any]:
    """The object with the digest of its content as its last entry.

    Raises:
        DataError: it holds what JSON does not have, such as an infinite number.

    >>> data = sealed({"format": "example", "value": 1})
    >>> check_seal(data, "example.json") == {"format": "example", "value": 1}
    True
    """
    content = {key: value for key, value in data.items() if key != SEAL}
    try:
        # of what a reader will find: JSON may join or rename what Python keeps apart
        found = digest_of(canonical(json.loads(json.dumps(content, allow_nan=False))))
    except (TypeError, ValueError) as error:
        raise DataError(f"this cannot be written as JSON: {error}") from None
    return {**content, SEAL: found}


def check_seal(data: Any, source: str, remedy: str = TO_ACCEPT) -> dict[str, Any]:
    """The content of an object that :func:`sealed` closed, without the digest.

    Raises:
        DataError: the content is not what the digest was taken of, or there is no digest.
    """
    if not isinstance(data, Mapping):
        raise DataError(f"{printable(source)} is damaged or incomplete: expected a JSON object")
    content = {key: value for key, value in data.items() if key != SEAL}
    try:
        found = digest_of(canonical(content))
    except (TypeError, ValueError, RecursionError):
        raise DataError(f"{printable(source)} is damaged: it holds a value that JSON does not have") from None
    check_digest(data.get(SEAL), found, source, remedy)
    return content


def check_digest(written: object, found: str, source: str, remedy: str = TO_ACCEPT) -> None:
    """Compares the digest that a file states with that of its content.

    Args:
        source: begins the sentence about a difference; the file, or what it holds.
        remedy: ends it, and says what to do.
    """
    if written is None:
        problem = "is damaged or incomplete, or an earlier version wrote it: it has no digest of its content"
    elif not isinstance(written, str) or written != found:
        problem = "is damaged or incomplete, or was changed: its digest does not fit its content"
    else:
        return
    raise DataError(f"{printable(source)} {problem}; {remedy}")


def parse_json(text: str | bytes | bytearray) -> Any:
    """The value of a JSON text that says one thing: no key twice in an object, no NaN, no number beyond floats.

    Raises:
        DataError: it does not; the sentence says why, and leaves it to the caller to say what was read.

    >>> parse_json('{"a": 1, "a": 2}')
    Traceback (most recent call last):
    compsparse.errors.DataError: the key 'a' stands twice in one object
    """
    try:
        return json.loads(text, object_pairs_hook=_object, parse_float=_number, parse_constant=_number)
    except RecursionError:
        raise DataError("it nests too deep") from None
    except UnicodeDecodeError:
        raise DataError("it is not a text") from None
    except ValueError as error:  # also whole numbers of more digits than Python reads
        raise DataError(str(error)) from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"the key {printable(repr(twice))} stands twice in one object")
    return found


def _number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise DataError(f"{text[:40]} is no number that JSON has and a float holds")
    return value
