"""A small table of trials."""

import numpy as np
import torch

from compsparse.discovery.data.trials import TrialTable

COLUMNS = {name: (name,) for name in "abcd"}


def table(n=120, d=4, seed=0, weight=None, **options):
    rng = np.random.default_rng(seed)
    X = torch.as_tensor(rng.standard_normal((n, d)), dtype=torch.float32)
    y = torch.tanh(X[:, :1] * X[:, 1:2]) + X[:, 2:3]
    return TrialTable(X, y, weight, **options)
