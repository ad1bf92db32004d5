"""Decisions on trials: which merge to accept, which inputs to leave out. Pure functions of held-out losses.

A module is accepted when it predicts (better than a constant), when imposing it does not hurt (against the
free function of all variables), and when it is told apart: from the free function, or from every rival
that shares a variable with it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from compsparse.discovery.data.settings import (
    BETTER,
    CLEAR_OF_CAPACITY,
    CLEARLY_APART,
    FAR_WORSE,
    FAR_WORSE_T,
    HALVED,
    MUCH_WORSE,
    NOT_WORSE,
    PREDICTS,
    TOLD_APART,
)
from compsparse.discovery.data.trials import Trial


@dataclass(frozen=True)
class Judgement:
    """One candidate of a trial, compared.

    Attributes:
        against_constant, against_base: paired t, negative where the candidate is better.
        against_rival: smallest t by which a rival that shares a unit is worse; infinite without rivals.
    """

    candidate: int
    error: float
    against_constant: float
    against_base: float
    against_rival: float

    @property
    def may_stand(self) -> bool:
        """Whether it predicts, and imposing it does not hurt."""
        return self.against_constant < PREDICTS and self.against_base < NOT_WORSE

    @property
    def is_told_apart(self) -> bool:
        """Whether every rival is worse."""
        return self.against_rival > TOLD_APART


def judge(trial: Trial, constant: np.ndarray) -> list[Judgement]:
    """Judges all candidates but the first, which is the base, from the lowest error up."""
    merges = range(1, len(trial.candidates))
    judgements = []
    for c in merges:
        rivals = [r for r in merges if r != c and trial.candidates[r].inner & trial.candidates[c].inner]
        judgements.append(
            Judgement(
                c,
                trial.mean(c),
                trial.t_of(trial.losses[c], constant),
                trial.t(c, 0),
                min((told_apart(trial.t(r, c), trial.mean(r), trial.mean(c)) for r in rivals), default=math.inf),
            )
        )
    return sorted(judgements, key=lambda j: j.error)


def told_apart(t: float, worse: float, better: float) -> float:
    """t by which one error is above another; where a few rows make it up, t alone is small however large it is."""
    return max(t, CLEARLY_APART) if t > FAR_WORSE_T and worse > FAR_WORSE * better else t


def speaks_against_module(unexplained: float, ratio: float) -> bool:
    """Whether a tree that does without a module gains more than larger networks would have gained.

    Args:
        unexplained: share of the variance that it leaves.
        ratio: what it leaves, relative to the tree with the module.
    """
    return unexplained < CLEAR_OF_CAPACITY or ratio < HALVED


def accepted(
    trial: Trial,
    judgements: Sequence[Judgement],
    constant_error: float,
    *,
    last_word: bool = False,
    slack: float = 0.0,
) -> list[int]:
    """Candidates to accept together: disjoint, from the best down.

    Args:
        last_word: no longer trial will follow, so the best may stand on beating the base alone.
        slack: share of the base's error, and of what the base explains, that a candidate may lose.
    """
    chosen: list[int] = []
    used: frozenset[int] = frozenset()
    base = trial.mean(0)
    room = slack * min(base, constant_error - base)
    for rank, j in enumerate(judgements):
        merged = trial.candidates[j.candidate].inner
        near_enough = j.against_constant < PREDICTS and j.against_base < MUCH_WORSE and j.error - base < room
        beats_base = last_word and rank == 0 and j.against_base < BETTER
        if (j.may_stand or near_enough) and (j.is_told_apart or beats_base) and not merged & used:
            chosen.append(j.candidate)
            used |= merged
    return chosen
