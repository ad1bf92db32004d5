import numpy as np
import pandas
import pytest
import torch
from tests.fitted import GRAPH, RNG, TABLE, TINY, classes_model, model_of, numbers_model

from compsparse.errors import ConfigError
from compsparse.graph import FunctionGraph, Node
from compsparse.models import fit_model, learned_nodes
from compsparse.models.constituents import Constituents
from compsparse.networks import mirror
from compsparse.networks.nodes import node_function, node_values


@pytest.fixture(scope="module")
def numbers():
    return numbers_model()


@pytest.fixture(scope="module")
def classes():
    return classes_model()


def test_node_values_end_in_the_network_s_outputs(numbers):
    encoded = torch.as_tensor(numbers.code.encoded(TABLE))
    for replica in range(numbers.network.n_replicas):
        values = node_values(numbers.network, encoded, replica)
        together = torch.cat([values["y"], values["z"]]).T
        torch.testing.assert_close(together, numbers.network(encoded)[replica])


@pytest.mark.parametrize("share", ["none", "all"])
def test_a_node_by_itself_gives_what_it_carries(share):
    graph = FunctionGraph(list("abcd"), [Node("u", ("a", "b")), Node("v", ("c", "d")), Node("y", ("u", "v"))])
    network = mirror(graph, width=5, channels=2, share=share, n_replicas=3, random_state=0)
    x = torch.randn(7, 4)
    values = node_values(network, x, replica=2)
    for node in graph.nodes:
        parents = torch.cat([values[p] for p in node.parents])
        torch.testing.assert_close(node_function(network, node.name, 2)(parents), values[node.name])
    with pytest.raises(ConfigError, match="no node 'w'"):
        node_function(network, "w")


def test_two_numbers_make_a_heat_map_in_their_own_units(numbers):
    learned = Constituents(numbers, TABLE)
    (picture,) = learned.pictures("m0")
    assert (picture.across.label, picture.down.label, picture.value_label) == ("a", "b", "m0 (learned)")
    assert 9.9 < picture.across.ticks[0] < picture.across.ticks[-1] < 20.1
    assert picture.points.shape[1] == 2
    assert picture.points.min() >= 10
    assert len(picture.frame()) == len(picture.across.ticks) * len(picture.down.ticks)
    # a learned number is shown with mean 0 and spread 1, rising with its output
    wire = learned.readable("m0", 0, learned.values["m0"][0])
    assert abs(wire.mean()) < 1e-9
    assert wire.std() == pytest.approx(1)
    assert np.corrcoef(wire, learned.values["y"][0])[0, 1] >= 0


def test_a_number_and_a_category_make_a_curve_per_level(numbers):
    (picture,) = Constituents(numbers, TABLE).pictures("m1")
    assert picture.down is None
    assert picture.series == ("metal = iron", "metal = tin", "metal = zinc")
    assert len(picture.frame()) == 3 * len(picture.across.ticks)


def test_three_parents_make_a_curve_each_on_one_scale(numbers):
    pictures = Constituents(numbers, TABLE).pictures("y")
    assert {p.across.label for p in pictures} == {"m0 (learned)", "m1 (learned)", "a"}
    assert len({p.value_range for p in pictures}) == 1
    assert all(list(p.across.ticks) == sorted(p.across.ticks) for p in pictures)
    assert all("median" in p.note for p in pictures)


def test_one_parent_makes_the_curve_that_the_data_lie_on(numbers):
    learned = Constituents(numbers, TABLE)
    (picture,) = learned.pictures("z")
    parent = learned.readable("m1", 0, learned.values["m1"][0])
    value = learned.readable("z", 0, learned.values["z"][0])
    inside = (parent >= picture.across.ticks[0]) & (parent <= picture.across.ticks[-1])
    on_curve = np.interp(parent, picture.across.ticks, picture.values[0])
    np.testing.assert_allclose(on_curve[inside], value[inside], atol=0.02 * np.ptp(value))


def test_classes_are_shown_as_probabilities(classes):
    pictures = Constituents(classes, TABLE).pictures("grade")
    assert [p.value_label for p in pictures] == [f"P(grade = …) {c}" for c in ("high", "low", "mid")]
    np.testing.assert_allclose(sum(p.values for p in pictures), 1)


def test_two_classes_need_one_picture_and_few_values_are_levels():
    table = pandas.DataFrame({"flag": np.tile([0, 1], 40), "x": RNG.normal(size=80)})
    graph = FunctionGraph(["flag", "x"], [Node("y", ("flag", "x"))])
    model = model_of(graph, (table["x"] > 0).to_numpy(), table)
    (picture,) = Constituents(model, table).pictures("y")
    assert picture.value_label == "P(y = True)"
    assert picture.series == ("flag = 0", "flag = 1")
    only_flag = FunctionGraph(["flag", "x"], [Node("y", ("flag",))])
    (picture,) = Constituents(model_of(only_flag, table[["x"]].to_numpy(), table), table).pictures("y")
    assert picture.across.ticks == ("0", "1")


def test_the_record_of_all_nodes(numbers):
    learned = learned_nodes(numbers, TABLE)
    assert set(learned.pictures) == {node.name for node in GRAPH.nodes}
    assert learned.ranges["a"] == (TABLE["a"].min(), TABLE["a"].max())
    assert learned.levels == {"metal": ("iron", "tin", "zinc")}
    assert (learned.n_rows, learned.n_networks) == (len(TABLE), numbers.network.n_replicas)


def test_several_targets_of_one_output_are_shown_by_name():
    y = np.stack([TABLE["a"], 100 + TABLE["b"]], axis=1)
    model = fit_model("a + b", TABLE, y, outputs=["one", "two"], width=4, random_state=0, config=TINY)
    (picture, _) = Constituents(model, TABLE).pictures(model.graph.outputs[0])
    assert picture.value_label.endswith("one")
    assert 5 < picture.values.mean() < 25
