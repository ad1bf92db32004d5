r"""What training does to norms, margins, ranks and features under the square loss.

A network without biases is :math:`f = \rho \bar f` with :math:`\rho` the product of the Frobenius norms of its layers.
Let :math:`\bar f_n` be the answer of the normalised network times the label -1 or +1 of sample n. Where the square loss
plus :math:`\lambda \rho^2` is least in :math:`\rho`,

.. math:: \rho = \frac{\mu}{\lambda + M}, \qquad \mu = \langle \bar f_n \rangle, \quad M = \langle \bar f_n^2 \rangle

(Xu et al. 2022). Weight decay acts on the squared norm of every layer instead; :func:`equilibrium_rho` knows both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy.optimize import brentq, minimize_scalar
from torch import Tensor

from compsparse.checks import check_count, check_indices, check_kind, check_number, check_numbers
from compsparse.errors import DataError
from compsparse.networks.homogeneous import HomogeneousNetwork
from compsparse.text import in_a_line
from compsparse.training.loop import TrainingState


@in_a_line
@dataclass(frozen=True)
class NeuralCollapse:
    """The four signs of neural collapse (Papyan, Han and Donoho 2020), each ``(R,)`` and 0 where it is complete.

    Attributes:
        within: NC1, spread of the features within classes over that between them, tr(S_W S_B^+) / C.
        angles: NC2, mean distance of the cosines of centred class means from -1/(C - 1).
        lengths: NC2 as well, standard deviation over mean of the norms of centred class means.
        duality: NC3, distance of the last layer from the centred class means, both scaled to norm 1.
        nearest: NC4, share of the data whose class is not that of the nearest class mean.
    """

    within: np.ndarray
    angles: np.ndarray
    lengths: np.ndarray
    duality: np.ndarray
    nearest: np.ndarray


@in_a_line
@dataclass(frozen=True)
class Dynamics:
    """A network at one step; arrays have one row per replica.

    Attributes:
        which: the replicas of the training that these are.
        norms: (R, layers) Frobenius norms; ``rho`` is their product.
        stable_ranks: (R, layers) squared Frobenius norm over squared spectral norm.
        error: share of the data that is given a wrong class.
        margin: the least normalised margin: of the answer for the class less the highest other one, over rho.
    """

    step: int
    which: np.ndarray
    loss: np.ndarray
    error: np.ndarray
    norms: np.ndarray
    rho: np.ndarray
    stable_ranks: np.ndarray
    margin: np.ndarray
    collapse: NeuralCollapse


class DynamicsLog:
    """A callback of :func:`~compsparse.training.train` that keeps :class:`Dynamics` at every evaluation.

    The loop calls it while something trains; :meth:`look` adds the network before or after.

    Args:
        X: data to look at, (n, d).
        classes: a class per row, from 0; with one output the classes 0 and 1 have targets -1 and +1, with several
            the target is 1 at the class and 0 elsewhere.
    """

    def __init__(self, X: Any, classes: Any):
        self.X = check_numbers("X", X, shape=(None, None))
        self.classes = np.array(check_indices("classes", classes, len(self.X)))
        if len(self.classes) != len(self.X) or len(np.unique(self.classes)) < 2:
            raise DataError(f"{len(self.X)} rows need as many classes, two of them different")
        self.points: list[Dynamics] = []

    def __call__(self, state: TrainingState) -> None:
        """Keeps the state of the replicas that train."""
        self.points.append(
            measure_dynamics(_homogeneous(state.network), self.X, self.classes, state.step, state.replicas)
        )

    def look(self, network: HomogeneousNetwork, step: int) -> Dynamics:
        """Keeps and returns the state of all replicas."""
        self.points.append(measure_dynamics(network, self.X, self.classes, step))
        return self.points[-1]


@torch.no_grad()
def measure_dynamics(
    network: HomogeneousNetwork, X: Any, classes: Any, step: int = 0, which: np.ndarray | None = None
) -> Dynamics:
    """Measures a network on data; see :class:`DynamicsLog` for what they are."""
    weights = [w.double() for w in _homogeneous(network).weights]
    rows = torch.as_tensor(check_numbers("X", X, shape=(None, network.n_inputs))).to(network.weights[0])
    labels = torch.as_tensor(np.asarray(check_indices("classes", classes, max(2, network.n_outputs))))
    if len(labels) != len(rows):
        raise DataError(f"X has {len(rows)} rows but there are {len(labels)} classes")
    labels = labels.to(rows.device)
    features = network.hidden(network.columns(rows)).transpose(1, 2).double()
    answers = features @ weights[-1].transpose(1, 2)
    norms = torch.stack([w.flatten(1).norm(dim=1) for w in weights], dim=1)
    spectral = torch.stack([torch.linalg.matrix_norm(w, 2) for w in weights], dim=1)
    rho = norms.prod(1)
    gaps = label_margins(answers, labels)
    targets = _targets(labels, network.n_outputs, answers)
    return Dynamics(
        step,
        np.arange(network.n_replicas) if which is None else np.asarray(which),
        _array((answers - targets).square().mean((1, 2))),
        _array((gaps <= 0).double().mean(1)),
        _array(norms),
        _array(rho),
        _array((norms / spectral.clamp(min=torch.finfo(torch.float64).tiny)).square()),
        _array(gaps.amin(1) / rho.clamp(min=torch.finfo(torch.float64).tiny)),
        neural_collapse(features, labels, weights[-1]),
    )


def label_margins(answers: Tensor, labels: Tensor) -> Tensor:
    """(R, n): the answer for the class less the highest other one; of one output, the answer times -1 or +1."""
    if answers.shape[-1] == 1:
        return answers[..., 0] * (2 * labels - 1)
    own = labels.expand(answers.shape[:-1]).unsqueeze(-1)
    others = answers.scatter(-1, own, -torch.inf)
    return answers.gather(-1, own).squeeze(-1) - others.amax(-1)


def neural_collapse(features: Tensor, labels: Tensor, last_layer: Tensor) -> NeuralCollapse:
    """From features (R, n, width), labels (n,) and weights (R, outputs, width) of the layer that reads them."""
    present: Tensor = torch.unique(labels)
    means = torch.stack([features[:, labels == c].mean(1) for c in present], dim=1)
    centre = means.mean(1, keepdim=True)
    apart = means - centre
    place = torch.searchsorted(present, labels)
    inside = features - means[:, place]
    within = inside.transpose(1, 2) @ inside / features.shape[1]
    between = apart.transpose(1, 2) @ apart / len(present)
    lengths = apart.norm(dim=-1)
    unit = apart / lengths.clamp(min=torch.finfo(features.dtype).tiny).unsqueeze(-1)
    cosines = unit @ unit.transpose(1, 2)
    pairs = ~torch.eye(len(present), dtype=torch.bool, device=features.device)
    nearest = torch.cdist(features, means).argmin(-1)
    one_output = last_layer.shape[1] == 1
    readout = torch.cat([-last_layer, last_layer], dim=1) if one_output else last_layer[:, present]
    return NeuralCollapse(
        within=_array((within @ torch.linalg.pinv(between, hermitian=True)).diagonal(dim1=1, dim2=2).sum(1))
        / len(present),
        angles=_array((cosines[:, pairs] + 1 / (len(present) - 1)).abs().mean(-1)),
        lengths=_array(lengths.std(1, correction=0) / lengths.mean(1)),
        duality=_array((_unit(readout) - _unit(apart)).flatten(1).norm(dim=1)),
        nearest=_array((nearest != place).double().mean(-1)),
    )


def equilibrium_rho(margins: Any, weight_decay: float, n_layers: int | None = None) -> float:
    r"""The product of norms at which the square loss with weight decay is stationary, given the normalised network.

    Args:
        margins: :math:`\bar f_n` of all samples.
        weight_decay: :math:`\lambda`.
        n_layers: None penalises :math:`\lambda \rho^2`, with the answer :math:`\mu/(\lambda + M)`. Otherwise the
            penalty is :math:`\lambda` times the squared norms of so many layers, as weight decay is: stationarity in
            each norm makes them equal and gives :math:`\lambda \rho^{2/L} + M \rho^2 = \mu \rho`, of which this is the
            largest root, or 0 where all collapses.

    >>> equilibrium_rho([0.5, 0.5], weight_decay=0.25)
    1.0
    """
    f = check_numbers("margins", margins, shape=(None,))
    check_number("weight_decay", weight_decay, least=0)
    if not len(f) or not np.any(f):
        raise DataError("margins must hold at least one number that is not zero")
    mu, M = float(f.mean()), float((f**2).mean())
    if n_layers is None or check_count("n_layers", n_layers) == 1:
        return max(mu / (weight_decay + M), 0.0)
    if mu <= 0:
        return 0.0

    def excess(rho: float) -> float:
        return float(weight_decay * rho ** (2 / n_layers - 1) + M * rho - mu)

    most = mu / M  # without any decay
    lowest = float(minimize_scalar(excess, bounds=(1e-12 * most, most), method="bounded").x)
    return float(brentq(excess, lowest, most)) if excess(lowest) < 0 <= excess(most) else 0.0


def _homogeneous(network: Any) -> HomogeneousNetwork:
    return check_kind("network", network, HomogeneousNetwork)


def _targets(labels: Tensor, n_outputs: int, like: Tensor) -> Tensor:
    if n_outputs == 1:
        return (2 * labels - 1).to(like).unsqueeze(-1)
    return torch.eye(n_outputs, dtype=like.dtype, device=like.device)[labels]


def _unit(matrix: Tensor) -> Tensor:
    size: Tensor = matrix.flatten(1).norm(dim=1).clamp(min=torch.finfo(matrix.dtype).tiny)
    return matrix / size[:, None, None]


def _array(values: Tensor) -> np.ndarray:
    return np.asarray(values.cpu().numpy())
