"""Digests over what a file says, so that a change made by accident is seen when the file is read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from compsparse.errors import DataError
from compsparse.text import printable

SEAL = "digest"
"""The key under which a JSON object or the description of a binary file keeps the digest of all the rest."""


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


def sealed(data: Mapping[str, Any]) -> dict[str, Any]:
    """The object with the digest of its content as its last entry.

    >>> data = sealed({"format": "example", "value": 1})
    >>> check_seal(data, "example.json") == {"format": "example", "value": 1}
    True
    """
    content = {key: value for key, value in data.items() if key != SEAL}
    return {**content, SEAL: digest_of(canonical(content))}


def check_seal(data: Mapping[str, Any], source: str) -> dict[str, Any]:
    """The content of an object that :func:`sealed` closed, without the digest.

    Raises:
        DataError: the content is not what the digest was taken of, or there is no digest.
    """
    content = {key: value for key, value in data.items() if key != SEAL}
    check_digest(data.get(SEAL), digest_of(canonical(content)), source)
    return content


def check_digest(written: object, found: str, source: str) -> None:
    """Compares the digest that a file states with that of its content; ``source`` names the file."""
    if written is None:
        problem = "has no digest: an earlier version wrote it, or it was changed"
    elif written != found:
        problem = "is not as compsparse wrote it: its content was changed or damaged"
    else:
        return
    raise DataError(f"{printable(source)} {problem}. If you made the change, run 'compsparse accept' on the file")
