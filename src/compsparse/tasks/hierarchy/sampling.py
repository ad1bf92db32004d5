"""Data drawn at random: whole trees, inputs and labels alone, batches, different data and splits; and data changed.

Rows are drawn in blocks, so that little more memory is used than the data take. Integers come from numpy's
rejection method, without bias.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import lru_cache

import numpy as np

from compsparse.checks import RandomState, check_count, check_flag, check_kind, generator_from
from compsparse.errors import ConfigError
from compsparse.sizes import check_size
from compsparse.tasks.hierarchy.model import RandomHierarchy, check_model
from compsparse.tasks.hierarchy.numbering import datum, keys, unrank
from compsparse.tasks.hierarchy.trees import (
    HierarchySample,
    blank,
    blocks,
    embed,
    expand,
    small_int,
    sub_patches,
    write,
)

_LARGEST_TABLE = 2**16

Latent = tuple[np.ndarray, tuple[np.ndarray, ...], tuple[np.ndarray, ...]]
"""Labels, and for every level the choices and the slots: what data are written from."""


def sample_trees(
    model: RandomHierarchy, n: int, random_state: RandomState = None, *, replace: bool = True
) -> HierarchySample:
    """n data with their trees.

    Args:
        replace: False draws different data, one after the other, each as likely as the rule probabilities
            make it among those not drawn yet.

    >>> model = RandomHierarchy(n_features=4, multiplicity=2, n_levels=2)
    >>> data = sample_trees(model, 3, random_state=0)
    >>> data.X.shape, data.X.dtype, [level.shape for level in data.choices]
    ((3, 4), dtype('int8'), [(3, 2), (3, 1)])
    """
    if not check_flag("replace", replace):
        return sample_different(model, n, random_state)
    return write(model, *draw_latent(model, n, random_state))


def draw(model: RandomHierarchy, n: int, random_state: RandomState = None) -> tuple[np.ndarray, np.ndarray]:
    """Inputs and labels of n data: those of :func:`sample_trees`, without the memory that trees take.

    >>> X, y = draw(RandomHierarchy(n_features=4, n_levels=3), 5, random_state=0)
    >>> X.shape, y.shape
    ((5, 8), (5,))
    """
    check_model(model)
    n = check_count("n", n)
    size = 2.0 * n * (model.n_inputs + 8)
    check_size(f"{n:,} data of {model.n_inputs:,} slots", size, "ask for fewer data", bytes_each=1)
    X, y = blank(model, n, model.n_inputs), np.empty(n, dtype=small_int(model.n_labels - 1))
    rng = generator_from(random_state)
    for rows in blocks(model, n):
        y[rows], choices, slots = _latent(model, rows.stop - rows.start, rng)
        embed(model, expand(model, y[rows], choices)[0], slots, out=X[rows])
    return X, y


def batches(
    model: RandomHierarchy, n: int | None, batch_size: int, random_state: RandomState = None
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Fresh inputs and labels, ``batch_size`` at a time, until there were n of them (None: without end).

    >>> model = RandomHierarchy(n_features=4, n_levels=2)
    >>> [len(y) for X, y in batches(model, 10, 4, random_state=0)]
    [4, 4, 2]
    """
    check_model(model)
    left = np.inf if n is None else check_count("n", n)
    return _batches(model, left, check_count("batch_size", batch_size), entropy_of(random_state))


def _batches(
    model: RandomHierarchy, left: float, batch_size: int, entropy: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    number = 0
    while left > 0:
        yield draw(model, int(min(batch_size, left)), stream_of(entropy, number))
        left, number = left - batch_size, number + 1


# ---- what trees are drawn from ------------------------------------------------------------------------


def draw_latent(model: RandomHierarchy, n: int, random_state: RandomState) -> Latent:
    """Labels, choices and slots of n trees."""
    check_model(model)
    n = check_count("n", n)
    # X, and for every level symbols, choices and slots
    size = 2.0 * n * (model.n_inputs + (model.s + 2) * (model.n_inner + 8))
    check_size(f"{n:,} data of {model.n_inputs} slots with their trees", size, "ask for fewer data", bytes_each=1)
    y, choices, slots = _room(model, n)
    rng = generator_from(random_state)
    for rows in blocks(model, n):
        y[rows], *drawn = _latent(model, rows.stop - rows.start, rng)
        for level, part in zip((*choices, *slots), (*drawn[0], *drawn[1]), strict=True):
            if level.flags.writeable:
                level[rows] = part
    return y, choices, slots


def draw_choices(
    shape: tuple[int, ...], m: int, probabilities: np.ndarray | None, rng: np.random.Generator
) -> np.ndarray:
    """Synonyms, uniform or with these probabilities."""
    if probabilities is None:
        return rng.integers(m, size=shape, dtype=small_int(m - 1))
    cumulative = np.cumsum(probabilities) / np.sum(probabilities)
    cumulative[np.flatnonzero(probabilities)[-1] :] = 1.0  # rounding must not let an impossible one in
    return np.searchsorted(cumulative, rng.random(shape), side="right").astype(small_int(m - 1))


def draw_slots(model: RandomHierarchy, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Slots of the children of ``shape`` nodes, uniform over the placements, ``(*shape, s)``."""
    s, dtype = model.s, small_int(model.patch - 1)
    if model.n_placements == 1:
        return np.broadcast_to(np.arange(s, dtype=dtype), (*shape, s))
    if model.n_placements <= _LARGEST_TABLE:
        codes = rng.integers(model.n_placements, size=shape, dtype=small_int(model.n_placements - 1))
        return np.take(_table(model), codes, axis=0)
    if model.placement == "A":
        slots = rng.integers(model.n_empty + 1, size=(*shape, s), dtype=dtype)
        slots += sub_patches(model)
        return slots
    keys = rng.random((*shape, model.patch))
    return np.sort(np.argpartition(keys, s, axis=-1)[..., :s].astype(dtype), axis=-1)


@lru_cache(maxsize=32)
def _table(model: RandomHierarchy) -> np.ndarray:
    return unrank(model, np.arange(model.n_placements))


def entropy_of(random_state: RandomState) -> int:
    """128 random bits, for streams of random numbers to be spawned from."""
    return int.from_bytes(generator_from(random_state).bytes(16), "little")


def stream_of(entropy: int, *place: int) -> np.random.Generator:
    """The stream of random numbers at a place, independent of those at other places."""
    return np.random.default_rng(np.random.SeedSequence(entropy, spawn_key=place))


def _latent(model: RandomHierarchy, n: int, rng: np.random.Generator) -> Latent:
    shapes = [(n, model.s ** (model.n_levels - level)) for level in range(1, model.n_levels + 1)]
    y = rng.integers(model.n_labels, size=n, dtype=small_int(model.n_labels - 1))
    p = None if model.rule_probabilities is None else np.array(model.rule_probabilities)
    choices = tuple(draw_choices(shape, model.m, p, rng) for shape in shapes)
    return y, choices, tuple(draw_slots(model, shape, rng) for shape in shapes)


def _room(model: RandomHierarchy, n: int) -> Latent:
    """Arrays of the types that :func:`_latent` draws; slots that cannot vary stay read-only views."""
    first = _latent(model, 1, np.random.default_rng(0))

    def room(level: np.ndarray) -> np.ndarray:
        shape = (n, *level.shape[1:])
        return np.empty(shape, level.dtype) if level.flags.writeable else np.broadcast_to(level[:1], shape)

    return _mapped(room, first)


def _mapped(change: Callable[..., np.ndarray], *latents: Latent) -> Latent:
    """The same done to every array of the trees."""
    labels, choices, slots = zip(*latents, strict=True)
    return change(*labels), tuple(map(change, *choices)), tuple(map(change, *slots))


# ---- transformations that keep the label: synonyms exchanged, symbols moved -------------------------


def exchange_synonyms(
    sample: HierarchySample, level: int, random_state: RandomState = None, *, allow_identity: bool = True
) -> HierarchySample:
    """Draws the synonyms of ``level`` and of the levels below anew; slots stay.

    Args:
        allow_identity: False has every tuple of ``level`` itself written as another synonym than before.

    >>> from compsparse.tasks.hierarchy import RandomHierarchy
    >>> data = RandomHierarchy(n_features=4, n_levels=2).sample(100, random_state=0)
    >>> other = exchange_synonyms(data, 1, random_state=0, allow_identity=False)
    >>> bool((other.y == data.y).all()), bool((other.symbols[1] == data.symbols[1]).all())
    (True, True)
    >>> bool((other.choices[0] != data.choices[0]).all())
    True
    """
    model, rng = check_kind("sample", sample, HierarchySample).model, generator_from(random_state)
    level = check_count("level", level, most=model.n_levels)
    check_flag("allow_identity", allow_identity)
    given = None if model.rule_probabilities is None else np.array(model.rule_probabilities)
    p = np.full(model.m, 1 / model.m) if given is None else given
    if not allow_identity and np.count_nonzero(p) < 2:
        raise ConfigError("allow_identity=False needs two synonyms of a symbol that can be drawn, and here it has one")
    choices = list(sample.choices)
    for below in range(level):
        if below == level - 1 and not allow_identity:
            choices[below] = _other_choices(choices[below], p, rng)
        else:
            choices[below] = draw_choices(choices[below].shape, model.m, given, rng)
    return write(model, sample.y, choices, sample.slots)


def diffeomorphism(
    sample: HierarchySample, level: int, random_state: RandomState = None, *, allow_identity: bool = True
) -> HierarchySample:
    """Draws the slots of ``level`` and of the levels below anew; symbols stay.

    Args:
        allow_identity: False has every tuple of ``level`` itself placed otherwise than before.

    >>> from compsparse.tasks.hierarchy import SparseRandomHierarchy
    >>> data = SparseRandomHierarchy(n_features=4, n_levels=2, n_empty=2).sample(100, random_state=0)
    >>> moved = diffeomorphism(data, 2, random_state=0)
    >>> bool((moved.symbols[0] == data.symbols[0]).all()), bool((moved.X == data.X).all())
    (True, False)
    """
    model, rng = check_kind("sample", sample, HierarchySample).model, generator_from(random_state)
    level = check_count("level", level, most=model.n_levels)
    check_flag("allow_identity", allow_identity)
    if not allow_identity and model.n_placements == 1:
        raise ConfigError("allow_identity=False needs two placements of a tuple, and without empty slots it has one")
    slots = list(sample.slots)
    for below in range(level):
        drawn = draw_slots(model, slots[below].shape[:2], rng)
        if below == level - 1 and not allow_identity:
            _redraw_same(model, slots[below], drawn, rng)
        slots[below] = drawn
    return write(model, sample.y, sample.choices, slots)


def _other_choices(choices: np.ndarray, p: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Another choice for each, with the probabilities of the others."""
    others = np.empty_like(choices)
    for choice in np.unique(choices):
        rows = choices == choice
        left = np.where(np.arange(len(p)) == choice, 0.0, p)
        others[rows] = draw_choices((int(rows.sum()),), len(p), left, rng)
    return others


def _redraw_same(model: RandomHierarchy, before: np.ndarray, after: np.ndarray, rng: np.random.Generator) -> None:
    same = np.nonzero((before == after).all(axis=-1))
    while len(same[0]):
        after[same] = draw_slots(model, same[0].shape, rng)
        still = (before[same] == after[same]).all(axis=-1)
        same = (same[0][still], same[1][still])


# ---- data that all differ, and splits of them -------------------------------------------------------


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
    n = int(mask.sum())

    def chosen(level: np.ndarray) -> np.ndarray:
        return level[mask] if level.flags.writeable else level[:n]  # slots that cannot vary are views of one row

    return _mapped(chosen, latent)


def _joined(parts: list[Latent], n: int) -> Latent:
    """The first n rows of the parts."""

    def joined(*levels: np.ndarray) -> np.ndarray:
        if len(levels) == 1:
            return levels[0][:n]
        if not levels[0].flags.writeable:
            return np.broadcast_to(levels[0][:1], (n, *levels[0].shape[1:]))
        return np.concatenate(levels)[:n]

    return _mapped(joined, *parts)


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
