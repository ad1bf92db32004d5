r"""What attention selects, compared with what the target reads.

Weights of attention say where a network looks, not what it uses: :func:`ablation` measures the latter. Everything here
has the replicas first, then the outputs, then the tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy import stats
from torch import Tensor

from compsparse.checks import (
    RandomState,
    check_array,
    check_count,
    check_name_list,
    check_number,
    check_numbers,
    generator_from,
)
from compsparse.errors import ConfigError, DataError
from compsparse.graph import FunctionGraph, Node
from compsparse.graph.function_graph import check_graph
from compsparse.networks.attention import AttentionNetwork
from compsparse.networks.attention.blocks import Heads
from compsparse.networks.attention.network import check_attention_network
from compsparse.networks.replicas import ReplicatedNetwork, check_network
from compsparse.sparse import coherence, isometry_constant
from compsparse.text import in_a_line

_ROWS_AT_ONCE = 2000


@in_a_line
@dataclass(frozen=True)
class SelectionMeasures:
    """How well the queries of the last layer select the tokens that are read; each ``(R, outputs)``.

    Attributes:
        mass: the share of the weight that lies on tokens that are read, over data and heads.
        precision: the share of the k tokens of highest mean weight that are read, k being how many are.
        auroc: the probability that a token that is read has more mean weight than one that is not; a tie counts half.
        effective_tokens: exp of the entropy of the weights: over how many tokens they are spread.
        non_zeros: how many tokens have a weight at all.
    """

    mass: np.ndarray
    precision: np.ndarray
    auroc: np.ndarray
    effective_tokens: np.ndarray
    non_zeros: np.ndarray


@torch.no_grad()
def selection_measures(network: AttentionNetwork, X: Any, reads: Any) -> SelectionMeasures:
    """Measures the selection of every output on data.

    Args:
        reads: (outputs, tokens) of truth values, as :func:`parent_matrix` and :func:`ancestor_matrix` give.
    """
    truth = _check_reads(check_attention_network(network), reads)
    sums = [_LookSums.of(part, torch.as_tensor(truth, device=part.device)) for part in _last_weights(network, X)]
    n = sum(s.n for s in sums)
    weights = _mean(sums, "weights", n)
    return SelectionMeasures(
        mass=_mean(sums, "mass", n),
        precision=_precision(weights, truth),
        auroc=_auroc(weights, truth),
        effective_tokens=_mean(sums, "spread", n),
        non_zeros=_mean(sums, "non_zeros", n),
    )


@torch.no_grad()
def mean_attention(network: AttentionNetwork, X: Any) -> np.ndarray:
    """The weights of the last layer's queries, means over data and heads, ``(R, outputs, tokens)``."""
    parts = [part.mean(2).double() for part in _last_weights(check_attention_network(network), X)]
    return np.asarray(torch.cat(parts, dim=1).mean(1).cpu().numpy())


@torch.no_grad()
def rollout(network: AttentionNetwork, X: Any) -> np.ndarray:
    """How much of each token arrives at each output over all layers, ``(R, outputs, tokens)``, rows summing to 1.

    A layer passes on half of what a token had and half of what it attended to (Abnar and Zuidema 2020), means over
    heads and data.
    """
    n_tokens = check_attention_network(network).n_inputs
    sums: list[np.ndarray] = []
    for rows in _parts(network, X):
        layers = [weights.mean(2).double() for weights in network.attention(rows)]
        tokens = torch.eye(n_tokens, dtype=torch.float64, device=rows.device).expand(*layers[0].shape[:2], -1, -1)
        outputs = torch.zeros_like(layers[-1])
        for weights in layers:
            of_tokens, of_outputs = weights[:, :, : -outputs.shape[2]], weights[:, :, -outputs.shape[2] :]
            outputs = (of_outputs @ tokens + outputs) / 2
            tokens = (of_tokens @ tokens + tokens) / 2 if of_tokens.shape[2] else tokens
        sums.append(outputs.sum(1).cpu().numpy())
    total = np.sum(sums, axis=0)
    return np.asarray(total / total.sum(-1, keepdims=True))


@torch.no_grad()
def sibling_mass(network: AttentionNetwork, X: Any, group: int) -> np.ndarray:
    """The share of the first layer's attention to other tokens that stays in the asking token's own group, ``(R,)``.

    Tokens 0 to ``group`` - 1 are the first group, and so on; without any preference it is (group - 1)/(tokens - 1).
    """
    check_attention_network(network)
    if len(network.blocks) < 2:
        raise ConfigError("in a network of one layer tokens do not attend to tokens: sibling_mass needs n_layers > 1")
    n, group = network.n_inputs, check_count("group", group, least=2)
    if n % group:
        raise ConfigError(f"{n} tokens cannot be divided into groups of {group}")
    parts = [network.attention(rows)[0][:, :, :, :n].double().mean(2) for rows in _parts(network, X)]
    weights = torch.cat(parts, dim=1).mean(1)
    place = torch.arange(n, device=weights.device) // group
    other = ~torch.eye(n, dtype=torch.bool, device=weights.device)
    together = (place[:, None] == place) & other
    return np.asarray(((weights * together).sum((1, 2)) / (weights * other).sum((1, 2))).cpu().numpy())


@torch.no_grad()
def ablation(network: ReplicatedNetwork, X: Any, random_state: RandomState = None) -> np.ndarray:
    """How much an output changes when a token's values are dealt anew among the data, ``(R, outputs, tokens)``.

    The mean squared change over twice the output's variance: 0 for a token without effect, 1 for one that decides all.
    """
    rows = _tensor(check_network(network), X)
    rng = generator_from(random_state)
    before = _answers(network, rows)
    spread = (2 * before.var(1, correction=0)).clamp(min=torch.finfo(before.dtype).tiny)
    effects = []
    for token in range(network.n_inputs):
        changed = rows.clone()
        changed[:, token] = rows[torch.as_tensor(rng.permutation(len(rows)), device=rows.device), token]
        effects.append((_answers(network, changed) - before).square().mean(1) / spread)
    return np.asarray(torch.stack(effects, dim=-1).cpu().numpy())


def edge_auroc(scores: Any, edges: Any) -> np.ndarray:
    """The probability that an edge has a higher score than a pair that is none, over all outputs; ``(R,)``.

    >>> edge_auroc([[[0.9, 0.1, 0.0]]], [[True, False, False]]).tolist()
    [1.0]
    """
    found = check_numbers("scores", scores, shape=(None, None, None))
    truth = _truths("edges", edges, found.shape[1:])
    return _auroc(found.reshape(len(found), 1, -1), truth.reshape(1, -1))[:, 0]


# ---- what the target reads ------------------------------------------------------------------


def ancestor_matrix(graph: FunctionGraph) -> np.ndarray:
    """(outputs, inputs): whether an output depends on an input, over any number of nodes."""
    check_graph("graph", graph)
    before = [graph.ancestors(name) | {name} for name in graph.outputs]
    return np.array([[name in found for name in graph.inputs] for found in before])


def parent_matrix(graph: FunctionGraph, tokens: Sequence[str] | None = None) -> np.ndarray:
    """(outputs, tokens): whether an output reads a token directly.

    Args:
        tokens: names of inputs, and of outputs that later ones read as thoughts; the inputs by default.
    """
    check_graph("graph", graph)
    names = graph.inputs if tokens is None else check_name_list("tokens", tokens)
    parents = [set() if name in graph.inputs else set(graph[name].parents) for name in graph.outputs]
    return np.array([[name in read for name in names] for read in parents])


def attention_graph(
    scores: Any, names: Sequence[str], outputs: Sequence[str], *, k: int | None = None, share: float = 0.25
) -> FunctionGraph:
    """The function graph that scores of one replica suggest: each output is a node that reads what it selects.

    Args:
        scores: (outputs, tokens), such as a replica of :func:`mean_attention` or :func:`ablation`.
        names: of the tokens; a token with the name of an output is that output, read as a thought.
        outputs: names of the outputs.
        k: read the k tokens of the highest scores; None reads those with at least ``share`` of the highest one.

    >>> print(attention_graph([[0.5, 0.45, 0.05]], ["a", "b", "c"], ["y"])["y"].parents)
    ('a', 'b')
    """
    tokens, targets = check_name_list("names", names), check_name_list("outputs", outputs)
    table = check_numbers("scores", scores, shape=(len(targets), len(tokens)))
    check_number("share", share, above=0, most=1)
    if k is not None and check_count("k", k) > len(tokens):
        raise ConfigError(f"k = {k} of {len(tokens)} tokens cannot be selected: k must be at most {len(tokens)}")
    inputs = [name for name in tokens if name not in targets]
    nodes = []
    for target, row in zip(targets, table, strict=True):
        chosen = np.argsort(-row, kind="stable")[:k] if k is not None else np.flatnonzero(row >= share * row.max())
        nodes.append(Node(target, tuple(tokens[i] for i in sorted(chosen))))
    return FunctionGraph(inputs, nodes, targets)


# ---- geometry -------------------------------------------------------------------------------


@in_a_line
@dataclass(frozen=True)
class ScoreGeometry:
    r"""How near :math:`X W_Q W_K^T X^T` of the first block is to an isometry on sparse vectors; each ``(R, heads)``.

    Columns are scaled to norm 1 first, since softmax does not see their common size.

    Attributes:
        coherence: the largest cosine of two columns.
        isometry: the restricted isometry constant of k columns, exact.
    """

    k: int
    coherence: np.ndarray
    isometry: np.ndarray


def score_geometry(network: AttentionNetwork, X: Any, k: int = 2) -> ScoreGeometry:
    """Means over the rows of X, which should be few: each has a matrix of its own. NaN where a column is zero."""
    matrices = score_matrices(network, X)
    found = np.array([[[_geometry(S, k) for S in heads] for heads in replica] for replica in matrices]).mean(1)
    return ScoreGeometry(k, found[..., 0], found[..., 1])


def _geometry(scores: np.ndarray, k: int) -> tuple[float, float]:
    sizes = np.linalg.norm(scores, axis=0)
    if not np.all(sizes > 0):
        return np.nan, np.nan
    unit = (scores / sizes).astype(np.float64)
    return coherence(unit), isometry_constant(unit, k).value


@torch.no_grad()
def score_matrices(network: AttentionNetwork, X: Any) -> np.ndarray:
    """The scores of all tokens by all tokens in the first block, ``(R, rows, heads, tokens, tokens)``."""
    rows = _tensor(check_attention_network(network), X)
    tokens = network.first_tokens(rows)
    return np.asarray(network.block(0).heads.scores(tokens, tokens).cpu().numpy())


@torch.no_grad()
def score_symmetry(network: AttentionNetwork) -> np.ndarray:
    r"""How near heads of the first block are to a metric: the share of :math:`W_Q W_K^T` that is symmetric, (R, heads).

    Of its squared norm, the part of the symmetric half: 1 for a bilinear form that does not care who asks and who is
    asked, as a Mahalanobis distance does not; about 1/2 for random weights.
    """
    form = _forms(network)
    even = (form + form.transpose(-1, -2)) / 2
    return np.asarray((even.square().sum((-1, -2)) / form.square().sum((-1, -2))).cpu().numpy())


@torch.no_grad()
def score_metric_share(network: AttentionNetwork) -> np.ndarray:
    r"""How much of the heads' forms :math:`W_Q W_K^T` in the first block is a Mahalanobis metric, (R, heads).

    Of the squared norm, the part of the nearest positive semidefinite form: 1 for :math:`W_Q = W_K`, 0 for
    :math:`W_Q = -W_K`, about 1/4 for random weights.
    """
    form = _forms(network)
    positive = torch.linalg.eigvalsh((form + form.transpose(-1, -2)) / 2).clamp(min=0)
    share: np.ndarray = (positive.square().sum(-1) / form.square().sum((-1, -2))).cpu().numpy()
    return share


def _forms(network: AttentionNetwork) -> Tensor:
    """The bilinear form of every head of the first block, (R, heads, d, d)."""
    heads = check_attention_network(network).block(0).heads
    query, key = (w.double().view(*w.shape[:2], heads.n_heads, -1).transpose(1, 2) for w in _projections(heads))
    return query @ key.transpose(-1, -2)


def _projections(heads: Heads) -> tuple[Tensor, Tensor]:
    return heads.query.weight, heads.key.weight


# ---- inside ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class _LookSums:
    """Sums over the data of one part; what is per head is averaged over heads."""

    n: int
    weights: np.ndarray
    mass: np.ndarray
    spread: np.ndarray
    non_zeros: np.ndarray

    @classmethod
    def of(cls, weights: Tensor, truth: Tensor) -> _LookSums:
        p = weights.double()
        entropy = -torch.special.xlogy(p, p).sum(-1)
        return cls(
            p.shape[1],
            p.mean(2).sum(1).cpu().numpy(),
            *(s.mean(2).sum(1).cpu().numpy() for s in ((p * truth).sum(-1), entropy.exp(), (p > 0).double().sum(-1))),
        )


def _mean(sums: Sequence[_LookSums], name: str, n: int) -> np.ndarray:
    return np.asarray(sum(getattr(s, name) for s in sums) / n)


def _precision(weights: np.ndarray, truth: np.ndarray) -> np.ndarray:
    order = np.argsort(-weights, axis=-1, kind="stable")
    return np.stack([truth[j][order[:, j, : truth[j].sum()]].mean(-1) for j in range(len(truth))], axis=1)


def _auroc(scores: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """By ranks, which is the statistic of Mann and Whitney; NaN where all or none are read."""
    ranks = stats.rankdata(scores, axis=-1)
    yes, no = truth.sum(-1), (~truth).sum(-1)
    total = (ranks * truth).sum(-1) - yes * (yes + 1) / 2
    pairs = np.where(yes * no > 0, yes * no, np.nan)
    return np.asarray(total / pairs)


def _check_reads(network: AttentionNetwork, reads: Any) -> np.ndarray:
    shape = (network.n_outputs, network.n_inputs)
    truth = _truths("reads", reads, shape)
    if not truth.any(1).all():
        raise DataError("every output must read at least one token, or there is nothing to select")
    return truth


def _truths(what: str, values: Any, shape: tuple[int, ...]) -> np.ndarray:
    array = check_array(what, values)
    if array.dtype.kind not in "biuf" or array.shape != shape:
        raise DataError(f"{what} must be truth values of shape {shape}, got {array.dtype} of shape {array.shape}")
    return np.asarray(array.astype(bool))


def _last_weights(network: AttentionNetwork, X: Any) -> list[Tensor]:
    return [network.attention(rows)[-1] for rows in _parts(network, X)]


def _answers(network: ReplicatedNetwork, rows: Tensor) -> Tensor:
    """(R, rows, outputs) in double precision."""
    parts = [network(part) for part in torch.split(rows, _ROWS_AT_ONCE)]
    return torch.cat([p.reshape(network.n_replicas, -1, network.n_outputs) for p in parts], dim=1).double()


def _parts(network: ReplicatedNetwork, X: Any) -> tuple[Tensor, ...]:
    return torch.split(_tensor(network, X), _ROWS_AT_ONCE)


def _tensor(network: ReplicatedNetwork, X: Any) -> Tensor:
    weight = next(network.parameters())
    rows = X if isinstance(X, Tensor) else torch.as_tensor(check_numbers("X", X, shape=(None, network.n_inputs)))
    if rows.ndim != 2 or not len(rows):
        raise DataError(f"X must be a table of at least one row, got shape {tuple(rows.shape)}")
    return rows.to(device=weight.device, dtype=weight.dtype)
