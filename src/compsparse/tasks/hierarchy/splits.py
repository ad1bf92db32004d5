"""Different data: drawn without replacement, and split into training and test sets that share none."""

from __future__ import annotations

import numpy as np

from compsparse.errors import ConfigError
from compsparse.tasks.hierarchy.model import RandomHierarchy
from compsparse.tasks.hierarchy.numbering import datum, keys
from compsparse.tasks.hierarchy.sampling import Latent, RandomState, checked_size, draw_latent, generator
from compsparse.tasks.hierarchy.trees import HierarchySample
from compsparse.tasks.hierarchy.writing import write

_ENUMERABLE = 2**20
_MOST_ROUNDS = 200


def split(
    model: RandomHierarchy, n_train: int, n_test: int, random_state: RandomState = None
) -> tuple[HierarchySample, HierarchySample]:
    """Training and test data, all different from one another.

    >>> model = RandomHierarchy(n_features=4, multiplicity=2, n_levels=2)
    >>> train, test = split(model, 20, 12, random_state=0)
    >>> sorted(train.numbers + test.numbers) == list(range(model.n_data))
    True
    """
    whole = sample_different(model, checked_size("n_train", n_train) + checked_size("n_test", n_test), random_state)
    return whole.take(slice(n_train)), whole.take(slice(n_train, None))


def sample_different(model: RandomHierarchy, n: int, random_state: RandomState = None) -> HierarchySample:
    """n different data, drawn one after the other, each from those that are left."""
    possible = n_possible(model)
    if checked_size("n", n) > possible:
        raise ConfigError(f"{n} different data were asked for, and the model can draw {possible}: ask for fewer")
    rng = generator(random_state)
    if model.rule_probabilities is None and possible <= 2 * n:
        return datum(model, rng.permutation(possible)[:n])
    if model.rule_probabilities is not None and model.n_data <= max(_ENUMERABLE, 2 * n):
        return _first_of_all(model, n, rng)
    return write(model, *_without_repeats(model, n, rng))


def n_possible(model: RandomHierarchy) -> int:
    """Data whose probability is not zero."""
    if model.rule_probabilities is None:
        return model.n_data
    n_synonyms = int(np.count_nonzero(model.rule_probabilities))
    return model.n_labels * (n_synonyms * model.n_placements) ** model.n_inner


def _first_of_all(model: RandomHierarchy, n: int, rng: np.random.Generator) -> HierarchySample:
    """The n largest of log probability + Gumbel noise, which come in the order of successive draws."""
    everything = datum(model, np.arange(model.n_data))
    with np.errstate(divide="ignore"):
        logarithms = np.log(np.asarray(model.rule_probabilities))
    likely = sum(logarithms[chosen].sum(axis=1) for chosen in everything.choices)
    order = np.argsort(-(likely + rng.gumbel(size=model.n_data)), kind="stable")
    return everything.take(order[:n])


def _without_repeats(model: RandomHierarchy, n: int, rng: np.random.Generator) -> Latent:
    kept = draw_latent(model, n, rng)
    for _ in range(_MOST_ROUNDS):
        _, first = np.unique(keys(model, *kept), return_index=True)
        if len(first) >= n:
            return _rows(kept, np.sort(first)[:n]) if len(kept[0]) > n else kept
        more = draw_latent(model, max(n - len(first), n // 8, 1), rng)
        kept = _joined(_rows(kept, np.sort(first)), more)
    raise ConfigError(
        f"{n} different data could not be found, only {len(first)}: the rule probabilities make the others too rare; "
        "ask for fewer"
    )


def _rows(latent: Latent, rows: np.ndarray) -> Latent:
    y, choices, slots = latent
    return y[rows], tuple(level[rows] for level in choices), tuple(level[rows] for level in slots)


def _joined(a: Latent, b: Latent) -> Latent:
    choices, slots = (tuple(map(np.concatenate, zip(a[i], b[i], strict=True))) for i in (1, 2))
    return np.concatenate([a[0], b[0]]), choices, slots
