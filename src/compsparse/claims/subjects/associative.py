"""How much linear and softmax memories hold, and whether associations can be chained."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from compsparse.claims.claim import Finding, Profile
from compsparse.claims.rules import interval_of_seeds, judge_at_least, judge_at_most, judge_within
from compsparse.claims.seeds import FIRST_SEED
from compsparse.claims.shapes import each, figure_of, finding_of
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


def capacity(profile: Profile, progress: Progress) -> Finding:
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
    return judge_capacity(errors)


def _signs(rng: torch.Generator, n: int) -> Tensor:
    return 2.0 * torch.randint(2, (_D, n), generator=rng) - 1


def judge_capacity(errors: dict[tuple[str, int], np.ndarray]) -> Finding:
    loads = sorted({P for _, P in errors})
    ratios = {P: interval_of_seeds(errors["Hebbian", P] / hebbian_bit_error(_D, P)) for P in loads if P >= 64}
    exact = [judge_at_most(interval_of_seeds(errors["pseudo-inverse", P]), 1e-3) for P in loads if P < _D]
    beyond = judge_at_least(interval_of_seeds(errors["pseudo-inverse", max(loads)]), 0.01)
    soft = [judge_at_most(interval_of_seeds(errors["softmax, 20% flipped", P]), 1e-3) for P in loads]
    points = [(P, max(float(e.mean()), 1e-5), name) for (name, P), e in sorted(errors.items())]
    points += [(P, hebbian_bit_error(_D, P), "Hebbian, theory") for P in loads]
    return finding_of(
        [*(judge_within(i, 0.9, 1.1) for i in ratios.values()), *exact, beyond, *soft],
        measured="Hebbian over theory "
        + ", ".join(f"{i.text(3)} at P={P}" for P, i in ratios.items())
        + f"; pseudo-inverse {errors['pseudo-inverse', 128].mean():.2g} at P=128, "
        f"{errors['pseudo-inverse', max(loads)].mean():.2g} at P={max(loads)}; softmax at most "
        f"{max(errors['softmax, 20% flipped', P].mean() for P in loads):.2g}",
        numbers={f"{name}, P={P}": e for (name, P), e in errors.items()},
        figures=figure_of("Wrong signs in recall of sign patterns", points, "patterns", "error", "memory", log_x=True,
                          log_y=True, x_title=f"stored patterns (d = {_D})",
                          y_title="share of wrong signs (at least 1e-5 drawn)"),
    )  # fmt: skip


def chains(profile: Profile, progress: Progress) -> Finding:
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
    return judge_chains(errors)


def judge_chains(errors: dict[str, np.ndarray]) -> Finding:
    last = {name: e[:, -1] for name, e in errors.items()}
    points = [(t, float(error), name) for name, e in errors.items() for t, error in enumerate(e.mean(0))]
    return finding_of(
        [judge_at_most(interval_of_seeds(e), 0.01) for e in last.values()],
        measured="wrong signs at the end: " + ", ".join(f"{name} {e.mean():.2g}" for name, e in last.items()),
        numbers=last,
        figures=figure_of("Errors along a chain of associations", points, "step", "error", "memory",
                          y_title="share of wrong signs (mean over chains)"),
    )  # fmt: skip
