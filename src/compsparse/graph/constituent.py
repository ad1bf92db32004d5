"""Constituents: the functions of few variables that sit at the nodes of a function graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypedDict, Unpack

from compsparse.checks import check_options
from compsparse.errors import GraphError
from compsparse.graph import formula as formulas
from compsparse.graph.formula import Constant, Formula
from compsparse.graph.operations import is_torch
from compsparse.graph.parser import parse_formula


class DeclaredProperties(TypedDict, total=False):
    """What can be said of a constituent beside its function; see :class:`Constituent`."""

    smoothness: float | None
    value_range: tuple[float, float] | None
    lipschitz: tuple[float, ...] | None


@dataclass(frozen=True)
class Constituent:
    """A vectorised function of ``arity`` arrays and what is declared about it.

    Made from an expression (:meth:`from_expression`), which JSON can hold and torch can
    differentiate, or from any vectorised callable (:meth:`from_callable`).

    Attributes:
        name: what drawings show.
        formula: the function as a formula of its arguments, if it is known as one.
        function: the function as a callable, if it is not a formula.
        smoothness: number of bounded derivatives (Mhaskar-Poggio's m_v), None if unknown.
        value_range: interval that holds all values, None if unknown.
        lipschitz: Lipschitz constant per argument, None if unknown.
    """

    name: str
    arity: int
    formula: Formula | None = None
    function: Callable[..., Any] | None = field(default=None, hash=False)  # some callables have no hash
    smoothness: float | None = None
    value_range: tuple[float, float] | None = None
    lipschitz: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        for name in ("value_range", "lipschitz"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, tuple(float(v) for v in getattr(self, name)))
        if self.smoothness is not None:
            object.__setattr__(self, "smoothness", float(self.smoothness))
        if self.smoothness is not None and not self.smoothness >= 0:
            raise GraphError(f"smoothness of {self.name!r} must be >= 0, got {self.smoothness}")
        if self.value_range is not None and not self.value_range[0] <= self.value_range[1]:
            raise GraphError(f"range of {self.name!r} must be (low, high), got {self.value_range}")
        if self.lipschitz is not None and len(self.lipschitz) != self.arity:
            raise GraphError(f"{self.name!r} has {self.arity} arguments but {len(self.lipschitz)} Lipschitz constants")

    @classmethod
    def from_formula(
        cls, formula: Formula, arity: int, *, name: str | None = None, **declared: Unpack[DeclaredProperties]
    ) -> Constituent:
        """What is not declared follows from the formula's operations."""
        _check_declared(declared)
        known: dict[str, Any] = {
            "smoothness": formulas.smoothness(formula),
            "value_range": formulas.value_range(formula),
            "lipschitz": formulas.lipschitz(formula, arity),
        }
        known |= {key: value for key, value in declared.items() if value is not None}
        return cls(name or formulas.render(formula, argument_names(arity)), arity, formula, **known)

    @classmethod
    def from_expression(
        cls, text: str, arguments: Sequence[str], *, name: str | None = None, **declared: Unpack[DeclaredProperties]
    ) -> Constituent:
        """The function written as an expression of the named arguments.

        >>> h = Constituent.from_expression("tanh(2*a*b)", ["a", "b"])
        >>> h.smoothness, h.value_range
        (inf, (-1.0, 1.0))
        """
        return cls.from_formula(parse_formula(text, arguments), len(arguments), name=name, **declared)

    @classmethod
    def from_callable(
        cls,
        function: Callable[..., Any],
        arity: int,
        *,
        name: str | None = None,
        **declared: Unpack[DeclaredProperties],
    ) -> Constituent:
        """Any callable that maps ``arity`` arrays of one shape to an array of that shape."""
        _check_declared(declared)
        return cls(
            name or str(getattr(function, "__name__", type(function).__name__)),
            arity,
            function=function,
            smoothness=declared.get("smoothness"),
            value_range=declared.get("value_range"),
            lipschitz=declared.get("lipschitz"),
        )

    def __call__(self, *arguments: Any) -> Any:
        if len(arguments) != self.arity:
            raise GraphError(f"{self.name!r} takes {self.arity} arguments, got {len(arguments)}")
        return self.compiled(torch=any(is_torch(a) for a in arguments))(*arguments)

    def compiled(self, *, torch: bool) -> Callable[..., Any]:
        """The bare function for arrays of one kind."""
        if isinstance(self.formula, Constant):
            value = self.formula.value
            return lambda first, *_: 0 * first + value
        if self.formula is not None:
            return formulas.compile_formula(self.formula, self.arity, torch)
        if self.function is None:
            raise GraphError(f"constituent {self.name!r} has no function to evaluate")
        return self.function

    @property
    def is_smooth(self) -> bool | None:
        """Whether first derivatives are bounded (memo's Definition 3); None if unknown."""
        return None if self.smoothness is None else self.smoothness >= 1


def _check_declared(declared: DeclaredProperties) -> None:
    check_options("a constituent", declared, DeclaredProperties.__annotations__)


def argument_names(arity: int) -> list[str]:
    """Names for a formula's own arguments: a, b, c, … and z26, z27, … after them."""
    return [chr(ord("a") + i) if i < 26 else f"z{i}" for i in range(arity)]
