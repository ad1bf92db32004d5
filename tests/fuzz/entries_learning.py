"""Public entry points of sparse training, pruning, image networks and locality, called tiny."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from odd import Entry

from compsparse import measures, networks, tables, tasks, training
from compsparse.origin import Origin

ENTRIES: list[Entry] = []


def add(
    name: str, call: Callable[..., Any], arguments: Callable[[], Mapping[str, Any]], *, own: tuple[str, ...] = ()
) -> None:
    ENTRIES.append(Entry(name, call, arguments, frozenset(own)))


_X = np.random.default_rng(0).standard_normal((12, 4))
_DATA = training.training_data(_X, _X[:, 0])
_TINY = training.TrainingConfig(n_steps=2, batch_size=4)
_ONCE = training.PruningConfig(n_rounds=1)
_GRAPH = tasks.patch_sum(4, 2).graph
_WEIGHTS = np.ones((2, 3, 16))


def _net() -> networks.MaskedNetwork:
    return networks.layered([4, 3, 1], n_replicas=2, random_state=0)


def _image() -> networks.ImageNetwork:
    return networks.ImageNetwork("convolutional", (1, 4, 4), 2, 1, kernel=3, width=2, n_replicas=2, random_state=0)


# ---- pruning, regrowth, sparse fits -------------------------------------------------------------

add(
    "prune",
    training.prune,
    lambda: {
        "network": _net(), "data": _DATA, "config": _TINY, "pruning": _ONCE, "loss": None, "penalties": {"l1": 0.1},
        "random_state": 0, "progress": None, "time_limit": 5.0,
    },
)  # fmt: skip
add(
    "prune, seeds",
    lambda seeds: training.prune(_net(), _DATA, _TINY, pruning=_ONCE, seeds=seeds),
    lambda: {"seeds": [1, 2]},
)
add(
    "PruningConfig",
    lambda **given: training.prune(_net(), _DATA, _TINY, pruning=training.PruningConfig(**given), time_limit=2.0),
    lambda: {
        "n_rounds": 1, "share": 0.3, "rewind_step": 1, "criterion": "random", "prune_output": False,
        "least_connected": 0.2,
    },
)  # fmt: skip
add(
    "regrow",
    training.regrow,
    lambda: {
        "network": _net(), "data": _DATA, "config": _TINY, "regrowth": training.RegrowthConfig(density=0.5),
        "loss": None, "penalties": (), "random_state": 0, "progress": None, "time_limit": 5.0,
    },
)  # fmt: skip
add(
    "RegrowthConfig",
    lambda **given: training.regrow(_net(), _DATA, _TINY, regrowth=training.RegrowthConfig(**given)),
    lambda: {"density": 0.5, "share": 0.3, "every": 1, "until": 0.75, "growth": "random"},
)
add(
    "sparse_fit",
    training.sparse_fit,
    lambda: {
        "X": _X, "y": _X[:, 0], "method": "l1", "strengths": [0.1], "width": 3, "n_layers": 1, "config": _TINY,
        "classification": False, "validation_fraction": 0.2, "names": None, "random_state": 0, "device": None,
        "progress": None, "time_limit": 5.0,
    },
)  # fmt: skip
add(
    "SparseFit.predict",
    lambda X: training.sparse_fit(_X, _X[:, 0], width=3, config=_TINY, random_state=0).predict(X),
    lambda: {"X": _X},
)

# ---- networks -----------------------------------------------------------------------------------

add(
    "graph_of",
    networks.graph_of,
    lambda: {"network": _net(), "replica": 0, "names": ["a", "b", "c", "d"], "outputs": "out", "tol": 0.0},
)
add("masks_of", networks.masks_of, lambda: {"graph": _GRAPH, "width": 2})
add(
    "set_masks",
    lambda masks, mask_origin: _net().set_masks(masks, mask_origin),
    lambda: {"masks": [m.clone() for m in _net().masks()], "mask_origin": Origin.GIVEN},
)
add(
    "ImageNetwork",
    networks.ImageNetwork,
    lambda: {
        "first": "local", "shape": (1, 4, 4), "n_outputs": 2, "channels": 1, "kernel": 3, "stride": 1, "width": 2,
        "batch_norm": True, "n_replicas": 2, "random_state": 0, "device": None,
    },
)  # fmt: skip
add("ImageNetwork call", lambda x: _image()(x), lambda: {"x": torch.ones(3, 16)})
add("embedded", networks.embedded, lambda: {"network": _image(), "first": "dense"})

# ---- measures -----------------------------------------------------------------------------------

add(
    "patch_locality",
    measures.patch_locality,
    lambda: {"network": _WEIGHTS, "patches": [[0, 1], [2, 3]], "n_draws": 2, "random_state": 0},
)
add("graph_f1", measures.graph_f1, lambda: {"network": _WEIGHTS, "graph": _GRAPH, "n_draws": 2, "random_state": 0})
add("near_pairs", measures.near_pairs, lambda: {"network": _WEIGHTS, "shape": (4, 4), "radius": 1})
add("displacement_histogram", measures.displacement_histogram, lambda: {"network": _WEIGHTS, "shape": (4, 4)})
add("off_local_mass", measures.off_local_mass, lambda: {"network": _WEIGHTS, "local": np.ones((3, 16))})

# ---- tasks and tables ---------------------------------------------------------------------------

add("patch_pixels", tasks.patch_pixels, lambda: {"size": 4, "patch": 2, "stride": 1})
add("GaussianInputs", lambda n_inputs: tasks.GaussianInputs(n_inputs).sample(2), lambda: {"n_inputs": 3})
add(
    "MotifImages",
    lambda **given: tasks.MotifImages(**given).sample(2, random_state=0),
    lambda: {
        "size": 5, "n_classes": 2, "motif": 2, "copies": 1, "background": 0.5, "smoothness": 1.0, "random_state": 0,
    },
)  # fmt: skip
add("MotifImages.sample", tasks.MotifImages(5, motif=2).sample, lambda: {"n": 3, "random_state": 0})
add("smooth_noise", tasks.smooth_noise, lambda: {"n": 2, "size": 4, "smoothness": 1.0, "random_state": 0})
add("gaussian_twin", tasks.gaussian_twin, lambda: {"X": _X, "random_state": 0})

_FOLDER = Path(tempfile.mkdtemp(prefix="compsparse-fuzz-"))
atexit.register(shutil.rmtree, _FOLDER, ignore_errors=True)
for _name in ("a", "b"):
    (_FOLDER / _name).mkdir()
    (_FOLDER / _name / "one.pgm").write_bytes(b"P5 2 2 255 " + bytes(4))
add("read_images", tables.read_images, lambda: {"folder": str(_FOLDER), "side": 4})
