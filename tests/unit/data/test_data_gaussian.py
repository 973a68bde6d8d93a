import numpy as np
import pytest

from asyncdp_sim.core.streams import Streams
from asyncdp_sim.data import GaussianData

ORACLE = pytest.mark.oracle("covariance and noise of drawn records")


def test_adding_owners_leaves_the_others_unchanged():
    spec = GaussianData(features=4, condition=9.0)
    few = spec.build(2, (50, 60), Streams(3))
    more = spec.build(3, (50, 60, 70), Streams(3))
    for i in range(2):
        assert np.array_equal(few.features[i], more.features[i])
        assert np.array_equal(few.targets[i], more.targets[i])
    assert more.records == (50, 60, 70)


@ORACLE
def test_the_model_is_linear_without_noise():
    data = GaussianData(features=3, noise=0.0).build(1, (40,), Streams(3))
    truth = Streams(3).generator("data", "truth").standard_normal(3)
    assert np.allclose(data.features[0] @ truth, data.targets[0], rtol=1e-12)


@ORACLE
def test_noise_has_the_stated_deviation():
    quiet = GaussianData(features=3, noise=0.0).build(1, (20_000,), Streams(3))
    noisy = GaussianData(features=3, noise=2.5).build(1, (20_000,), Streams(3))
    assert np.array_equal(quiet.features[0], noisy.features[0])
    # 20,000 draws: the standard error of a deviation is 0.5 %.
    assert (noisy.targets[0] - quiet.targets[0]).std() == pytest.approx(2.5, rel=0.02)


@ORACLE
def test_the_covariance_has_the_stated_condition_and_determinant_one():
    data = GaussianData(features=3, condition=100.0).build(1, (100_000,), Streams(3))
    spectrum = np.linalg.eigvalsh(np.cov(data.features[0].T))
    assert spectrum == pytest.approx([0.1, 1, 10], rel=0.03)
    assert abs(np.corrcoef(data.features[0].T)[0, 1]) > 0.05  # rotated


def test_arrays_are_read_only_and_in_fortran_order():
    data = GaussianData(features=3).build(1, (5,), Streams(3))
    assert data.features[0].flags.f_contiguous
    assert data.features[0].dtype == np.float64
    for array in (data.features[0], data.targets[0]):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0
    assert (data.real, data.source, data.public_rows_of_owner) == (False, None, (0,))
