"""Specs: what to run, as a frozen dataclass with a name for its content."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import MISSING, fields
from functools import cached_property
from typing import Any, ClassVar, Self, get_type_hints

from compsparse.checks import did_you_mean
from compsparse.errors import ConfigError
from compsparse.progress import Progress
from compsparse.sweeps.typed import typed


class Spec:
    """One run, described completely: derive a frozen dataclass and write :meth:`run`.

    The fields and nothing else decide the result, so a seed is a field. Their types may be made of bool, int,
    float, str, None, Literal and tuples of these.

    Attributes:
        kind: the name of the kind of run, for the store and for TOML files.
        version: raise it when the same fields would now give other results; old results are then not used.
        curve: the field and the metric that a sweep is drawn by, across and up.
        level: where the size at which the metric falls so low is worth knowing.
    """

    kind: ClassVar[str]
    version: ClassVar[int] = 1
    curve: ClassVar[tuple[str, str] | None] = None
    level: ClassVar[float | None] = None

    @classmethod
    def run(cls, specs: Sequence[Self], *, device: str, progress: Progress) -> Sequence[Mapping[str, Any]]:
        """Runs a pack: specs with equal pack keys, together. Returns one mapping of JSON values each, in order."""
        raise NotImplementedError(f"the kind {cls.kind!r} has no run")

    def pack_key(self) -> Hashable:
        """Specs with equal pack keys can be run as replicas of one program; by default each runs alone."""
        return self.key

    def load(self) -> float:
        """The cost of this run in any unit, to order and pack runs and to weigh the time left."""
        return 1.0

    @classmethod
    def replicas(cls, device: str) -> int:
        """The most specs worth a pack on the device."""
        return 128 if device.startswith("cuda") else 8

    @cached_property
    def key(self) -> str:
        """The name of this content: the start of the SHA-256 of kind, version and fields."""
        content = canonical({"kind": self.kind, "version": self.version, "fields": self.to_dict()})
        return hashlib.sha256(content.encode()).hexdigest()[:32]

    def to_dict(self) -> dict[str, Any]:
        """All fields, defaults included, in their declared types: 1 in a field of floats is 1.0."""
        types = _types(type(self))
        return {name: typed(getattr(self, name), hint, f"{self.kind}.{name}") for name, hint in types.items()}

    def to_json(self) -> str:
        """Canonical JSON of the fields: sorted, without spaces, floats as exact as they are."""
        return canonical(self.to_dict())

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Reads the fields; unknown, missing and wrong ones are refused."""
        types = _types(cls)
        for name in data:
            if name not in types:
                raise ConfigError(f"{cls.kind!r} has no field {name!r}{did_you_mean(name, types)}")
        required = [f.name for f in fields(cls) if f.default is MISSING and f.default_factory is MISSING]  # type: ignore[arg-type]
        missing = [name for name in required if name not in data]
        if missing:
            raise ConfigError(f"{cls.kind!r} needs the field{'s' * (len(missing) > 1)} {', '.join(missing)}")
        return cls(**{name: typed(value, types[name], f"{cls.kind}.{name}") for name, value in data.items()})

    @classmethod
    def from_json(cls, text: str) -> Self:
        return cls.from_dict(json.loads(text))

    @classmethod
    def field_names(cls) -> tuple[str, ...]:
        return tuple(_types(cls))


def canonical(data: Any) -> str:
    """JSON with one way to write each value."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def _types(cls: Any) -> dict[str, Any]:
    if "_field_types" not in vars(cls):
        hints = get_type_hints(cls)
        cls._field_types = {f.name: hints[f.name] for f in fields(cls)}
    types: dict[str, Any] = vars(cls)["_field_types"]
    return types
