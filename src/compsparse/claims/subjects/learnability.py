"""Samples that networks need to learn a chain of products of signs, by its length and by what they are told of it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from compsparse.claims.claim import Profile
from compsparse.claims.declared import Measured
from compsparse.claims.seeds import FIRST_SEED
from compsparse.claims.shapes import each, figure_of, seen
from compsparse.claims.trials import placed
from compsparse.networks import dense
from compsparse.networks.mirroring import MirrorNetwork
from compsparse.progress import Progress

_LEARNED = 0.1
"""Unexplained variance of the whole chain's product, or of the sum of products, at which it counts as learned."""
_WIDTH, _BATCH, _RATE, _LOOK = 128, 128, 2e-3, 50
_FIRST = FIRST_SEED + 200
"""Seeds before were looked at when the bars were settled."""


@dataclass(frozen=True)
class _Setting:
    """Signs, seeds, and the most steps of Adam; every step has fresh data."""

    n_signs: int
    n_seeds: int
    most_steps: int

    def signs(self, stream: torch.Generator, *shape: int) -> Tensor:
        drawn = torch.randint(2, (*shape, self.n_signs), generator=stream)
        return (2.0 * drawn - 1).to("cuda" if torch.cuda.is_available() else "cpu")

    def network(self, n_inputs: int, n_replicas: int) -> MirrorNetwork:
        net = dense(n_inputs, _WIDTH, 2, activation="relu", n_replicas=n_replicas, random_state=_FIRST)
        return placed(net)


def products_are_learnable(profile: Profile, progress: Progress) -> Measured:
    """Samples to learn a chain at once and from its products; in full also in a staircase and by a curriculum."""
    ways: dict[str, tuple[Callable[[_Setting, int], np.ndarray], tuple[int, ...]]]
    if profile == "quick":
        setting = _Setting(30, 5, 2500)
        ways = {"at once": (_at_once, (2, 3, 4, 5)), "intermediate products": (_in_steps, (2, 4, 6))}
    else:
        setting, lengths = _Setting(40, 8, 40_000), (2, 3, 4, 6, 8, 10, 12)
        ways = {
            "at once": (_at_once, (2, 3, 4, 5, 6)), "staircase": (_staircase, lengths),
            "curriculum": (_curriculum, lengths), "intermediate products": (_in_steps, lengths),
        }  # fmt: skip
    samples: dict[str, list[np.ndarray]] = {name: [] for name in ways}
    for name, k in each([(n, k) for n, (_, ks) in ways.items() for k in ks], progress, "{}, length {}"):
        samples[name].append(ways[name][0](setting, k))
    values: dict[str, np.ndarray] = {}
    points = []
    for name, (_, ks) in ways.items():
        found = np.array(samples[name])
        values[f"growth a unit of length, {name}"] = _growth(ks, found)
        points += [(k, s[np.isfinite(s)], name) for k, s in zip(ks, found, strict=True) if np.isfinite(s).any()]
    figure = figure_of("Samples to learn a chain of products", points, "length", "samples", "told", log_y=True,
                       y_title="samples (mean, range of seeds)")  # fmt: skip
    last = {f"samples at the greatest length, {name}": found[-1] for name, found in samples.items()}
    beside = ("growth a unit of length, staircase", "growth a unit of length, curriculum")
    return Measured(values, (figure,), seen(values | last, *beside, *last))


def _growth(lengths: tuple[int, ...], samples: np.ndarray) -> np.ndarray:
    """Per seed, the factor by which samples grow with every unit of length; NaN where a chain was not learned."""
    if not np.isfinite(samples).all():
        return np.full(samples.shape[1], math.nan)
    growth: np.ndarray = np.exp(np.polyfit(lengths, np.log(samples), 1)[0])
    return growth


# ---- what networks are told --------------------------------------------------------------------------


def _at_once(setting: _Setting, k: int) -> np.ndarray:
    return _whole(setting, [lambda products: products[..., k - 1 : k]])


def _staircase(setting: _Setting, k: int) -> np.ndarray:
    """The sum of all products, each a step above the last (Abbe et al. 2021)."""
    return _whole(setting, [lambda products: products[..., :k].sum(-1, keepdim=True) / math.sqrt(k)])


def _curriculum(setting: _Setting, k: int) -> np.ndarray:
    """The product of two signs, then of three, and so on: the next once the last is learned."""
    return _whole(setting, [lambda products, j=j: products[..., j - 1 : j] for j in range(2, k + 1)])  # type: ignore[misc]


def _whole(setting: _Setting, stages: list[Callable[[Tensor], Tensor]]) -> np.ndarray:
    """Samples until a dense network has learned the last of the stages, one number a seed; infinite if never."""
    stream = torch.Generator().manual_seed(_FIRST)
    network = setting.network(setting.n_signs, setting.n_seeds)
    optimiser = torch.optim.Adam(network.parameters(), lr=_RATE)
    test = setting.signs(stream, 2000)
    done, stage = np.full(setting.n_seeds, np.inf), 0
    for step in range(1, setting.most_steps + 1):
        x = setting.signs(stream, setting.n_seeds, _BATCH)
        _descend(optimiser, network(x), stages[stage](x.cumprod(-1)))
        if step % _LOOK == 0:
            errors = _errors(network(test), stages[stage](test.cumprod(-1)))
            if stage < len(stages) - 1:
                stage += int((errors <= _LEARNED).all())
            else:
                done = np.where(np.isinf(done) & (errors <= _LEARNED), step * _BATCH, done)
            if np.isfinite(done).all():
                break
    return done


def _in_steps(setting: _Setting, k: int) -> np.ndarray:
    """A network a product, which sees all signs and the true product before; judged by the chain of their answers."""
    stream, seeds = torch.Generator().manual_seed(_FIRST), setting.n_seeds
    network = setting.network(setting.n_signs + 1, seeds * k)
    optimiser = torch.optim.Adam(network.parameters(), lr=_RATE)
    test = setting.signs(stream, 2000)
    done = np.full(seeds, np.inf)
    for step in range(1, setting.most_steps + 1):
        x = setting.signs(stream, seeds, _BATCH)
        products = x.cumprod(-1)[..., :k].transpose(1, 2)
        before = torch.cat([torch.ones_like(products[:, :1]), products[:, :-1]], dim=1)
        rows = torch.cat([x[:, None].expand(-1, k, -1, -1), before[..., None]], dim=-1)
        _descend(optimiser, network(rows.flatten(0, 1)), products.flatten(0, 1)[..., None])
        if step % _LOOK == 0:
            errors = _errors(_chained(network, test, seeds, k)[..., None], test.cumprod(-1)[:, k - 1 : k])
            done = np.where(np.isinf(done) & (errors <= _LEARNED), step * _BATCH, done)
            if np.isfinite(done).all():
                break
    return done


@torch.no_grad()
def _chained(network: MirrorNetwork, test: Tensor, seeds: int, k: int) -> Tensor:
    """Every network reads the answer of the one before."""
    value = torch.ones(seeds, len(test), device=test.device)
    for j in range(k):
        rows = torch.cat([test.expand(seeds, -1, -1), value[..., None]], dim=-1)
        answers = network(rows.repeat_interleave(k, dim=0))
        value = answers.view(seeds, k, len(test))[:, j]
    return value


def _descend(optimiser: torch.optim.Optimizer, answers: Tensor, target: Tensor) -> None:
    optimiser.zero_grad()
    # a sum over replicas, so that each has a gradient of its own
    (torch.nn.functional.mse_loss(answers, target) * len(answers)).backward()  # type: ignore[no-untyped-call]
    optimiser.step()


@torch.no_grad()
def _errors(answers: Tensor, target: Tensor) -> np.ndarray:
    errors: np.ndarray = (answers - target).square().mean((-1, -2)).cpu().numpy()
    return errors
