"""When does a network learn a sparse hierarchy, and what does it stop noticing at that moment?"""

from compsparse.sweeps import Sweep, curve_figure, get_kind, layer_figures, run_sweep, sweep_curves

HierarchyRun = get_kind("hierarchy")
sweep = Sweep(
    "cnn",
    HierarchyRun,
    base={"n_features": 5, "n_empty": 1, "width": 32, "batch_size": 20, "schedule": "constant", "sensitivities": True},
    grid={"n_train": (250, 500, 1000, 2000, 4000), "seed": (0, 1)},
)
record = run_sweep(sweep, "hierarchies.sqlite", workers=1)  # run this again: everything is there
found = sweep_curves(record.rows.values(), HierarchyRun)
print(f"P* = {found[0].reaches.value:.0f}, that is {found[0].reaches.value / 5**3:.1f} n_c m^L")
for figure in [curve_figure(found, HierarchyRun), *layer_figures(found, HierarchyRun)]:
    print(figure.save(f"{figure.title.split(':')[0].split(' ')[0]}.svg"))
