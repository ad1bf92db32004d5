"""The same code on a GPU: agreement with the CPU, and the speed of a training step with many replicas."""

from __future__ import annotations

import torch
from _report import finish, median_seconds, print_table

from compsparse.graph import balanced_tree, random_dag
from compsparse.networks import mirror, select
from compsparse.networks.symbols import (
    CommonCNN,
    FullyConnectedNetwork,
    HierarchicalCNN,
    HierarchicalLCN,
    TransformerNetwork,
)
from compsparse.tasks import SparseRandomHierarchy, sincos_tree
from compsparse.training import (
    CrossEntropy,
    FitConfig,
    TrainingConfig,
    TrainingData,
    fit_graph,
    train,
    training_data,
)


def agreement() -> float:
    """Largest difference in outputs and gradients between CPU and GPU, in double precision."""
    worst = 0.0
    for graph, share in ((balanced_tree(16), "none"), (random_dag(9, 20, 3, random_state=0), "level")):
        here = mirror(graph, channels=2, share=share, n_replicas=3, random_state=0, dtype=torch.float64)
        there = select(here, range(3)).to("cuda")
        x = torch.randn(3, 50, graph.n_inputs, dtype=torch.float64)
        a, b = here(x), there(x.to("cuda"))
        a.square().sum().backward()
        b.square().sum().backward()
        worst = max(worst, float((a - b.cpu()).abs().max().detach()))
        for p, q in zip(here.parameters(), there.parameters(), strict=True):
            worst = max(worst, float((p.grad - q.grad.cpu()).abs().max() / p.grad.abs().max()))
    return worst


def step_seconds(device: str, n_replicas: int) -> float:
    network = mirror(balanced_tree(8), width=24, n_replicas=n_replicas, device=device)
    x = torch.rand(2000, 8) * 2 - 1
    data = training_data(x, torch.sin(x.sum(1)), device=device)
    config = TrainingConfig(n_steps=50, batch_size=256)
    return median_seconds(lambda: train(network, data, config, random_state=0), repeats=3, warm_up=1) / 50


def same_training() -> float:
    """Largest relative difference between weights trained on CPU and GPU, with replicas dropping out."""
    rows = torch.rand(400, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64) * 2 - 1
    target = torch.tanh(rows[:, 0] * rows[:, 1] + rows[:, 4])
    ends = []
    for device in ("cpu", "cuda"):
        network = mirror(balanced_tree(8), width=8, n_replicas=6, random_state=0, dtype=torch.float64, device=device)
        data = training_data(
            rows,
            target,
            train=[range(250 + 5 * r) for r in range(6)],
            validation=[range(300, 400)] * 6,
            dtype=torch.float64,
            device=device,
        )
        train(network, data, TrainingConfig(n_steps=200, batch_size=64, rungs=((0.5, 0.5),)), random_state=0)
        ends.append(torch.cat([p.detach().flatten(1).cpu() for p in network.parameters()], dim=1))
    return float((ends[0] - ends[1]).norm() / ends[0].norm())


def same_symbol_training() -> float:
    """The same for networks over symbols, by SGD, epochs and stopping of each replica's own."""
    model = SparseRandomHierarchy(n_features=4, n_levels=2, n_empty=1)
    sample = model.sample(600, random_state=0)
    worst = 0.0
    for family, shape in (
        (HierarchicalCNN, (model.patch,)),
        (HierarchicalLCN, (model.patch,)),
        (FullyConnectedNetwork, ()),
        (CommonCNN, ()),
        (TransformerNetwork, ()),
    ):
        ends = []
        for device in ("cpu", "cuda"):
            network = family(model.n_inputs, 4, 4, *shape, width=16, n_replicas=3, random_state=0).double().to(device)
            X, y = (torch.as_tensor(a, device=device) for a in (sample.X, sample.y.astype("int64")))
            data = TrainingData(X, y, train=tuple(torch.arange(n) for n in (150, 300, 600)))
            rate = 0.05 * 16 if family in (HierarchicalCNN, HierarchicalLCN, FullyConnectedNetwork) else 0.01
            config = TrainingConfig(
                optimizer="sgd", n_epochs=8, batch_size=32, learning_rate=rate, weight_decay=0, schedule="cosine"
            )
            train(network, data, config, loss=CrossEntropy(), random_state=0)
            ends.append(torch.cat([p.detach().flatten(1).cpu() for p in network.parameters()], dim=1))
        worst = max(worst, float((ends[0] - ends[1]).norm() / ends[0].norm()))
    return worst


def main() -> None:
    if not torch.cuda.is_available():
        raise SystemExit("this benchmark needs a GPU")
    replicas = 512
    cpu, gpu = step_seconds("cpu", replicas), step_seconds("cuda", replicas)
    print_table(["training step, 512 replicas", "milliseconds"], [["CPU", cpu * 1e3], ["GPU", gpu * 1e3]])
    task = sincos_tree()
    sample = task.sample(1000, random_state=0)
    test = task.sample(10_000, random_state=10**6)
    scale = float(sample.y.std())
    X = torch.tensor(sample.X, dtype=torch.float32, device="cuda")
    y = torch.tensor(sample.y / scale, dtype=torch.float32, device="cuda").unsqueeze(1)
    config = FitConfig(n_restarts=512, n_keep=8)
    fit = fit_graph(task.graph.structure(), X, y, config, validation=range(800, 1000), random_state=0)
    with torch.no_grad():
        out = fit.network(torch.tensor(test.X, dtype=torch.float32, device="cuda")).mean(0).squeeze(-1).cpu().numpy()
    r2 = 1 - ((out * scale - test.clean) ** 2).mean() / test.clean.var()
    finish(
        {
            "largest_difference": agreement(),
            "training_difference": same_training(),
            "symbol_training_difference": same_symbol_training(),
            "cpu_over_gpu_step_512_replicas": cpu / gpu,
            "sincos_1000_r2_512_restarts": float(r2),
            "sincos_1000_fit_seconds": fit.seconds,
        },
        {
            "largest_difference": ("<=", 1e-10),
            "training_difference": ("<=", 1e-6),
            "symbol_training_difference": ("<=", 1e-6),
            "cpu_over_gpu_step_512_replicas": (">=", 10),
        },
    )


if __name__ == "__main__":
    main()
