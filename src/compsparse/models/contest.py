"""The final models of a table: a graph by several recipes, beside models that know nothing of it, on the same folds."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import torch
from scipy.special import softmax

from compsparse.checks import check_device
from compsparse.clock import Deadline, TimeIsOver
from compsparse.graph import FunctionGraph
from compsparse.models.blending import (
    FREE,
    Blend,
    HonestScore,
    calibrated_logits,
    calibrated_numbers,
    losses,
    out_of_fold_blend,
    shares_of,
    weighty,
)
from compsparse.models.boosting import BoostedTrees, cross_fit_trees
from compsparse.models.cross_fitting import CrossFit, Recipe, cross_fit, fold_numbers, standardised
from compsparse.models.fitted_graph import FittedGraph
from compsparse.models.fitting import out_channels_of, over_every_input
from compsparse.models.scores import PredictWith
from compsparse.progress import Progress, begin_stage
from compsparse.tables.coded import CodedTable
from compsparse.training.config import TrainingConfig
from compsparse.training.recipes import FitConfig, usual_steps
from compsparse.training.record import TrainingStatus

LEAST_SECONDS = 1.0
"""What a fit that was begun gets in any case."""
FEWEST_ROWS_TO_COMPARE = 40
"""Rows below which folds are too small to tell models apart."""
MOST_ROWS_TO_COMPARE = 20_000
"""Rows that are enough to tell models apart; the others enter the graph's own fit alone."""
LITTLE_NOISE = 0.0005
"""Share of the variance below which the usual fit of a graph is left as it is: there is no noise to learn by heart."""
LEAST_FOR_RIVALS = 0.002
"""Share of the variance that a graph leaves below which no rivals are fitted."""
PIECES, PIECES_WIDTH, PIECES_STEPS, PIECES_RATE, PIECES_DECAY = 16, 64, 2000, 3e-3, 1e-2
"""Pieces of a column, and how networks over them are trained: at small rates, all steps."""
RESTARTS = 4
"""Networks over plain numbers that start for every fold; the better half stays, since some end in poor minima."""
CLEARLY_BETTER = 2.0
"""Standard errors by which a graph over pieces must be better than one over plain numbers, which is easier to read."""
_GRAPH, _OTHER_FREE = "the graph", f"{FREE} by another recipe"
_BOOSTING, _BLEND = "gradient boosting", "a blend of them"
_MOST_MISSES = 1000
_STEPS_TO_TIME, _FEWEST_STEPS = 30, 100
"""Steps that tell how long one takes, where the time is limited, and below which networks are left out."""


@dataclass(frozen=True, eq=False)
class Entrant:
    """A calibrated model with what it says of rows that its members have not seen.

    Attributes:
        said: (rows, outputs) standardised numbers, or probabilities.
    """

    name: str
    model: FittedGraph | BoostedTrees
    said: np.ndarray


@dataclass(frozen=True, kw_only=True, eq=False)
class Contest:
    """Fits models to the folds of a table, as time allows.

    Attributes:
        statuses: how the fits so far have ended.
    """

    table: CodedTable
    config: FitConfig | None
    width: int
    seed: int
    device: torch.device | None
    deadline: Deadline
    progress: Progress
    statuses: list[TrainingStatus] = field(default_factory=list)

    @cached_property
    def fold(self) -> np.ndarray:
        """The fold of every row."""
        return fold_numbers(self.table.target, self.seed)

    @cached_property
    def y(self) -> np.ndarray:
        """Standardised numbers, or class numbers."""
        return np.asarray(standardised(self.table)[0].numpy())

    @property
    def weight(self) -> np.ndarray:
        """One number for each row."""
        given = self.table.sample_weight
        return np.ones(len(self.table.X)) if given is None else given / given.mean()

    @property
    def is_classes(self) -> bool:
        """Whether the target holds classes."""
        return self.table.target.classes is not None

    def recipes(self) -> tuple[Recipe, Recipe]:
        """One for laws with noise, one for steps and much noise; no longer than the fit that was asked for."""
        config = self.config
        most = usual_steps(len(self.table.X)) if config is None else config.training.n_steps
        restarts = RESTARTS if config is None else min(RESTARTS, config.n_restarts)
        smooth = TrainingConfig(n_steps=most, batch_size=128)
        pieces = TrainingConfig(
            n_steps=min(most, PIECES_STEPS), batch_size=128, learning_rate=PIECES_RATE, weight_decay=PIECES_DECAY
        )
        return (
            Recipe("plain", smooth, width=self.width, restarts=restarts, kept=max(1, restarts // 2)),
            Recipe("pieces", pieces, pieces=PIECES, width=PIECES_WIDTH),
        )

    # ---- entering ------------------------------------------------------------------------

    def enter(
        self, name: str, graph: FunctionGraph, recipe: Recipe, share: float, *, needed: bool = False
    ) -> Entrant | None:
        """Fits a graph by a recipe in a share of the time that is left.

        Args:
            needed: whether it is fitted even if that is too short for more than a few steps.
        """
        if self.was_ended or (self.deadline.is_over and not needed):
            return None
        n_steps = self._affordable(graph, recipe, share)
        if n_steps < _FEWEST_STEPS and not needed:
            return None
        fit = self._fit(graph, recipe.with_steps(min(max(n_steps, _FEWEST_STEPS), recipe.training.n_steps)))
        self.statuses.append(fit.model.status)
        return self._calibrated(name, fit.model, fit.out_of_fold)

    @property
    def was_ended(self) -> bool:
        """Whether the user ended a fit."""
        return TrainingStatus.INTERRUPTED in self.statuses

    def _affordable(self, graph: FunctionGraph, recipe: Recipe, share: float) -> int:
        """The steps for which a share of the time is enough, by the pace of a few."""
        if not self.deadline.is_set:
            return recipe.training.n_steps
        deadline = self.deadline.within(share * self.deadline.left)
        self._fit(graph, recipe.with_steps(1))  # loads what steps need, which is not to be timed
        return int(deadline.left / (self._fit(graph, recipe.with_steps(_STEPS_TO_TIME)).model.seconds / _STEPS_TO_TIME))

    def _fit(self, graph: FunctionGraph, recipe: Recipe) -> CrossFit:
        return cross_fit(
            graph,
            self.table,
            self.fold,
            recipe,
            out_channels=out_channels_of(graph, self.table.target),
            seed=self.seed,
            device=self.device,
            progress=self.progress,
            time_limit=max(self.deadline.left, LEAST_SECONDS) if self.deadline.is_set else None,
        )

    def enter_boosting(self, share: float) -> Entrant | None:
        """Fits boosted trees, where a share of the time that is left is enough for all folds."""
        if self.was_ended:
            return None
        begin_stage(self.progress, "fitting boosted trees")
        try:
            deadline = self.deadline.within(share * self.deadline.left) if self.deadline.is_set else self.deadline
            trees, said = cross_fit_trees(self.table, self.fold, self.y, self.seed % 2**32, deadline)
        except TimeIsOver:
            return None
        _, centre, scale = standardised(self.table)
        model = BoostedTrees(code=self.table.code, trees=trees, centre=centre, scale=scale)
        return self._calibrated(_BOOSTING, model, said)

    def _calibrated(self, name: str, model: FittedGraph | BoostedTrees, said: np.ndarray) -> Entrant:
        """A model that is no worse than a constant on rows that its members have not seen."""
        if self.is_classes:
            factor = calibrated_logits(said, self.y, self.weight)
            prior = np.log(shares_of(self.y, said.shape[1], self.weight))
            said = softmax(factor * said + (1 - factor) * prior, -1)
            scale, centre = np.full(len(prior), factor), (1 - factor) * prior
        else:
            slope = calibrated_numbers(said, self.y, self.weight)
            said, scale, centre = slope * said, slope * np.array(model.scale), np.array(model.centre)
        model = replace(model, scale=tuple(scale.tolist()), centre=tuple(centre.tolist()))
        loss = float(np.average(losses(said, self.y, self.is_classes), weights=self.weight))
        if isinstance(model, FittedGraph):
            model = replace(model, validation_loss=loss)
        return Entrant(name, model, said)

    # ---- judging -------------------------------------------------------------------------

    def score(self, name: str, said: np.ndarray, graph: np.ndarray) -> HonestScore:
        """How predictions of rows did, beside those of the graph."""
        own, theirs = (losses(p, self.y, self.is_classes) for p in (said, graph))
        whole = self._constant_loss
        difference = (own - theirs) / whole
        mean = float(np.average(difference, weights=self.weight))
        spread = float(np.sqrt(np.sum((self.weight * (difference - mean)) ** 2)) / self.weight.sum())
        return HonestScore(name, float(np.average(own, weights=self.weight)) / whole, mean, spread)

    @cached_property
    def _constant_loss(self) -> float:
        if not self.is_classes:
            return float(np.average((self.y**2).mean(1), weights=self.weight))
        shares = shares_of(self.y, int(self.y.max()) + 1, self.weight)
        return float(-np.average(np.log(shares[self.y]), weights=self.weight))

    def explains_nearly_all(self, entrant: Entrant | None) -> bool:
        """Whether a model of numbers leaves so little that no other can be much better."""
        if entrant is None or self.is_classes:
            return False
        return self.score(entrant.name, entrant.said, entrant.said).unexplained < LEAST_FOR_RIVALS

    def better(self, plain: Entrant | None, pieces: Entrant | None) -> Entrant | None:
        """The recipe that predicts better; plain numbers unless pieces are clearly better."""
        if plain is None or pieces is None:
            return plain or pieces
        found = self.score("", pieces.said, plain.said)
        return pieces if -found.difference > CLEARLY_BETTER * found.spread else plain

    def blend(self, graph: Entrant, others: list[Entrant]) -> Blend:
        """All of them, weighed by the rows that their members have not seen."""
        entrants = [graph, *others]
        each = np.stack([entrant.said for entrant in entrants])
        shares = np.empty(0)
        if self.is_classes:
            shares = shares_of(self.y, each.shape[2], self.weight)
            each = np.concatenate([each, np.broadcast_to(shares, (1, *each.shape[1:]))])
        if others:
            weights, blended = out_of_fold_blend(each, self.y, self.weight, self.fold, self.is_classes)
        else:
            weights, blended = np.ones((1, 1 if self.is_classes else each.shape[2])), graph.said
        used = weighty(weights[1 : len(entrants)])
        models = tuple(_clipping(others[i].model) for i in used)
        scores = [self.score(entrant.name, entrant.said, graph.said) for entrant in entrants]
        scores += [self.score(_BLEND, blended, graph.said)] * bool(others)
        assert isinstance(graph.model, FittedGraph)
        return Blend(
            graph=graph.model,
            others=models,
            model_weights=weights[[0, *(1 + i for i in used)]],
            class_shares=shares,
            scores=tuple(scores),
            misses=np.empty((0, 0)) if self.is_classes else self._misses(blended),
        )

    def _misses(self, blended: np.ndarray) -> np.ndarray:
        """What rows were missed by, from least to most, in the units of the targets."""
        _, _, scale = standardised(self.table)
        sizes: np.ndarray = np.sort(np.abs(blended - self.y), axis=0) * np.array(scale)
        if len(sizes) <= _MOST_MISSES:
            return sizes
        return np.asarray(np.quantile(sizes, np.linspace(0, 1, _MOST_MISSES), axis=0))


def _clipping(model: FittedGraph | BoostedTrees) -> FittedGraph | BoostedTrees:
    """The model with inputs moved to the ends of the rows of the fit."""
    return replace(model, code=model.code.clipping())


def fit_rivals(contest: Contest, graph: FunctionGraph, predict_with: PredictWith) -> Blend | None:
    """The graph by the recipe that suits it, and what predicts beside it; None where there was no time for it.

    Args:
        predict_with: with "graph", nothing but the graph is fitted.
    """
    plain, pieces = contest.recipes()
    first, second = (pieces, plain) if contest.is_classes else (plain, pieces)
    free = over_every_input(contest.table.code)
    has_rivals = predict_with == "blend"
    is_free = len(graph.nodes) == 1 and set(graph.nodes[0].parents) == set(free.nodes[0].parents)
    of_graph: dict[str, Entrant | None] = {}
    others: list[Entrant | None] = []
    try:
        of_graph[first.name] = contest.enter(_GRAPH, graph, first, 0.4, needed=True)
        if contest.explains_nearly_all(of_graph[first.name]):
            has_rivals = False
        else:
            of_graph[second.name] = contest.enter(_GRAPH, graph, second, 0.6 if is_free else 0.4)
        if has_rivals:
            others.append(contest.enter_boosting(0.6))
        if has_rivals and not is_free:
            others.append(contest.enter(FREE, free, pieces, 0.6))
            others.append(contest.enter(_OTHER_FREE, free, plain, 1.0))
    except KeyboardInterrupt:
        pass
    chosen = contest.better(of_graph.get(plain.name), of_graph.get(pieces.name))
    if chosen is None:
        return None
    if has_rivals and is_free:  # the other recipe of the same node is a rival of its own
        others += [e and replace(e, name=_OTHER_FREE) for e in of_graph.values() if e is not chosen]
    return contest.blend(chosen, [entrant for entrant in others if entrant is not None])


def is_settled(usual: FittedGraph) -> bool:
    """Whether the usual fit of a graph is left as it is: it leaves next to nothing, or the user ended it."""
    explains = usual.classes is None and usual.validation_loss < LITTLE_NOISE
    return explains or usual.status is TrainingStatus.INTERRUPTED


def contest_of(
    graph: FunctionGraph,
    table: CodedTable,
    predict_with: PredictWith,
    *,
    config: FitConfig | None,
    width: int,
    seed: int,
    device: str | None,
    deadline: Deadline,
    progress: Progress,
) -> Blend | None:
    """The graph and its rivals on the rows of a table, or on as many as are enough; None where they are too few."""
    if len(table.X) < FEWEST_ROWS_TO_COMPARE:
        return None
    rows = np.random.default_rng(seed).permutation(len(table.X))[:MOST_ROWS_TO_COMPARE]
    contest = Contest(
        table=table.rows(np.sort(rows)),
        config=config,
        width=width,
        seed=seed,
        device=check_device(device),
        deadline=deadline,
        progress=progress,
    )
    return fit_rivals(contest, graph, predict_with)
