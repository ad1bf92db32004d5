import numpy as np
import pytest

from compsparse.errors import ConfigError
from compsparse.tasks import MotifImages, gaussian_twin, smooth_noise


def test_every_image_shows_its_motif():
    images = MotifImages(size=10, n_classes=3, motif=3, copies=1, background=0.0)
    X, y = images.sample(50, random_state=0)
    for image, label in zip(X.reshape(-1, 10, 10), y, strict=True):
        windows = np.lib.stride_tricks.sliding_window_view(image, (3, 3))
        assert np.isclose(windows, images.motifs[label]).all((-1, -2)).any()
    assert set(y) == {0, 1, 2}
    np.testing.assert_allclose(images.motifs.std((1, 2)), 1)


def test_the_background_is_smooth_and_of_unit_variance():
    fields = smooth_noise(4000, 12, 1.5, random_state=0)
    assert fields.std() == pytest.approx(1, abs=0.02)
    neighbours = (fields[:, :, 1:] * fields[:, :, :-1]).mean()
    far = (fields[:, :, 6:] * fields[:, :, :-6]).mean()
    assert neighbours > 0.8
    assert abs(far) < 0.1
    assert abs((smooth_noise(4000, 12, 0.0, 0)[:, :, 1:] * smooth_noise(4000, 12, 0.0, 0)[:, :, :-1]).mean()) < 0.02


@pytest.mark.parametrize("n", [4000, 30])
def test_a_twin_has_the_first_two_moments(n):
    X, _ = MotifImages(size=6, motif=3).sample(n, random_state=0)
    twins = np.concatenate([gaussian_twin(X, seed) for seed in range(4000 // n)])
    np.testing.assert_allclose(twins.mean(0), X.mean(0), atol=0.15)
    np.testing.assert_allclose(np.cov(twins.T), np.cov(X.T), atol=0.3)


def test_motifs_must_fit():
    with pytest.raises(ConfigError, match="motifs of 9 pixels do not fit into images of 4"):
        MotifImages(size=4, motif=9)
