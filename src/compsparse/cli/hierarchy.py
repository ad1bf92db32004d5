"""``compsparse hierarchy``."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from compsparse.checks import check_choice, check_count, own_seed
from compsparse.cli.app import JsonOption, app, out, print_json, say
from compsparse.errors import ConfigError
from compsparse.files import check_outputs, write_text
from compsparse.text import printable

if TYPE_CHECKING:
    from compsparse.tasks import HierarchySample, RandomHierarchy

_MOST_SLOTS = 1_000_000
"""Of all data that are shown together."""

hierarchy_app = typer.Typer(help="Random hierarchies: labels written out by production rules.", no_args_is_help=True)
app.add_typer(hierarchy_app, name="hierarchy")


@hierarchy_app.callback()
def _hierarchy() -> None:
    """Random hierarchies: labels written out by production rules."""


@hierarchy_app.command()
def sample(
    n_features: Annotated[int, typer.Option(help="v, symbols of every level below the label.")] = 8,
    n_classes: Annotated[int | None, typer.Option(help="Labels; as many as features by default.")] = None,
    multiplicity: Annotated[int | None, typer.Option(help="m, synonyms of a symbol; the most by default.")] = None,
    tuple_size: Annotated[int, typer.Option(help="s, symbols that a symbol is written as.")] = 2,
    n_levels: Annotated[int, typer.Option(help="L, levels below the label.")] = 2,
    n_empty: Annotated[int, typer.Option(help="s0, empty slots per symbol.")] = 0,
    placement: Annotated[
        str, typer.Option(help="A: symbols in sub-patches of their own; B: in order, anywhere.")
    ] = "A",
    rules_seed: Annotated[int, typer.Option(help="Seed of the production rules.")] = 0,
    random_state: Annotated[int | None, typer.Option(help="Seed of the data; drawn and told by default.")] = None,
    n: Annotated[int, typer.Option(help="How many data.")] = 1,
    svg: Annotated[Path | None, typer.Option(help="Write a drawing of the first datum to this file.")] = None,
    json_: JsonOption = False,
) -> None:
    """Draw data of a random hierarchy, with the trees that made them.

    Dots are empty slots, and a number in parentheses is a run of them.
    """
    from compsparse.tasks.hierarchy import SparseRandomHierarchy, draw_datum_svg, draw_datum_text

    seed = own_seed(random_state)
    check_outputs([svg])
    check_choice("placement", placement, ("A", "B"))
    check_count("n", n, most=_MOST_SLOTS)
    _check_slots(n_levels, tuple_size * (n_empty + 1))
    model = SparseRandomHierarchy(
        n_features=n_features,
        n_classes=n_classes,
        multiplicity=multiplicity,
        tuple_size=tuple_size,
        n_levels=n_levels,
        rules_seed=rules_seed,
        n_empty=n_empty,
        placement="A" if placement == "A" else "B",
    )
    if n * model.n_inputs > _MOST_SLOTS:
        raise ConfigError(
            f"{n:,} data of {model.n_inputs:,} slots are too many to show: at most {_MOST_SLOTS:,} slots in all"
        )
    data = model.sample(n, random_state=seed)
    if svg is not None:
        write_text(svg, draw_datum_svg(data, 0))
    if json_:
        print_json(_record(data) | {"random_state": seed})
        return
    say(f"{_sentence(model)}; random_state {seed}")
    for i in range(n):
        say(f"\n{draw_datum_text(data, i, width=out.width)}")
    if svg is not None:
        say(f"\ndrawing: {printable(svg)}")


def _check_slots(n_levels: int, patch: int) -> None:
    """By logarithms, since the power itself may have more digits than memory has room for."""
    if patch > 1 and n_levels > 0 and n_levels * math.log(patch) > math.log(_MOST_SLOTS):
        raise ConfigError(
            f"{n_levels:,} levels of patches of {patch:,} make more than {_MOST_SLOTS:,} slots, which is the most here"
        )


def _sentence(model: RandomHierarchy) -> str:
    return (
        f"{model.n_inputs:,} slots, {model.s**model.n_levels:,} of them full; {_count(model.n_data)} different data; "
        f"n_c m^L = {_count(model.natural_size)}"
    )


def _count(number: int) -> str:
    return f"{number:,}" if number < 10**9 else f"about 10^{math.floor(math.log10(number))}"


def _record(data: HierarchySample) -> dict[str, Any]:
    levels = {name: [a.tolist() for a in getattr(data, name)] for name in ("symbols", "choices", "slots")}
    return {"X": data.X.tolist(), "y": data.y.tolist(), **levels, "rules": [r.tolist() for r in data.model.rules]}
