"""Data over tokens: rows of signs whose target reads few of them, to see which ones a network selects."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from itertools import product

import numpy as np

from compsparse.checks import (
    MOST_VARIABLES,
    RandomState,
    check_count,
    check_flag,
    check_text,
    generator_from,
    input_names,
)
from compsparse.errors import ConfigError
from compsparse.graph import Constituent, FunctionGraph
from compsparse.graph.formula import Apply, Argument, Constant, Formula
from compsparse.graph.function_graph import Node, check_graph
from compsparse.sizes import check_size
from compsparse.tasks.task import Sample
from compsparse.text import in_a_line

_WIDEST_JUNTA = 8


@in_a_line
@dataclass(frozen=True)
class TokenTask:
    """A function of tokens -1 and +1, its graph known; tokens that no output reads are inputs of the graph too.

    >>> task = token_parity(16, 3, random_state=0)
    >>> sample = task.sample(4, random_state=0)
    >>> bool((sample.y == sample.X[:, list(task.support)].prod(1)).all())
    True
    """

    name: str
    graph: FunctionGraph

    def __post_init__(self) -> None:
        check_text("the name of a task", self.name)
        if not check_graph("graph", self.graph).has_functions:
            raise ConfigError(f"task {self.name!r} needs a graph whose constituents are known")

    @property
    def n_tokens(self) -> int:
        """How many tokens a row has."""
        return self.graph.n_inputs

    @property
    def support(self) -> tuple[int, ...]:
        """The places of the tokens that the last output depends on."""
        before = self.graph.ancestors(self.graph.outputs[-1])
        return tuple(i for i, name in enumerate(self.graph.inputs) if name in before)

    def sample(self, n: int, random_state: RandomState = None) -> Sample:
        """``n`` rows of independent fair signs with their targets, (n,) or (n, outputs)."""
        n, rng = check_count("n", n), generator_from(random_state)
        check_size(f"{n:,} rows", 4.0 * n * (self.n_tokens + len(self.graph.nodes)), "ask for fewer rows")
        X = 2.0 * rng.integers(2, size=(n, self.n_tokens)) - 1
        y = np.asarray(self.graph(X))
        return Sample(X, y, y)


def token_parity(n_tokens: int = 16, k: int = 3, random_state: RandomState = None) -> TokenTask:
    """The product of k of the tokens, drawn at random: one node that reads them all."""
    return token_parities(n_tokens, k, 1, random_state)


def token_parities(n_tokens: int = 16, k: int = 2, n_outputs: int = 4, random_state: RandomState = None) -> TokenTask:
    """Several outputs, each the product of k tokens of its own choice."""
    n_tokens, k, rng = *_sizes(n_tokens, k), generator_from(random_state)
    n_outputs = check_count("n_outputs", n_outputs, most=MOST_VARIABLES)
    names = input_names(n_tokens)
    supports = [_choice(rng, n_tokens, k) for _ in range(n_outputs)]
    nodes = [Node(f"parity{j}", tuple(names[i] for i in at), _parity(k)) for j, at in enumerate(supports)]
    return TokenTask(f"parity of {k} among {n_tokens}", FunctionGraph(names, nodes, [n.name for n in nodes]))


def token_chain(n_tokens: int = 16, k: int = 6, random_state: RandomState = None) -> TokenTask:
    """The same parity, answered in k - 1 steps: each output multiplies the one before it by one more token."""
    n_tokens, k, rng = *_sizes(n_tokens, k, least=2), generator_from(random_state)
    names, at = input_names(n_tokens), _choice(rng, n_tokens, k)
    nodes = [Node("step1", (names[at[0]], names[at[1]]), _parity(2))]
    for j in range(2, k):
        nodes.append(Node(f"step{j}", (f"step{j - 1}", names[at[j]]), _parity(2)))
    return TokenTask(f"parity of {k} among {n_tokens} in steps", FunctionGraph(names, nodes, [n.name for n in nodes]))


def token_junta(n_tokens: int = 16, k: int = 3, random_state: RandomState = None) -> TokenTask:
    """A random function, -1 or +1, of k of the tokens, drawn until it depends on each of them."""
    n_tokens, k, rng = *_sizes(n_tokens, k), generator_from(random_state)
    if k > _WIDEST_JUNTA:
        raise ConfigError(f"k must be at most {_WIDEST_JUNTA} for a junta, whose table has 2^k rows, got {k}")
    names, at = input_names(n_tokens), _choice(rng, n_tokens, k)
    node = Node("junta", tuple(names[i] for i in at), _random_gate(k, rng))
    return TokenTask(f"junta of {k} among {n_tokens}", FunctionGraph(names, [node]))


def token_gates(
    n_tokens: int = 16, n_leaves: int = 8, random_state: RandomState = None, *, all_nodes: bool = False
) -> TokenTask:
    """A balanced tree of random gates of two inputs over ``n_leaves`` of the tokens.

    Args:
        all_nodes: every gate is an output, so that each has a query whose selection can be compared with its inputs.
    """
    n_tokens, n_leaves, rng = *_sizes(n_tokens, n_leaves, least=2), generator_from(random_state)
    if n_leaves & (n_leaves - 1):
        raise ConfigError(f"a balanced tree has 2, 4, 8, ... leaves, got n_leaves={n_leaves}")
    all_nodes = check_flag("all_nodes", all_nodes)
    names = input_names(n_tokens)
    level = [names[i] for i in _choice(rng, n_tokens, n_leaves)]
    nodes: list[Node] = []
    while len(level) > 1:
        pairs = list(zip(level[::2], level[1::2], strict=True))
        made = [Node(f"gate{len(nodes) + j}", pair, _random_gate(2, rng)) for j, pair in enumerate(pairs)]
        nodes += made
        level = [node.name for node in made]
    outputs = [node.name for node in nodes] if all_nodes else level
    return TokenTask(f"tree of {len(nodes)} gates among {n_tokens}", FunctionGraph(names, nodes, outputs))


def _sizes(n_tokens: int, k: int, least: int = 1) -> tuple[int, int]:
    n_tokens = check_count("n_tokens", n_tokens, most=MOST_VARIABLES)
    if check_count("the number of tokens that are read", k, least=least) > n_tokens:
        raise ConfigError(f"{k} of {n_tokens} tokens cannot be read: take more tokens, or fewer of them")
    return n_tokens, k


def _choice(rng: np.random.Generator, n: int, k: int) -> list[int]:
    """k of n places, in random order."""
    return [int(i) for i in rng.permutation(n)[:k]]


def _parity(arity: int) -> Constituent:
    return Constituent.from_formula(_folded("mul", [Argument(i) for i in range(arity)]), arity)


def _folded(operation: str, parts: Iterable[Formula]) -> Formula:
    return reduce(lambda a, b: Apply(operation, (a, b)), parts)


def _random_gate(arity: int, rng: np.random.Generator) -> Constituent:
    """A table of signs that depends on every argument, as its polynomial in signs (the Walsh expansion)."""
    points = np.array(list(product((-1.0, 1.0), repeat=arity)))
    flipped = [np.array([_place(np.where(np.arange(arity) == i, -p, p)) for p in points]) for i in range(arity)]
    while True:
        table = 2.0 * rng.integers(2, size=len(points)) - 1
        if all((table != table[other]).any() for other in flipped):
            break
    terms: list[Formula] = []
    for subset in product((False, True), repeat=arity):
        coefficient = float((table * points[:, list(subset)].prod(1)).mean())
        if coefficient:
            terms.append(_folded("mul", [Constant(coefficient), *(Argument(i) for i in range(arity) if subset[i])]))
    return Constituent.from_formula(_folded("add", terms), arity, name="gate")


def _place(point: np.ndarray) -> int:
    """The row of a point in the table, whose first argument changes slowest."""
    return int("".join("1" if value > 0 else "0" for value in point), 2)
