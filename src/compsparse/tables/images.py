"""Folders of images as tables: one subfolder a class, one row an image."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from compsparse.checks import check_count
from compsparse.errors import DataError
from compsparse.files import check_place
from compsparse.optional import needs
from compsparse.sizes import check_size
from compsparse.text import in_a_line

_SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".pgm", ".ppm")


@in_a_line
@dataclass(frozen=True)
class ImageTable:
    """Images as rows of grey values from 0 to 1, pixels row by row.

    Attributes:
        y: the class of each image, a position in ``classes``.
        classes: the names of the subfolders, sorted.
        side: rows and columns of every image.
    """

    X: np.ndarray
    y: np.ndarray
    classes: tuple[str, ...]
    side: int


def read_images(folder: str | Path, side: int = 32) -> ImageTable:
    """Reads all images below a folder, scaled to ``side`` by ``side`` grey pixels; each subfolder is a class.

    Raises:
        DataError: there is no such folder, it has no two subfolders with images, or an image cannot be read.
        MissingDependencyError: pillow is not installed.
    """
    pillow: Any = needs("PIL.Image", "images", "images")
    side, top = check_count("side", side, most=4096), Path(check_place("folder", folder))
    if not top.is_dir():
        raise DataError(f"there is no folder {top}")
    found = {
        f.name: sorted(p for p in f.iterdir() if p.suffix.lower() in _SUFFIXES) for f in top.iterdir() if f.is_dir()
    }
    classes = tuple(sorted(name for name, files in found.items() if files))
    if len(classes) < 2:
        raise DataError(f"{top} must hold at least two subfolders with images, one a class; found {len(classes)}")
    files = [(path, label) for label, name in enumerate(classes) for path in found[name]]
    check_size(f"{len(files):,} images", 2.0 * len(files) * side**2, "take a smaller side")
    X = np.stack([_grey(pillow, path, side) for path, _ in files])
    return ImageTable(X, np.array([label for _, label in files]), classes, side)


def _grey(pillow: Any, path: Path, side: int) -> np.ndarray:
    try:
        with pillow.open(path) as image:
            pixels = np.asarray(image.convert("L").resize((side, side)), dtype=float)
    except (OSError, ValueError, SyntaxError):
        raise DataError(f"cannot read the image {path.name} in {path.parent.name}") from None
    return (pixels / 255).ravel()
