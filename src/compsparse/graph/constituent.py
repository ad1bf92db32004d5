"""Constituents: the functions of few variables that sit at the nodes of a function graph."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypedDict, Unpack

from compsparse.checks import (
    MOST_VARIABLES,
    brief,
    check_count,
    check_name_list,
    check_numbers,
    check_options,
    check_text,
)
from compsparse.errors import DataError, GraphError
from compsparse.graph import formula as formulas
from compsparse.graph.formula import Apply, Argument, Constant, Formula
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
        check_text("the name of a constituent", self.name)
        object.__setattr__(self, "arity", check_count(f"the arity of {self.name!r}", self.arity, most=MOST_VARIABLES))
        if self.formula is not None and not isinstance(self.formula, (Argument, Constant, Apply)):
            raise GraphError(f"the formula of {self.name!r} must be a Formula, got {brief(self.formula)}")
        if self.function is not None and not callable(self.function):
            raise GraphError(f"the function of {self.name!r} must be callable, got {brief(self.function)}")
        for name in ("value_range", "lipschitz"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, self._declared_numbers(name))
        if self.smoothness is not None:
            if not isinstance(self.smoothness, numbers.Real):
                raise GraphError(f"smoothness of {self.name!r} must be a number, got {brief(self.smoothness)}")
            object.__setattr__(self, "smoothness", float(self.smoothness))
        if self.smoothness is not None and not self.smoothness >= 0:
            raise GraphError(f"smoothness of {self.name!r} must be >= 0, got {self.smoothness}")
        if self.value_range is not None and not (
            len(self.value_range) == 2 and self.value_range[0] <= self.value_range[1]
        ):
            raise GraphError(f"range of {self.name!r} must be (low, high), got {self.value_range}")
        if self.lipschitz is not None and len(self.lipschitz) != self.arity:
            raise GraphError(f"{self.name!r} has {self.arity} arguments but {len(self.lipschitz)} Lipschitz constants")

    def _declared_numbers(self, name: str) -> tuple[float, ...]:
        values = getattr(self, name)
        if isinstance(values, tuple) and all(type(v) is float for v in values):
            return values
        found = check_numbers(f"{name} of {self.name!r}", values, shape=(None,), finite=False, error=GraphError)
        return tuple(found.tolist())

    @classmethod
    def from_formula(
        cls, formula: Formula, arity: int, *, name: str | None = None, **declared: Unpack[DeclaredProperties]
    ) -> Constituent:
        """What is not declared follows from the formula's operations."""
        _check_declared(declared)
        arity = check_count("arity", arity, most=MOST_VARIABLES)
        if not isinstance(formula, (Argument, Constant, Apply)):
            raise GraphError(f"expected a Formula, got {brief(formula)}")
        try:
            return cls._of_formula(formula, arity, name, declared)
        except RecursionError:
            raise GraphError(
                "the formula nests too deep for one constituent: make a graph of it, FunctionGraph.from_expression"
            ) from None

    @classmethod
    def _of_formula(cls, formula: Formula, arity: int, name: str | None, declared: DeclaredProperties) -> Constituent:
        known: dict[str, Any] = {
            "smoothness": formulas.smoothness(formula),
            "value_range": formulas.value_range(formula),
            "lipschitz": formulas.lipschitz(formula, arity),
        }
        known |= {key: value for key, value in declared.items() if value is not None}
        called = formulas.render(formula, argument_names(arity)) if name is None else name
        return cls(called, arity, formula, **known)

    @classmethod
    def from_expression(
        cls, text: str, arguments: Sequence[str], *, name: str | None = None, **declared: Unpack[DeclaredProperties]
    ) -> Constituent:
        """The function written as an expression of the named arguments.

        >>> h = Constituent.from_expression("tanh(2*a*b)", ["a", "b"])
        >>> h.smoothness, h.value_range
        (inf, (-1.0, 1.0))
        """
        known = check_name_list("arguments", list(arguments) if isinstance(arguments, str) else arguments)
        return cls.from_formula(parse_formula(text, known), len(known), name=name, **declared)

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
        if not callable(function):
            raise GraphError(f"expected a function of arrays, got {brief(function)}")
        return cls(
            str(getattr(function, "__name__", type(function).__name__)) if name is None else name,
            arity,
            function=function,
            smoothness=declared.get("smoothness"),
            value_range=declared.get("value_range"),
            lipschitz=declared.get("lipschitz"),
        )

    def __call__(self, *arguments: Any) -> Any:
        if len(arguments) != self.arity:
            raise GraphError(f"{self.name!r} takes {self.arity} arguments, got {len(arguments)}")
        torch = any(is_torch(a) for a in arguments)
        if not torch:
            arguments = tuple(check_numbers(f"an argument of {self.name!r}", a, finite=False) for a in arguments)
            if len({a.shape for a in arguments if a.ndim}) > 1:
                shapes = ", ".join(str(a.shape) for a in arguments)
                raise DataError(f"the arguments of {self.name!r} must be arrays of one shape, got {shapes}")
        return self.compiled(torch=torch)(*arguments)

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
