"""Fitting the network that mirrors a graph to a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compsparse.checks import (
    RandomState,
    check_count,
    check_device,
    check_number,
    check_time_limit,
    own_seed,
    suggests_options,
)
from compsparse.errors import ConfigError, DataError
from compsparse.graph import FunctionGraph, Node
from compsparse.models.cross_fitting import standardised, training_data_of
from compsparse.models.fitted_graph import FittedGraph, over_columns
from compsparse.models.matching import matched_graph
from compsparse.networks import MirrorNetwork, Sharing
from compsparse.origin import Origin
from compsparse.progress import Progress
from compsparse.surroundings import usual_settings
from compsparse.tables.coded import CodedTable, coded_table, with_its_target
from compsparse.tables.coding import TableCode
from compsparse.tables.columns import Table
from compsparse.tables.splitting import spared_rows
from compsparse.tables.targets import Target, free_names
from compsparse.training import CrossEntropy, FitConfig, Penalties, fit_graph


@suggests_options
@usual_settings()
def fit_model(
    graph: Any,
    X: Any,
    y: Any = None,
    *,
    names: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None,
    classification: bool | None = None,
    sample_weight: Any = None,
    na: Sequence[str] = (),
    width: int = 24,
    depth: int = 2,
    activation: str = "silu",
    channels: int = 1,
    share: Sharing = "none",
    config: FitConfig | None = None,
    penalties: Penalties = (),
    validation_fraction: float = 0.2,
    random_state: RandomState = None,
    device: str | None = None,
    progress: Progress | None = None,
    time_limit: float | None = None,
) -> FittedGraph:
    """Fits networks that mirror a graph to a table, and averages the best few.

    Args:
        graph: a :class:`~compsparse.graph.FunctionGraph`, an expression, nested groups of columns, or None for one
            node over all columns; inputs are matched to named columns by name.
        X: a pandas, polars or pyarrow table, or an array; texts become categorical inputs, dates calendar parts
            (``when``, the days since the first, and ``when_month``, ``when_weekday``, ``when_hour``). Or a
            :class:`~compsparse.tables.CodedTable`, which holds its target and its weights.
        y: the target: numbers, one column or several, or classes; or the name of its column.
        names, outputs: of the columns and of the targets, instead of their own.
        classification: whether the target holds classes; texts and booleans do by default.
        na: words that mean, in every column, that a cell is missing.
        width, depth, activation, channels, share: the shape of the network, as in
            :func:`~compsparse.networks.mirror`.
        config: restarts, training and finish.
        penalties: on the weights, as objects or as strengths by name, ``{"l1": 1e-3}``; with any, there is no
            second-order finish.
        validation_fraction: share of the rows that choose among restarts, 5,000 at most; fewer than 20 rows train
            on all.
        time_limit: seconds after which the best network so far is taken; the status says so.
        device: where to train; the model predicts on the CPU.
        random_state: a seed gives the same numbers twice.

    >>> from compsparse.tasks import tanh_tree
    >>> from compsparse.training import TrainingConfig
    >>> sample = tanh_tree(4).sample(200, random_state=0)
    >>> quick = FitConfig(n_restarts=4, training=TrainingConfig(n_steps=200))
    >>> model = fit_model([[0, 1], [2, 3]], sample.X, sample.y, config=quick, random_state=0)
    >>> model.graph.modules == tanh_tree(4).graph.modules, model.predict(sample.X[:5]).shape
    (True, (5,))
    """
    check_count("width", width)
    check_count("depth", depth, least=0)
    check_count("channels", channels)
    check_number("validation_fraction", validation_fraction, least=0, below=1)
    check_time_limit(time_limit)
    place, seed = check_device(device), own_seed(random_state)
    if isinstance(X, CodedTable):
        if y is not None or sample_weight is not None:
            raise ConfigError("a coded table holds its target and its weights: give neither beside it")
        mirrored, table = graph, X.without_copies()
    else:
        X, y = with_its_target(X, y)
        mirrored, columns = matched_graph(graph, Table.of(X, names))
        if y is None:
            raise ConfigError("give a target y beside the table X")
        table = coded_table(
            columns,
            y,
            outputs=outputs,
            sample_weight=sample_weight,
            classification=classification,
            na=na,
            leaves_out=graph is None,
        ).without_copies()
        if graph is None:
            mirrored = over_every_input(table.code)
        table = table.only(mirrored.inputs)
    _, centre, scale = standardised(table)
    data = training_data_of(table, place)
    graph = over_columns(mirrored, table.code)
    read = [name for name in graph.inputs if name not in graph.unread] or graph.inputs
    columns_read = [graph.index[name] for name in read]
    fit = fit_graph(
        FunctionGraph(read, graph.nodes, graph.outputs),
        data.X[:, columns_read],
        data.y,
        config,
        validation=spared_rows(len(table.X), validation_fraction, seed),
        sample_weight=data.sample_weight,
        penalties=penalties,
        loss=None if table.target.classes is None else CrossEntropy(),
        width=width,
        depth=depth,
        activation=activation,
        channels=channels,
        out_channels=out_channels_of(mirrored, table.target),
        share=share,
        random_state=seed,
        progress=progress,
        time_limit=time_limit,
    )
    return FittedGraph(
        graph=mirrored,
        code=table.code,
        # predictions in double precision do not depend on how rows are batched
        network=_over_all(graph, fit.network).double().cpu(),
        targets=table.target.outputs,
        centre=centre,
        scale=scale,
        classes=table.target.classes,
        status=fit.status,
        seconds=fit.seconds,
        validation_loss=fit.validation_loss,
        n_iter=fit.training.n_steps,
    )


def _over_all(graph: FunctionGraph, network: MirrorNetwork) -> MirrorNetwork:
    """A network that was trained on the columns it reads, over all columns of the table."""
    if network.graph.n_inputs == graph.n_inputs:
        return network
    whole = MirrorNetwork(graph, network.config, network.n_replicas, range(network.n_replicas))
    whole.load_state_dict(network.state_dict())
    return whole


def over_every_input(code: TableCode) -> FunctionGraph:
    """One node over all inputs that were not left out."""
    read = [name for name in code.names if name not in code.left_out]
    (name,) = free_names(["y"], code.names)
    return FunctionGraph(code.names, [Node(name, tuple(read))]).from_origin(Origin.GIVEN)


def out_channels_of(graph: FunctionGraph, target: Target) -> int:
    """Numbers that each output of the graph carries."""
    n_outputs = len(graph.outputs)
    if target.classes is not None:
        if n_outputs != 1:
            raise DataError(f"classes need a graph with one output, got {n_outputs}")
        return len(target.classes)
    k = target.values.shape[1]
    if n_outputs not in (1, k):
        raise DataError(f"the graph has {n_outputs} outputs but the target has {k} columns")
    return 1 if n_outputs == k else k
