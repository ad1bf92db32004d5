"""One loop for everything that trains by gradients, and recipes built on it."""

from compsparse.training.config import TrainingConfig
from compsparse.training.data import TrainingData, training_data
from compsparse.training.last_layer import solve_last_layer
from compsparse.training.layerwise import copy_nodes, lower_part
from compsparse.training.levenberg_marquardt import Refinement, refine
from compsparse.training.loop import Callback, TrainingState, train
from compsparse.training.losses import CrossEntropy, ExponentialLoss, HuberLoss, Loss, SquaredLoss
from compsparse.training.memory import reused_allocations
from compsparse.training.named_penalties import PENALTIES, Penalties
from compsparse.training.penalties import (
    BetaLasso,
    GroupLasso,
    Penalty,
    ProximalL1,
    ProximalPenalty,
    SmoothPenalty,
    SquaredNorm,
    WeightDecay,
)
from compsparse.training.pruning import Pruning, PruningConfig, PruningRound, prune
from compsparse.training.recipes import FitConfig, GraphFit, fit_graph
from compsparse.training.record import ReplicaStatus, Training, TrainingStatus
from compsparse.training.regrowth import RegrowthConfig, regrow
from compsparse.training.schedules import SCHEDULES, Schedule
from compsparse.training.sparse_fitting import SparseFit, sparse_fit

__all__ = [
    "PENALTIES",
    "SCHEDULES",
    "BetaLasso",
    "Callback",
    "CrossEntropy",
    "ExponentialLoss",
    "FitConfig",
    "GraphFit",
    "GroupLasso",
    "HuberLoss",
    "Loss",
    "Penalties",
    "Penalty",
    "ProximalL1",
    "ProximalPenalty",
    "Pruning",
    "PruningConfig",
    "PruningRound",
    "Refinement",
    "RegrowthConfig",
    "ReplicaStatus",
    "Schedule",
    "SmoothPenalty",
    "SparseFit",
    "SquaredLoss",
    "SquaredNorm",
    "Training",
    "TrainingConfig",
    "TrainingData",
    "TrainingState",
    "TrainingStatus",
    "WeightDecay",
    "copy_nodes",
    "fit_graph",
    "lower_part",
    "prune",
    "refine",
    "regrow",
    "reused_allocations",
    "solve_last_layer",
    "sparse_fit",
    "train",
    "training_data",
]
