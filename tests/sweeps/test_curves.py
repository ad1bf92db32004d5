import re
from dataclasses import replace

import pytest
from tests.sweeps.kinds.toy import Toy

from compsparse.errors import ConfigError, DataError
from compsparse.sweeps import Row, curve_figure, layer_figures, sweep_curves, sweep_page
from compsparse.sweeps.curves import summary_table
from compsparse.sweeps.kinds.hierarchy import HierarchyRun

SMALL = HierarchyRun(n_train=150, n_features=4, n_empty=1, width=16)


def rows():
    specs = [replace(SMALL, n_train=n, seed=s, width=w) for w in (8, 16) for n in (100, 200, 400) for s in (0, 1)]
    return [Row.of(s, {"test_error": 20 / s.n_train, "synonym": [0.5, 0.1 * s.seed]}, seconds=1.0) for s in specs] + [
        Row.of(replace(SMALL, seed=9), None, traceback="it failed", seconds=1.0)
    ]


def test_curves_are_by_setting_with_seeds_as_spread(tmp_path):
    found = sweep_curves(rows(), HierarchyRun)
    assert [c.name for c in found] == ["width=8", "width=16"]
    assert found[0].values == {100: [0.2, 0.2], 200: [0.1, 0.1], 400: [0.05, 0.05]}
    assert found[0].reaches.value == pytest.approx(200)
    assert found[0].layers["synonym"][100] == [[0.5, 0.0], [0.5, 0.1]]
    assert len(curve_figure(found, HierarchyRun).rows) == 6
    assert [f.title for f in layer_figures(found, HierarchyRun)] == ["synonym: width=8", "synonym: width=16"]
    columns, lines = summary_table(found, HierarchyRun)
    assert lines[0][columns.index("test_error 0.1 at")] == "200"
    page = sweep_page(tmp_path / "page.html", "mine", rows(), HierarchyRun).read_text()
    settings = re.search(r"<thead><tr>(.*?)</tr></thead><tbody>(.*?)</tbody>", page)
    assert re.findall(r"<th[^>]*>(.*?)</th>", settings[1]) == columns
    assert re.findall(r"<td[^>]*>(.*?)</td>", settings[2])[:4] == ["8", "3", "0.05", "200"]
    assert "test_error against n_train" in page
    assert "synonym: width=16" in page


def test_a_sweep_without_results_has_no_page(tmp_path):
    with pytest.raises(DataError, match="no finished runs"):
        sweep_page(tmp_path / "page.html", "mine", [], HierarchyRun)


def test_a_kind_without_curves_says_so(tmp_path):
    with pytest.raises(ConfigError, match="the kind 'toy' does not say what its curves are"):
        sweep_page(tmp_path / "page.html", "mine", [], Toy)
