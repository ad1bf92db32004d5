"""The command line itself: thin, typed, and clear about what went wrong."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text
from typer.core import TyperCommand, TyperGroup

import compsparse
from compsparse.checks import check_time_limit
from compsparse.cli.interrupts import INTERRUPTED, answer_interrupts, was_interrupted
from compsparse.errors import CompsparseError, ConfigError
from compsparse.text import printable, shown_on

GROUPS: Mapping[str, Mapping[str, str]] = {
    "Start here": {
        "discover": "compsparse discover data.csv --target y --time-limit 5m",
        "demo": "compsparse demo",
        "predict": "compsparse predict model.json new.csv --out predictions.csv",
        "explain": "compsparse explain model.onnx data.csv --out report.html",
    },
    "With a graph that you know": {
        "graph": 'compsparse graph "tanh(a*b + sin(c*d))" --svg graph.svg',
        "fit": 'compsparse fit data.csv --target y --graph "a*b + sin(c)" --out report.html',
        "compile": 'compsparse compile "tanh(a*b)" --bounds -1:1 --tol 1e-3 --onnx net.onnx',
        "verify": "compsparse verify net.onnx",
        "bounds": "compsparse bounds model.json data.csv --report bounds.html",
    },
    "Theory and studies": {
        "claims": "compsparse claims list",
        "hierarchy": "compsparse hierarchy sample --n-levels 3",
        "sweep": "compsparse sweep --preset rhm-quick --report curves.html",
        "store": "compsparse store list",
    },
    "Files": {"accept": "compsparse accept model.json"},
}


EXAMPLES: Mapping[str, Mapping[str, str]] = {
    "claims": {
        "list": "compsparse claims list parity",
        "run": "compsparse claims run depth-beats-width --time-limit 2m",
        "report": "compsparse claims report --out claims.html",
    },
    "hierarchy": {"sample": "compsparse hierarchy sample --n-levels 3 --n-empty 1 --svg datum.svg"},
    "sweep": {
        "run": "compsparse sweep --preset rhm-quick --report curves.html",
        "presets": "compsparse sweep presets",
        "status": "compsparse sweep status --watch",
    },
    "store": {
        "list": "compsparse store list --failed",
        "export": "compsparse store export results.csv --kind hierarchy",
        "import": "compsparse store import left-over.json",
        "compact": "compsparse store compact --failed",
    },
}
"""Of the commands of a command."""

_READS, _WHERE, _WRITES = "What to read, and how", "Time, place and chance", "What to write"
OPTIONS: Mapping[str, Mapping[str, str]] = {
    "": {
        **{"target": "COLUMN", "exclude": "COLUMN", "graph": "GRAPH", "bounds": "SIDES", "tol": "ERROR"},
        **{"method": "METHOD", "dtype": "TYPE", "eps": "ERROR", "function": "GRAPH", "margin": "NUMBER"},
        **{"confidence": "SHARE", "profile": "PROFILE", "preset": "NAME", "kinds": "FOLDER", "kind": "KIND"},
        **dict.fromkeys(("n_features", "n_classes", "multiplicity", "tuple_size", "n_levels", "n_empty", "n"), "N"),
        **{"predict_with": "MODEL", "interval": "SHARE"},
        **{"placement": "A or B", "n_points": "N", "last": "N", "formula": "", "units": "NAME=UNIT,…"},
    },
    _READS: {
        **{"test": "FILE", "group": "COLUMN", "time_split": "COLUMN"},
        **{"sep": "SIGN", "decimal": "SIGN", "encoding": "NAME", "na": "WORD", "trust_pickle": ""},
    },
    _WHERE: {
        **{"time_limit": "TIME", "effort": "NUMBER", "device": "DEVICE", "random_state": "SEED", "seed": "SEED"},
        **{"rules_seed": "SEED", "engine": "ENGINE", "workers": "N", "max_replicas": "N"},
        **{"retry_failed": "", "wait": ""},
    },
    _WRITES: {
        **dict.fromkeys(("out_", "model", "report", "svg", "onnx", "weights", "table"), "FILE"),
        **{"results": "FOLDER", "store": "STORE", "json_": ""},
    },
}
"""The panels of help, with the word that stands for the value of each option; the first panel is the usual one."""


class CommandsByTask(TyperGroup):
    """The commands as :data:`GROUPS` lists them; one that is not listed comes last."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The names in the order of the groups."""
        listed = [name for group in GROUPS.values() for name in group]
        return sorted(self.commands, key=lambda name: listed.index(name) if name in listed else len(listed))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command, with its group and its example."""
        command = super().get_command(ctx, cmd_name)
        for group, examples in GROUPS.items():
            if cmd_name in examples and isinstance(command, (TyperCommand, TyperGroup)):
                command.rich_help_panel, command.epilog = group, f"Example: {examples[cmd_name]}"
        _explain(command, EXAMPLES.get(cmd_name, {}))
        return command


def _explain(command: Any, examples: Mapping[str, str]) -> None:
    """Groups the options of a command and of those below it, and gives the latter their examples."""
    for option in getattr(command, "params", ()):
        if getattr(option, "is_flag", False):
            option.metavar = ""
        for panel, words in OPTIONS.items():
            if option.name in words and option.param_type_name == "option":
                option.rich_help_panel, option.metavar = panel or None, words[option.name]
    for name, below in getattr(command, "commands", {}).items():
        below.epilog = f"Example: {examples[name]}" if name in examples else below.epilog
        _explain(below, {})


app = typer.Typer(
    help="Find, learn, build and certify functions made of small functions. Most people begin with a table: "
    "compsparse discover data.csv --target y",
    cls=CommandsByTask,
    add_completion=False,
    pretty_exceptions_enable=False,
)

out, err = Console(), Console(stderr=True)

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object, for machines.")]


def main() -> None:
    """Runs the command line; errors become one sentence and exit status 2, and Ctrl-C one word and 130."""
    answer_interrupts()
    for stream in (sys.stdout, sys.stderr):
        shown_on(stream)
    try:
        app()
    except Exception as error:
        if was_interrupted():
            sys.exit(INTERRUPTED)
        if not isinstance(error, (CompsparseError, OSError)):
            raise
        problem = printable(error, several_lines=True)
        err.print(Text.assemble(("error:", "bold red"), " ", problem), highlight=False, soft_wrap=True)
        sys.exit(2)


def say(text: object, *, style: str = "", to: Console | None = None) -> None:
    """Prints text as it is: markup, emoji codes and control characters in it are shown, not obeyed."""
    console = out if to is None else to
    console.print(Text(printable(text, several_lines=True), style=style), highlight=False, soft_wrap=True)


def cell(value: object) -> Text:
    """A cell of a table that shows its text as it is."""
    return Text(printable(value))


def print_table(columns: Iterable[object], rows: Iterable[Iterable[object]]) -> None:
    """A table whose texts are shown as they are."""
    listing = Table(*(Column(cell(name)) for name in columns))
    for row in rows:
        listing.add_row(*map(cell, row))
    out.print(listing)


def print_json(data: dict[str, Any]) -> None:
    """One JSON object on standard output; numbers that JSON does not have are null."""
    print(json.dumps(_in_json(data)))


def _in_json(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(k): _in_json(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_in_json(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


_FIRST = """\
compsparse finds functions made of small functions, in a table or in a formula.

Begin here
  compsparse demo                            a made-up table, in about a minute
  compsparse discover data.csv --target y    your table: graph, model, report
  compsparse predict model.json new.csv      what that model says of new rows
  compsparse explain model.onnx data.csv     what another model has learned

With a formula
  compsparse graph "tanh(a*b + sin(c*d))"    its graph and its modules
  compsparse claims list                     statements of the theory to run

More: compsparse --help, compsparse discover --help"""


@app.callback(invoke_without_command=True)
def _begin(
    ctx: typer.Context, version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False
) -> None:
    if version:
        print(compsparse.__version__)
        raise typer.Exit
    if ctx.invoked_subcommand is None:
        say(_FIRST)


def print_scores(scores: Sequence[Any]) -> None:
    """Scores as a table in the terminal."""
    is_class = hasattr(scores[0], "accuracy")
    print_table(
        ["model", "test accuracy" if is_class else "test R2", "unexplained", "seconds"],
        (
            (s.model, f"{s.accuracy:.2%}" if is_class else f"{s.r2:.5f}", f"{s.unexplained:.2e}", f"{s.seconds:.1f}")
            for s in scores
        ),
    )


def scores_as_data(scores: Sequence[Any]) -> dict[str, Any]:
    """Scores for machines, by model."""
    measured = "accuracy" if hasattr(scores[0], "accuracy") else "r2"
    return {s.model: {measured: getattr(s, measured), "unexplained": s.unexplained} for s in scores}


def seconds(text: str | None) -> float | None:
    """A time such as 90s or 5m in seconds."""
    if text is None:
        return None
    found = re.fullmatch(r"(-?\d+(?:\.\d+)?)\s*([smh]?)", text.strip())
    if not found:
        raise ConfigError(f"time_limit must be a time such as 90s, 5m or 1h, got {text!r}")
    return check_time_limit(float(found[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[found[2]])
