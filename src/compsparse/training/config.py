"""Settings of the training loop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from compsparse.checks import MOST_STEPS, brief, check_choice, check_count, check_list, check_number, check_numbers
from compsparse.errors import ConfigError
from compsparse.training.schedules import Schedule, schedule


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """Settings of the loop; the defaults suit small networks on smooth targets.

    Attributes:
        batch_size: rows per step and replica; None takes all of them.
        optimizer: ``adamw`` or ``sgd``.
        schedule: a name from :mod:`~compsparse.training.schedules`, or a function.
        n_epochs: instead of ``n_steps``: every replica passes so often over rows of its own.
        evaluate_every: steps between looks at the validation rows and at training losses.
        stop_at_loss: end a replica once its training loss, averaged over the steps since the last look, is
            as low; None never does.
        patience: end a replica after so many looks without improvement; None never does.
        clip_norm: largest gradient norm per replica; None does not clip.
        rungs: (share of steps done, share of replicas kept) pairs: successive halving on
            validation loss. Without rungs a replica's result does not depend on the others.
    """

    n_steps: int = 2000
    batch_size: int | None = 256
    learning_rate: float = 1.5e-2
    weight_decay: float = 1e-3
    optimizer: str = "adamw"
    momentum: float = 0.9
    schedule: str | Schedule = "one_cycle"
    n_epochs: int | None = None
    evaluate_every: int = 50
    stop_at_loss: float | None = None
    patience: int | None = None
    clip_norm: float | None = None
    rungs: tuple[tuple[float, float], ...] = ()

    def __post_init__(self) -> None:
        most = {"n_steps": MOST_STEPS, "n_epochs": MOST_STEPS}
        for name in ("n_steps", "evaluate_every", "n_epochs", "batch_size", "patience"):
            if getattr(self, name) is not None or name in ("n_steps", "evaluate_every"):
                check_count(name, getattr(self, name), most=most.get(name, 2**31 - 1))
        object.__setattr__(self, "learning_rate", check_number("learning_rate", self.learning_rate, above=0))
        object.__setattr__(self, "weight_decay", check_number("weight_decay", self.weight_decay, least=0))
        check_number("momentum", self.momentum, least=0, below=1)
        if self.stop_at_loss is not None:
            object.__setattr__(self, "stop_at_loss", check_number("stop_at_loss", self.stop_at_loss))
        if self.clip_norm is not None:
            object.__setattr__(self, "clip_norm", check_number("clip_norm", self.clip_norm, above=0))
        check_choice("optimizer", self.optimizer, ("adamw", "sgd"))
        object.__setattr__(self, "rungs", _rungs(self.rungs))
        schedule(self.schedule)


def _rungs(rungs: Any) -> tuple[tuple[float, float], ...]:
    table = check_numbers(
        "rungs", [list(check_list("a rung", r)) for r in check_list("rungs", rungs)], error=ConfigError
    )
    if table.size and (table.ndim != 2 or table.shape[1] != 2 or not _are_shares(table)):
        raise ConfigError(f"rungs are (share of steps, share kept) pairs between 0 and 1, got {brief(rungs)}")
    return tuple((at, kept) for at, kept in table.tolist())


def _are_shares(table: np.ndarray) -> bool:
    at, kept = table.T
    return bool(((at > 0) & (at < 1) & (kept > 0) & (kept <= 1)).all())
