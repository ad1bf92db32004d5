"""Forked processes compute with one thread.

A process that has computed with several threads leaves a forked child the locks of those threads, but not the threads:
the first larger product there would wait for them for ever.
"""

from __future__ import annotations

import os
import sys


def _one_thread() -> None:
    """What a child does first; its user may raise the numbers again, where nothing was computed before the fork."""
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(1)
    threadpoolctl = sys.modules.get("threadpoolctl")
    if threadpoolctl is not None:
        threadpoolctl.threadpool_limits(limits=1)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_one_thread)
