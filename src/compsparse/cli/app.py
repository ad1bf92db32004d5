"""The command line itself: thin, typed, and clear about what went wrong."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

import compsparse
from compsparse.errors import CompsparseError, ConfigError

app = typer.Typer(
    help="Find, learn, build and certify functions made of small functions.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

out, err = Console(), Console(stderr=True)

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object, for machines.")]


def main() -> None:
    """Runs the command line; errors become one sentence and exit status 2."""
    try:
        app()
    except CompsparseError as error:
        err.print(f"[bold red]error:[/] {_markup_safe(str(error))}", highlight=False, soft_wrap=True)
        sys.exit(2)
    except OSError as error:
        err.print(f"[bold red]error:[/] {_markup_safe(str(error))}", highlight=False, soft_wrap=True)
        sys.exit(2)
    except KeyboardInterrupt:
        err.print("interrupted")
        sys.exit(130)


def _markup_safe(text: str) -> str:
    from rich.markup import escape

    return escape(text)


def print_json(data: dict[str, Any]) -> None:
    print(json.dumps(data))


@app.callback(invoke_without_command=True)
def _version(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        print(compsparse.__version__)
        raise typer.Exit


def check_writable(path: Path) -> None:
    if not path.parent.is_dir() or path.is_dir():
        problem = "it is a folder" if path.is_dir() else f"there is no folder {path.parent}"
        raise ConfigError(f"cannot write {path}: {problem}")


def check_seed(seed: int) -> None:
    if seed < 0:
        raise ConfigError(f"the seed must not be negative, got {seed}")


def print_scores(scores: Sequence[Any]) -> None:
    results = Table("model", "test accuracy" if hasattr(scores[0], "accuracy") else "test R2", "unexplained", "seconds")
    for s in scores:
        first = f"{s.accuracy:.2%}" if hasattr(s, "accuracy") else f"{s.r2:.5f}"
        results.add_row(s.model, first, f"{s.unexplained:.2e}", f"{s.seconds:.1f}")
    out.print(results)


def seconds(text: str | None) -> float | None:
    if text is None:
        return None
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smh]?)", text.strip())
    if not found or float(found[1]) <= 0:
        raise ConfigError(f"cannot read the time {text!r}: write 90s, 5m or 1h")
    return float(found[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[found[2]]


def checked_device(name: str | None) -> str | None:
    import torch

    if name is not None:
        try:
            torch.empty(1, device=name)
        except (RuntimeError, AssertionError, NotImplementedError) as error:
            problem = str(error).strip().splitlines()[0]
            raise ConfigError(f"cannot train on the device {name!r}: {problem}") from None
    return name
