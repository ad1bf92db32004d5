"""How much linear and softmax memories hold, and whether associations can be chained."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from compsparse.claims.claim import Profile
from compsparse.claims.declared import Measured
from compsparse.claims.seeds import FIRST_SEED
from compsparse.claims.shapes import each, figure_of
from compsparse.networks.associative import (
    Memory,
    hebbian_bit_error,
    hebbian_memory,
    pseudo_inverse_memory,
    recall_chain,
    softmax_memory,
)
from compsparse.progress import Progress

_D = 256
_Make = Callable[[Tensor, Tensor], Memory]


def capacity(profile: Profile, progress: Progress) -> Measured:
    """Shares of wrong signs at loads from an eighth of the dimensions to twice as many."""
    n_seeds = 10 if profile == "quick" else 50
    loads = (32, 64, 128, 256, 384, 512)
    makers: dict[str, tuple[_Make, float]] = {
        "Hebbian": (hebbian_memory, 0.0),
        "pseudo-inverse": (pseudo_inverse_memory, 0.0),
        "softmax, 20% flipped": (softmax_memory, 0.2),
    }
    errors = {(name, P): np.zeros(n_seeds) for name in makers for P in loads}
    for seed in each(range(n_seeds), progress, "memories of seed {}"):
        rng = torch.Generator().manual_seed(FIRST_SEED + seed)
        for P in loads:
            X, Y = _signs(rng, P), _signs(rng, P)
            for name, (make, flipped) in makers.items():
                keys = X * torch.where(torch.rand(_D, P, generator=rng) < flipped, -1.0, 1.0)
                errors[name, P][seed] = float((torch.sign(make(X, Y)(keys)) != Y).double().mean())
    values = {f"Hebbian over theory, P={P}": errors["Hebbian", P] / hebbian_bit_error(_D, P) for P in loads if P >= 64}
    values |= {f"pseudo-inverse, P={P}": errors["pseudo-inverse", P] for P in loads if P < _D}
    values["pseudo-inverse of too many"] = errors["pseudo-inverse", max(loads)]
    values |= {f"softmax, P={P}": errors["softmax, 20% flipped", P] for P in loads}
    points = [(P, max(float(e.mean()), 1e-5), name) for (name, P), e in sorted(errors.items())]
    points += [(P, hebbian_bit_error(_D, P), "Hebbian, theory") for P in loads]
    figure = figure_of("Wrong signs in recall of sign patterns", points, "patterns", "error", "memory", log_x=True,
                       log_y=True, x_title=f"stored patterns (d = {_D})",
                       y_title="share of wrong signs (at least 1e-5 drawn)")  # fmt: skip
    return Measured(values, (figure,))


def _signs(rng: torch.Generator, n: int) -> Tensor:
    return 2.0 * torch.randint(2, (_D, n), generator=rng) - 1


def chains(profile: Profile, progress: Progress) -> Measured:
    """A sequence of patterns, each the key of the next, from a start with flipped signs."""
    n_seeds, length = (10, 20) if profile == "quick" else (50, 40)
    makers: dict[str, _Make] = {
        "Hebbian": hebbian_memory, "pseudo-inverse": pseudo_inverse_memory, "softmax": softmax_memory
    }  # fmt: skip
    errors = {name: np.zeros((n_seeds, length)) for name in makers}
    for seed in each(range(n_seeds), progress, "chains of seed {}"):
        rng = torch.Generator().manual_seed(FIRST_SEED + seed)
        patterns = _signs(rng, length)
        start = patterns[:, :1] * torch.where(torch.rand(_D, 1, generator=rng) < 0.1, -1.0, 1.0)
        for name, make in makers.items():
            states = recall_chain(make(patterns[:, :-1], patterns[:, 1:]), start, length - 1)
            errors[name][seed] = (torch.cat(states, dim=1) != patterns).double().mean(0).numpy()
    points = [(t, float(error), name) for name, e in errors.items() for t, error in enumerate(e.mean(0))]
    figure = figure_of("Errors along a chain of associations", points, "step", "error", "memory",
                       y_title="share of wrong signs (mean over chains)")  # fmt: skip
    return Measured({f"wrong at the end, {name}": e[:, -1] for name, e in errors.items()}, (figure,))
