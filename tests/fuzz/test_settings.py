"""Settings that belong to the caller change no answer: every entry point under each of them, and with masked arrays.

A seeded sample runs with the tests; ``make fuzz`` runs every entry point under every setting.
"""

from __future__ import annotations

import dataclasses
import hashlib
import numbers
import random
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np
import pytest
import torch
from odd import Entry, bounded
from test_fuzz import all_entries

from compsparse.errors import CompsparseError
from compsparse.warm_up import warm_up

SAMPLE, MASKED_SAMPLE, SEED = 24, 40, 7


@contextmanager
def number_type(dtype: torch.dtype) -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


SETTINGS: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    "float64": lambda: number_type(torch.float64),
    "float16": lambda: number_type(torch.float16),
    "no_grad": torch.no_grad,
    "inference_mode": torch.inference_mode,
    "errors of numpy": lambda: np.errstate(all="raise"),
}
TIMES = ("seconds", "cost", "started")


def told(value: Any, depth: int = 0) -> Any:
    """What an answer says, to the last bit, but for the times it took."""
    if isinstance(value, torch.nn.Module):
        value = value.state_dict()
    if isinstance(value, torch.Tensor):
        value = value.detach().cpu().numpy()
    if isinstance(value, np.ndarray) and value.dtype != object:
        return str(value.dtype), value.shape, hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    if isinstance(value, dict):
        return [(k, told(v, depth + 1)) for k, v in value.items() if not any(t in str(k) for t in TIMES)]
    if isinstance(value, list | tuple) and depth < 8:
        return [told(v, depth + 1) for v in value]
    return value if isinstance(value, int | float | str | bool | None) else type(value).__name__


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    every = metafunc.config.getoption("--all-cases", default=False)
    rng = random.Random(SEED)
    entries = [entry for entry in all_entries() if every or not entry.slow]
    if "setting" in metafunc.fixturenames:
        cases: list[tuple[Entry, str]] = [(entry, setting) for entry in entries for setting in SETTINGS]
        always = [case for case in cases if case[0].name in ("train", "fit_graph", "mirror")]
        chosen = cases if every else [*rng.sample(cases, SAMPLE), *always]
        metafunc.parametrize(("entry", "setting"), chosen, ids=lambda part: getattr(part, "name", part))
    if "parameter" in metafunc.fixturenames:
        # from_dict reads JSON, which has no masks
        cases = [(e, name) for e in entries if "from_dict" not in e.name for name in masked_arguments(e)]
        chosen = cases if every else rng.sample(cases, MASKED_SAMPLE)
        metafunc.parametrize(("entry", "parameter"), chosen, ids=lambda part: getattr(part, "name", part))


@pytest.fixture(scope="module", autouse=True)
def _compiled_kernels() -> None:
    warm_up()


@pytest.mark.filterwarnings("ignore")
def test_the_answer_is_the_same_under_the_callers_settings(entry: Entry, setting: str) -> None:
    usual, again = (told(entry.call(**entry.arguments())) for _ in range(2))
    arguments = entry.arguments()
    with bounded(), SETTINGS[setting](), warnings.catch_warnings():
        answer = entry.call(**arguments)
        mode = torch.get_default_dtype(), torch.is_grad_enabled(), torch.is_inference_mode_enabled()
    with SETTINGS[setting]():
        assert mode == (torch.get_default_dtype(), torch.is_grad_enabled(), torch.is_inference_mode_enabled())
    if usual == again:  # what has no seed differs by itself
        assert told(answer) == usual


def with_mask(value: Any, hides: float = 0) -> np.ndarray | None:
    """The same numbers, the first of them masked, with another one below the mask; None for what holds no numbers."""
    if isinstance(value, list | tuple) and all(isinstance(v, numbers.Real) and not isinstance(v, bool) for v in value):
        value = np.array(value)
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "biuf" or not value.size:
        return None
    hidden = np.zeros(value.shape, dtype=bool)
    hidden.reshape(-1)[0] = True
    value = value.copy()
    value.reshape(-1)[0] += np.asarray(hides, dtype=value.dtype)
    return np.ma.array(value, mask=hidden)


def masked_arguments(entry: Entry) -> list[str]:
    return [name for name, value in entry.arguments().items() if with_mask(value) is not None]


@pytest.mark.filterwarnings("ignore")
def test_what_is_masked_is_never_used(entry: Entry, parameter: str) -> None:
    """It is refused, or taken for missing: then what stands below the mask changes nothing."""
    answers = []
    for hides in (0, 1):
        arguments = dict(entry.arguments())
        arguments[parameter] = with_mask(arguments[parameter], hides)
        try:
            with bounded():
                answers.append(told(entry.call(**arguments)))
        except CompsparseError:
            return
    assert answers[0] == answers[1]
