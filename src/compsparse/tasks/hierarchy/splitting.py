"""Data that all differ from one another, and splits of them into training and test data."""

from __future__ import annotations

import math

import numpy as np

from compsparse.checks import RandomState, check_count, check_flag, generator_from
from compsparse.errors import ConfigError
from compsparse.tasks.hierarchy.model import RandomHierarchy, check_model
from compsparse.tasks.hierarchy.numbering import datum, keys
from compsparse.tasks.hierarchy.sampling import Latent, draw_latent
from compsparse.tasks.hierarchy.trees import HierarchySample, write

_ENUMERABLE = 2**20
_MOST_ROUNDS = 200


def split(
    model: RandomHierarchy, n_train: int, n_test: int, random_state: RandomState = None, *, balanced: bool = False
) -> tuple[HierarchySample, HierarchySample]:
    """Training and test data, all different from one another.

    Args:
        balanced: every label as often as any other, in either part by itself, up to one datum.

    >>> model = RandomHierarchy(n_features=4, multiplicity=2, n_levels=2)
    >>> train, test = split(model, 20, 12, random_state=0)
    >>> sorted(train.numbers + test.numbers) == list(range(model.n_data))
    True
    >>> train, test = split(model, 8, 12, random_state=0, balanced=True)
    >>> np.bincount(train.y).tolist(), np.bincount(test.y).tolist()
    ([2, 2, 2, 2], [3, 3, 3, 3])
    """
    n_train, n_test = check_count("n_train", n_train), check_count("n_test", n_test)
    if check_flag("balanced", balanced):
        return _balanced_split(model, n_train, n_test, generator_from(random_state))
    whole = sample_different(model, n_train + n_test, random_state)
    return whole.take(slice(n_train)), whole.take(slice(n_train, None))


def sample_different(model: RandomHierarchy, n: int, random_state: RandomState = None) -> HierarchySample:
    """n different data, drawn one after the other, each from those that are left."""
    check_model(model)
    n, possible = check_count("n", n), n_possible(model)
    if n > possible:
        raise ConfigError(f"{n} different data were asked for, and the model can draw {possible}: ask for fewer")
    rng = generator_from(random_state)
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
    return int(model.n_labels * (n_synonyms * model.n_placements) ** model.n_inner)


def _first_of_all(model: RandomHierarchy, n: int, rng: np.random.Generator) -> HierarchySample:
    """The n largest of log probability + Gumbel noise, which come in the order of successive draws."""
    everything = datum(model, np.arange(model.n_data))
    with np.errstate(divide="ignore"):
        logarithms = np.log(np.asarray(model.rule_probabilities))
    likely = sum(logarithms[chosen].sum(axis=1) for chosen in everything.choices)
    order = np.argsort(-(likely + rng.gumbel(size=model.n_data)), kind="stable")
    return everything.take(order[:n])


# ---- without repeats ---------------------------------------------------------------------------------


def _without_repeats(model: RandomHierarchy, n: int, rng: np.random.Generator) -> Latent:
    """The first n different of as many draws as it takes: a draw that was seen before is dropped."""
    parts, masks = [draw_latent(model, n, rng)], []
    known = np.empty(0, dtype=np.int64)
    found = 0
    for _ in range(_MOST_ROUNDS):
        codes = keys(model, *parts[-1])
        new, known = _new(codes, known)
        masks.append(new)
        found += len(codes) if new is None else int(new.sum())
        if found >= n:
            return _joined([_rows(part, mask) for part, mask in zip(parts, masks, strict=True)], n)
        parts.append(draw_latent(model, max(n - found, n // 8, 1), rng))
    raise ConfigError(
        f"{n} different data could not be found, only {found}: the rule probabilities make the others too rare; "
        "ask for fewer"
    )


def _new(codes: np.ndarray, known: np.ndarray) -> tuple[np.ndarray | None, np.ndarray]:
    """Which codes come for the first time (None: all of them), and all that are known then, in order."""
    every = np.concatenate([known, codes]) if len(known) else codes
    ordered = np.sort(every)
    if (ordered[1:] != ordered[:-1]).all():
        return None, ordered
    ordered, first = np.unique(every, return_index=True)
    new = np.zeros(len(codes), dtype=bool)
    new[first[first >= len(known)] - len(known)] = True
    return new, ordered


def _rows(latent: Latent, mask: np.ndarray | None) -> Latent:
    if mask is None:
        return latent
    y, choices, slots = latent
    n = int(mask.sum())

    def chosen(level: np.ndarray) -> np.ndarray:
        return level[mask] if level.flags.writeable else level[:n]  # slots that cannot vary are views of one row

    return y[mask], tuple(map(chosen, choices)), tuple(map(chosen, slots))


def _joined(parts: list[Latent], n: int) -> Latent:
    """The first n rows of the parts."""
    if len(parts) == 1:
        y, choices, slots = parts[0]
        return y[:n], tuple(level[:n] for level in choices), tuple(level[:n] for level in slots)

    def joined(*levels: np.ndarray) -> np.ndarray:
        if not levels[0].flags.writeable:
            return np.broadcast_to(levels[0][:1], (n, *levels[0].shape[1:]))
        return np.concatenate(levels)[:n]

    choices, slots = (tuple(map(joined, *(part[i] for part in parts))) for i in (1, 2))
    return joined(*(part[0] for part in parts)), choices, slots


# ---- as often each label ----------------------------------------------------------------------------


def _balanced_split(
    model: RandomHierarchy, n_train: int, n_test: int, rng: np.random.Generator
) -> tuple[HierarchySample, HierarchySample]:
    """The first data of each label, of enough different ones; which labels get one more is drawn."""
    check_model(model)
    possible = n_possible(model)
    _check_share(-(-(n_train + n_test) // model.n_labels), possible, model.n_labels)
    train, test = _shares(n_train, n_test, model.n_labels, rng)
    most = int((train + test).max())
    _check_share(most, possible, model.n_labels)
    n = min(possible, math.ceil(model.n_labels * (most + 4 * math.sqrt(most) + 4)))
    while True:
        whole = sample_different(model, n, rng)
        if n == possible or np.all(np.bincount(whole.y, minlength=model.n_labels) >= train + test):
            break
        n = min(possible, 2 * n)
    place = _place_in_label(whole.y, model.n_labels)
    in_train = place < train[whole.y]
    in_test = ~in_train & (place < (train + test)[whole.y])
    return whole.take(np.flatnonzero(in_train)), whole.take(np.flatnonzero(in_test))


def _check_share(most: int, possible: int, n_labels: int) -> None:
    if most * n_labels > possible:
        raise ConfigError(
            f"{most} different data of a label were asked for, and the model can draw {possible // n_labels}: "
            "ask for fewer"
        )


def _shares(n_train: int, n_test: int, n_labels: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """How many data of each label; those that get one more in training do not in the test, as far as can be."""
    order = rng.permutation(n_labels)
    train, test = order < n_train % n_labels, order >= n_labels - n_test % n_labels
    return n_train // n_labels + train, n_test // n_labels + test


def _place_in_label(y: np.ndarray, n_labels: int) -> np.ndarray:
    """For each datum, how many before it have its label."""
    order = np.argsort(y, kind="stable")
    counts = np.bincount(y, minlength=n_labels)
    place = np.empty(len(y), dtype=np.int64)
    place[order] = np.arange(len(y)) - np.repeat(np.cumsum(counts) - counts, counts)
    return place
