"""Find the function graph of a table, of a callable and of a truth table."""

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

import compsparse as cs
from compsparse.tasks import shared_dag, tanh_tree

# a table: four inputs, a little noise; small settings, to be quick
task = tanh_tree(4, noise=0.05)
train, test = task.sample(300, random_state=0), task.sample(5000, random_state=1)
model = cs.CompositionalRegressor(effort=0.3, n_restarts=4, n_steps=400, random_state=0)
model.fit(train.X, train.y)
print(model.discovery_)
print("the true graph:", cs.compare_graphs(model.graph_, task.graph).exact)
boosted = HistGradientBoostingRegressor(random_state=0).fit(train.X, train.y)
for name, fitted in (("discovered graph", model), ("gradient boosting", boosted)):
    print(f"{name:20s} unexplained {1 - fitted.score(test.X, test.clean):.1e}")

# a callable: a sub-expression that is used twice is one node
dag = shared_dag()
found = cs.discover(lambda X: dag.graph(np.asarray(X)), bounds=[(-1, 1)] * 8, random_state=0)
print(found.graph)
print(f"{found.cost.evaluations:,} rows asked; the true graph: {cs.compare_graphs(found.graph, dag.graph).exact}")


# a truth table: two outputs that share a gate
def alarm_and_light(X):
    gate = X[:, 0] & X[:, 1]
    return np.stack([gate ^ X[:, 2], gate | X[:, 3]], axis=1)


print(cs.discover(alarm_and_light, n_inputs=4, names=["a", "b", "c", "d"], outputs=["alarm", "light"]))
