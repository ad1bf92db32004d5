"""Where more runs of a simulator would tell most, and whether more are needed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from compsparse.checks import RandomState, check_count, check_number, generator_from
from compsparse.discovery.runs.record import Runs, surrogate_of
from compsparse.optional import needs
from compsparse.text import in_a_line

if TYPE_CHECKING:
    import pandas

    from compsparse.models import FittedGraph

_CANDIDATES, _NEARBY = 4096, 5


@in_a_line
@dataclass(frozen=True, eq=False)
class NextPoints:
    """Points at which to run the simulator next.

    Attributes:
        names: of the inputs.
        points: (points, inputs), the most telling first.
        doubt: expected error at each, as a share of the spread of the answers.
        r2: of the surrogate on runs that it has not seen.
        is_enough: whether that is as good as was asked for, so that no more runs are needed.
    """

    names: tuple[str, ...]
    points: np.ndarray
    doubt: np.ndarray
    r2: float
    is_enough: bool

    def frame(self) -> pandas.DataFrame:
        """The points as a table."""
        library: Any = needs("pandas", "tables", "report")
        frame: pandas.DataFrame = library.DataFrame(self.points, columns=list(self.names))
        return frame

    def __str__(self) -> str:
        if self.is_enough:
            return f"The surrogate is as good as was asked for (R2 {self.r2:.5f}): no more runs are needed."
        return (
            f"The surrogate has R2 {self.r2:.5f} on runs that it has not seen. The next {len(self.points)} points are "
            f"where it is least sure: the error expected there is up to {self.doubt.max():.2g} of the spread of the "
            "answers."
        )


def next_points(model: FittedGraph, runs: Runs, n: int, target: float, random_state: RandomState) -> NextPoints:
    """Points of the box where the model is least sure, apart from each other and from the runs.

    A point is chosen by its doubt times its distance from what was run or chosen before, in the units of the box. The
    doubt is what the model misses in the runs nearby, and how far the networks that predict together are apart.
    """
    from scipy.spatial import cKDTree
    from scipy.stats import qmc

    n = check_count("n", n, most=_CANDIDATES)
    check_number("target", target, above=0, below=1)
    rng = generator_from(random_state)
    low, high = np.array(runs.bounds).T
    unit = qmc.Sobol(len(low), seed=rng).random(_CANDIDATES)
    rows = np.clip(low + unit * (high - low), low, high)
    acting = np.array([name not in model.graph.unread for name in runs.names])
    places, known = unit[:, acting], ((runs.X - low) / (high - low))[:, acting]
    distance, nearest = cKDTree(known).query(places, k=min(_NEARBY, len(known)))
    doubt = _missed(model, runs)[nearest].mean(1) + _disagreement(model, rows)
    distance = distance[:, 0]
    chosen: list[int] = []
    for _ in range(n):
        chosen.append(int((doubt * distance).argmax()))
        distance = np.minimum(distance, np.linalg.norm(places - places[chosen[-1]], axis=1))
    r2 = surrogate_of(model, runs).r2
    return NextPoints(runs.names, rows[chosen], doubt[chosen], r2, r2 >= target)


def _missed(model: FittedGraph, runs: Runs) -> np.ndarray:
    """What the model misses in every run, as a share of the spread of the answers, the mean over outputs."""
    left = np.abs(model.predict(runs.X).reshape(runs.y.shape) - runs.y)
    missed: np.ndarray = (left / np.maximum(runs.y.std(0), np.finfo(float).tiny)).mean(1)
    return missed + np.finfo(float).tiny


def _disagreement(model: FittedGraph, rows: np.ndarray) -> np.ndarray:
    """Standard deviation between the networks that predict together, in standardised units; nothing of one alone."""
    import torch

    with torch.no_grad():
        answers = model.network(torch.as_tensor(model.code.encoded(rows, model.graph.unread))).numpy()
    apart: np.ndarray = answers.std(0).mean(1)
    return apart
