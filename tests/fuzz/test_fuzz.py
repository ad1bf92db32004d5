"""Odd values for every parameter of every public entry point: a sentence of this package, or a valid answer.

A seeded sample runs with the tests; ``make fuzz`` (``pytest tests/fuzz --all-cases``) runs every case.
"""

from __future__ import annotations

import importlib
import random
from pathlib import Path

import pytest
from odd import Case, Entry, cases

from compsparse.warm_up import warm_up

SAMPLE = 300
SEED = 11
_LEAST_OF_ALL = 3000


def all_entries() -> list[Entry]:
    modules = [importlib.import_module(path.stem) for path in sorted(Path(__file__).parent.glob("entries*.py"))]
    return [entry for module in modules for entry in module.ENTRIES]


def _sampled(entries: list[Entry]) -> list[Case]:
    quick = cases(entry for entry in entries if not entry.slow)
    return random.Random(SEED).sample(quick, min(SAMPLE, len(quick)))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    entries = all_entries()
    if "case" in metafunc.fixturenames:
        chosen = cases(entries) if metafunc.config.getoption("--all-cases", default=False) else _sampled(entries)
        metafunc.parametrize("case", chosen, ids=str)
    if "entry" in metafunc.fixturenames:
        quick = [
            entry for entry in entries if not entry.slow or metafunc.config.getoption("--all-cases", default=False)
        ]
        metafunc.parametrize("entry", quick, ids=lambda entry: entry.name)


@pytest.fixture(scope="module", autouse=True)
def _compiled_kernels() -> None:
    """What is compiled once on a machine must not count as a hang."""
    warm_up()


def test_odd_values_meet_a_sentence_or_a_valid_answer(case: Case) -> None:
    case.run()


@pytest.mark.filterwarnings("ignore")
def test_the_call_that_cases_change_is_valid(entry: Entry) -> None:
    entry.call(**entry.arguments())


def test_all_cases_are_many() -> None:
    assert len(cases(all_entries())) >= _LEAST_OF_ALL
