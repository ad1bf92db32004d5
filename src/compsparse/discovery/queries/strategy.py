"""The way in: checks what was asked and starts the run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from compsparse.discovery.queries.oracle import Oracle
from compsparse.discovery.queries.request import check_budget, check_names, check_noise, check_time_limit, read_bounds
from compsparse.discovery.queries.run import Run, default_budget
from compsparse.discovery.record import Discovery
from compsparse.errors import DataError
from compsparse.progress import Progress


def from_queries(
    f: Callable[[Any], Any],
    bounds: Sequence[tuple[float, float]],
    names: Sequence[str] | None = None,
    outputs: Sequence[str] | str | None = None,
    *,
    budget: int | None = None,
    noise: float | None = None,
    random_state: int | np.random.Generator | None = None,
    progress: Progress | None = None,
    time_limit: float | None = None,
) -> Discovery:
    """Finds the function graph of a callable by asking for its values, and its gradients where torch gives them.

    A set S of inputs is a module with one channel, f(x) = F(g(x_S), x_rest), exactly when the direction of
    grad_S f does not depend on x_rest (weak separability, Leontief 1947, Sono 1961). Directions are compared
    before and after swaps of one input across its range, so that kinks show as well as curvature.

    Args:
        f: takes an array ``(n, d)`` (numpy, or a torch tensor) and answers ``(n,)`` or ``(n, k)``.
        bounds: (low, high) of every input.
        names: of the inputs; x0, x1, … by default.
        outputs: names of the outputs; y, or y0, y1, … by default.
        budget: most rows asked; a gradient by autograd counts as one. By default it grows with d.
        noise: standard deviation of the noise in the answers as a share of their own; None estimates it
            from repeated answers.
        time_limit: seconds.

    Raises:
        DataError: the function fails or gives answers that cannot be used.
        ConfigError: bounds, names, budget or noise make no sense.

    >>> found = from_queries(lambda x: x[:, 0] * x[:, 1] + np.sin(x[:, 2]), [(0, 1)] * 4, random_state=0)
    >>> sorted(map(sorted, found.modules)), found.inert
    ([['x0', 'x1']], ('x3',))
    """
    box = read_bounds(bounds)
    input_names = check_names(names, len(box), "input")
    check_noise(noise)
    check_budget(budget)
    check_time_limit(time_limit)
    if not callable(f):
        raise DataError(f"expected a callable, got {type(f).__name__}")
    oracle = Oracle(f, box, default_budget(len(box), False) if budget is None else int(budget), time_limit, progress)
    run = Run(oracle, input_names, outputs, noise, np.random.default_rng(random_state))
    return run.discover(f, grow_budget=budget is None)
