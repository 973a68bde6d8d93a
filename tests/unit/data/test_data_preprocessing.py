import numpy as np
import pytest

from asyncdp_sim.core.errors import DataError
from asyncdp_sim.core.specification import parse
from asyncdp_sim.data.tables.preprocessing import Preprocessing

ORACLE = pytest.mark.oracle("projected features")

GENERATOR = np.random.default_rng(1)
ROWS = GENERATOR.standard_normal((200, 6)) * [1e5, 1e4, 100, 10, 1, 0.1] + [1e4, 0, 50, 0, 1, 0]
TARGET = GENERATOR.standard_normal(200) + 12


def fit(kind, *public):
    return parse(Preprocessing, kind).fit(*public)


@ORACLE
def test_eigen_features_are_orthonormal_on_the_public_rows():
    features = fit("eigen-uncentred", ROWS, TARGET, 4).features(ROWS)
    assert np.allclose(features.T @ features, np.eye(4), atol=1e-10)
    assert features.flags.f_contiguous


def test_eigen_features_are_x_v_over_root_d():
    values, vectors = np.linalg.eigh(ROWS.T @ ROWS)
    expected = (ROWS @ vectors / np.sqrt(values))[:, ::-1][:, :3]
    projection = fit("eigen-uncentred", ROWS, TARGET, 3)
    assert np.allclose(np.abs(projection.features(ROWS)), np.abs(expected), rtol=1e-6, atol=1e-12)
    assert projection.targets(TARGET).tolist() == TARGET.tolist()


@pytest.mark.parametrize("kind", ["eigen-uncentred", "pca"])
def test_signs_do_not_depend_on_the_library(kind):
    scale = ROWS.std(axis=0) if kind == "pca" else 1.0
    directions = fit(kind, ROWS, TARGET, 5).matrix * np.broadcast_to(scale, 6)[:, None]
    largest = np.argmax(np.abs(directions), axis=0)
    assert np.all(directions[largest, np.arange(5)] > 0)


@ORACLE
def test_pca_is_centred_scaled_and_of_unit_variance():
    projection = fit("pca", ROWS, TARGET, 6)
    features = projection.features(ROWS)
    assert np.allclose(features.mean(axis=0), 0, atol=1e-9)
    assert np.allclose(np.cov(features.T, ddof=0), np.eye(6), atol=1e-9)
    assert projection.targets(TARGET).mean() == pytest.approx(0, abs=1e-12)
    assert features.flags.f_contiguous


def test_pca_order_is_that_of_the_correlation_matrix():
    first = fit("pca", ROWS, TARGET, 1).matrix[:, 0] * ROWS.std(axis=0)
    leading = np.linalg.eigh(np.corrcoef(ROWS.T))[1][:, -1]
    assert abs(first @ leading) / np.linalg.norm(first) == pytest.approx(1)


def test_pca_drops_constant_columns_and_says_so():
    rows = np.column_stack([ROWS, np.full(200, 0.1), np.zeros(200)])
    projection = fit("pca", rows, TARGET, 6)
    assert projection.notes == ("2 columns were dropped: constant over the public rows.",)
    assert np.all(projection.matrix[6:] == 0)
    with pytest.raises(DataError, match=r"data.features: given 7; allowed is at most 6"):
        fit("pca", rows, TARGET, 7)


def test_more_features_than_the_rank():
    rows = np.column_stack([ROWS[:, :3], ROWS[:, 0] + ROWS[:, 1]])
    with pytest.raises(DataError, match=r"data.features: given 4; allowed is at most 3"):
        fit("eigen-uncentred", rows, TARGET, 4)
    with pytest.raises(DataError, match=r"allowed is at most 2"):
        fit("eigen-uncentred", ROWS[:2], TARGET[:2], 3)


@ORACLE
def test_none_keeps_the_columns():
    features = fit("none", ROWS[:0], TARGET[:0], 6).features(ROWS)
    assert np.array_equal(features, ROWS)
    assert features is not ROWS
    with pytest.raises(DataError, match=r"given 5; allowed is 6, the number of columns"):
        fit("none", ROWS, TARGET, 5)


def test_the_projection_is_decided_by_the_public_rows_alone():
    one = fit("pca", ROWS[-50:], TARGET[-50:], 3)
    private = ROWS.copy()
    private[:150] *= 7
    assert np.array_equal(one.matrix, fit("pca", private[-50:], TARGET[-50:], 3).matrix)
