"""Fit a known graph to few rows and see what the knowledge is worth."""

from sklearn.ensemble import HistGradientBoostingRegressor

import compsparse as cs
from compsparse.tasks import tanh_tree

task = tanh_tree()
train, test = task.sample(500, random_state=0), task.sample(5000, random_state=1)
models = {
    "mirrored network": cs.GraphRegressor(task.graph, n_restarts=8, n_steps=800, random_state=0),
    "gradient boosting": HistGradientBoostingRegressor(random_state=0),
}
for name, model in models.items():
    r2 = model.fit(train.X, train.y).score(test.X, test.clean)
    print(f"{name:20s} R2 {r2:.5f}  unexplained {1 - r2:.1e}")
