"""One loop for everything that trains by gradients, and recipes built on it."""

from compsparse.training.data import TrainingData, training_data
from compsparse.training.last_layer import solve_last_layer
from compsparse.training.layerwise import copy_nodes, lower_part
from compsparse.training.levenberg_marquardt import Refinement, refine
from compsparse.training.loop import Callback, TrainingConfig, TrainingState, train
from compsparse.training.losses import CrossEntropy, HuberLoss, Loss, SquaredLoss
from compsparse.training.memory import reused_allocations
from compsparse.training.penalties import Penalty, ProximalL1, ProximalPenalty, SmoothPenalty, SquaredNorm
from compsparse.training.recipes import FitConfig, GraphFit, fit_graph
from compsparse.training.record import ReplicaStatus, Training, TrainingStatus
from compsparse.training.schedules import SCHEDULES, Schedule

__all__ = [
    "SCHEDULES",
    "Callback",
    "CrossEntropy",
    "FitConfig",
    "GraphFit",
    "HuberLoss",
    "Loss",
    "Penalty",
    "ProximalL1",
    "ProximalPenalty",
    "Refinement",
    "ReplicaStatus",
    "Schedule",
    "SmoothPenalty",
    "SquaredLoss",
    "SquaredNorm",
    "Training",
    "TrainingConfig",
    "TrainingData",
    "TrainingState",
    "TrainingStatus",
    "copy_nodes",
    "fit_graph",
    "lower_part",
    "refine",
    "reused_allocations",
    "solve_last_layer",
    "train",
    "training_data",
]
