"""What experiments share: the loop with its listener, the figure of values over seeds, and the finding."""

import numpy as np
import pytest

from compsparse.claims import Outcome, Premise
from compsparse.claims.shapes import each, figure_of, finding_of, finite, fitted_exponents
from compsparse.report import Figure

S, R, U = Outcome.SUPPORTED, Outcome.REFUTED, Outcome.INCONCLUSIVE


class Heard(list):
    def update(self, done, total, message=""):
        self.append((done, total, message))


def test_the_listener_hears_of_an_item_once_it_is_done():
    heard = Heard()
    seen = [(item, len(heard)) for item in each([(1, "a"), (2, "b")], heard, "{1} of {0}")]
    assert seen == [((1, "a"), 0), ((2, "b"), 1)]
    assert heard == [(1, 2, "a of 1"), (2, 2, "b of 2")]
    list(each([0.5], heard, "{:.2f}"))
    assert heard[-1] == (1, 1, "0.50")


def test_values_over_seeds_are_drawn_by_their_middle_and_range():
    points = [(1, [1.0, 2.0, 6.0], "a"), (2, np.array([4.0]), "b")]
    assert figure_of("t", points, "x", "y", "s", middle=np.median).rows == (
        {"x": 1, "y": 2.0, "low": 1.0, "high": 6.0, "s": "a"},
        {"x": 2, "y": 4.0, "low": 4.0, "high": 4.0, "s": "b"},
    )
    plain = figure_of("t", [(1, 2.0), (2, 3.0)], "x", "y", log_x=True)
    assert plain == Figure("t", ({"x": 1, "y": 2.0}, {"x": 2, "y": 3.0}), "x", "y", log_x=True)


@pytest.mark.parametrize(
    ("said", "outcome"), [(S, S), (True, S), (False, R), ([S, True], S), ([S, False], R), ([U, True], U), ([], U)]
)
def test_a_finding_is_of_all_outcomes(said, outcome):
    assert finding_of(said, "m", {}).outcome is outcome


def test_a_finding_takes_one_figure_or_several_and_means_over_seeds():
    figure = figure_of("t", [(1, 2.0)], "x", "y")
    found = finding_of(True, "m", {"mean": [1.0, 2.0], "one": 3}, figure, premises=Premise("it is so", "not", False))
    assert (found.figures, found.numbers, found.outcome) == ((figure,), {"mean": 1.5, "one": 3.0}, U)
    assert finding_of(True, "m", {}, (figure, figure)).figures == (figure, figure)


def test_exponents_are_fitted_by_series_and_what_is_not_known_is_left_out():
    points = [(x, x**p, name) for name, p in (("a", 1), ("b", 2)) for x in (1.0, 2.0, 4.0, 8.0)]
    fitted = fitted_exponents(points)
    assert list(fitted) == ["a", "b"]
    assert fitted["b"].low == pytest.approx(2.0, abs=1e-6)
    assert finite({"a": 1.0, "b": np.inf, "c": np.nan}) == {"a": 1.0}
