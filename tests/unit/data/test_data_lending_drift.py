"""The lending twin's drift over rows: which law a row has, and whose optimum is how far off."""

import json
from importlib import resources

import numpy as np
import pytest
from loans import REAL, needs_real
from psi import SIGMA

from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.data import LendingData
from asyncdp_sim.data import lending_data as twin
from asyncdp_sim.data.declared_columns import Twin
from asyncdp_sim.data.lending_data import (
    BLOCK_ROWS,
    TABLE_ROWS,
    Drift,
    calibrated,
    drifting,
    located,
    twin_table,
)

ENCODINGS = ["plain", "as-published"]


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (0, (0, 10_000)),
        (9_999, (0, 1)),
        (10_000, (1, 10_000)),
        (40_000, (4, 2_535)),
        (42_534, (4, 1)),
        (42_535, (0, 10_000)),
        (2 * 42_535 + 30_001, (3, 9_999)),
    ],
)
def test_a_row_is_of_the_table_s_block_and_blocks_recur(row, expected):
    assert located(row) == expected


def drawn(law, rows):
    matrix, target = np.zeros((rows, len(calibrated("plain", "body").columns))), np.zeros(rows)
    law.write(matrix, target, Streams(1).generator("data", "twin"))
    return np.c_[matrix, target]


def test_every_row_is_its_block_s_own(monkeypatch):
    """Exactly: row j of the drift is row j of the law of j's block, across chunks too."""
    monkeypatch.setattr(twin, "BLOCK_ROWS", 3000)
    monkeypatch.setattr(twin, "TABLE_ROWS", 7000)
    laws, rows = drifting("plain").blocks[:3], Drift.chunk_rows + 1500
    table = drawn(Drift(laws), rows)
    of_block = np.array([located(row)[0] for row in range(rows)])
    assert set(of_block) == {0, 1, 2}
    for block, law in enumerate(laws):
        assert np.array_equal(table[of_block == block], drawn(law, rows)[of_block == block])
    assert np.array_equal(table[:2999], drawn(Drift(laws), 2999))


def test_public_rows_are_as_without_drift():
    with_drift = twin_table("plain", 50, 40, Streams(1), drifting("plain").write)
    without = twin_table("plain", 50, 40, Streams(1))
    assert np.array_equal(with_drift.matrix[50:], without.matrix[50:])
    assert not np.array_equal(with_drift.matrix[:50], without.matrix[:50])


def test_a_real_table_has_its_own_drift():
    with pytest.raises(SpecError, match=r"drift: given true; allowed is false with data\.path"):
        LendingData(path="loans.csv", drift=True, features=3, public_records=10)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_the_shipped_file_holds_laws_alone(encoding):
    file = resources.files("asyncdp_sim.data").joinpath("lending_drift.json")
    text = file.read_text("utf-8")
    assert len(text.encode()) < 300_000
    stored = json.loads(text)["encodings"][encoding]
    assert len(stored) == -(-TABLE_ROWS // BLOCK_ROWS)
    for law in map(Twin.from_json, stored):
        assert law.columns == calibrated(encoding, "body").columns
        assert np.allclose(np.sum(law.within**2, axis=1), 1)
        assert all(len(v.values) <= 151 for v in law.variables)


BANKS = (2, 3, 4)
OF_THE_TABLE = {
    "plain": ([0.1596, 0.1346, 0.1404, 0.2744, 0.7234], [0.0061, 0.0096, 0.0943]),
    "as-published": ([0.3974, 0.0733, 0.2728, 0.0527, 0.4700], [0.0355, 0.0300, 0.2875]),
}
"""ψ over the real table of each block's own optimum, and ψ(θ_1*) among so many banks."""
SPREAD = {
    "plain": [0.044, 0.083, 0.043, 0.033, 0.060],
    "as-published": [0.133, 0.135, 0.109, 0.119, 0.074],
}
"""Standard deviation of ln ψ of each block's optimum over 16 seeds of the twin.

The real table is one draw too: the standard error of the difference of two is √2 times as much.
"""
WITHIN = 2.0
"""ψ(θ_1*) is the real table's within this factor."""


def whole(features, target):
    """Return XᵀX/n + σI/2, Xᵀy/n and yᵀy/n."""
    n, p = features.shape
    moment = features.T @ features / n + SIGMA / 2 * np.eye(p)
    return moment, features.T @ target / n, target @ target / n


def off(part, among):
    """Return ψ over some rows of other rows' optimum: f(θ)/f(θ*) − 1."""
    moment, cross, square = among
    best = np.linalg.solve(moment, cross)
    away = np.linalg.solve(*part[:2]) - best
    return away @ moment @ away / (square - cross @ best)


def distances(encoding, **fields):
    """Return ψ of each block's optimum over all rows, and ψ(θ_1*) among 2, 3 and 4 banks."""
    spec = LendingData(encoding=encoding, features=10, public_records=10_001, **fields)
    data = spec.build(1, (TABLE_ROWS,), Streams(1))
    x, y = data.features[0], data.targets[0]
    starts = range(0, TABLE_ROWS, BLOCK_ROWS)
    blocks = [whole(x[a : a + BLOCK_ROWS], y[a : a + BLOCK_ROWS]) for a in starts]
    table = whole(x, y)
    among = [whole(x[: n * BLOCK_ROWS], y[: n * BLOCK_ROWS]) for n in BANKS]
    return (
        np.array([off(block, table) for block in blocks]),
        np.array([off(blocks[0], banks) for banks in among]),
    )


def scores(found, encoding):
    error = np.sqrt(2) * np.array(SPREAD[encoding])
    return np.log(found / OF_THE_TABLE[encoding][0]) / error


@pytest.mark.parametrize(
    "encoding", ["as-published", pytest.param("plain", marks=pytest.mark.nightly)]
)
def test_the_drift_is_the_table_s(encoding):
    blocks, alone = distances(encoding, drift=True)
    assert np.abs(scores(blocks, encoding)).max() <= 4
    assert np.abs(np.log(alone / OF_THE_TABLE[encoding][1])).max() < np.log(WITHIN)


def test_no_drift_is_seen():
    """Planted: rows that are exchangeable."""
    blocks, alone = distances("as-published", drift=False)
    assert np.abs(scores(blocks, "as-published")).min() > 4
    assert np.all(alone * WITHIN < OF_THE_TABLE["as-published"][1])


@needs_real
@pytest.mark.nightly
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_the_figures_are_the_real_table_s(encoding):
    found = distances(encoding, path=str(REAL), public_overlap=True)
    for made, stated in zip(found, OF_THE_TABLE[encoding], strict=True):
        assert np.allclose(made, stated, rtol=0, atol=6e-5)
