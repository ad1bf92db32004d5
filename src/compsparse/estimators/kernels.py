"""Kernels of Gaussian processes that hold what a discovery found: a sum over groups of inputs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Kernel, WhiteKernel

from compsparse.checks import check_flag, check_kind, suggests_options
from compsparse.discovery import Discovery
from compsparse.discovery.exports import independent_groups
from compsparse.errors import ConfigError
from compsparse.tables.inputs import NumberColumn


class ColumnsRBF(RBF):
    """The squared exponential kernel of some columns of the rows.

    Args:
        columns: their places.
        length_scale, length_scale_bounds: as in :class:`sklearn.gaussian_process.kernels.RBF`, for these columns.

    >>> X = np.array([[0.0, 5.0], [0.0, 9.0]])
    >>> ColumnsRBF((0,))(X)
    array([[1., 1.],
           [1., 1.]])
    """

    def __init__(
        self,
        columns: Sequence[int] = (0,),
        length_scale: Any = 1.0,
        length_scale_bounds: Any = (1e-5, 1e5),
    ):
        super().__init__(length_scale, length_scale_bounds)
        self.columns = columns

    def __call__(self, X: Any, Y: Any = None, eval_gradient: bool = False) -> Any:
        """The kernel between rows, and its gradient where that is asked for."""
        places = list(self.columns)
        X = np.asarray(X)[:, places]
        return super().__call__(X, None if Y is None else np.asarray(Y)[:, places], eval_gradient)

    def __repr__(self) -> str:
        return f"ColumnsRBF{tuple(self.columns)}"


@suggests_options
def to_kernel(found: Discovery, *, noise: bool = True) -> Kernel:
    """A kernel for :class:`sklearn.gaussian_process.GaussianProcessRegressor` that adds up over groups of inputs.

    Inputs that act together share a squared exponential with a length each; inputs without an effect have none. The
    lengths begin at the spreads of the columns. A process with this kernel learns a function that is a sum over the
    groups, as the function that was found is.

    Args:
        found: a discovery from a table of numbers, or from runs of a simulator. The rows of the process have all of
            its inputs, in its order.
        noise: whether to add a white kernel.

    Raises:
        ConfigError: it carries no importances, no model, or an input is no number.
    """
    check_kind("found", found, Discovery)
    check_flag("noise", noise)
    groups = independent_groups(found)
    if found.model is None:
        raise ConfigError("a kernel begins with the spreads of columns, and this discovery has no model of them")
    columns = {column.name: column for column in found.model.code.inputs}
    parts: list[Kernel] = []
    for group in groups:
        numbers = [columns[name] for name in group]
        for column in numbers:
            if not isinstance(column, NumberColumn):
                raise ConfigError(f"input {column.name!r} is no number, and a kernel takes numbers alone")
        places = tuple(found.graph.inputs.index(name) for name in group)
        spreads = np.array([column.scale for column in numbers if isinstance(column, NumberColumn)])
        bounds = np.stack([spreads * 1e-2, spreads * 1e3], axis=1)
        parts.append(ConstantKernel(1.0, (1e-4, 1e4)) * ColumnsRBF(places, spreads, bounds))
    if not parts:
        raise ConfigError("no input acts, so there is nothing to make a kernel of")
    if noise:
        parts.append(WhiteKernel(0.01, (1e-8, 1.0)))
    kernel: Kernel = reduce(add, parts)
    return kernel
