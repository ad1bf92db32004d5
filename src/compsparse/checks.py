"""What may be asked for, checked in one place: a check returns the value it allows, or says what is wrong.

One rule decides the error class: what a caller passes as a parameter is a :class:`ConfigError`, what stands in the
data is a :class:`DataError`. Rows are counted from 1, as in a spreadsheet, and every sentence that names one says so;
columns go by their name.
"""

from __future__ import annotations

import difflib
import functools
import inspect
import math
import numbers
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from compsparse.errors import CompsparseError, ConfigError, DataError, UnknownOptionError

if TYPE_CHECKING:
    import torch

MOST_VARIABLES = 1_000_000
"""Most inputs that a function may have."""
MOST_STEPS = 10**8
"""Most steps of training, and of anything else that is counted in steps."""
MOST_REPLICAS = 1_000_000
"""Most networks in one tensor program."""
MOST_LAYERS = 10_000
"""Most layers of a network."""

_Function = TypeVar("_Function", bound=Callable[..., Any])
RandomState = int | np.random.Generator | np.random.RandomState | None
"""A seed, a generator of either of numpy's kinds, or None for numbers that differ each time."""


# ---- names --------------------------------------------------------------------------------------


OTHER_WORDS = {
    "alpha": "lam",
    "classify": "classification",
    "columns": "names",
    "domain": "bounds",
    "epochs": "n_epochs",
    "feature_names": "names",
    "hidden": "width",
    "lr": "learning_rate",
    "max_iter": "n_steps",
    "n_iter": "n_steps",
    "replicas": "n_replicas",
    "restarts": "n_restarts",
    "rng": "random_state",
    "seed": "random_state",
    "steps": "n_steps",
    "target": "y",
    "tolerance": "tol",
    "time": "time_limit",
    "timeout": "time_limit",
    "verbose": "progress",
    "weight": "sample_weight",
    "weights": "sample_weight",
}
"""What others call a parameter, and the one word for it here."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A hint for a name that is not known: the word for it here, the nearest, or all of them.

    >>> did_you_mean("widht", ["width", "depth"])
    "; did you mean 'width'?"
    >>> did_you_mean("seed", ["random_state", "speed"])
    "; did you mean 'random_state'?"
    """
    known = list(known)
    here = OTHER_WORDS.get(name)
    found = [here] if here in known else difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {found[0]!r}?" if found else f"; known: {', '.join(known) or 'none'}"


def check_known(name: str, known: Collection[str], what: str, more: str = "") -> str:
    """A name among those that are known; ``what`` begins the sentence about another, ``more`` ends it.

    >>> check_known("widht", ["width"], "there is no field")
    Traceback (most recent call last):
    compsparse.errors.ConfigError: there is no field 'widht'; did you mean 'width'?
    """
    if name not in known:
        raise ConfigError(f"{what} {name!r}{did_you_mean(name, known)}{more}")
    return name


def check_choice(what: str, value: Any, choices: Collection[str]) -> str:
    """One of several words."""
    if not isinstance(value, str) or value not in choices:
        hint = did_you_mean(value, choices) if isinstance(value, str) else ""
        hint = hint if hint.startswith("; did") else ""
        raise ConfigError(f"{what} must be one of {', '.join(map(repr, choices))}, got {brief(value)}{hint}")
    return value


def check_options(what: str, given: Iterable[str], known: Collection[str]) -> None:
    """Keywords that are handed on as a whole: the first that is not known is named."""
    for name in given:
        if name not in known:
            raise UnknownOptionError(f"{what} has no option {name!r}{did_you_mean(name, known)}")


def suggests_options(function: _Function) -> _Function:
    """The function, or the class, which refuses unknown keywords in a sentence that names the near one.

    >>> @suggests_options
    ... def draw(width=16, *, random_state=None): ...
    >>> draw(seed=0)
    Traceback (most recent call last):
    compsparse.errors.UnknownOptionError: draw has no option 'seed'; did you mean 'random_state'?
    """
    if inspect.isclass(function):
        function.__init__ = suggests_options(function.__init__)  # type: ignore[method-assign]
        return function
    parameters = inspect.signature(function).parameters.values()
    known = [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY) and p.name != "self"]

    @functools.wraps(function)
    def with_known(*args: Any, **options: Any) -> Any:
        check_options(type(args[0]).__name__ if takes_self else function.__name__, options, known)
        return function(*args, **options)

    takes_self = function.__name__ == "__init__"
    return cast(_Function, with_known)


def input_names(n: int) -> tuple[str, ...]:
    """The usual names of inputs: x0, x1, …"""
    n = check_count("the number of inputs", n, least=0, most=MOST_VARIABLES)
    return tuple(f"x{i}" for i in range(n))


def check_names(names: Sequence[str] | str, n: int, what: str) -> tuple[str, ...]:
    """Different non-empty names, one for each of the n inputs or outputs; ``what`` is one of these two words."""
    if isinstance(names, str):
        names = (names,)
    try:
        found = tuple(names)
    except TypeError:
        raise ConfigError(f"expected a sequence of {n} {what} names, got {brief(names)}") from None
    if len(found) != n:
        raise ConfigError(f"{n} {what}{'s' * (n != 1)} need as many names, got {len(found)}")
    for i, name in enumerate(found):
        if not isinstance(name, str) or not name:
            raise ConfigError(f"the name of an {what} must be a non-empty text, got {brief(name)}")
        if name in found[:i]:
            raise ConfigError(f"two {what}s are named {name!r}")
    return found


def check_input_and_output_names(
    names: Sequence[str] | None, outputs: Sequence[str] | str | None, n_inputs: int, n_outputs: int
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of inputs and outputs; those not given are x0, x1, … and y or y0, y1, …, kept apart from the others."""
    usual_outputs = ("y",) if n_outputs == 1 else tuple(f"y{i}" for i in range(n_outputs))
    given_outputs = None if outputs is None else check_names(outputs, n_outputs, "output")
    if names is None:
        found_inputs = kept_apart(input_names(n_inputs), given_outputs or ())
    else:
        found_inputs = check_names(names, n_inputs, "input")
    found_outputs = kept_apart(usual_outputs, found_inputs) if given_outputs is None else given_outputs
    both = sorted(set(found_inputs) & set(found_outputs))
    if both:
        raise ConfigError(f"inputs and outputs must have different names: {both[0]!r} is both")
    return found_inputs, found_outputs


def kept_apart(names: Sequence[str], taken: Collection[str]) -> tuple[str, ...]:
    """The names, all of them with underscores behind until none is taken."""
    tail = ""
    while any(name + tail in taken for name in names):
        tail += "_"
    return tuple(name + tail for name in names)


def check_name_list(what: str, names: Any) -> list[str]:
    """Different non-empty names, any number of them."""
    found = check_list(what, names)
    seen: set[str] = set()
    for name in found:
        check_text(f"a name in {what}", name)
        if name in seen:
            raise ConfigError(f"{what} names {name!r} twice")
        seen.add(name)
    return found


def row_text(i: int) -> str:
    """How a sentence names the row at position i.

    >>> row_text(2)
    'row 3 (counted from 1)'
    """
    return f"row {i + 1} (counted from 1)"


# ---- numbers ------------------------------------------------------------------------------------


def check_count(what: str, value: Any, least: int = 1, most: int | None = None) -> int:
    """A whole number from ``least`` on, and up to ``most`` where there is a limit."""
    is_whole = isinstance(value, numbers.Integral) and not isinstance(value, (bool, np.bool_))
    if not is_whole or value < least:
        raise ConfigError(f"{what} must be a whole number >= {least}, got {brief(value)}")
    if most is not None and value > most:
        raise ConfigError(f"{what} must be at most {most:,}, got {int(value):,}")
    return int(value)


def check_replicas(n_replicas: Any) -> int | None:
    """How many networks a tensor program holds; None is one network without a dimension for them."""
    return None if n_replicas is None else check_count("n_replicas", n_replicas, most=MOST_REPLICAS)


def check_threads(n_threads: Any) -> int | None:
    """How many threads may compute; None leaves the choice to the kernel."""
    return None if n_threads is None else check_count("n_threads", n_threads, most=1024)


def check_number(
    what: str,
    value: Any,
    *,
    above: float | None = None,
    least: float | None = None,
    below: float | None = None,
    most: float | None = None,
) -> float:
    """A finite number within limits: ``above`` and ``below`` are left out, ``least`` and ``most`` are allowed."""
    limits = [(">", above), (">=", least), ("<", below), ("<=", most)]
    wanted = " and ".join(f"{sign} {limit:g}" for sign, limit in limits if limit is not None)
    is_number = isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_)) and _is_finite(value)
    if (
        not is_number
        or (above is not None and not value > above)
        or (least is not None and not value >= least)
        or (below is not None and not value < below)
        or (most is not None and not value <= most)
    ):
        raise ConfigError(f"{what} must be a finite number{f' {wanted}' if wanted else ''}, got {brief(value)}")
    return float(value)


def _is_finite(value: Any) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond the largest float
        return False


def check_flag(what: str, value: Any) -> bool:
    """True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise ConfigError(f"{what} must be True or False, got {brief(value)}")
    return bool(value)


# ---- randomness, time, devices ------------------------------------------------------------------


def generator_from(random_state: Any, what: str = "random_state") -> np.random.Generator:
    """A generator of random numbers: a new one from a seed, the one that was given, or one drawn from an older kind."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(int(random_state.randint(2**31)))
    if random_state is None:
        return np.random.default_rng()
    return np.random.default_rng(check_count(what, random_state, least=0))


def seed_from(random_state: Any, what: str = "random_state") -> int:
    """One seed, to be handed on: the number itself is not used, so that different users of it draw differently."""
    return int(generator_from(random_state, what).integers(2**31))


def own_seed(random_state: Any, what: str = "random_state") -> int:
    """One seed that is used as it is: the number itself where one was given, else one that is drawn."""
    if isinstance(random_state, numbers.Integral):
        return check_count(what, random_state, least=0)
    return seed_from(random_state, what)


def check_time_limit(time_limit: Any) -> float | None:
    """Seconds that are left, or None without a limit."""
    return None if time_limit is None else check_number("time_limit", time_limit, above=0)


def check_device(device: Any) -> torch.device | None:
    """A device that torch can use here; None leaves the choice to torch, which takes the CPU."""
    if device is None:
        return None
    import torch

    known = ["cpu", *(f"cuda:{i}" for i in range(torch.cuda.device_count())), *_apple_device()]
    try:
        if not isinstance(device, (str, torch.device)):
            raise TypeError
        found = torch.device(device)
        torch.empty(0, device=found)
    except (RuntimeError, AssertionError, NotImplementedError, TypeError, ValueError):
        raise ConfigError(f"cannot use device {brief(str(device))}: torch has {', '.join(known)} here") from None
    return found


def _apple_device() -> list[str]:
    import torch

    return ["mps"] if torch.backends.mps.is_available() else []


def check_dtype(dtype: Any) -> torch.dtype:
    """A type of floating-point numbers that networks can be made of."""
    import torch

    if not isinstance(dtype, torch.dtype) or not dtype.is_floating_point:
        raise ConfigError(f"dtype must be a floating-point type of torch such as torch.float32, got {brief(dtype)}")
    return dtype


def check_seeds(seeds: Any, n_replicas: int) -> list[int]:
    """A list with one seed per replica."""
    if not isinstance(seeds, Sequence) or isinstance(seeds, (str, bytes)) or len(seeds) != n_replicas:
        found = len(seeds) if isinstance(seeds, Sequence) else brief(seeds)
        raise ConfigError(f"seeds must be a list with one seed for each of the {n_replicas} replicas, got {found}")
    return [check_count("a seed", seed, least=0, most=2**64 - 1) for seed in seeds]


# ---- objects and arrays ---------------------------------------------------------------------------

_Kind = TypeVar("_Kind")


def brief(value: Any, most: int = 80) -> str:
    """A value as a sentence quotes it: short, and on one line.

    >>> brief(np.zeros((2, 3)))
    'an array of shape (2, 3)'
    """
    if isinstance(value, np.ndarray) and value.ndim:
        return f"an array of shape {value.shape}"
    if type(value).__module__.startswith("torch") and hasattr(value, "shape"):
        return f"a tensor of shape {tuple(value.shape)}"
    text = " ".join(repr(value).split())
    return text if len(text) <= most else f"{text[: most - 1]}…"


def check_kind(what: str, value: Any, kind: Callable[..., _Kind]) -> _Kind:
    """An object of a class of this package."""
    assert isinstance(kind, type)
    if not isinstance(value, kind):
        raise ConfigError(f"{what} must be a {kind.__name__}, got {brief(value)}")
    return cast(_Kind, value)


def check_text(what: str, value: Any) -> str:
    """A text that is not empty."""
    if not isinstance(value, str) or not value:
        raise ConfigError(f"{what} must be a non-empty text, got {brief(value)}")
    return value


def check_mapping(what: str, value: Any) -> Mapping[Any, Any]:
    """A dict, or what can be read like one."""
    if not isinstance(value, Mapping):
        raise ConfigError(f"{what} must be a mapping such as a dict, got {brief(value)}")
    return value


def check_list(what: str, value: Any) -> list[Any]:
    """Several things in order; a text is not such a list."""
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable) or getattr(value, "shape", 1) == ():
        raise ConfigError(f"{what} must be a list, got {brief(value)}")
    check_unmasked(what, value, ConfigError)
    try:
        return list(value)
    except TypeError:
        raise ConfigError(f"{what} must be a list, got {brief(value)}") from None


def check_unmasked(what: str, values: Any, error: type[CompsparseError] = DataError) -> Any:
    """The values, none of which is masked: numpy would hand over what is below a mask as if it were meant.

    >>> check_unmasked("x", np.ma.array([1, 2], mask=[False, True]))
    Traceback (most recent call last):
    compsparse.errors.DataError: x has a masked value in row 2 (counted from 1): fill in such values, or leave them out
    """
    parts = values if isinstance(values, (list, tuple)) else (values,)
    if any(isinstance(part, np.ma.MaskedArray) for part in parts):
        rows = parts if parts is values else np.atleast_1d(values)
        hidden = [i for i, row in enumerate(rows) if np.ma.getmaskarray(row).any()]
        if hidden:
            raise error(f"{what} has a masked value in {row_text(hidden[0])}: fill in such values, or leave them out")
    return values


def check_numbers(
    what: str,
    values: Any,
    *,
    shape: tuple[int | None, ...] | None = None,
    finite: bool = True,
    form: str = "an array of numbers",
    error: type[CompsparseError] = DataError,
) -> np.ndarray:
    """An array of real numbers as float64; None in ``shape`` stands for any length.

    >>> check_numbers("x", [1, 2], shape=(None,))
    array([1., 2.])
    """
    array = _real_array(check_unmasked(what, values, error))
    if array is None:
        raise error(f"{what} must be {form}, got {brief(values)}")
    fits = shape is None or (
        array.ndim == len(shape) and all(n is None or n == m for n, m in zip(shape, array.shape, strict=True))
    )
    if shape is not None and not fits:
        wanted = ", ".join("n" if n is None else str(n) for n in shape)
        raise error(f"{what} must have shape ({wanted}{',' * (len(shape) == 1)}), got {array.shape}")
    if finite and not np.isfinite(array).all():
        raise error(f"{what} holds NaN or infinite values, first in {row_text(_first_bad_row(array))}")
    return array


def _real_array(values: Any) -> np.ndarray | None:
    """The values as float64, or None where they are no numbers."""
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "biufO" or (array.dtype.kind == "O" and not _holds_numbers(array)):
            return None
        return array.astype(np.float64, copy=False)
    except (TypeError, ValueError, RuntimeError, OverflowError, AttributeError):
        return None


def _holds_numbers(array: np.ndarray) -> bool:
    return array.size > 0 and all(isinstance(value, numbers.Real) for value in array.flat)


def _first_bad_row(array: np.ndarray) -> int:
    bad = ~np.isfinite(array)
    return int(np.argmax(bad.reshape(len(bad), -1).any(axis=1))) if array.ndim else 0


def check_array(what: str, values: Any) -> np.ndarray:
    """Whatever numpy can make an array of."""
    check_unmasked(what, values)
    try:
        return np.asarray(values)
    except (TypeError, ValueError, RuntimeError):
        raise DataError(f"{what} must be an array, got {brief(values)}") from None


def check_indices(what: str, values: Any, n: int) -> list[int]:
    """Different or repeated positions from 0 to n - 1."""
    return [check_count(f"a position in {what}", i, least=0, most=n - 1) for i in check_list(what, values)]
