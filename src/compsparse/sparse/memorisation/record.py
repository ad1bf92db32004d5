"""What memorisation returns: the network, its value, and how far from the least possible it can be."""

from __future__ import annotations

import json
import numbers as numbers_module
from dataclasses import dataclass, fields
from enum import Enum
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from compsparse.certificate import Certificate
from compsparse.checks import check_numbers
from compsparse.digest import check_seal, sealed
from compsparse.errors import DataError
from compsparse.sparse.memorisation.problem import Bias, Goal, Norm, with_one
from compsparse.text import notebook_html

if TYPE_CHECKING:
    from compsparse.networks import MirrorNetwork


class MemoriseStatus(Enum):
    """How the search for the smallest network ended; the value is the sentence a user reads."""

    CONSTANT = "solved: a constant will do"
    GAP = "solved: the gap is below the tolerance"
    STALLED = "solved to the accuracy of the cone solver: no cell is left to add"
    TIME = "the time limit ended it: the best network so far, with its gap"
    ROUNDS = "the limit of rounds ended it: the best network so far, with its gap"
    UNMET = "not solved: no network that meets the labels was found in double precision"

    @property
    def is_cut_short(self) -> bool:
        """Whether a limit ended the search."""
        return self in (MemoriseStatus.TIME, MemoriseStatus.ROUNDS)

    @property
    def is_solved(self) -> bool:
        """Whether the labels are met and no limit ended the search."""
        return not self.is_cut_short and self is not MemoriseStatus.UNMET


@dataclass(frozen=True, eq=False)
class Memorised:
    """A shallow ReLU network x -> constant + sum_j z_j (theta_j . (x, 1))_+ that memorises data.

    Attributes:
        theta: (K, d+1) neurons (w, b), each of cost one: norm(w, b) = 1, norm(w) = 1 if the bias is free.
        z: (K,) their coefficients, so that ``value`` is the sum of their sizes.
        certificate: of the least cost: no network that memorises the data costs less than its lower bound, and some
            network costs no more than its upper bound. Both are checked after the fact from the data alone, with
            rounding errors bounded; it is rigorous if every neuron was accounted for and heuristic if not.
        residual: largest abs(f(x_i) - y_i), or for margins the largest shortfall; no less than the exact one.
        status: how the search ended.
        n_cells: how many cells there are, None if they were not counted.
    """

    theta: np.ndarray
    z: np.ndarray
    constant: float
    certificate: Certificate
    residual: float
    status: MemoriseStatus
    method: str
    norm: Norm
    bias: Bias
    goal: Goal
    n_cells: int | None
    rounds: int
    seconds: float
    multipliers: np.ndarray
    balance: np.ndarray

    def __repr__(self) -> str:
        sure = f"gap {self.gap:.1g} ({self.certificate.rigour.value}), residual {self.residual:.1g}"
        return f"Memorised({self.n_neurons} neurons, cost {self.value:.4g}, {sure}; {self.status.value})"

    def _repr_html_(self) -> str:
        return notebook_html(self, "memorised_html")

    @property
    def value(self) -> float:
        """Cost of the network; with weight decay half the least sum of its squared weights."""
        return self.certificate.value

    @property
    def gap(self) -> float:
        """How much of its cost the network might save at most, its residual mended: (upper - lower bound) / upper.

        NaN where nothing is known: the bounds cross, or the labels are not met at any known cost.
        """
        return self.certificate.relative_gap

    @property
    def n_neurons(self) -> int:
        """How many neurons the network has."""
        return len(self.z)

    def predict(self, X: object) -> np.ndarray:
        """The network at the rows of X."""
        table = check_numbers("X", X, finite=False)
        if table.ndim != 2 or table.shape[1] != self.theta.shape[1] - 1:
            raise DataError(f"expected an array of shape (batch, {self.theta.shape[1] - 1}), got {table.shape}")
        return np.asarray(np.maximum(with_one(table) @ self.theta.T, 0.0) @ self.z + self.constant)

    def weights(self) -> tuple[np.ndarray, np.ndarray]:
        """(K, d+1) inner and (K,) outer weights, scaled so that the penalty of the norm is least."""
        inner = np.sqrt(np.abs(self.z) * self.balance)
        outer = np.divide(self.z, inner, out=np.zeros_like(self.z), where=inner > 0)
        return inner[:, None] * self.theta, outer

    def to_torch(self) -> MirrorNetwork:
        """The network as a dense torch module in double precision."""
        import torch

        from compsparse.networks import dense

        inner, outer = self.weights()
        net = dense(self.theta.shape[1] - 1, max(1, self.n_neurons), 1, activation="relu", dtype=torch.float64)
        parameters = dict(net.named_parameters())
        hidden, top = (parameters[f"blocks.0.weights.{i}"] for i in (0, 1))
        shift, constant = (parameters[f"blocks.0.biases.{i}"] for i in (0, 1))
        with torch.no_grad():
            for parameter in parameters.values():
                parameter.zero_()
            constant.fill_(self.constant)
            if self.n_neurons:
                hidden.view(-1, inner.shape[1] - 1).copy_(torch.as_tensor(inner[:, :-1]))
                shift.view(-1).copy_(torch.as_tensor(inner[:, -1]))
                top.view(-1).copy_(torch.as_tensor(outer))
        return net

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON values, with the digest of network and certificate together."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        plain = {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in values.items()}
        return sealed({**plain, "certificate": self.certificate.to_dict(), "status": self.status.name.lower()})

    def to_json(self) -> str:
        """The record as a text."""
        return json.dumps(self.to_dict())

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Memorised:
        """Reads what :meth:`to_dict` wrote; the certificate is that of this network, so one that was changed is not."""
        data = check_seal(data, "the record of a memorised network", "memorise the data again")
        try:
            arrays = {k: np.array(data[k], dtype=np.float64) for k in ("z", "multipliers", "balance")}
            arrays["theta"] = np.array(data["theta"], dtype=np.float64).reshape(len(data["z"]), -1)
            certificate = Certificate.from_dict(data["certificate"])
            status = MemoriseStatus[data["status"].upper()]
            record = cls(**{**data, **arrays, "certificate": certificate, "status": status})
        except KeyError as error:
            what = f"{error.args[0]} is missing or unknown"
            raise DataError(f"the record of a memorised network is damaged or incomplete: {what}") from None
        except (AttributeError, IndexError, TypeError, ValueError, OverflowError):
            raise DataError("the record of a memorised network is damaged or incomplete") from None
        record._check()
        return record

    def _check(self) -> None:
        """A record from a file may say anything."""
        shapes_fit = self.theta.ndim == 2 and self.theta.shape[1] >= 2 and self.z.shape == (len(self.theta),)
        shapes_fit &= self.balance.shape == self.z.shape and self.multipliers.ndim == 1
        numbers = [self.constant, self.residual, self.seconds]
        are_numbers = all(isinstance(v, numbers_module.Real) and not isinstance(v, bool) for v in numbers)
        arrays = (self.theta, self.z, self.balance, self.multipliers)
        if (
            not shapes_fit
            or not are_numbers
            or not all(np.isfinite(a).all() for a in (*arrays, np.array(numbers, float)))
        ):
            raise DataError("the record of a memorised network is damaged: its weights are no finite numbers that fit")
        for name, known in (("norm", Norm), ("bias", Bias), ("goal", Goal)):
            if not isinstance(getattr(self, name), str) or getattr(self, name) not in get_args(known):
                raise DataError(f"the record of a memorised network is damaged: it has no known {name}")
