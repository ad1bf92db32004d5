import numpy as np
import pytest

from compsparse.errors import DataError
from compsparse.tables import read_images

Image = pytest.importorskip("PIL.Image")


def test_every_subfolder_is_a_class(tmp_path):
    for name, value in (("dark", 0), ("bright", 255)):
        (tmp_path / name).mkdir()
        for i in range(2):
            Image.fromarray(np.full((6, 5), value, dtype=np.uint8)).save(tmp_path / name / f"{i}.png")
    (tmp_path / "notes").mkdir()
    table = read_images(tmp_path, side=4)
    assert table.classes == ("bright", "dark")
    assert table.X.shape == (4, 16)
    np.testing.assert_array_equal(table.X.mean(1), 1 - table.y)


def test_pixels_go_row_by_row(tmp_path):
    grey = np.arange(9, dtype=np.uint8).reshape(3, 3) * 20
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        Image.fromarray(grey).save(tmp_path / name / "one.png")
    np.testing.assert_allclose(read_images(tmp_path, side=3).X[0], grey.ravel() / 255)


def test_folders_without_images_are_refused(tmp_path):
    with pytest.raises(DataError, match="there is no folder"):
        read_images(tmp_path / "nothing")
    with pytest.raises(DataError, match="at least two subfolders with images, one a class; found 0"):
        read_images(tmp_path)
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "one.png").write_bytes(b"no image")
    with pytest.raises(DataError, match=r"cannot read the image one\.png in a"):
        read_images(tmp_path)
