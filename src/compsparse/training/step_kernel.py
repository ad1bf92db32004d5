"""One replica's steps of AdamW on the mean square, compiled: forwards, backwards and the update in one pass.

A batch is taken in tiles whose rows of numbers stay in the nearest cache. Values, slopes of the activations and
gradients of a program's rows lie one row after the other, so that every inner loop runs along memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from compsparse.compilation import compiled
from compsparse.networks.programs import LAYER

TILE = 128
"""Samples that run together."""
_MAY = {"reassoc", "contract", "nsz", "arcp"}
_ZERO, _ONE, _HALF = np.float32(0), np.float32(1), np.float32(0.5)
# tanh(t) = t P(t²)/Q(t²) up to 1.1e-7 where |t| <= 7.5, beyond which it is 1 up to 6e-7: least squares with weights
# raised where the error was largest, until it was the same at nine places
_FAR = np.float32(7.5)
_P0, _P1, _P2 = np.float32(0.9999994569242393), np.float32(0.127437497057215), np.float32(0.002729274077170691)
_P3, _P4 = np.float32(7.422890152590747e-06), np.float32(-6.643184405906477e-09)
_Q1, _Q2, _Q3 = np.float32(0.460768770475946), np.float32(0.022987821950537855), np.float32(0.00020107007158113517)


def step_kernel(function: Any) -> Any:
    """Compiled; sums may be reordered, and NaN stays NaN."""
    return compiled(function, _MAY)


@step_kernel
def take_steps(
    first: int,
    last: int,
    losses: np.ndarray,
    weights: np.ndarray,
    learns: np.ndarray,
    momentum: np.ndarray,
    square: np.ndarray,
    X: np.ndarray,
    y: np.ndarray,
    row_weight: np.ndarray,
    batches: np.ndarray,
    counts: np.ndarray,
    rates: np.ndarray,
    done: int,
    decay: float,
    betas: tuple[float, float],
    epsilon: float,
    most_norm: float,
    operations: np.ndarray,
    reads: np.ndarray,
    outputs: np.ndarray,
    n_rows: int,
) -> None:
    """Steps of some replicas on batches of row numbers; changes weights and moments, and adds up the losses.

    Args:
        first, last: replicas from the first to before the last.
        weights: (R, n) all that learns, then constants.
        learns: (R, n) 1 for what learns and is not masked.
        row_weight: of each row of the table; empty for ones.
        batches: (R, steps, batch), of which the first ``counts`` are rows and the others padding.
        done: steps before these.
        most_norm: of the gradient; infinite to leave it as it is.
    """
    n_learned, n_inputs = learns.shape[1], X.shape[1]
    value = np.empty((n_rows, TILE), np.float32)
    slope = np.empty((n_rows, TILE), np.float32)
    back = np.empty((n_rows, TILE), np.float32)
    gradient = np.empty(weights.shape[1], np.float32)
    for r in range(first, last):
        own, count = weights[r], counts[r]
        losses[r] = 0.0
        for step in range(batches.shape[1]):
            gradient[:] = _ZERO
            loss = 0.0
            for start in range(0, count, TILE):
                batch = batches[r, step, start : min(start + TILE, count)]
                n = len(batch)
                for i in range(n_inputs):
                    row = value[i]
                    for b in range(n):
                        row[b] = X[batch[b], i]
                _forwards(value, slope, n, own, operations, reads)
                back[:] = _ZERO
                loss += _compare(value, back, y, row_weight, batch, outputs, count)
                _backwards(value, slope, back, n, own, gradient, operations, reads, n_inputs)
            losses[r] += loss / (count * len(outputs))
            if most_norm < np.inf:
                _clip(gradient[:n_learned], learns[r], most_norm)
            t = done + step + 1
            rate = rates[step]
            size = np.float32(rate / (1 - betas[0] ** t))
            root = np.float32(1 / np.sqrt(1 - betas[1] ** t))
            _update(
                own[:n_learned],
                gradient[:n_learned],
                learns[r],
                momentum[r],
                square[r],
                np.float32(1 - rate * decay),
                np.float32(betas[0]),
                np.float32(betas[1]),
                size,
                root,
                np.float32(epsilon),
            )


@step_kernel
def _forwards(
    value: np.ndarray, slope: np.ndarray, n: int, weights: np.ndarray, operations: np.ndarray, reads: np.ndarray
) -> None:
    """Fills in the rows that operations write, and the slopes of their activations."""
    rows = np.arange(len(value))
    for k in range(len(operations)):
        kind, first, n_in, out, n_out, at, bias, code = operations[k]
        read = reads[first : first + n_in]
        if kind != LAYER:
            row = value[out][:n]
            row[:] = _ONE
            for i in range(n_in):
                w, x = weights[at + i], value[read[i]]
                for b in range(n):
                    row[b] *= _ONE + w * x[b]
            continue
        for o in range(n_out):
            value[out + o][:n] = weights[bias + o] if bias >= 0 else _ZERO
        _add_multiples(value, n, rows[out : out + n_out], read, weights[at : at + n_in * n_out], n_in, 1)
        for o in range(n_out):
            _activate(value[out + o][:n], slope[out + o], code)


@step_kernel
def _backwards(
    value: np.ndarray,
    slope: np.ndarray,
    back: np.ndarray,
    n: int,
    weights: np.ndarray,
    gradient: np.ndarray,
    operations: np.ndarray,
    reads: np.ndarray,
    n_inputs: int,
) -> None:
    """Adds the gradient by the weights, from that by the outputs in ``back``."""
    rows = np.arange(len(value))
    for k in range(len(operations) - 1, -1, -1):
        kind, first, n_in, out, n_out, at, bias, _ = operations[k]
        read = reads[first : first + n_in]
        if kind != LAYER:
            _back_through_product(value, back, weights[at : at + n_in], read, back[out][:n], n_inputs)
            continue
        for o in range(n_out):
            row, own, total = back[out + o], slope[out + o], _ZERO
            for b in range(n):
                row[b] *= own[b]
                total += row[b]
            if bias >= 0:
                gradient[bias + o] += total
        _add_products(gradient[at:], back, out, n_out, value, read, n)
        if read.max() >= n_inputs:
            _add_multiples(back, n, read, rows[out : out + n_out], weights[at : at + n_in * n_out], 1, n_in)


@step_kernel
def _add_multiples(
    table: np.ndarray, n: int, into: np.ndarray, read: np.ndarray, weights: np.ndarray, per_into: int, per_read: int
) -> None:
    """Adds multiples of the rows read to the rows of ``into``, eight at a time, so that a sum is stored once for eight.

    Args:
        per_into, per_read: how far apart the weights of neighbours lie.
    """
    n_read = len(read)
    together = n_read - n_read % 8
    for k in range(len(into)):
        row, own = table[into[k]], weights[k * per_into :]
        for i in range(0, together, 8):
            x0, x1, x2, x3 = table[read[i]], table[read[i + 1]], table[read[i + 2]], table[read[i + 3]]
            x4, x5, x6, x7 = table[read[i + 4]], table[read[i + 5]], table[read[i + 6]], table[read[i + 7]]
            at = i * per_read
            w0, w1, w2, w3 = own[at], own[at + per_read], own[at + 2 * per_read], own[at + 3 * per_read]
            at += 4 * per_read
            w4, w5, w6, w7 = own[at], own[at + per_read], own[at + 2 * per_read], own[at + 3 * per_read]
            for b in range(n):
                row[b] += (w0 * x0[b] + w1 * x1[b] + w2 * x2[b] + w3 * x3[b]) + (
                    w4 * x4[b] + w5 * x5[b] + w6 * x6[b] + w7 * x7[b]
                )
        for i in range(together, n_read):
            w, x = own[i * per_read], table[read[i]]
            for b in range(n):
                row[b] += w * x[b]


@step_kernel
def _add_products(
    sums: np.ndarray, back: np.ndarray, out: int, n_out: int, value: np.ndarray, read: np.ndarray, n: int
) -> None:
    """Adds the inner products of rows of gradients with the rows read, two by four at a time."""
    n_in = len(read)
    for o in range(0, n_out - 1, 2):
        g, h = back[out + o], back[out + o + 1]
        for i in range(0, n_in - 3, 4):
            x0, x1, x2, x3 = value[read[i]], value[read[i + 1]], value[read[i + 2]], value[read[i + 3]]
            g0 = g1 = g2 = g3 = h0 = h1 = h2 = h3 = _ZERO
            for b in range(n):
                g0 += g[b] * x0[b]
                g1 += g[b] * x1[b]
                g2 += g[b] * x2[b]
                g3 += g[b] * x3[b]
                h0 += h[b] * x0[b]
                h1 += h[b] * x1[b]
                h2 += h[b] * x2[b]
                h3 += h[b] * x3[b]
            at = o * n_in + i
            sums[at] += g0
            sums[at + 1] += g1
            sums[at + 2] += g2
            sums[at + 3] += g3
            at += n_in
            sums[at] += h0
            sums[at + 1] += h1
            sums[at + 2] += h2
            sums[at + 3] += h3
    for o in range(n_out):
        is_paired = o < n_out - n_out % 2
        g = back[out + o]
        for i in range(n_in - n_in % 4 if is_paired else 0, n_in):
            x, total = value[read[i]], _ZERO
            for b in range(n):
                total += g[b] * x[b]
            sums[o * n_in + i] += total


@step_kernel
def _back_through_product(
    value: np.ndarray, back: np.ndarray, weights: np.ndarray, read: np.ndarray, row: np.ndarray, n_inputs: int
) -> None:
    """Each factor's gradient is the product of the others, which may hold zeros: no division."""
    others = np.empty(len(row), np.float32)
    for i in range(len(read)):
        if read[i] < n_inputs:
            continue
        others[:] = row * weights[i]
        for j in range(len(read)):
            if j != i:
                w, x = weights[j], value[read[j]]
                for b in range(len(row)):
                    others[b] *= _ONE + w * x[b]
        into = back[read[i]]
        for b in range(len(row)):
            into[b] += others[b]


@step_kernel
def _activate(row: np.ndarray, slope: np.ndarray, code: int) -> None:
    """Puts the activation in the place of its argument, and its slope beside it."""
    if code == 1:
        for b in range(len(row)):
            x = row[b]
            s = _HALF + _HALF * _tanh(_HALF * x)
            row[b] = x * s
            slope[b] = s + x * s * (_ONE - s)
    elif code == 2:
        for b in range(len(row)):
            t = _tanh(row[b])
            row[b] = t if row[b] == row[b] else row[b]
            slope[b] = _ONE - t * t
    elif code == 3:
        for b in range(len(row)):
            x = row[b]
            row[b] = _ZERO if x < _ZERO else x
            slope[b] = _ONE if x > _ZERO else _ZERO
    else:
        slope[: len(row)] = _ONE


@step_kernel
def _tanh(x: Any) -> Any:
    near = x if x < _FAR else _FAR
    near = near if near > -_FAR else -_FAR
    u = near * near
    over = near * (_P0 + u * (_P1 + u * (_P2 + u * (_P3 + u * _P4))))
    return over / (_ONE + u * (_Q1 + u * (_Q2 + u * _Q3)))


@step_kernel
def _compare(
    value: np.ndarray,
    back: np.ndarray,
    y: np.ndarray,
    row_weight: np.ndarray,
    batch: np.ndarray,
    outputs: np.ndarray,
    count: int,
) -> float:
    """The sum of squared errors of a tile, weighted; their gradient goes into ``back``."""
    total = 0.0
    for k in range(len(outputs)):
        predicted, row = value[outputs[k]], back[outputs[k]]
        scale = np.float32(2.0 / (count * len(outputs)))
        for b in range(len(batch)):
            w = row_weight[batch[b]] if len(row_weight) else _ONE
            error = predicted[b] - y[batch[b], k]
            row[b] += scale * w * error
            total += w * error * error
    return total


@step_kernel
def _clip(gradient: np.ndarray, learns: np.ndarray, most: float) -> None:
    total = 0.0
    for i in range(len(gradient)):
        total += learns[i] * gradient[i] * gradient[i]
    norm = np.sqrt(total)
    if norm > most:
        gradient *= np.float32(most / norm)


@step_kernel
def _update(
    weights: np.ndarray,
    gradient: np.ndarray,
    learns: np.ndarray,
    momentum: np.ndarray,
    square: np.ndarray,
    kept: float,
    beta: float,
    beta_square: float,
    size: float,
    root: float,
    epsilon: float,
) -> None:
    """AdamW as torch has it."""
    for i in range(len(weights)):
        g = gradient[i] * learns[i]
        momentum[i] = beta * momentum[i] + (_ONE - beta) * g
        square[i] = beta_square * square[i] + (_ONE - beta_square) * g * g
        weights[i] = kept * weights[i] - size * momentum[i] / (np.sqrt(square[i]) * root + epsilon)
