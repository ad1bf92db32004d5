r"""The Lasso for tensors, on any device: accelerated proximal gradient, finished by Newton steps on the support.

FISTA (Beck and Teboulle 2009) with the restart of O'Donoghue and Candes (2015), for a batch of signals; those
that are done leave it. Iterations run in the precision of the signals; gaps, and the systems on supports that
bring them down, are float64.

On its support A with signs s a code of the Lasso is :math:`z_A = G_{AA}^{-1} (W_A^\top x - \lambda s)`, in the
scaling with 1/2, and the support does not change for small changes of x, W and lambda; so codes have a derivative.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from compsparse.checks import check_numbers
from compsparse.clock import now
from compsparse.errors import DataError
from compsparse.sizes import check_size
from compsparse.sparse.screened import Found
from compsparse.sparse.signals import per_signal
from compsparse.sparse.solution import lasso_gap

_MOST_ITERATIONS = 20_000
_FIRST_CHECK, _CHECK_GROWTH = 24, 1.4
_NEWTON_STEPS = 4
_BATCH = {"cpu": 1024, "cuda": 16384}
_MOST = 2**27  # entries of the systems solved at once


class Proximal(NamedTuple):
    """Codes on the signals' device, in the scaling with 1/2; everything else as arrays of float64."""

    found: Found
    squares: np.ndarray
    lam: np.ndarray
    tol: np.ndarray


def solve_tensors(
    X: Any, W: Any, lam: Any, tol: Any, *, factor: float, positive: bool, start: Any, max_iter: int | None,
    deadline: float,
) -> Proximal:  # fmt: skip
    """Codes of tensors; ``factor`` is what lam is divided by to belong to the scaling with 1/2."""
    x, w = _check_tensors(X, W)
    n_numbers = 2.0 * w.shape[1] ** 2 + 4.0 * len(x) * w.shape[1]  # the Gram matrix, and what one batch of codes takes
    check_size(f"the codes of {len(x):,} signals over {w.shape[1]:,} atoms", n_numbers, "solve fewer at a time")
    penalty = lam if isinstance(lam, Tensor) else torch.as_tensor(per_signal("lam", lam, len(x)))
    values = per_signal("lam", penalty.detach().cpu().numpy(), len(x))
    tols = per_signal("tol", tol, len(x))
    penalty = penalty.to(x).expand(len(x)) / factor
    begin = _check_start(start, x, w)
    with torch.no_grad():
        batch = _Batch(x.detach(), w.detach(), penalty.detach(), torch.as_tensor(tols, device=x.device), positive)
        codes, iterations, left = batch.solve(begin, max_iter or _MOST_ITERATIONS, deadline)
        half = torch.as_tensor(values, device=x.device) / factor
        wide = x.detach().double()
        objective, gap = lasso_gap(wide, w.detach().double(), codes.double(), half, positive)
        squares = (wide * wide).sum(1)
    if torch.is_grad_enabled() and (x.requires_grad or w.requires_grad or penalty.requires_grad):
        differentiable: Callable[..., Tensor] = CodesOfLasso.apply
        codes = differentiable(x, w, penalty, codes)
    found = Found(codes, *(v.cpu().numpy() for v in (objective, gap, iterations, left)))
    return Proximal(found, squares.cpu().numpy(), values, tols)


class _Batch:
    """Signals with their penalties and tolerances; all solved against one dictionary."""

    def __init__(self, X: Tensor, W: Tensor, lam: Tensor, tol: Tensor, positive: bool):
        self.X, self.W, self.lam, self.tol, self.positive = X, W, lam[:, None], tol, positive
        self.wide = W.double()
        self.gram = self.wide.T @ self.wide
        outer = self.wide @ self.wide.T if W.shape[0] < W.shape[1] else self.gram
        self.lipschitz = float(torch.linalg.eigvalsh(outer)[-1]) * 1.0001
        self.squares = (X.double() ** 2).sum(1)

    def solve(self, start: Tensor | None, max_iter: int, deadline: float) -> tuple[Tensor, Tensor, Tensor]:
        """(codes, iterations, mask of signals that the deadline cut off)."""
        n, n_atoms = len(self.X), self.W.shape[1]
        codes = torch.zeros(n, n_atoms).to(self.X) if start is None else start.clone()
        iterations = torch.zeros(n, dtype=torch.int64, device=self.X.device)
        left = torch.zeros(n, dtype=torch.bool, device=self.X.device)
        size = _BATCH.get(self.X.device.type, 4096)
        for first in range(0, n, size):
            rows = torch.arange(first, min(first + size, n), device=self.X.device)
            self._descend(rows, codes, iterations, left, max_iter, deadline)
        return codes, iterations, left

    def _descend(
        self, rows: Tensor, codes: Tensor, iterations: Tensor, left: Tensor, max_iter: int, deadline: float
    ) -> None:
        """FISTA on some rows, in place; a row leaves once its gap is met."""
        X, lam, z = self.X[rows], self.lam[rows], codes[rows]
        y, t = z, torch.ones_like(lam)
        pattern, check, count = z.sign(), _FIRST_CHECK, 0
        while len(rows):
            if count >= min(check, max_iter):
                check = int(check * _CHECK_GROWTH) + 1
                signs = z.sign()
                settled = (signs == pattern).all(1)
                found, good = self._finish(rows, z, settled)
                codes[rows] = torch.where(good[:, None], found, z)
                iterations[rows] = count
                out_of_time = now() > deadline
                left[rows] = ~good if out_of_time else False
                if count >= max_iter or out_of_time:
                    return
                keep = ~good
                rows, X, lam, z, y, t, pattern = (v[keep] for v in (rows, X, lam, z, y, t, signs))
                continue
            new = self._shrink(y - ((y @ self.W.T - X) @ self.W) / self.lipschitz, lam / self.lipschitz)
            move = new - z
            # momentum that points uphill starts again
            t = torch.where(((y - new) * move).sum(1, keepdim=True) > 0, torch.ones_like(t), t)
            ahead = (1 + torch.sqrt(1 + 4 * t * t)) / 2
            y = new + ((t - 1) / ahead) * move
            z, t = new, ahead
            count += 1

    def _shrink(self, value: Tensor, threshold: Tensor) -> Tensor:
        return (value - threshold).clamp(min=0) if self.positive else value - value.clamp(-threshold, threshold)

    def _finish(self, rows: Tensor, z: Tensor, settled: Tensor) -> tuple[Tensor, Tensor]:
        """Codes as they are or after Newton steps, whichever is better, and whether their gap is met."""
        X, lam, tol = self.X[rows].double(), self.lam[rows].double(), self.tol[rows]
        best, squares = z.double(), self.squares[rows]
        _, gap = lasso_gap(X, self.wide, best, lam[:, 0], self.positive)
        near = (gap <= 1e-3 * squares) | settled
        few = (z != 0).sum(1) <= self.W.shape[0]
        todo = torch.nonzero(near & few)[:, 0]
        if len(todo):
            improved, lower = self._newton(X[todo], lam[todo], best[todo])
            better = lower < gap[todo]
            best[todo[better]], gap[todo[better]] = improved[better], lower[better]
        rounded = best.to(z.dtype)
        if z.dtype != torch.float64:
            _, gap = lasso_gap(X, self.wide, rounded.double(), lam[:, 0], self.positive)
        return rounded, gap <= tol * squares / 2

    def _newton(self, X: Tensor, lam: Tensor, z: Tensor) -> tuple[Tensor, Tensor]:
        """Solves on the support, drops atoms whose sign turned, adds those beyond lam; the best code and gap met."""
        b, signs = X @ self.wide, z.sign()
        best, least = z, torch.full_like(lam[:, 0], np.inf)
        for _ in range(_NEWTON_STEPS):
            solved = solve_on_support(self.gram, signs != 0, b - lam * signs)
            kept = torch.where(solved * signs > 0, solved, torch.zeros_like(solved))
            _, gap = lasso_gap(X, self.wide, kept, lam[:, 0], self.positive)
            better = gap < least
            best, least = torch.where(better[:, None], kept, best), torch.where(better, gap, least)
            correlation = b - kept @ self.gram
            beyond = correlation > lam if self.positive else correlation.abs() > lam * (1 + 1e-12)
            entering = beyond & (signs == 0)
            signs = torch.where(entering, correlation.sign(), kept.sign())
            crowded = (signs != 0).sum(1) > self.W.shape[0]
            signs = torch.where(crowded[:, None], best.sign(), signs)
        return best, least


def _check_tensors(X: Any, W: Any) -> tuple[Tensor, Tensor]:
    x = X if isinstance(X, Tensor) else torch.as_tensor(check_numbers("X", X, finite=False))
    w = W if isinstance(W, Tensor) else torch.as_tensor(check_numbers("W", W, finite=False))
    if not x.is_floating_point() or x.dtype not in (torch.float32, torch.float64):
        raise DataError(f"signals must be float32 or float64 tensors, got {x.dtype}")
    if isinstance(X, Tensor) and isinstance(W, Tensor) and (x.device != w.device or x.dtype != w.dtype):
        raise DataError(f"X ({x.dtype}, {x.device}) and W ({w.dtype}, {w.device}) must share dtype and device")
    w = w.to(x)
    if x.ndim != 2 or w.ndim != 2 or x.shape[1] != w.shape[0]:
        raise DataError(f"signals of shape {tuple(x.shape)} do not fit a dictionary of shape {tuple(w.shape)}")
    if not bool(torch.isfinite(x).all()) or not bool(torch.isfinite(w).all()):
        raise DataError("X or W holds NaN or infinite values")
    empty = torch.nonzero(~w.detach().any(0))[:, 0]
    if len(empty):
        raise DataError(f"column {int(empty[0])} of the dictionary is zero: no code can use it; leave it out")
    return x, w


def _check_start(start: Any, X: Tensor, W: Tensor) -> Tensor | None:
    if start is None:
        return None
    codes = start if isinstance(start, Tensor) else torch.as_tensor(check_numbers("start", start))
    codes = codes.detach().to(X)
    if codes.shape != (len(X), W.shape[1]):
        raise DataError(f"start must have shape {(len(X), W.shape[1])}, got {tuple(codes.shape)}")
    return codes


# ---- systems on supports -----------------------------------------------------------------


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
        """The codes as they are."""
        ctx.save_for_backward(X, W, codes)
        return codes.clone()

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        """Gradients in X, W and lam."""
        X, W, codes = ctx.saved_tensors
        double = W.double()
        v = solve_on_support(double.T @ double, codes != 0, g.double()).to(g.dtype)
        Wv = v @ W.T
        residual = X - codes @ W.T
        return Wv, residual.T @ v - Wv.T @ codes, -(codes.sign() * v).sum(1), None
