"""The threads of numpy's and scipy's linear algebra."""

from __future__ import annotations

import os
import sys
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any


def one_blas_thread() -> AbstractContextManager[object]:
    """Within the block products and factors take one thread; does nothing where threadpoolctl is missing.

    Threads of small products wait for each other longer than they work, and go on spinning afterwards: where torch
    computes in between, both wait. A minimiser of scipy over a function of torch took three times as long.
    """
    controller = _blas()
    return nullcontext() if controller is None else controller.limit(limits=1)


def n_threads() -> int:
    """Threads that work of several cores takes: torch's number where torch is loaded, else that of BLAS."""
    torch = sys.modules.get("torch")
    if torch is not None:
        return int(torch.get_num_threads())
    found = [] if _blas() is None else [library["num_threads"] for library in _blas().info()]
    return max(found, default=os.cpu_count() or 1)


@cache
def _blas() -> Any:
    """What sets the threads of BLAS; None where threadpoolctl, which comes with scikit-learn, is missing."""
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        return None
    return ThreadpoolController().select(user_api="blas")
