"""Settings of numpy and torch that belong to the caller: what is computed here is computed under the usual ones."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

_USUAL_ERRORS = {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"}
_CALLERS: ContextVar[tuple[dict[str, Any], Any] | None] = ContextVar("_CALLERS", default=None)
"""How the caller has set numpy's errors and torch's type of numbers; None outside of :func:`usual_settings`."""


@contextmanager
def usual_settings() -> Iterator[None]:
    """Within the block numbers are single by default, gradients are recorded, and numpy warns; then all is as before.

    So a fit is the same under ``torch.set_default_dtype``, ``torch.no_grad``, ``torch.inference_mode`` and
    ``numpy.errstate``. What the caller has set is found again by :func:`callers_settings`.
    """
    torch = sys.modules.get("torch")  # where nobody has loaded it, nobody has set anything
    if _CALLERS.get() is not None and (torch is None or torch.is_grad_enabled()):
        yield
        return
    with ExitStack() as stack:
        dtype = None if torch is None else stack.enter_context(_torch_settings(torch))
        token = _CALLERS.set((dict(np.geterr()), dtype))
        stack.callback(_CALLERS.reset, token)
        stack.enter_context(np.errstate(**_USUAL_ERRORS))  # type: ignore[arg-type]
        yield


@contextmanager
def callers_settings() -> Iterator[None]:
    """Within the block, where a function of the caller's runs, numbers and errors are as the caller has set them."""
    found = _CALLERS.get()
    if found is None:
        yield
        return
    errors, dtype = found
    with np.errstate(**errors), _number_type(sys.modules.get("torch"), dtype):
        yield


@contextmanager
def _torch_settings(torch: Any) -> Iterator[Any]:
    dtype = torch.get_default_dtype()
    with torch.inference_mode(False), torch.enable_grad(), _number_type(torch, torch.float32):
        yield dtype


@contextmanager
def _number_type(torch: Any, dtype: Any) -> Iterator[None]:
    before = None if torch is None else torch.get_default_dtype()
    if dtype is None or before is dtype:
        yield
        return
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)
