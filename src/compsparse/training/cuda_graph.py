"""An optimisation step as one CUDA graph: small networks spend their time launching kernels."""

from __future__ import annotations

import gc
from collections.abc import Callable

import torch
from torch import Tensor

_WARM_UP = 3
_new_stream: Callable[[], torch.cuda.Stream] = torch.cuda.Stream


class CapturedStep:
    """Runs ``body(rows)`` by replaying a recording of it.

    The first few calls run as they are, on a side stream, as recording requires. After
    :meth:`forget` (the tensors the body works on were replaced) the next call records anew.
    """

    def __init__(self, body: Callable[[Tensor], None]):
        self.body = body
        self.done = 0
        self.graph: torch.cuda.CUDAGraph | None = None
        self.rows: Tensor | None = None

    def __call__(self, rows: Tensor) -> None:
        if self.done < _WARM_UP:
            self._run_aside(rows)
            self.done += 1
            return
        if self.graph is None:
            self._record(rows)
        assert self.rows is not None
        assert self.graph is not None
        self.rows.copy_(rows)
        self.graph.replay()

    def forget(self) -> None:
        """Drops the recording."""
        self.graph = self.rows = None

    def _run_aside(self, rows: Tensor) -> None:
        stream, current = _new_stream(), torch.cuda.current_stream()
        stream.wait_stream(current)
        with torch.cuda.stream(stream):
            self.body(rows)
        current.wait_stream(stream)

    def _record(self, rows: Tensor) -> None:
        self.rows, self.graph = rows.clone(), torch.cuda.CUDAGraph()
        # not torch.cuda.graph(): its full garbage collection takes longer than many short trainings.
        # Without one, a dead graph freed meanwhile would spoil the recording, so none is freed.
        collects = gc.isenabled()
        gc.disable()
        torch.cuda.synchronize()
        try:
            with torch.cuda.stream(_new_stream()):
                self.graph.capture_begin()
                try:
                    self.body(self.rows)
                finally:
                    self.graph.capture_end()
        finally:
            if collects:
                gc.enable()
