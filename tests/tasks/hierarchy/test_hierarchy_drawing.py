"""Drawings of data: every symbol is there, and one by hand."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest
from tests.tasks.hierarchy.models import BIG, TINY, name

from compsparse.errors import ConfigError
from compsparse.tasks.hierarchy import SparseRandomHierarchy, draw_datum_svg, draw_datum_text, parse


@pytest.mark.parametrize("model", [*TINY, *BIG], ids=name)
def test_drawings_show_every_symbol(model):
    data = model.sample(3, random_state=0)
    for i in range(3):
        svg = ElementTree.fromstring(draw_datum_svg(data, i))
        assert len(list(svg.iter("{http://www.w3.org/2000/svg}circle"))) >= model.n_inner
        *above, row = draw_datum_text(data, i, width=10**6).splitlines()
        symbols = re.findall(r"(?<!\()\b\d+\b", row)
        assert symbols == [str(a) for a in data.symbols[0][i]]
        n_empty = row.count("·") + sum(map(int, re.findall(r"\((\d+)\)", row)))
        assert n_empty + len(symbols) == model.n_inputs
        assert [re.findall(r"\d+$|\d+(?= )", line[8:]) for line in above[::2]] == [
            [str(a) for a in level[i]] for level in data.symbols[:0:-1]
        ]
        assert len(draw_datum_text(data, i, width=5).splitlines()) == model.n_inner


def test_a_drawing_by_hand():
    model = SparseRandomHierarchy(n_features=4, n_levels=1, n_empty=2, placement="B", rules_seed=3)
    a, b = model.rules[0][2, 1]
    X = np.array([[a, b, -1, -1, -1, -1]])
    expected = ["label         2", "         ┌─┬──┘", f"input    {a} {b} · · · ·"]
    assert draw_datum_text(parse(model, X)).splitlines() == expected
    assert f"2 → {a} {b} (synonym 1), in slots 0 1" in draw_datum_svg(parse(model, X))
    with pytest.raises(ConfigError, match="no datum 1: the sample has 1"):
        draw_datum_svg(parse(model, X), 1)
    with pytest.raises(ConfigError, match="i must be a whole number >= 0, got -1"):
        draw_datum_text(parse(model, X), -1)
