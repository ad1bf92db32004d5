"""Compiles every kernel, so that no first call has to: ``python -m compsparse.warm_up``."""

from __future__ import annotations

import time
from itertools import product

import numpy as np
import torch

from compsparse.networks.mirroring import dense
from compsparse.sparse.dictionaries import gaussian_dictionary
from compsparse.sparse.memorisation import memorise
from compsparse.sparse.penalised import lasso, lasso_breakpoints, lasso_path
from compsparse.sparse.pursuit import basis_pursuit, omp
from compsparse.training.config import TrainingConfig
from compsparse.training.data import TrainingData
from compsparse.training.loop import train


def warm_up() -> float:
    """Calls all that has kernels, in each of its precisions; returns the seconds that took."""
    started = time.perf_counter()
    W = gaussian_dictionary(4, 6, random_state=0)
    X = np.ones((2, 4))
    for dtype, layout in product(("float64", "float32"), (np.ascontiguousarray, np.asfortranarray)):
        signals, dictionary = X.astype(dtype), layout(W.astype(dtype))
        found = lasso(signals, dictionary, 0.1)
        lasso(signals, dictionary, 0.2, start=found.codes)
    lasso_path(X, W, [1.0, 0.1])
    lasso_breakpoints(X[0], W)
    basis_pursuit(X, W)
    omp(X, W, 2)
    memorise([[0.0], [1.0], [2.0]], [0.0, 1.0, 0.0])
    train(dense(1, 2), TrainingData(torch.zeros(2, 1), torch.zeros(2, 1)), TrainingConfig(n_steps=1), random_state=0)
    return time.perf_counter() - started


if __name__ == "__main__":
    print(f"the kernels are compiled ({warm_up():.1f} s)")
