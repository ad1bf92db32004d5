"""Which commands there are: in the order in which people need them, in groups, each with an example."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from typer.core import TyperCommand, TyperGroup

GROUPS: Mapping[str, Mapping[str, str]] = {
    "Start here": {
        "demo": "compsparse demo",
        "discover": "compsparse discover data.csv --target y --time-limit 5m",
        "predict": "compsparse predict model.json new.csv --out predictions.csv",
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
        return command
