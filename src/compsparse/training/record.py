"""What training returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from compsparse.networks.replicas import ReplicatedNetwork
from compsparse.text import in_a_line


class TrainingStatus(Enum):
    """How training ended; the value is the sentence a user reads."""

    FINISHED = "all steps were taken"
    STOPPED_EARLY = "every replica ended before its last step"
    CALLBACK = "a callback ended training"
    OUT_OF_TIME = "the time limit was reached; these are the best weights so far"
    INTERRUPTED = "training was interrupted; these are the best weights so far"


class ReplicaStatus(Enum):
    """How one replica ended."""

    FINISHED = "took all steps"
    STOPPED_EARLY = "stopped improving"
    REACHED = "reached the training loss that was asked for"
    DROPPED = "fell behind the others at a rung"
    DIVERGED = "its loss became infinite or NaN"


@in_a_line
@dataclass(frozen=True)
class Training:
    """The trained network and how it came about. Arrays have one entry per replica.

    Attributes:
        network: holds each replica's best weights on validation (the last ones without it).
        train_loss: loss of those weights on the training rows, on some 20,000 evenly spread ones where there are more.
        validation_loss: loss of those weights on the validation rows; NaN without validation.
        best_step: the step those weights are from.
        history: (evaluations, R) validation losses; NaN after a replica ended.
    """

    network: ReplicatedNetwork
    status: TrainingStatus
    replica_status: tuple[ReplicaStatus, ...]
    train_loss: np.ndarray
    validation_loss: np.ndarray
    best_step: np.ndarray
    n_steps: int
    seconds: float
    history_steps: np.ndarray = field(repr=False)
    history: np.ndarray = field(repr=False)

    @property
    def ranking(self) -> np.ndarray:
        """Replicas from best to worst, by validation loss if there is one, else by training loss."""
        loss = self.train_loss if np.isnan(self.validation_loss).all() else self.validation_loss
        return np.argsort(np.where(np.isnan(loss), np.inf, loss), kind="stable")

    @property
    def best(self) -> int:
        """The replica that comes first in the ranking."""
        return int(self.ranking[0])
