"""Fitted models of torch and scikit-learn: exact where they are piecewise linear, within the bound elsewhere."""

import warnings

import numpy as np
import pytest
import torch
from sklearn.compose import TransformedTargetRegressor
from sklearn.decomposition import PCA
from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.linear_model import ElasticNet, LinearRegression, LogisticRegression, PoissonRegressor, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, PolynomialFeatures, RobustScaler, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from torch import nn
from torch.nn.utils import prune

import compsparse as cs
from compsparse.construct import model_graph
from compsparse.errors import ConfigError

RNG = np.random.default_rng(0)
X = RNG.uniform(-2, 3, (120, 3))
Y = X[:, 0] * X[:, 1] - X[:, 2]
BOX = [(-2.0, 3.0)] * 3


class Exp2(nn.Module):
    """A module of one's own, with a forward that is no row of layers."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(3, 4), nn.Linear(4, 2)

    def forward(self, x):
        h = torch.relu(self.first(x)) + nn.functional.softplus(self.first(x))
        return self.second(h) + x[:, :1]


def torch_net(*activation):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 5), *activation, nn.Linear(5, 2)).double().eval()


ACTIVATIONS = [
    nn.ReLU(), nn.LeakyReLU(0.1), nn.ELU(0.7), nn.GELU(), nn.GELU("tanh"), nn.SiLU(), nn.Tanh(), nn.Sigmoid(),
    nn.Softplus(), nn.Softplus(2.0), nn.Identity(), nn.Dropout(0.5), nn.ReLU6(), nn.Hardtanh(-0.5, 2), nn.CELU(0.6),
    nn.SELU(), nn.Mish(), nn.Softsign(), nn.LogSigmoid(), nn.Tanhshrink(), nn.Hardsigmoid(), nn.Hardswish(),
]  # fmt: skip
EXACT = (nn.ReLU, nn.LeakyReLU, nn.Identity, nn.Dropout, nn.ReLU6, nn.Hardtanh, nn.Hardsigmoid)


def of_torch(net, points):
    with torch.no_grad():
        return net(torch.tensor(points)).numpy().reshape(len(points), -1)


@pytest.mark.parametrize("activation", ACTIVATIONS, ids=str)
def test_a_sequential_is_a_graph_of_its_units(activation):
    net = torch_net(activation)
    graph = model_graph(net, 3)
    np.testing.assert_allclose(graph(X), of_torch(net, X), atol=1e-12)
    assert graph.inputs == ("x0", "x1", "x2")
    assert graph.outputs == ("y0", "y1")


@pytest.mark.parametrize("activation", [a for a in ACTIVATIONS if isinstance(a, EXACT)], ids=str)
def test_a_piecewise_linear_network_comes_out_exact(activation):
    net = torch_net(activation)
    built = cs.compile(net, BOX, 1e-9, n_points=500)
    assert built.bound == 0
    np.testing.assert_allclose(built(X), of_torch(net, X), atol=1e-12)


@pytest.mark.parametrize("activation", [nn.GELU(), nn.SiLU(), nn.Softplus(), nn.ELU()], ids=str)
def test_a_smooth_network_keeps_its_bound(activation):
    net = torch_net(activation)
    built = cs.compile(net, (-1, 1), 2e-2, n_points=500)
    points = RNG.uniform(-1, 1, (500, 3))
    assert np.abs(built(points) - of_torch(net, points)).max() <= built.certificate.upper <= 2e-2


def test_deep_networks_with_norms_and_nesting():
    torch.manual_seed(1)
    inner = nn.Sequential(nn.Linear(6, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Dropout(0.3))
    net = nn.Sequential(
        nn.Flatten(), nn.BatchNorm1d(3), nn.Linear(3, 6), nn.LeakyReLU(), inner, nn.Linear(6, 1, bias=False)
    )
    net.double()
    net(torch.tensor(X))  # running statistics
    with pytest.raises(ConfigError, match=r"model\.eval"):
        cs.compile(net, BOX, 1e-6)
    built = cs.compile(net.eval(), BOX, 1e-6, n_points=500)
    assert built.bound == 0
    np.testing.assert_allclose(built(X), of_torch(net, X)[:, 0], atol=1e-10)


def test_weights_in_single_precision_are_meant_exactly():
    net = torch_net(nn.ReLU()).float()
    graph = model_graph(net, 3)
    np.testing.assert_allclose(graph(X), of_torch(net.double(), X), atol=1e-13)


def test_pruned_weights_are_the_pruned_ones_and_other_hooks_are_refused():
    net = torch_net(nn.ReLU())
    prune.l1_unstructured(net[0], "weight", amount=7)
    np.testing.assert_allclose(model_graph(net, 3)(X), of_torch(net, X), atol=1e-12)
    net[1].register_forward_hook(lambda module, args, out: 2 * out)
    with pytest.raises(ConfigError, match="hook"):
        model_graph(net, 3)


def test_a_module_of_ones_own_is_traced():
    torch.manual_seed(0)
    net = Exp2().double().eval()
    np.testing.assert_allclose(model_graph(net, 3)(X), of_torch(net, X), atol=1e-12)
    with pytest.raises(ConfigError, match="conv1d is not supported"):
        model_graph(nn.Sequential(nn.Linear(3, 3), nn.Conv1d(1, 1, 2)), 3)
    with pytest.raises(ConfigError, match="gives 5"):
        model_graph(nn.Sequential(nn.Linear(3, 5), nn.Linear(4, 1)), 3)
    with pytest.raises(ConfigError, match="takes 3 numbers"):
        cs.compile(torch_net(nn.ReLU()), [(-1, 1)] * 2)


# ---- scikit-learn -----------------------------------------------------------------------------------


def fitted(model, target=Y, table=X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few iterations
        return model.fit(table, target)


def perceptron(**options):
    return MLPRegressor(hidden_layer_sizes=(6, 4), max_iter=30, random_state=0, **options)


REGRESSORS = {
    "relu": perceptron(),
    "tanh": perceptron(activation="tanh"),
    "logistic": perceptron(activation="logistic"),
    "identity": perceptron(activation="identity"),
    "linear": LinearRegression(),
    "ridge": Ridge(),
    "elastic": ElasticNet(0.1),
    "scaled": make_pipeline(StandardScaler(), perceptron()),
    "scalers": make_pipeline(
        RobustScaler(), MinMaxScaler((-1, 1), clip=True), MaxAbsScaler(), "passthrough", perceptron()
    ),
    "pca": make_pipeline(StandardScaler(with_mean=False), PCA(2, whiten=True), perceptron()),
    "target": TransformedTargetRegressor(make_pipeline(StandardScaler(), perceptron()), transformer=StandardScaler()),
    "target-range": TransformedTargetRegressor(Ridge(), transformer=MinMaxScaler()),
    "search": GridSearchCV(make_pipeline(StandardScaler(), Ridge()), {"ridge__alpha": [1.0, 2.0]}, cv=2),
}
if "loss" in MLPRegressor().get_params():  # scikit-learn 1.7
    REGRESSORS["poisson"] = perceptron(loss="poisson")


@pytest.mark.parametrize("name", REGRESSORS)
def test_a_regressor_predicts_as_its_graph(name):
    model = fitted(REGRESSORS[name], np.exp(0.2 * Y) if name == "poisson" else Y)
    graph = model_graph(model, 3)
    np.testing.assert_allclose(graph(X), model.predict(X), atol=1e-10)
    if name not in ("tanh", "logistic", "poisson"):
        built = cs.compile(model, BOX, 1e-6, n_points=300)
        assert built.bound == 0
        np.testing.assert_allclose(built(X), model.predict(X), atol=1e-9)


def test_several_targets_names_of_columns_and_an_exponential_link():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(X, columns=["height", "width", "y"])
    model = fitted(make_pipeline(StandardScaler(), perceptron()), np.stack([Y, Y**2], 1), table)
    graph = model_graph(model)
    assert graph.inputs == ("height", "width", "y")
    np.testing.assert_allclose(graph(X), model.predict(table), atol=1e-10)
    counts = fitted(PoissonRegressor(), np.exp(0.3 * X[:, 0]))
    built = cs.compile(counts, BOX, 1e-2, n_points=300)
    assert np.abs(built(X) - counts.predict(X)).max() <= built.certificate.upper


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_classifier_is_compiled_to_its_logits(n_classes):
    labels = np.array(["low", "mid", "up"])[np.digitize(Y, np.quantile(Y, [0.5] if n_classes == 2 else [0.3, 0.6]))]
    for model in (MLPClassifier(hidden_layer_sizes=(6,), max_iter=30, random_state=0), LogisticRegression()):
        fitted(model, labels)
        built = cs.compile(model, BOX, 1e-6, n_points=300)
        assert built.bound == 0
        assert all(name.startswith("logit of ") for name in built.graph.outputs)
        logits = built(X).reshape(len(X), -1)
        logits = np.hstack([0 * logits, logits]) if n_classes == 2 else logits
        shares = np.exp(logits - np.logaddexp.reduce(logits, axis=1, keepdims=True))
        np.testing.assert_allclose(shares, model.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize(
    "model",
    [DecisionTreeRegressor(), RandomForestRegressor(3), GradientBoostingRegressor(n_estimators=3)],
    ids=lambda m: type(m).__name__,
)
def test_trees_are_refused_with_the_reason(model):
    for candidate in (fitted(model), fitted(make_pipeline(StandardScaler(), model))):
        with pytest.raises(ConfigError, match="jumps at every threshold"):
            cs.compile(candidate, BOX, 1e-2)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (MLPRegressor(), "fit it before"),
        (make_pipeline(StandardScaler(), Ridge()), "fit"),
        (fitted(KNeighborsRegressor()), "KNeighborsRegressor is not among"),
        (fitted(GaussianProcessRegressor()), "GaussianProcessRegressor is not among"),
        (fitted(make_pipeline(PolynomialFeatures(2), Ridge())), "PolynomialFeatures of the pipeline is not among"),
        (fitted(Ridge(), Y, X[:, :2]), "takes 2 inputs, and the domain has 3"),
        (fitted(DecisionTreeClassifier(), Y > 0), "DecisionTreeClassifier jumps"),
    ],
)
def test_what_cannot_be_compiled_is_named(model, message):
    with pytest.raises(ConfigError, match=message):
        cs.compile(model, BOX, 1e-2)


def test_what_is_no_model_is_left_to_others():
    assert model_graph("a + b") is None
    assert model_graph(np.sin) is None
    assert model_graph(MLPRegressor) is None
