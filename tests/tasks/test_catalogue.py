import hashlib
import tomllib
from collections import Counter
from importlib import resources

import numpy as np
import pytest

from compsparse import tasks
from compsparse.discovery import discover
from compsparse.errors import ConfigError, ExpressionError
from compsparse.graph import compare_graphs
from compsparse.graph.formula import formula_value
from compsparse.graph.parser import parse_formula
from compsparse.tasks import formula, formulas, law

LEAST_SHARE = 0.005
"""Share of the variance that goes with any one input: less would be nothing that rows could show."""


def by_formula(entry):
    """The law as a black box that knows no graph: the parsed text, evaluated."""
    parsed = parse_formula(entry.expression, entry.inputs)
    return lambda X: formula_value(parsed, *np.asarray(X, dtype=float).T)


@pytest.mark.parametrize("entry", formulas(), ids=lambda entry: entry.name)
def test_a_law_is_well_behaved_and_queries_find_the_tree_of_its_expression(entry):
    f, task = by_formula(entry), entry.task()
    sample = task.sample(1000, random_state=0)
    np.testing.assert_allclose(sample.y, f(sample.X), rtol=1e-9)
    assert np.isfinite(sample.y).all()
    corners = np.array(entry.bounds).T
    assert np.isfinite(f(corners)).all()
    other = task.inputs.sample(1000, random_state=1)
    for j in range(task.graph.n_inputs):
        swapped = sample.X.copy()
        swapped[:, j] = other[:, j]
        share = np.mean((f(swapped) - sample.y) ** 2) / (2 * sample.y.var())
        assert share > LEAST_SHARE, f"{entry.inputs[j]} does too little"
    found = discover(f, bounds=entry.bounds, names=entry.inputs, random_state=0)
    assert found.inert == () == entry.graph.inert
    compared = compare_graphs(found.graph, entry.graph)
    assert compared.exact, (compared.missing, compared.extra)


def test_the_files_say_what_the_reader_reads_and_no_law_twice():
    names = []
    for file in (resources.files("compsparse.tasks") / "laws").iterdir():
        told = tomllib.loads(file.read_text(encoding="utf-8"))
        assert all(list(law) == ["sentence", "expression", "gives", "quantities"] for law in told.values())
        assert [law.name for law in formulas(field=file.name.removesuffix(".toml"))] == list(told)
        names += told
    assert len(names) == len(set(names)) == len(formulas())


def test_the_catalogue_is_wide():
    laws = formulas()
    assert len(laws) >= 110
    assert len({entry.name for entry in laws}) == len(laws)
    assert {len(entry.inputs) for entry in laws} == set(range(3, 11))
    assert min(Counter(entry.field for entry in laws).values()) >= 8
    assert all(entry.name == entry.name.lower() and " " not in entry.name for entry in laws)
    assert all(entry.sentence.endswith(".") for entry in laws)


def test_every_kind_of_tree_occurs():
    trees = [entry.graph.module_tree for entry in formulas()]
    inner = [node for tree in trees for node in tree.inner]
    wide = [node for node in inner if len(node.children) >= 3]
    assert min(Counter(node.kind for node in wide).values()) >= 30
    assert sum(not tree.modules for tree in trees) >= 20  # nothing to claim below the whole
    deep = [tree for tree in trees if any(m < n for m in tree.modules for n in tree.modules)]
    assert len(deep) >= 20


def test_halves_are_decided_by_the_name_alone():
    tuned, unseen = formulas(half="tuned"), formulas(half="unseen")
    assert set(tuned) | set(unseen) == set(formulas())
    assert not set(tuned) & set(unseen)
    assert min(len(tuned), len(unseen)) >= 50
    for entry in formulas():
        even = int(hashlib.sha256(entry.name.encode()).hexdigest()[:2], 16) % 2 == 0
        assert entry.half == ("tuned" if even else "unseen")


def test_filters():
    waves = formulas(field="waves", half="tuned")
    assert waves
    assert all(entry.field == "waves" and entry.half == "tuned" for entry in waves)


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("speed-on-an-orbit", {"M": 1, "r": 1, "a": 1}, 29.78),
        ("escape-from-a-height", {"M": 1, "R": 1, "h": 0}, 11.19),
        ("call-option", {"S": 100, "K": 100, "r": 0.05, "T": 1, "v": 0.2}, 10.450584),
        ("payment-of-a-loan", {"price": 300, "down": 100, "r": 0.05, "n": 20}, 16.048517),
        ("distance-on-a-globe", {"R": 6.371, "a": 0, "b": 0, "l1": 0, "l2": np.pi / 2}, 6.371 * np.pi / 2),
        ("adding-three-speeds", {"a": 0.5, "b": 0.5, "c": 0}, 0.8),
        ("pressure-of-the-air-above", {"p": 101.325, "L": 6.5, "h": 11, "T": 288.15}, 22.63),
        ("glow-of-a-hot-body", {"epsilon": 1, "wavelength": 0.5, "T": 5.772}, 26.3),
        ("gas-of-van-der-waals", {"T": 273.15, "V": 22.71, "n": 1, "b": 0, "a": 0}, 1.0),
        ("tunnelling", {"a": 0.1, "m": 1, "V": 5, "E": 1}, np.exp(-2 * 0.1 * 2 * 5.1232)),
        ("magnitude-of-an-earthquake", {"mu": 3, "L": 30, "W": 15, "D": 1}, 6.69),
        ("mixing-two-liquids", {"m1": 1, "c1": 2, "T1": 80, "m2": 2, "c2": 1, "T2": 20}, 50),
        ("refraction", {"n1": 1, "theta": np.pi / 6, "n2": 1}, np.pi / 6),
        ("centre-of-two-masses", {"m1": 3, "m2": 1, "x1": 0, "x2": 4}, 1),
        ("elastic-collision", {"m1": 2, "m2": 2, "u1": 1, "u2": -3}, -3),
        ("acidity-of-a-buffer", {"pK": 4.76, "b": 0.1, "a": 0.1}, 4.76),
        ("scattering-of-rutherford", {"Z1": 2, "Z2": 79, "E": 5, "theta": np.pi}, 1294),
    ],
)
def test_laws_give_figures_that_are_known(name, values, expected):
    graph = formula(name).graph
    assert graph(np.array([[float(values[s]) for s in graph.inputs]]))[0] == pytest.approx(expected, rel=5e-3)


def test_noise_is_a_share_of_the_spread_and_rows_repeat():
    task = formula("two-tones", noise=0.2)
    a, b = task.sample(20_000, random_state=3), formula("two-tones").sample(20_000, random_state=3)
    np.testing.assert_array_equal(a.X, b.X)
    np.testing.assert_array_equal(a.clean, b.y)
    assert (a.y - a.clean).std() / a.clean.std() == pytest.approx(0.2, rel=0.03)


def test_a_law_tells_what_it_is():
    entry = next(entry for entry in formulas() if entry.name == "refraction")
    told = str(entry)
    assert "refraction (waves): Angle of a ray" in told
    assert "n2: refractive index on the way on [a number], 1.45 to 2.2" in told


_SAYS = {"gives": ("sum", "metres"), "sentence": "Adds."}
_A, _B = ("first", "metres", 0, 1), ("second", "metres", 0, 1)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: law("f", "n", "a + b", **_SAYS, a=_A, b=("second", "metres", 1, 1)), ConfigError, "range of 'b' is"),
        (lambda: law("f", "n", "a + b", **_SAYS, a=_A, b=("second", "metres", 2, 1)), ConfigError, r"empty: \(2, 1\)"),
        (lambda: law("f", "n", "a + b", **_SAYS, a=_A, b=("x", "y", 0, np.inf)), ConfigError, "an end of the range of"),
        (lambda: law("f", "n", "a + b", **_SAYS, a=_A, b=("x", 0, 1)), ConfigError, "give .meaning, unit, low, high"),
        (lambda: law("f", "n", "a + a", **_SAYS, a=_A, b=_B), ConfigError, "does not use 'b': leave it out"),
        (lambda: law("f", "n", "a + b", **_SAYS, a=_A), ConfigError, "says nothing of 'b'"),
        (lambda: law("f", "", "a + b", **_SAYS, a=_A, b=_B), ConfigError, "the name of a law must be a non-empty"),
        (lambda: law("f", "n", "a + (b", **_SAYS, a=_A, b=_B), ExpressionError, "expected"),
        (lambda: law("f", "n", "a + b", "Adds.", ("sum",), a=_A, b=_B), ConfigError, "gives must be"),
        (
            lambda: tasks.TextbookLaw("f", "n", "a", "s", "m", "u", (("a", "first"),)),
            ConfigError,
            "a quantity must be a Quan",
        ),
        (lambda: formula("refractoin"), ConfigError, "there is no formula 'refractoin'; did you mean 'refraction'"),
        (lambda: formula(3), ConfigError, "name must be a non-empty text"),
        (lambda: formula("refraction", noise=-1), ConfigError, "noise must be"),
        (lambda: formulas(field="alchemy"), ConfigError, "field"),
        (lambda: formulas(half="third"), ConfigError, "half"),
    ],
)
def test_impossible_laws_are_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()
