"""What bounds need to know of an activation function: how steep it is, and whether it scales with its input."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Response:
    """An activation function that is zero at zero.

    Attributes:
        lipschitz: the steepest slope, rounded up.
        homogeneous: whether it multiplies by every c > 0 that its input is multiplied by, as the ReLU does.
    """

    lipschitz: float
    homogeneous: bool


RESPONSES: dict[str, Response] = {
    "identity": Response(1.0, True),
    "relu": Response(1.0, True),
    "tanh": Response(1.0, False),
    "sin": Response(1.0, False),
    "silu": Response(1.09984, False),
    "gelu": Response(1.12891, False),
}
"""By name; that of the GELU is its slope at the square root of two."""
