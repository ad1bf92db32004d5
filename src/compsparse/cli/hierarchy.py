"""``compsparse hierarchy``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from compsparse.checks import generator_from
from compsparse.cli.app import JsonOption, app, out, print_json
from compsparse.errors import ConfigError
from compsparse.files import check_writable

if TYPE_CHECKING:
    from compsparse.tasks import HierarchySample, RandomHierarchy

hierarchy_app = typer.Typer(help="Random hierarchies: labels written out by production rules.", no_args_is_help=True)
app.add_typer(hierarchy_app, name="hierarchy")


@hierarchy_app.callback()
def _hierarchy() -> None:
    """Random hierarchies: labels written out by production rules."""


@hierarchy_app.command()
def sample(
    features: Annotated[int, typer.Option(help="v, symbols of every level below the label.")] = 8,
    classes: Annotated[int | None, typer.Option(help="Labels; as many as features by default.")] = None,
    multiplicity: Annotated[int | None, typer.Option(help="m, synonyms of a symbol; the most by default.")] = None,
    tuple_size: Annotated[int, typer.Option(help="s, symbols that a symbol is written as.")] = 2,
    levels: Annotated[int, typer.Option(help="L, levels below the label.")] = 2,
    empty: Annotated[int, typer.Option(help="s0, empty slots per symbol.")] = 0,
    placement: Annotated[
        str, typer.Option(help="A: symbols in sub-patches of their own; B: in order, anywhere.")
    ] = "A",
    rules_seed: Annotated[int, typer.Option(help="Seed of the production rules.")] = 0,
    seed: Annotated[int, typer.Option(help="Seed of the data.")] = 0,
    n: Annotated[int, typer.Option(help="How many data.")] = 1,
    svg: Annotated[Path | None, typer.Option(help="Write a drawing of the first datum to this file.")] = None,
    json_: JsonOption = False,
) -> None:
    """Draw data of a random hierarchy, with the trees that made them.

    Dots are empty slots, and a number in parentheses is a run of them.
    """
    from compsparse.tasks.hierarchy import SparseRandomHierarchy, draw_datum_svg, draw_datum_text

    generator_from(seed, "seed")
    if svg is not None:
        check_writable(svg)
    if placement not in ("A", "B"):
        raise ConfigError(f"the placement must be A or B, got {placement}")
    model = SparseRandomHierarchy(
        n_features=features,
        n_classes=classes,
        multiplicity=multiplicity,
        tuple_size=tuple_size,
        n_levels=levels,
        rules_seed=rules_seed,
        n_empty=empty,
        placement="A" if placement == "A" else "B",
    )
    data = model.sample(n, random_state=seed)
    if svg is not None:
        svg.write_text(draw_datum_svg(data, 0), encoding="utf-8")
    if json_:
        print_json(_record(data))
        return
    out.print(_sentence(model), highlight=False)
    for i in range(n):
        out.print(f"\n{draw_datum_text(data, i, width=out.width)}", highlight=False, markup=False, soft_wrap=True)
    if svg is not None:
        out.print(f"\ndrawing: {svg}", highlight=False)


def _sentence(model: RandomHierarchy) -> str:
    return (
        f"{model.n_inputs:,} slots, {model.s**model.n_levels:,} of them full; {_count(model.n_data)} different data; "
        f"n_c m^L = {_count(model.natural_size)}"
    )


def _count(number: int) -> str:
    digits = len(str(number))
    return f"{number:,}" if digits < 10 else f"about 10^{digits - 1}"


def _record(data: HierarchySample) -> dict[str, Any]:
    levels = {name: [a.tolist() for a in getattr(data, name)] for name in ("symbols", "choices", "slots")}
    return {"X": data.X.tolist(), "y": data.y.tolist(), **levels, "rules": [r.tolist() for r in data.model.rules]}
