"""The list of commands: nothing missing, nothing that is not there, examples that parse."""

import shlex

import pytest
import typer

from compsparse.cli import app
from compsparse.cli.app import GROUPS

MAIN = typer.main.get_command(app)
EXAMPLES = {name: example for group in GROUPS.values() for name, example in group.items()}


def test_every_command_has_a_group_and_an_example():
    assert list(EXAMPLES) == MAIN.list_commands(None)


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_has_the_command_and_options_that_it_names(name):
    program, called, *words = shlex.split(EXAMPLES[name])
    assert (program, called) == ("compsparse", name)
    command = MAIN.get_command(None, name)
    if below := getattr(command, "commands", {}):
        command = below.get(words[0]) or below["run"]
    options = {option for param in command.params for option in (*param.opts, *param.secondary_opts)}
    assert {word for word in words if word.startswith("--")} <= options
