"""Fit a known graph to few rows and see what the knowledge is worth."""

from compsparse import GraphRegressor
from compsparse.models.comparison import compare_models, dense_baselines
from compsparse.tasks import tanh_tree

task = tanh_tree()
train, test = task.sample(500, random_state=0), task.sample(5000, random_state=1)
models = {
    "mirrored network": GraphRegressor(task.graph, n_restarts=8, n_steps=800, random_state=0),
    **dense_baselines(random_state=0),
}
for score in compare_models(models, (train.X, train.y), (test.X, test.clean)):
    print(f"{score.model:35s} R2 {score.r2:.5f}  unexplained {score.unexplained:.1e}")
