"""Small tables of trials, and benches to work on them."""

import numpy as np
import torch

from compsparse.discovery.data.sketch import Bench, Sketch
from compsparse.discovery.data.trials import TrialTable
from compsparse.discovery.data.units import Units

COLUMNS = {name: (name,) for name in "abcd"}


def table(n=120, d=4, seed=0, weight=None, **options):
    rng = np.random.default_rng(seed)
    X = torch.as_tensor(rng.standard_normal((n, d)), dtype=torch.float32)
    y = torch.tanh(X[:, :1] * X[:, 1:2]) + X[:, 2:3]
    return TrialTable(X, y, weight, **options)


def raw(names):
    return Units.raw({name: (name,) for name in names})


def work(names, y=None, *, groups=(), parked="", n=300, effort=0.3, noise=0.0, smooth=None, **known):
    """A bench with rows of y(a, b, ...), and a sketch in which some groups are joined and some inputs left out.

    Args:
        groups: of names; "ab" joins a and b.
        known: what else the sketch knows.
    """
    rng = np.random.default_rng(0)
    X = torch.as_tensor(rng.uniform(-1, 1, (n, len(names))), dtype=torch.float32)
    values = X[:, 0] if y is None else y(*X.T)
    values = values / values.std() + noise * torch.as_tensor(rng.standard_normal(n), dtype=torch.float32)
    units = raw(names)
    leaves = {name: tree for name, tree in zip(names, units.trees, strict=True) if name not in parked}
    joined = [units.joined([leaves.pop(name) for name in group]) for group in groups]
    sketch = Sketch(units.with_trees([*joined, *leaves.values()]), parked=tuple(parked), predicts=True, **known)
    return Bench(TrialTable(X, values[:, None], effort=effort), sketch, smooth), sketch


def modules(sketch):
    """The members of all modules of a sketch, as words."""
    return {"".join(sorted(m.members)) for m in sketch.modules}
