"""Function graphs in five minutes: ways in, questions, ways out."""

import numpy as np

import compsparse as cs
from compsparse.graph import to_expression, to_mermaid

# ways in
graph = cs.FunctionGraph.from_expression("sin(2*a*b + c) * exp(-(d - e)**2)")
traced = cs.trace(lambda a, b, c, d, e: np.sin(2 * a * b + c) * np.exp(-((d - e) ** 2)), fuse=True)
X = np.random.default_rng(0).uniform(-1, 1, (1000, 5))
assert np.allclose(graph(X), traced(X))

# questions
print(graph)
print("modules:", sorted("".join(sorted(m)) for m in graph.modules))
print("same structure as the traced one:", cs.compare_graphs(traced, graph).exact)
for n in (4, 8, 16):
    count = cs.balanced_tree(n).complexity(eps=0.01)
    print(f"tree of {n:2d} inputs: 10^{count.log10_deep:.1f} deep units, 10^{count.log10_shallow:.1f} shallow ones")

# ways out
print(to_expression(graph)[0])
print(to_mermaid(graph))
