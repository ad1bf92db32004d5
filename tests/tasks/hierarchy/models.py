"""Small random hierarchies of every kind, and one too large to list."""

from compsparse.tasks import RandomHierarchy, SparseRandomHierarchy

DENSE = RandomHierarchy(n_features=3, multiplicity=2, n_levels=2)
SPARSE_A = SparseRandomHierarchy(n_features=2, n_levels=2, n_empty=1)
SPARSE_B = SparseRandomHierarchy(n_features=2, multiplicity=1, n_levels=2, n_empty=1, placement="B")
UNEVEN = RandomHierarchy(n_features=3, n_levels=2, rule_probabilities=(0.6, 0.1, 0.3))
TRIPLES = SparseRandomHierarchy(n_features=3, n_classes=2, multiplicity=2, tuple_size=3, n_levels=1, n_empty=1)
SMALL = [DENSE, SPARSE_A, SPARSE_B, UNEVEN, TRIPLES]
HUGE = SparseRandomHierarchy(n_features=8, n_levels=5, n_empty=4)

# few enough trees to write out one by one
TINY = [
    RandomHierarchy(n_features=2, n_levels=2),
    RandomHierarchy(n_features=3, n_classes=2, multiplicity=2, n_levels=2, rule_probabilities=(0.8, 0.2)),
    RandomHierarchy(n_features=2, n_classes=3, multiplicity=1, tuple_size=3, n_levels=1),
    SparseRandomHierarchy(n_features=2, n_levels=1, n_empty=2, rule_probabilities=(0.1, 0.9)),
    SparseRandomHierarchy(n_features=2, n_levels=1, n_empty=2, placement="B"),
    SparseRandomHierarchy(n_features=2, multiplicity=1, n_levels=2, n_empty=1),
    SparseRandomHierarchy(n_features=2, multiplicity=1, n_levels=2, n_empty=1, placement="B"),
    SparseRandomHierarchy(n_features=2, n_levels=1, tuple_size=3, n_empty=1, placement="B"),
]
BIG = [
    RandomHierarchy(n_features=6, multiplicity=3, n_levels=3, n_classes=10),
    RandomHierarchy(n_features=4, tuple_size=3, n_levels=2),
    SparseRandomHierarchy(n_features=5, n_levels=3, n_empty=1),
    SparseRandomHierarchy(n_features=5, n_levels=3, n_empty=1, placement="B", rule_probabilities=(5, 4, 3, 2, 1)),
    SparseRandomHierarchy(n_features=4, n_levels=2, tuple_size=3, n_empty=2, placement="B"),
]


def name(model):
    """A short name of a model, for reports of tests."""
    sizes = (model.v, model.n_labels, model.m, model.s, model.n_levels, model.n_empty)
    return "-".join(map(str, sizes)) + model.placement + ("" if model.rule_probabilities is None else "p")
