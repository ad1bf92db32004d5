"""Attention as selection: the parity of 3 among 16 tokens, a case that fails, and a chain of thought that mends it."""

from __future__ import annotations

import numpy as np
import torch
from _report import finish, print_table

from compsparse.measures import ancestor_matrix, selection_measures
from compsparse.networks.attention import AttentionNetwork, think
from compsparse.tasks import TokenTask, token_chain, token_parity
from compsparse.training import TrainingConfig, train, training_data

SEEDS, TOKENS, ROWS = 5, 16, 40_000


def config(n_steps: int) -> TrainingConfig:
    return TrainingConfig(
        n_steps=n_steps, batch_size=256, learning_rate=1e-3, weight_decay=0.0, schedule="constant", evaluate_every=100
    )


def trained(task: TokenTask, n_steps: int, selection: str, random_state: int) -> tuple[AttentionNetwork, np.ndarray]:
    """One layer, four heads, width 64; five seeds as replicas, and their test errors."""
    network = AttentionNetwork(TOKENS, selection=selection, n_replicas=SEEDS, random_state=random_state)
    sample, test = task.sample(ROWS, random_state), task.sample(2000, random_state + 1)
    train(network, training_data(sample.X, sample.y), config(n_steps), random_state=random_state)
    with torch.no_grad():
        answers = network(torch.as_tensor(test.X, dtype=torch.float32)).numpy()[..., 0]
    return network, (np.sign(answers) != test.y).mean(1)


def in_steps(k: int, n_steps: int, random_state: int) -> np.ndarray:
    """Test errors of the same parity when partial products are answered, and read, one after the other."""
    task = token_chain(TOKENS, k, random_state=random_state)
    n_outputs = len(task.graph.outputs)
    network = AttentionNetwork(
        TOKENS + n_outputs - 1, n_outputs, n_thoughts=n_outputs - 1, n_replicas=SEEDS, random_state=random_state
    )
    sample, test = task.sample(ROWS // 2, random_state), task.sample(2000, random_state + 1)
    rows = np.concatenate([sample.X, sample.y[:, :-1]], axis=1)
    train(network, training_data(rows, sample.y), config(n_steps), random_state=random_state)
    answers = think(network, torch.as_tensor(test.X, dtype=torch.float32)).numpy()[..., -1]
    return (np.sign(answers) != test.y[:, -1]).mean(1)


def main() -> None:
    figures: dict[str, float] = {}
    rows = []
    easy, hard = (token_parity(TOKENS, k, random_state=3) for k in (3, 6))
    for selection in ("softmax", "sparsemax", "entmax15"):
        network, errors = trained(easy, 500, selection, random_state=1000)
        found = selection_measures(network, easy.sample(2000, 7).X, ancestor_matrix(easy.graph))
        rows.append(
            [f"parity of 3, {selection}", *(float(v.mean()) for v in (errors, found.precision, found.mass)),
             float(found.non_zeros.mean()), float(found.effective_tokens.mean())]
        )  # fmt: skip
        figures[f"precision_at_3_{selection}"] = float(found.precision.min())
        figures[f"mass_{selection}"] = float(found.mass.mean())
    network, errors = trained(hard, 1000, "softmax", random_state=1000)
    found = selection_measures(network, hard.sample(2000, 7).X, ancestor_matrix(hard.graph))
    rows.append(
        ["parity of 6 at once, softmax", *(float(v.mean()) for v in (errors, found.precision, found.mass)),
         float(found.non_zeros.mean()), float(found.effective_tokens.mean())]
    )  # fmt: skip
    figures["flat_parity_of_6_error"] = float(errors.min())
    figures["parity_of_6_in_steps_error"] = float(in_steps(6, 600, random_state=1000).max())
    print_table(["task", "error", "precision@k", "mass", "non-zeros", "exp(entropy)"], rows)
    finish(
        figures,
        {
            "precision_at_3_softmax": (">=", 1.0),
            "precision_at_3_entmax15": (">=", 1.0),
            "mass_entmax15": (">=", 0.8),
            "flat_parity_of_6_error": (">=", 0.4),
            "parity_of_6_in_steps_error": ("<=", 0.05),
        },
    )


if __name__ == "__main__":
    main()
