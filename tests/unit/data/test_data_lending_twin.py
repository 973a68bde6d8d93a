import json
from importlib import resources

import numpy as np
import pytest
from loans import REAL, needs_real
from psi import final_psi, moments

from asyncdp_sim.core.streams import Streams
from asyncdp_sim.data import LendingData, lending_data
from asyncdp_sim.data.declared_columns import Twin
from asyncdp_sim.data.lending_data import calibrated, twin_table
from asyncdp_sim.data.tables.rows import Encoded
from scenarios.twins import lending as calibrate

ORACLE = pytest.mark.oracle("moments of the synthetic loans")

ENCODINGS = ["plain", "as-published"]


def spec(encoding, path=None, **fields):
    fields = {"features": 10, "public_records": 10_001, **fields}
    return LendingData(path=path, encoding=encoding, **fields)


@ORACLE
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_values_lie_where_real_ones_do(encoding):
    table = twin_table(encoding, 20_000, 2000, Streams(1))
    column = dict(zip(table.columns, table.matrix.T, strict=True))
    assert np.isfinite(table.matrix).all()
    assert table.target.min() >= 5
    assert table.target.max() <= 25
    assert set(np.unique(column["term"])) == {36, 60}
    assert column["annual_inc"].min() >= 0
    assert 5_000 < np.median(column["loan_amnt"]) < 15_000
    assert np.array_equal(column["open_acc"], np.rint(column["open_acc"]))
    if encoding == "plain":
        purposes = sum(v for k, v in column.items() if k.startswith("purpose="))
        assert set(np.unique(purposes)) == {0, 1}
    else:
        parts = ("total_rec_prncp", "total_rec_int", "total_rec_late_fee", "recoveries")
        assert np.allclose(column["total_pymnt"], sum(column[p] for p in parts))


def test_the_shipped_file_is_small_and_holds_no_rows():
    file = resources.files("asyncdp_sim.data").joinpath("lending_twin.json")
    text = file.read_text("utf-8")
    assert len(text.encode()) < 150_000
    for parts in json.loads(text)["encodings"].values():
        for stored in parts.values():
            twin = Twin.from_json(stored)
            assert np.allclose(np.sum(twin.within**2, axis=1), 1)
            for v in twin.variables:
                assert v.cuts is None or len(v.values) == len(v.cuts) + 1
                assert v.cuts is None or np.all(np.diff(v.cuts) > 0)
                assert v.cuts is not None or np.all(np.diff(v.values) >= 0)
                assert len(v.values) <= 151


@pytest.mark.long
@ORACLE
def test_calibration_recovers_the_moments_of_what_it_is_given(monkeypatch):
    monkeypatch.setattr(calibrate, "SAMPLE", 50_000)
    drawn = twin_table("plain", 20_000, 0, Streams(5))
    used = [drawn.columns.index(n) for n in ("loan_amnt", "dti", "term", "open_acc")]
    table = Encoded(drawn.matrix[:, used], drawn.target, tuple(drawn.columns[j] for j in used))
    twin = Twin.from_json(json.loads(json.dumps(calibrate.to_json(calibrate.calibrate(table)))))
    matrix, target = np.zeros((50_000, 4), order="F"), np.zeros(50_000)
    twin.write(matrix, target, np.random.default_rng(1))
    given, made = np.c_[table.matrix, table.target], np.c_[matrix, target]
    assert np.allclose(made.mean(axis=0), given.mean(axis=0), rtol=0.03)
    assert np.allclose(made.std(axis=0), given.std(axis=0), rtol=0.03)
    assert np.allclose(np.corrcoef(made.T), np.corrcoef(given.T), atol=0.03)


@needs_real
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_columns_are_the_real_tables(encoding):
    from asyncdp_sim.data.lending_data import read_loans

    frame, _ = read_loans(str(REAL))
    encode = lending_data.encode_plain if encoding == "plain" else lending_data.encode_as_published
    assert calibrated(encoding, "body").columns == encode(frame).columns
    assert calibrated(encoding, "public").columns == encode(frame).columns


@needs_real
@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.long
def test_the_twin_learns_like_the_real_table(encoding):
    """What decides ψ: f(θ*), f(0)/f(θ*), the owners' spectrum in the public rows' units, ψ."""
    fields = {"public_overlap": True}
    real = spec(encoding, str(REAL), **fields).build(3, (14_000,) * 3, Streams(1))
    twin = spec(encoding, **fields).build(3, (14_000,) * 3, Streams(1))
    found = {}
    for name, data in (("real", real), ("twin", twin)):
        c, _, fitness, best = moments(data)
        spectrum = np.linalg.eigvalsh(c.mean(axis=0)) * 10_001
        psi = [final_psi(data, e, scalar=True, seed=1).mean() for e in (0.1, 1.0, 10.0)]
        found[name] = fitness(best), fitness(0 * best) / fitness(best) - 1, spectrum, psi
    assert found["twin"][0] == pytest.approx(found["real"][0], rel=0.1)
    assert found["twin"][1] == pytest.approx(found["real"][1], rel=0.1)
    assert np.all(np.abs(np.log(found["twin"][2] / found["real"][2])) < np.log(1.5))
    assert np.all(np.abs(np.log(np.divide(found["twin"][3], found["real"][3]))) < np.log(1.5))
