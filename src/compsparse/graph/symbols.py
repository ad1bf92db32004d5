"""Values that record what is done to them: one number, or an array of numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from compsparse.errors import TraceError
from compsparse.graph.builder import OperationRecorder
from compsparse.graph.derived import derived
from compsparse.graph.operations import is_torch, operation

# ---- both sides of every if: a traced function is run once for each way its conditions can fall -----


_MOST_RUNS = 256
_MOST_IN_A_RUN = 64


class Decisions:
    """How the conditions of one run fall: as the script says, and true beyond its end."""

    def __init__(self, script: tuple[bool, ...]):
        self.script = script
        self.made: dict[str, bool] = {}

    def ask(self, condition: str) -> bool:
        """The answer for a condition; the same condition gets the same answer throughout a run."""
        if condition not in self.made:
            if len(self.made) >= _MOST_IN_A_RUN:
                raise TraceError(
                    f"the function branches on a value more than {_MOST_IN_A_RUN} times in one run, as a loop does "
                    "whose end depends on a value: give the loop a fixed number of steps"
                )
            place = len(self.made)
            self.made[condition] = self.script[place] if place < len(self.script) else True
        return self.made[condition]


def explored(run: Callable[[Decisions], Any], join: Callable[[str, Any, Any], Any]) -> Any:
    """The result of ``run`` for every way its conditions can fall, joined condition by condition.

    Args:
        join: makes one result of a condition and the results where it holds and where it does not.
    """
    count = 0

    def below(script: tuple[bool, ...]) -> Any:
        """The joined results of all runs that begin with this script."""
        nonlocal count
        count += 1
        if count > _MOST_RUNS:
            raise TraceError(
                f"the function branches on values in more than {_MOST_RUNS} ways: use np.where, np.maximum or "
                "np.minimum, which need no branches"
            )
        decisions = Decisions(script)
        result = run(decisions)
        conditions = list(decisions.made)
        for place in reversed(range(len(script), len(conditions))):
            falls = list(decisions.made.values())[:place]
            result = join(conditions[place], result, below((*falls, False)))
        return result

    return below(())


# ---- numbers and arrays that record -----------------------------------------------------------------


_COMPARISONS = {"greater", "less", "greater_equal", "less_equal", "equal", "not_equal"}
LOGIC = {"logical_and", "logical_or", "logical_xor", "logical_not"}
_NEUTRAL = {"add": 0.0, "maximum": -math.inf, "minimum": math.inf}


def _idioms() -> Any:
    from compsparse.graph import idioms  # which is written with symbols

    return idioms


class Recorder(OperationRecorder):
    """An operation recorder that knows which of its nodes are conditions, and how those fall in this run."""

    def __init__(self, inputs: Sequence[str]):
        super().__init__(inputs)
        self.conditions: set[str] = set()
        self.decisions = Decisions(())


class _Asked:
    """What Python, numpy and torch ask a traced value when they meet it."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        return _idioms().method(self, name)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return _idioms().on_symbols(ufunc, method, inputs, options)

    def __array_function__(self, function: Any, kinds: Any, args: Any, kwargs: Any) -> Any:
        return _idioms().array_function(function, args, kwargs)

    @classmethod
    def __torch_function__(cls, function: Any, kinds: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _idioms().torch_function(function.__name__, args, kwargs or {})


class Symbol(_Asked):
    """A number that records what is done to it."""

    __slots__ = ("name", "recorder")
    shape = ()
    ndim = 0
    size = 1

    def __init__(self, recorder: Recorder, name: str):
        self.recorder, self.name = recorder, name

    def __repr__(self) -> str:
        return f"the traced value {self.name}"

    def __bool__(self) -> bool:
        condition = _truth(self)
        return self.recorder.decisions.ask(condition.name) if isinstance(condition, Symbol) else bool(condition)

    __hash__ = object.__hash__

    def __float__(self) -> float:
        raise TraceError(
            "the function turns a value into a plain number (float(), or a compiled function): "
            "use numpy's functions instead"
        )

    __int__ = __index__ = __complex__ = __float__

    def __pow__(self, other: Any, modulus: Any = None) -> Any:
        if modulus is not None:
            raise TraceError("pow with a modulus is not supported")
        return elementwise("pow", self, other)

    def __pos__(self) -> Symbol:
        return self

    def __invert__(self) -> Any:
        raise TraceError("~ of a plain condition is -2 or -1 in Python, and counts as true: use not, or np.logical_not")

    def __round__(self, digits: int | None = None) -> Any:
        if digits is not None:
            raise TraceError("round(x, digits) is not supported: use np.round(x, digits)")
        return elementwise("rint", self)

    def __divmod__(self, other: Any) -> Any:
        return elementwise("floor_divide", self, other), elementwise("mod", self, other)


class SymbolArray(_Asked, NDArrayOperatorsMixin):
    """An array of symbols and numbers, which behaves as one of numpy; ``values`` holds them as objects."""

    def __init__(self, values: Any):
        self.values = np.asarray(values, dtype=object)

    shape = property(lambda self: self.values.shape)
    ndim = property(lambda self: self.values.ndim)
    size = property(lambda self: self.values.size)
    T = property(lambda self: SymbolArray(self.values.T))
    dtype = property(lambda self: np.dtype(float))
    flat = property(lambda self: self.values.flat)

    def __repr__(self) -> str:
        return f"a traced array of shape {self.shape}"

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ValueError("the truth value of an array with more than one element is ambiguous")
        return bool(self.values.item())

    def __index__(self) -> int:
        raise TraceError("a traced array cannot be an index")

    def __getitem__(self, key: Any) -> Any:
        if holds_symbols(key):
            return MaskedArray(self, _mask(self, key))
        return wrapped(self.values[plain(key)])

    def __setitem__(self, key: Any, value: Any) -> None:
        if holds_symbols(key):
            mask = _mask(self, key)
            self.values[...] = elementwise("where", mask, _where_chosen(value, mask), self).values
        else:
            self.values[plain(key)] = objects(value)


class MaskedArray(NDArrayOperatorsMixin):
    """What a condition chooses of an array: changed value by value, summed, or put back where it came from."""

    def __init__(self, values: SymbolArray, mask: SymbolArray):
        self.values, self.mask = values, mask

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        out = options.pop("out", (None,))[0]
        if method != "__call__" or (out is not None and out is not self):
            raise TraceError(f"np.{ufunc.__name__}.{method} of x[condition] is not supported: use np.where")
        values = [_where_chosen(i, self.mask) for i in inputs]
        made = _idioms().on_symbols(ufunc, method, values, options)
        if out is None:
            return MaskedArray(made, self.mask)
        self.values = made
        return self

    def __array_function__(self, function: Any, kinds: Any, args: Any, kwargs: Any) -> Any:
        if function is np.sum and len(args) == 1 and not kwargs:
            return self.sum()
        raise TraceError(f"np.{function.__name__} of x[condition] is not supported: use np.where")

    def sum(self) -> Any:
        """The sum of what is chosen."""
        return elementwise("where", self.mask, self.values, 0.0).sum()


def _mask(values: SymbolArray, key: Any) -> SymbolArray:
    mask = wrapped(objects(key))
    if not isinstance(mask, SymbolArray) or mask.shape != values.shape:
        raise TraceError("x[condition] is supported where the condition has the shape of x: use np.where")
    return mask


def _where_chosen(value: Any, mask: SymbolArray) -> Any:
    """A number as it is; what was chosen by the same condition as the array that it was chosen from."""
    if not isinstance(value, MaskedArray):
        if np.ndim(plain(value)):
            raise TraceError("an array met x[condition], and how much that chooses depends on values: use np.where")
        return value
    same = [
        a is b or getattr(a, "name", a) == getattr(b, "name", b)
        for a, b in zip(value.mask.flat, mask.flat, strict=False)
    ]
    if value.mask.shape != mask.shape or not all(same):
        raise TraceError("x[condition] met y[another condition], which is not supported: use np.where")
    return value.values


def _install_operators() -> None:
    binary = {
        "add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "mod": "mod", "floordiv": "floor_divide",
        "and": "logical_and", "or": "logical_or", "xor": "logical_xor",
    }  # fmt: skip
    for python_name, name in binary.items():
        setattr(Symbol, f"__{python_name}__", lambda self, other, name=name: elementwise(name, self, other))
        setattr(Symbol, f"__r{python_name}__", lambda self, other, name=name: elementwise(name, other, self))
    Symbol.__rpow__ = lambda self, other: elementwise("pow", other, self)  # type: ignore[attr-defined]
    unary = {"neg": "neg", "abs": "abs", "floor": "floor", "ceil": "ceil", "trunc": "trunc"}
    for method, name in unary.items():
        setattr(Symbol, f"__{method}__", lambda self, name=name: elementwise(name, self))
    compared = {"gt": "greater", "lt": "less", "ge": "greater_equal", "le": "less_equal", "eq": "equal"}
    for method, name in {**compared, "ne": "not_equal"}.items():
        setattr(Symbol, f"__{method}__", lambda self, other, name=name: elementwise(name, self, other))


_install_operators()


# ---- numbers, symbols and arrays of them ----------------------------------------------------------


def is_number(value: Any) -> bool:
    """A plain number, of Python, numpy or torch."""
    if isinstance(value, (int, float, np.number, np.bool_)):
        return True
    if isinstance(value, (Symbol, SymbolArray)) or (isinstance(value, np.ndarray) and value.dtype.hasobject):
        return False
    return getattr(value, "shape", None) == () and hasattr(value, "item")


def holds_symbols(value: Any) -> bool:
    """Whether a traced value is in it, however deep."""
    if isinstance(value, (Symbol, MaskedArray)):
        return True
    if isinstance(value, SymbolArray):
        return any(isinstance(v, Symbol) for v in value.values.flat)
    if isinstance(value, np.ndarray):
        return value.dtype == object and any(isinstance(v, Symbol) for v in value.flat)
    if isinstance(value, (list, tuple, set)):
        return any(map(holds_symbols, value))
    if isinstance(value, dict):
        return any(map(holds_symbols, value.values()))
    return False


def plain(value: Any) -> Any:
    """The same with numpy's arrays in the place of traced ones, of floats where no symbol is in them."""
    if isinstance(value, SymbolArray):
        return value.values if holds_symbols(value) else np.array(value.values.tolist())
    if isinstance(value, Symbol):
        return objects(value)
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        return type(value)(plain(v) for v in value)
    if isinstance(value, dict):
        return {key: plain(v) for key, v in value.items()}
    return value


def objects(value: Any) -> np.ndarray:
    """An array of objects, from a symbol, a number, or lists and arrays of them."""
    if isinstance(value, SymbolArray):
        return value.values
    if isinstance(value, MaskedArray):
        raise TraceError(
            "x[condition] is not supported here, since how much it chooses depends on values: use np.where"
        )
    if isinstance(value, Symbol):
        made = np.empty((), dtype=object)
        made[()] = value
        return made
    if isinstance(value, (list, tuple)):
        parts = [objects(v) for v in value]
        return np.stack(parts) if parts else np.empty(0, dtype=object)
    if is_torch(value):
        value = value.detach().cpu().numpy()
    return np.asarray(value).astype(object)


def wrapped(value: Any) -> Any:
    """An array of objects as a traced array; one without dimensions as what it holds."""
    if isinstance(value, np.ndarray) and value.dtype == object:
        return SymbolArray(value) if value.ndim else value.item()
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        return type(value)(wrapped(v) for v in value)
    return value


# ---- operations -----------------------------------------------------------------------------------


def elementwise(name: str, *operands: Any) -> Any:
    """An operation, or a function that is made of operations, on symbols, numbers and arrays."""
    if all(isinstance(o, Symbol) or is_number(o) for o in operands):
        return _scalar(name, *operands)
    for operand in operands:
        known = isinstance(operand, (Symbol, SymbolArray, np.ndarray, list, tuple))
        if not (known or is_number(operand) or is_torch(operand)):
            raise TraceError(f"a value of type {type(operand).__name__} met a traced value; only numbers may")
    arrays = np.broadcast_arrays(*map(objects, operands))
    made = np.empty(arrays[0].shape, dtype=object)
    for place in np.ndindex(*made.shape):
        made[place] = _scalar(name, *(a[place] for a in arrays))
    return wrapped(made)


def _scalar(name: str, *operands: Any) -> Any:
    if name in LOGIC:
        return _logical(name, *operands)
    operands = tuple(o if isinstance(o, Symbol) else _number(o) for o in operands)
    symbol = next((o for o in operands if isinstance(o, Symbol)), None)
    found, builder = operation(name), derived(name)
    if found is None and builder is None:
        raise TraceError(f"{name} is not supported")
    wanted = (found or builder).arity  # type: ignore[union-attr]
    if len(operands) != wanted:
        raise TraceError(f"{name} takes {wanted} argument{'s' * (wanted > 1)} here, got {len(operands)}")
    if found is None:
        result = builder.build(_scalar, *operands)  # type: ignore[union-attr]
    elif symbol is None:
        with np.errstate(all="ignore"):
            result = float(found.numpy(*operands))
    else:
        result = _recorded(symbol.recorder, found.name, operands)
    if name in _COMPARISONS and isinstance(result, Symbol):
        result.recorder.conditions.add(result.name)
    return result


def _recorded(recorder: Recorder, name: str, operands: Sequence[Any]) -> Any:
    plain_ones = [o for o in operands if not isinstance(o, Symbol)]  # == of a symbol would be recorded
    if name == "pow" and plain_ones == [2.0] and isinstance(operands[0], Symbol):
        name, operands = "square", operands[:1]
    elif plain_ones == [_NEUTRAL.get(name)]:  # how sum() begins, and np.clip(x, 0, np.inf)
        return next(o for o in operands if isinstance(o, Symbol))
    elif name == "where" and not isinstance(operands[0], Symbol):
        return operands[1] if operands[0] else operands[2]
    for operand in operands:
        if not isinstance(operand, Symbol) and not math.isfinite(operand):
            raise TraceError("an infinite or undefined constant met a traced value")
    return Symbol(recorder, recorder.apply(name, [o.name if isinstance(o, Symbol) else o for o in operands]))


def _number(value: Any) -> float:
    if not is_number(value):
        raise TraceError(f"a value of type {type(value).__name__} met a traced value; only numbers may")
    return float(value)


def _truth(value: Any) -> Any:
    """A condition (1 or 0) that says whether a value counts as true."""
    if not isinstance(value, Symbol):
        return float(bool(value))
    return value if value.name in value.recorder.conditions else _scalar("not_equal", value, 0)


def _logical(name: str, *operands: Any) -> Any:
    """Conditions are 1 or 0, so that "and" is a product, "or" the larger one and "not" what is missing to 1."""
    values = [_truth(o) for o in operands]
    match name:
        case "logical_and":
            result = _scalar("mul", *values)
        case "logical_or":
            result = _scalar("maximum", *values)
        case "logical_xor":
            result = _scalar("not_equal", *values)
        case _:
            result = _scalar("sub", 1, *values)
    if isinstance(result, Symbol):
        result.recorder.conditions.add(result.name)
    return result
