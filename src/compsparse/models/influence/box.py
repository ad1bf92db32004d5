r"""Sobol indices over a box: inputs are independent and uniform.

With rows A and B drawn independently, and A_S the rows of A with the inputs of S taken from B,

.. math::

    V_S = E[f(B) f(A_S)] - E[f]^2, \qquad T_S = \tfrac12 E[(f(A) - f(A_S))^2], \qquad
    \Upsilon_{ij} = \tfrac14 E[(f(A) - f(A_i) - f(A_j) + f(A_{ij}))^2]

(Sobol 2001; Jansen 1999; Liu and Owen 2006), over the variance of f. The strength of a pair adds up all shares of
the variance in which both inputs take part. f(B) f(A) is zero on
average where the mean of f is taken away (Saltelli et al. 2010 subtract it), and squares at A, at B and at A_S are
equal on average; the errors that go along with these differences are taken out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.stats import qmc

from compsparse.boxes import Side
from compsparse.models.influence.design import (
    FOR_PAIRS,
    TWICE,
    BlockAnswers,
    Singles,
    blocks_of,
    check_varies,
    pairs_worth_asking,
    spread_of,
)
from compsparse.models.influence.questioned import Questioned
from compsparse.models.influence.record import Importances


def over_box(
    subject: Questioned,
    names: Sequence[str],
    sides: Sequence[Side],
    modules: Mapping[str, tuple[str, ...]],
    n_evaluations: int,
    rng: np.random.Generator,
) -> Importances:
    """First and total indices of inputs and modules, and strengths of pairs."""
    sets = {name: (name,) for name in names} | dict(modules)
    d = len(names)
    for_singles = n_evaluations * (1 - FOR_PAIRS if d > 1 else 1)
    size, n_blocks = blocks_of(for_singles, 2 + len(sets))
    low, high = np.array(sides).T
    cubes = [qmc.Sobol(2 * d, seed=rng).random(size) for _ in range(n_blocks)]
    points = np.concatenate(cubes)
    A, B = (np.clip(low + half * (high - low), low, high) for half in np.hsplit(points, 2))
    ask = BlockAnswers(subject, names, n_blocks)

    def answers(rows: np.ndarray) -> np.ndarray:
        return ask(list(rows.T))

    def exchanged(members: Sequence[str], among: slice | np.ndarray = slice(None)) -> np.ndarray:
        rows: np.ndarray = np.where(np.isin(names, members), B[among], A[among])
        return rows

    f_A, f_B = answers(A), answers(B)
    f_S = {name: answers(exchanged(members)) for name, members in sets.items()}
    twice = np.arange(n_blocks * size) % size % TWICE == 0
    singles = _singles(ask, f_A, f_B, f_S, (answers(A[twice]) - f_A[twice]) ** 2)
    inputs = tuple(singles.importance(name, (name,)) for name in names)
    left = n_evaluations - ask.n_evaluations
    pairs, not_asked = pairs_worth_asking(inputs, left // (2 * n_blocks))
    strengths = []
    if pairs:
        per_block = min(size, left // (n_blocks * len(pairs)))
        among = (np.arange(len(A)).reshape(n_blocks, size)[:, :per_block]).ravel()
        for a, b in pairs:
            mixed = f_A[among] - f_S[a][among] - f_S[b][among] + answers(exchanged((a, b), among))
            strengths.append(singles.pair((a, b), ask.means((mixed / singles.scale) ** 2)))
    return Importances(
        meaning="Sobol indices",
        inputs=inputs,
        modules=tuple(singles.importance(name, members) for name, members in modules.items()),
        pairs=tuple(sorted(strengths, key=lambda p: -p.strength)),
        pairs_not_asked=tuple(not_asked),
        noise=float(np.nanmean(singles.noise) / np.nanmean(singles.noise + singles.variance)),
        n_evaluations=ask.n_evaluations,
        n_lost=ask.n_lost,
    )


def _singles(
    ask: BlockAnswers, f_A: np.ndarray, f_B: np.ndarray, f_S: Mapping[str, np.ndarray], apart: np.ndarray
) -> Singles:
    """Numerators by block; ``apart`` are squared differences of two answers to one row."""
    noise = ask.means(apart) / 2
    mean = np.nanmean(np.concatenate([f_A, f_B]), axis=0)
    scale = spread_of(np.concatenate([f_A, f_B]))
    a, b, noise = (f_A - mean) / scale, (f_B - mean) / scale, noise / scale**2
    c = {name: (values - mean) / scale for name, values in f_S.items()}
    variance = ask.means((a**2 + b**2) / 2) - noise
    check_varies(variance)
    return Singles(
        scale=scale,
        first={name: ask.means(b * values) for name, values in c.items()},
        total={name: ask.means((a - values) ** 2) / 2 - noise for name, values in c.items()},
        variance=variance,
        noise=noise,
        controls={
            name: (ask.means(a * b), ask.means(b**2 - a**2), ask.means(values**2 - a**2)) for name, values in c.items()
        },
    )
