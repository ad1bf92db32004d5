r"""Linear systems on the supports of many codes at once, and the Lasso's derivative through them.

On its support A with signs s a code of the Lasso is :math:`z_A = G_{AA}^{-1} (W_A^\top x - \lambda s)`, in the
scaling with 1/2, and the support does not change for small changes of x, W and lambda.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

_MOST = 2**27  # entries of the systems solved at once


def solve_on_support(G: Tensor, support: Tensor, rhs: Tensor) -> Tensor:
    """v with G_AA v_A = rhs_A and v = 0 elsewhere; support and rhs are (n, atoms).

    Systems that are singular, because atoms of a support depend on each other, are solved by least squares.
    """
    width = max(int(support.sum(1).max()), 1) if len(support) else 1
    rows = max(_MOST // width**2, 1)
    out = [_solve_some(G, support[i : i + rows], rhs[i : i + rows]) for i in range(0, len(support), rows)]
    return torch.cat(out) if out else torch.zeros_like(rhs)


def _solve_some(G: Tensor, support: Tensor, rhs: Tensor) -> Tensor:
    sizes = support.sum(1)
    width = max(int(sizes.max()), 1)
    # the atoms of each support first, in order; the rest of the row is filled by the identity
    index = torch.argsort((~support).to(torch.int8), dim=1, stable=True)[:, :width]
    inside = torch.arange(width, device=G.device) < sizes[:, None]
    system = G[index[:, :, None], index[:, None, :]] * (inside[:, :, None] & inside[:, None, :])
    system.diagonal(dim1=1, dim2=2).add_((~inside).to(G.dtype))
    right = rhs.gather(1, index) * inside
    factor, info = torch.linalg.cholesky_ex(system)
    values = torch.cholesky_solve(right[..., None], factor)[..., 0]
    diagonal = factor.diagonal(dim1=1, dim2=2)
    singular = (info > 0) | ~(diagonal.amin(1) > 1e-5 * diagonal.amax(1))
    if bool(singular.any()):
        inverse = torch.linalg.pinv(system[singular], hermitian=True, rtol=1e-10)
        values[singular] = (inverse @ right[singular][..., None])[..., 0]
    return torch.zeros_like(rhs).scatter_(1, index, values * inside)


class CodesOfLasso(torch.autograd.Function):
    """Codes that were found already, with the derivative of the minimiser in X, W and lam.

    With v = G_AA^-1 g on the support, the products with a gradient g of the codes are W v for x,
    -s.v for lam and r v' - (W v) z' for W, r = x - W z.
    """

    @staticmethod
    def forward(ctx: Any, X: Tensor, W: Tensor, lam: Tensor, codes: Tensor) -> Tensor:
        ctx.save_for_backward(X, W, codes)
        return codes.clone()

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        X, W, codes = ctx.saved_tensors
        double = W.double()
        v = solve_on_support(double.T @ double, codes != 0, g.double()).to(g.dtype)
        Wv = v @ W.T
        residual = X - codes @ W.T
        return Wv, residual.T @ v - Wv.T @ codes, -(codes.sign() * v).sum(1), None
