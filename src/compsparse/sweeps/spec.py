"""Specs: what to run, as a frozen dataclass of checked fields with a name for its content."""

from __future__ import annotations

import json
import math
import types
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal, Self, TypeVar, Union, get_args, get_origin, get_type_hints

from compsparse.checks import check_choice, check_known
from compsparse.digest import canonical, digest_of
from compsparse.errors import ConfigError, DataError
from compsparse.progress import Progress


class Spec:
    """One run, described completely: derive a frozen dataclass and write :meth:`measure`, or :meth:`run` for packs.

    The fields and nothing else decide the result, so a seed is a field: it is data of the run and part of its key,
    where ``random_state`` is a parameter of a call. Types of fields may be made of bool, int, float, str, None, Literal
    and tuples of these.

    Attributes:
        kind: the name of the kind of run, for the store and for TOML files.
        version: raise it when the same fields would now give other results; old results are then not used.
        later_fields: fields that the kind was given later; where they have their defaults, keys are what they were
            before, and old results are found.
        curve: the field and the metric that a sweep is drawn by, across and up.
        level: where the size at which the metric falls so low is worth knowing.
        folder_of_kinds: the folder that the class was read from, if it was.
    """

    kind: ClassVar[str]
    version: ClassVar[int] = 1
    later_fields: ClassVar[frozenset[str]] = frozenset()
    curve: ClassVar[tuple[str, str] | None] = None
    level: ClassVar[float | None] = None
    folder_of_kinds: ClassVar[str | None] = None

    @classmethod
    def run(cls, specs: Sequence[Self], *, device: str | None, progress: Progress) -> Sequence[Mapping[str, Any]]:
        """Runs a pack: specs with equal pack keys, together, on a device of torch (None is the CPU).

        Returns one mapping of JSON values each, in order; by default what :meth:`measure` returns of each.
        """
        return [spec.measure(device=device, progress=progress) for spec in specs]

    def measure(self, *, device: str | None, progress: Progress) -> Mapping[str, Any]:
        """Runs this spec alone and returns JSON values by name."""
        raise NotImplementedError(f"the kind {self.kind!r} says neither how to measure one run nor how to run a pack")

    def __reduce_ex__(self, protocol: Any) -> Any:
        # a class that another process cannot import by name travels as the folder it comes from
        home = vars(type(self)).get("folder_of_kinds")
        if home is None:
            return super().__reduce_ex__(protocol)
        from compsparse.sweeps.catalogue import restored

        return restored, (home, self.kind, {name: getattr(self, name) for name in self.field_names()})

    def pack_key(self) -> Hashable:
        """Specs with equal pack keys can be run as replicas of one program; by default each runs alone."""
        return self.key

    def load(self) -> float:
        """The cost of this run in any unit, to order and pack runs and to weigh the time left."""
        return 1.0

    @classmethod
    def max_replicas(cls, device: str | None = None) -> int:
        """The most specs worth a pack on the device."""
        return 128 if device is not None and device.startswith("cuda") else 8

    @cached_property
    def key(self) -> str:
        """The name of this content: the start of the SHA-256 of kind, version and fields."""
        return key_of(self.kind, self.version, self.named_by(self.to_dict()))

    @classmethod
    def named_by(cls, data: Mapping[str, Any]) -> dict[str, Any]:
        """The fields that are part of the key: later ones only where they have not their defaults."""
        kind: Any = cls
        defaults = {f.name: canonical(f.default) for f in fields(kind) if f.name in cls.later_fields}
        return {name: v for name, v in data.items() if name not in defaults or canonical(v) != defaults[name]}

    def to_dict(self) -> dict[str, Any]:
        """All fields, defaults included, in their declared types: 1 in a field of floats is 1.0."""
        hints = field_types(type(self))
        return {name: typed(getattr(self, name), hint, f"{self.kind}.{name}") for name, hint in hints.items()}

    def to_json(self) -> str:
        """Canonical JSON of the fields: sorted, without spaces, floats as exact as they are."""
        return canonical(self.to_dict())

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Reads the fields; unknown, missing and wrong ones are refused."""
        return from_table(cls, data, check_run_kind(cls).kind)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Reads what :meth:`to_json` wrote."""
        return cls.from_dict(object_in(text, f"a spec of {check_run_kind(cls).kind!r}"))

    @classmethod
    def field_names(cls) -> tuple[str, ...]:
        """The names of all fields, in order."""
        return tuple(field_types(cls))


def key_of(kind: str, version: int, named: Mapping[str, Any]) -> str:
    """The name of a run: the start of the digest of its kind, that kind's version and the fields that count."""
    return digest_of(canonical({"kind": kind, "version": version, "fields": named}))[:32]


def check_run_kind(kind: Any) -> type[Spec]:
    """A kind of run: a dataclass that derives from :class:`Spec` and has a name."""
    if not (isinstance(kind, type) and issubclass(kind, Spec)):
        raise ConfigError(f"a kind of run must be a class that derives from compsparse.sweeps.Spec, got {kind!r}")
    if not is_dataclass(kind) or not isinstance(getattr(kind, "kind", None), str) or not kind.kind:
        raise ConfigError(f"the kind of run {kind.__name__} must be a frozen dataclass with its name as kind = '…'")
    return kind


def loaded_kinds(name: str, version: int) -> list[type[Spec]]:
    """The kinds of run of that name and version that this process has loaded."""
    found: list[type[Spec]] = []
    waiting: list[type[Spec]] = [Spec]
    while waiting:
        kind = waiting.pop()
        waiting += kind.__subclasses__()
        if is_dataclass(kind) and getattr(kind, "kind", None) == name and kind.version == version:
            found.append(kind)
    return found


def object_in(text: Any, what: str) -> dict[str, Any]:
    """The object of a JSON text; ``what`` begins the sentence about anything else."""
    try:
        found = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise DataError(f"{what} must be a JSON object in a text")
    return found


# ---- fields read from JSON and TOML, checked against their types -----------------------------------

_Read = TypeVar("_Read")
_MOST_NUMBER = 10**300  # a float holds it


def from_table(cls: type[_Read], data: Mapping[str, Any], name: str) -> _Read:
    """A dataclass from its fields by name; unknown, missing and wrong ones are refused in a sentence about ``name``."""
    hints = field_types(cls)
    if not isinstance(data, Mapping):
        raise ConfigError(f"{name!r} must be a mapping from fields to values, got {data!r}")
    for field_name in data:
        check_known(str(field_name), hints, f"{name!r} has no field")
    missing = [required for required in _required(cls) if required not in data]
    if missing:
        raise ConfigError(f"{name!r} needs the field{'s' * (len(missing) > 1)} {', '.join(missing)}")
    return cls(**{k: typed(value, hints[k], f"{name}.{k}") for k, value in data.items()})


def _required(cls: Any) -> list[str]:
    return [f.name for f in fields(cls) if f.default is MISSING and f.default_factory is MISSING]


def field_types(cls: Any) -> dict[str, Any]:
    """The types of a dataclass's fields by name."""
    if "_field_types" not in vars(cls):
        try:
            hints = get_type_hints(cls)
        except (NameError, TypeError) as error:
            raise ConfigError(f"the types of the fields of {cls.__name__} cannot be read: {error}") from None
        cls._field_types = {f.name: hints[f.name] for f in fields(cls)}
    found: dict[str, Any] = vars(cls)["_field_types"]
    return found


def typed(value: Any, hint: Any, where: str) -> Any:
    """The value in the type of the hint (lists become tuples, whole floats integers), or a clear refusal."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return _one_of(value, arguments, where)
    if origin is Literal:
        if all(isinstance(choice, str) for choice in arguments):
            return check_choice(where, value, arguments)
        if isinstance(value, (str, int, float)) and value in arguments and not isinstance(value, bool):
            return value
        raise ConfigError(f"{where} must be one of {', '.join(map(repr, arguments))}, got {value!r}")
    if origin is tuple or hint is tuple:
        return _tuple(value, arguments, where)
    if hint in (type(None), bool, str) and isinstance(value, hint):
        return value
    if hint in (int, float) and isinstance(value, (int, float)) and not isinstance(value, bool):
        return _number(value, hint, where)
    raise ConfigError(f"{where} must be {type_words(hint)}, got {value!r}")


def _number(value: int | float, hint: type, where: str) -> int | float:
    if isinstance(value, int) and abs(value) >= _MOST_NUMBER:
        raise ConfigError(f"{where} must be below 10^300")
    if not math.isfinite(value):
        raise ConfigError(f"{where} must be finite, got {value!r}")
    if hint is float:
        return float(value) + 0.0  # -0.0 and 0.0 are one value
    if value != int(value):
        raise ConfigError(f"{where} must be a whole number, got {value!r}")
    return int(value)


def _one_of(value: Any, hints: tuple[Any, ...], where: str) -> Any:
    if isinstance(value, str) and value == "none" and type(None) in hints and str not in hints:
        return None  # TOML has no word of its own for it
    # an exact type first, so that 1 in int | float stays an integer
    for hint in sorted(hints, key=lambda h: h is not type(value)):
        try:
            return typed(value, hint, where)
        except ConfigError:
            continue
    raise ConfigError(f"{where} must be {' or '.join(type_words(h) for h in hints)}, got {value!r}")


def _tuple(value: Any, hints: tuple[Any, ...], where: str) -> tuple[Any, ...]:
    if not isinstance(value, (list, tuple)):
        raise ConfigError(f"{where} must be a list, got {value!r}")
    if not hints:
        return tuple(value)
    each = (hints[0],) * len(value) if hints[-1] is Ellipsis else hints
    if len(each) != len(value):
        raise ConfigError(f"{where} must hold {len(each)} values, got {value!r}")
    return tuple(typed(v, h, f"{where}[{i}]") for i, (v, h) in enumerate(zip(value, each, strict=True)))


def type_words(hint: Any) -> str:
    """A type in words."""
    if isinstance(hint, types.UnionType):
        return " or ".join(map(type_words, get_args(hint)))
    if get_origin(hint) is Literal:
        return " or ".join(map(repr, get_args(hint)))
    names = {int: "a whole number", float: "a number", str: "a text", bool: "true or false", type(None): "nothing"}
    return {**names, dict: "a JSON object"}.get(get_origin(hint) or hint, str(hint))
