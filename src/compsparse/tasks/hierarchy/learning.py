r"""The constructive learner: production rules found level by level, from label statistics alone.

Tuples that are synonyms have the same correlations with the label, so tuples that correlate alike are taken for
synonyms, given one name, and the next level is learned from these names. Given a tuple of level 0 at a place, the
share of a label departs from the average by a relative amount of about :math:`\sqrt{v / m^{L-1}}`; counted in P data it
has a relative sampling noise of :math:`\sqrt{v m n_c / P}`. The two are equal at :math:`P = n_c m^L`, the number that
Cagnetta et al. (2024) find for deep networks. Higher levels correlate more. This learner is the line to compare
gradient descent with.

Empty slots are skipped: the symbols of a sparse datum, read in order, are the datum of the dense model. The learner is
therefore invariant to where symbols stand by construction, and needs no more data when data are sparse.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from compsparse.checks import RandomState, check_array, check_count, check_flag, generator_from, row_text
from compsparse.errors import ConfigError, DataError
from compsparse.tasks.hierarchy.model import EMPTY, RandomHierarchy, check_model
from compsparse.tasks.hierarchy.trees import check_data
from compsparse.text import in_a_line

_MOST_COUNTS = 2**26
_MOST_ROUNDS = 100
_MOST_PASSES = 10_000


@in_a_line
@dataclass(frozen=True)
class LearnedHierarchy:
    """Rules learned from data; names of symbols between input and label are arbitrary.

    Attributes:
        model: gives the sizes; its rules are not looked at.
        names: for levels 1 to L - 1, ``(v^s,)`` the symbol of every tuple, tuples numbered in base v.
        label_counts: ``(v^s, n_classes)`` how often each tuple of the top had each label, slightly smoothed.
    """

    model: RandomHierarchy
    names: tuple[np.ndarray, ...]
    label_counts: np.ndarray

    def predict(self, X: np.ndarray) -> np.ndarray:
        """The most probable label of every datum."""
        return np.asarray(self.predict_proba(X).argmax(1))

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """``(n, n_classes)`` shares of the labels among the training data with the same top tuple."""
        top = _read(self.model, read_symbols(self.model, X), self.names)[-1][:, 0]
        counts = self.label_counts[top]
        return np.asarray(counts / counts.sum(1, keepdims=True))

    def evaluate(self, X: np.ndarray, y: np.ndarray) -> float:
        """Test error: the share of data given a wrong label."""
        return float((self.predict(X) != check_labels(self.model, X, y)).mean())

    def symbols(self, X: np.ndarray) -> list[np.ndarray]:
        """For levels 0 to L - 1, ``(n, s^(L - level))`` symbols under their learned names."""
        symbols = read_symbols(self.model, X)
        codes = _read(self.model, symbols, self.names)
        return [symbols, *(name[c] for name, c in zip(self.names, codes, strict=False))]


def learn_hierarchy(
    model: RandomHierarchy,
    X: np.ndarray,
    y: np.ndarray,
    *,
    balanced: bool = True,
    n_sweeps: int = 0,
    n_restarts: int = 20,
    random_state: RandomState = None,
) -> LearnedHierarchy:
    """Learns the rules of a hierarchy of known sizes from data and labels.

    Args:
        model: gives the sizes v, n_c, m, s and L; its rules are not looked at.
        X: ``(n, n_inputs)`` symbols, -1 where a slot is empty.
        balanced: whether to use that no symbol has more than m tuples.
        n_sweeps: passes that then read every tuple anew in view of the rest of its data. They go beyond clustering
            and need fewer data.
        n_restarts: starts of every clustering.

    >>> model = RandomHierarchy(n_features=2, n_levels=1)
    >>> learned = learn_hierarchy(model, np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), np.array([1, 0, 0, 1]))
    >>> learned.predict(np.array([[0, 1], [1, 1]])).tolist()
    [0, 1]
    """
    n_sweeps = check_count("n_sweeps", n_sweeps, least=0, most=_MOST_PASSES)
    n_restarts = check_count("n_restarts", n_restarts, most=_MOST_PASSES)
    _check_counts_fit(check_model(model))
    symbols, labels = read_symbols(model, X), check_labels(model, X, y)
    rng = generator_from(random_state)
    size = model.m if check_flag("balanced", balanced) else None
    names: list[np.ndarray] = []
    for _ in range(1, model.n_levels):
        counts = label_statistics(model, _read(model, symbols, names)[-1], labels)
        seen = counts.any((1, 2))
        name = np.zeros(len(counts), dtype=np.intp)
        name[seen] = group_synonyms(counts[seen], model.v, size, rng, n_restarts)
        names.append(name)
    for _ in range(n_sweeps):
        names = _swept(model, symbols, labels, names, size)
    return LearnedHierarchy(model, tuple(names), _label_counts(model, symbols, labels, names))


def label_statistics(model: RandomHierarchy, codes: np.ndarray, y: np.ndarray) -> np.ndarray:
    """``(v^s, locations, n_classes)`` numbers of data with a tuple at a location and a label."""
    n_tuples, places, n_labels = model.v**model.s, codes.shape[1], model.n_labels
    cell = (codes * places + np.arange(places)) * n_labels + y[:, None]
    return np.bincount(cell.ravel(), minlength=n_tuples * places * n_labels).reshape(n_tuples, places, n_labels)


def read_symbols(model: RandomHierarchy, X: np.ndarray) -> np.ndarray:
    """``(n, s^L)`` symbols of the data in order, empty slots skipped."""
    X = check_data(model, X)
    full, wanted = X != EMPTY, model.s**model.n_levels
    wrong = np.flatnonzero(full.sum(1) != wanted)
    if len(wrong):
        first = int(wrong[0])
        raise DataError(f"{row_text(first)} has {full[first].sum()} symbols; every datum must have {wanted}")
    return np.asarray(X[full].reshape(len(X), wanted).astype(np.intp))


def check_labels(model: RandomHierarchy, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """y as an array of labels that fits X, or an error that says why it does not."""
    y = check_array("y", y)
    if y.shape != (len(X),) or not len(y) or not np.issubdtype(y.dtype, np.integer):
        raise DataError(f"expected {len(X)} integer labels, at least one, got {y.dtype} of shape {y.shape}")
    if y.min() < 0 or y.max() >= model.n_labels:
        raise DataError(f"labels must be 0 to {model.n_labels - 1}, got {y.min()} to {y.max()}")
    return y


def _check_counts_fit(model: RandomHierarchy) -> None:
    size = model.v**model.s * model.s ** (model.n_levels - 1) * model.n_labels
    if size > _MOST_COUNTS:
        raise ConfigError(f"the label statistics of this model have {size:,} entries; {_MOST_COUNTS:,} is the most")


def _digits(model: RandomHierarchy) -> np.ndarray:
    return model.v ** np.arange(model.s - 1, -1, -1)


def _codes(model: RandomHierarchy, symbols: np.ndarray) -> np.ndarray:
    """Tuples as numbers in base v."""
    n, nodes = symbols.shape
    return np.asarray(symbols.reshape(n, nodes // model.s, model.s) @ _digits(model))


def _read(
    model: RandomHierarchy, symbols: np.ndarray, names: tuple[np.ndarray, ...] | list[np.ndarray]
) -> list[np.ndarray]:
    """Tuples of level 0, and of every level whose names are known."""
    codes = [_codes(model, symbols)]
    for name in names:
        codes.append(_codes(model, name[codes[-1]]))
    return codes


def _label_counts(model: RandomHierarchy, symbols: np.ndarray, y: np.ndarray, names: list[np.ndarray]) -> np.ndarray:
    seen = label_statistics(model, _read(model, symbols, names)[-1], y)[:, 0]
    everywhere = (np.bincount(y, minlength=model.n_labels) + 1) / (len(y) + model.n_labels)
    return np.asarray(seen + 0.5 * everywhere)  # a tuple never seen gets the most frequent label


def _swept(
    model: RandomHierarchy, symbols: np.ndarray, y: np.ndarray, names: list[np.ndarray], size: int | None
) -> list[np.ndarray]:
    """Coordinate ascent on the likelihood of the labels: every tuple's name given all other names, level by level."""
    names = [name.copy() for name in names]
    for level in range(len(names)):
        codes = _read(model, symbols, names)
        counts = _label_counts(model, symbols, y, names)
        log_share = np.log(counts / counts.sum(1, keepdims=True))
        said = log_share[_substituted(model, codes[-1], names[-1][codes[-2]]), y[:, None, None]]
        for upper in range(len(names) - 1, level, -1):
            renamed = names[upper][_substituted(model, codes[upper], names[upper - 1][codes[upper - 1]])]
            said = np.take_along_axis(np.repeat(said, model.s, axis=1), renamed, axis=2)
        own = codes[level].ravel()
        score = np.stack([np.bincount(own, said[:, :, a].ravel(), model.v**model.s) for a in range(model.v)], axis=1)
        seen = np.bincount(own, minlength=len(score)) > 0
        names[level][seen] = assign(score[seen], size)
    return names


def _substituted(model: RandomHierarchy, codes: np.ndarray, children: np.ndarray) -> np.ndarray:
    """``(n, children, v)`` numbers of the tuples of the parents, with each child in turn replaced by each symbol."""
    weight = np.tile(_digits(model), codes.shape[1])
    without = np.repeat(codes, model.s, axis=1) - children * weight
    return np.asarray(without[..., None] + weight[:, None] * np.arange(model.v))


# ---- groups of tuples -------------------------------------------------------------------------------


def group_synonyms(
    counts: np.ndarray, n_groups: int, group_size: int | None, rng: np.random.Generator, n_restarts: int = 20
) -> np.ndarray:
    r"""Group numbers of tuples whose labels are distributed alike.

    Tuples t of one group g share the distributions :math:`p_g(y \mid j)` of the label at every location j, so that
    the best groups maximise :math:`\sum_t \sum_{j, y} N_{tjy} \log p_{g(t)}(y \mid j)`; frequent tuples weigh more.
    Groups and distributions are improved in turn from several k-means++ starts, and the best end is kept.

    Args:
        counts: ``(tuples, locations, labels)`` numbers N of data.
        group_size: the most tuples that a group may have, if known.

    >>> counts = np.array([[[9, 1]], [[2, 8]], [[8, 2]], [[5, 15]]])
    >>> a, b, c, d = group_synonyms(counts, 2, None, np.random.default_rng(0))
    >>> bool(a == c), bool(b == d), bool(a == b)
    (True, True, False)
    """
    counts = counts.astype(float)
    shape, scale = _whitened(counts)
    ends = [_improved(counts, _first_groups(shape, scale, n_groups, rng), n_groups, None) for _ in range(n_restarts)]
    best = max(ends, key=lambda end: end[1])[0]
    return best if group_size is None else _improved(counts, best, n_groups, group_size)[0]


def assign(score: np.ndarray, group_size: int | None) -> np.ndarray:
    """For every row the column of best score, with at most ``group_size`` rows to a column if they fit.

    >>> assign(np.array([[3.0, 1.0], [2.0, 1.9]]), 1).tolist()
    [0, 1]
    """
    if group_size is None or score.shape[1] * group_size < len(score):
        return np.asarray(score.argmax(1))
    from scipy.optimize import linear_sum_assignment  # here, as it takes long to load

    _, column = linear_sum_assignment(np.repeat(score, group_size, axis=1), maximize=True)
    return np.asarray(column // group_size)


def _improved(counts: np.ndarray, group: np.ndarray, k: int, size: int | None) -> tuple[np.ndarray, float]:
    """Hard expectation maximisation: the groups at its end and their log likelihood."""
    everywhere = _shares(counts.sum(0), 1 / counts.shape[2])
    flat, value = counts.reshape(len(counts), -1), -np.inf
    for _ in range(_MOST_ROUNDS):
        members = np.eye(k)[group]
        inside = _shares(np.tensordot(members.T, counts, 1), everywhere)
        score = flat @ np.log(inside).reshape(k, -1).T
        new = assign(score, size)
        value = float(score[np.arange(len(new)), new].sum())
        if np.array_equal(new, group):
            break
        group = new
    return group, value


def _shares(counts: np.ndarray, prior: np.ndarray | float) -> np.ndarray:
    """Label distributions, smoothed by one datum that is distributed like ``prior``."""
    return np.asarray((counts + prior) / (counts.sum(-1, keepdims=True) + 1))


def _whitened(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Departures of labels from their average, in units such that their noise has variance 1 / scale^2."""
    total = counts.sum(-1, keepdims=True)
    average = _shares(counts.sum(0), 1 / counts.shape[2])
    departure = (counts - total * average) / (np.maximum(total, 1) * np.sqrt(average))
    scale = np.broadcast_to(np.sqrt(total), counts.shape)
    return departure.reshape(len(counts), -1), scale.reshape(len(counts), -1)


def _first_groups(shape: np.ndarray, scale: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """k-means++: centres drawn in proportion to their squared distance from those before, and who is nearest."""
    distance = np.full((len(shape), k), np.inf)
    share = np.full(len(shape), 1 / len(shape))
    for g in range(k):
        centre = shape[rng.choice(len(shape), p=share)]
        distance[:, g] = (((shape - centre) * scale) ** 2).sum(1)
        nearest = distance.min(1)
        if nearest.sum() > 0:
            share = nearest / nearest.sum()
    return np.asarray(distance.argmin(1))
