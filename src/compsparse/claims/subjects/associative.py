"""How much linear and softmax memories hold, and whether associations can be chained."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from compsparse.claims.claim import Finding, Profile
from compsparse.claims.rules import Interval, all_of, judge_at_least, judge_at_most, judge_within, mean_interval
from compsparse.claims.seeds import FIRST_SEED
from compsparse.networks.associative import (
    Memory,
    hebbian_bit_error,
    hebbian_memory,
    pseudo_inverse_memory,
    recall_chain,
    softmax_memory,
)
from compsparse.progress import Progress
from compsparse.report.figure import Figure

_D = 256
_SOURCE = "Poggio 2023 equation 10 and section 7, with correction 15"
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
    for seed in range(n_seeds):
        rng = torch.Generator().manual_seed(FIRST_SEED + seed)
        for P in loads:
            X, Y = _signs(rng, P), _signs(rng, P)
            for name, (make, flipped) in makers.items():
                keys = X * torch.where(torch.rand(_D, P, generator=rng) < flipped, -1.0, 1.0)
                errors[name, P][seed] = float((torch.sign(make(X, Y)(keys)) != Y).double().mean())
        progress.update(seed + 1, n_seeds, f"{seed + 1} memories")
    return _judge_capacity(errors)


def _signs(rng: torch.Generator, n: int) -> Tensor:
    return 2.0 * torch.randint(2, (_D, n), generator=rng) - 1


def _judge_capacity(errors: dict[tuple[str, int], np.ndarray]) -> Finding:
    loads = sorted({P for _, P in errors})
    ratios = {P: _interval(errors["Hebbian", P] / hebbian_bit_error(_D, P)) for P in loads if P >= 64}
    exact = [judge_at_most(_interval(errors["pseudo-inverse", P]), 1e-3) for P in loads if P < _D]
    beyond = judge_at_least(_interval(errors["pseudo-inverse", max(loads)]), 0.01)
    soft = [judge_at_most(_interval(errors["softmax, 20% flipped", P]), 1e-3) for P in loads]
    outcome = all_of([*(judge_within(i, 0.9, 1.1) for i in ratios.values()), *exact, beyond, *soft])
    rows = [
        {"patterns": P, "error": max(float(e.mean()), 1e-5), "memory": name} for (name, P), e in sorted(errors.items())
    ]
    rows += [{"patterns": P, "error": hebbian_bit_error(_D, P), "memory": "Hebbian, theory"} for P in loads]
    return Finding(
        outcome,

        measured="Hebbian over theory "
        + ", ".join(f"{i.text(3)} at P={P}" for P, i in ratios.items())
        + f"; pseudo-inverse {errors['pseudo-inverse', 128].mean():.2g} at P=128, "
        f"{errors['pseudo-inverse', max(loads)].mean():.2g} at P={max(loads)}; softmax at most "
        f"{max(errors['softmax, 20% flipped', P].mean() for P in loads):.2g}",
        numbers={f"{name}, P={P}": float(e.mean()) for (name, P), e in errors.items()},
        figures=(
            Figure("Wrong signs in recall of sign patterns", tuple(rows), "patterns", "error", series="memory",
                   log_x=True, log_y=True, x_title=f"stored patterns (d = {_D})",
                   y_title="share of wrong signs (at least 1e-5 drawn)"),
        ),
    )  # fmt: skip


def _interval(values: np.ndarray) -> Interval:
    return Interval(float(values[0]), float(values[0])) if np.ptp(values) == 0 else mean_interval(values)


def chains(profile: Profile, progress: Progress) -> Finding:
    """A sequence of patterns, each the key of the next, from a start with flipped signs."""
    n_seeds, length = (10, 20) if profile == "quick" else (50, 40)
    makers: dict[str, _Make] = {
        "Hebbian": hebbian_memory, "pseudo-inverse": pseudo_inverse_memory, "softmax": softmax_memory
    }  # fmt: skip
    errors = {name: np.zeros((n_seeds, length)) for name in makers}
    for seed in range(n_seeds):
        rng = torch.Generator().manual_seed(FIRST_SEED + seed)
        patterns = _signs(rng, length)
        start = patterns[:, :1] * torch.where(torch.rand(_D, 1, generator=rng) < 0.1, -1.0, 1.0)
        for name, make in makers.items():
            states = recall_chain(make(patterns[:, :-1], patterns[:, 1:]), start, length - 1)
            errors[name][seed] = (torch.cat(states, dim=1) != patterns).double().mean(0).numpy()
        progress.update(seed + 1, n_seeds, f"{seed + 1} chains")
    return _judge_chains(errors)


def _judge_chains(errors: dict[str, np.ndarray]) -> Finding:
    last = {name: e[:, -1] for name, e in errors.items()}
    rows = tuple(
        {"step": t, "error": float(e[:, t].mean()), "memory": name}
        for name, e in errors.items()
        for t in range(e.shape[1])
    )
    return Finding(
        all_of(judge_at_most(_interval(e), 0.01) for e in last.values()),

        measured="wrong signs at the end: " + ", ".join(f"{name} {e.mean():.2g}" for name, e in last.items()),
        numbers={name: float(e.mean()) for name, e in last.items()},
        figures=(Figure("Errors along a chain of associations", rows, "step", "error", series="memory",
                        y_title="share of wrong signs (mean over chains)"),),

    )  # fmt: skip
