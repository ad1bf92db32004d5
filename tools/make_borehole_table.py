"""Writes the table that comes with compsparse: runs of the borehole formula with 1% noise."""

from pathlib import Path

import pandas

from compsparse.tasks import borehole

task = borehole(noise=0.01)
sample = task.sample(1500, random_state=20260101)
frame = pandas.DataFrame(sample.X, columns=list(task.graph.inputs))
frame["flow"] = sample.y
out = Path(__file__).parent.parent / "src" / "compsparse" / "tasks" / "data" / "borehole.csv"
frame.to_csv(out, index=False, float_format="%.6g")
