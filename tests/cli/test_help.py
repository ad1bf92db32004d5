"""Help: what to do first, an example everywhere, options in groups, readable at 80 columns."""

import shlex

import pytest
import typer
from rich.cells import cell_len
from typer.testing import CliRunner

from compsparse.claims import all_claims
from compsparse.cli import app
from compsparse.cli.app import EXAMPLES, GROUPS, OPTIONS


def told(*arguments):
    done = CliRunner().invoke(app, list(arguments), env={"COLUMNS": "80"})
    assert done.exit_code == 0, done.output
    return done.output


def commands(group=None, path=()):
    """Every command with the words that lead to it, as a user would reach it."""
    group = typer.main.get_command(app) if group is None else group
    context = typer.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        yield (*path, name), command
        if hasattr(command, "list_commands"):
            yield from commands(command, (*path, name))


COMMANDS = dict(commands())


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_help_has_an_example_and_fits_80_columns(path):
    text = told(*path, "--help")
    assert max(cell_len(line) for line in text.splitlines()) <= 80
    words = " ".join(text.split())
    assert f"Example: compsparse {path[0]}" in words
    example = shlex.split(words.split("Example: ")[1])
    command = typer.main.get_command(app)
    for word in example[1:]:  # the example names commands and options that there are
        below = getattr(command, "commands", {})
        if word in below:
            command = below[word]
        elif word.startswith("--") and not below:
            assert word in {name for option in command.params for name in option.opts}


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_option_has_its_place(path):
    named = {name for panel in OPTIONS.values() for name in panel}
    options = [o for o in COMMANDS[path].params if o.param_type_name == "option" and not o.is_flag]
    assert {o.name for o in options} <= named


def test_tables_of_the_help_name_what_there_is():
    assert {name for group in GROUPS.values() for name in group} == {path[0] for path in COMMANDS}
    assert {(group, name) for group, names in EXAMPLES.items() for name in names} == {
        p for p in COMMANDS if len(p) == 2
    }
    used = {option.name for command in COMMANDS.values() for option in command.params}
    assert {name for panel in OPTIONS.values() for name in panel} <= used


def test_discover_comes_first_in_the_list_and_in_what_is_said_without_arguments():
    overview = told("--help")
    places = [overview.index(f"│ {name} ") for name in ("discover", "demo", "predict", "graph", "claims")]
    assert places == sorted(places)
    first = told()
    assert len(first.splitlines()) < 20
    assert max(map(len, first.splitlines())) <= 80
    assert first.index("compsparse demo") < first.index("compsparse discover") < first.index("compsparse claims")
    for line in first.splitlines():  # each command that it shows is there
        if line.startswith("  compsparse "):
            assert (line.split()[1],) in COMMANDS


def test_claims_are_listed_by_source_on_one_screen():
    lines = told("claims", "list").splitlines()
    assert len(lines) <= 40
    headings = [line for line in lines if line and not line.startswith(" ")]
    assert headings[0].startswith("Compositional sparsity (Poggio")
    assert headings[-2] == "Checks"
    assert "Other sources" not in headings
    listed = [word.rstrip("+x~") if word not in all_claims() else word for word in " ".join(lines).split()]
    assert all(listed.count(name) == 1 for name in all_claims())


def test_words_choose_the_claims_that_are_told_in_full():
    text = " ".join(told("claims", "list", "parity", "attention").split())
    claim = all_claims()["attention-misses-flat-parity"]
    assert claim.statement in text
    assert claim.source in text
    assert "compiled-counts" not in text
    assert "no claim has the words 'xyzzy'" in told("claims", "list", "xyzzy")


def test_a_run_tells_the_statement_then_the_chart_then_the_verdict(tmp_path):
    text = " ".join(told("claims", "run", "ridge-powers-span-polynomials", "--results", str(tmp_path)).split())
    order = ["generic projections span", "Ridge powers that span", "degree 2 |", "Holds: every case", "expected:"]
    places = [text.index(part) for part in order]
    assert places == sorted(places)
