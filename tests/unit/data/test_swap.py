"""One record replaced: what must change, and what must not by a single bit."""

import numpy as np
import pandas as pd
import pytest
from discharges import many as discharges
from loans import many
from of_frames import of_frame

from asyncdp_sim.core.streams import Streams
from asyncdp_sim.data import FraudData, GaussianData, HospitalData, LendingData, Swap, TableData
from tests.one_in import one_in
from tests.together import together

N_I = (30, 25, 20)
PROJECTED = {"preprocessing": "eigen-uncentred", "features": 3, "public_records": 20}
AS_THEY_ARE = {"preprocessing": "none", "public_records": 20}
PLACES = np.arange(110.0)
WHO = np.arange(110) % 3
TEXTS = [None if row in (4, 95) else "xyz"[row // 7 % 3] for row in range(110)]
TABLE = pd.DataFrame({"who": WHO, "a": PLACES**2, "b": TEXTS, "c": np.cos(PLACES), "y": PLACES})
PUBLISHED = {"encoding": "as-published"}
KINDS = {
    "table": (TableData, "t.parquet", {"target": "y", "features": 4}),
    "lending": (LendingData, "loan.csv", {"features": 46}),
    "lending-twin": (LendingData, None, {"features": 50}),
    "fraud": (FraudData, "cards.parquet", {"features": 4}),
    "fraud-twin": (FraudData, None, {"features": 29}),
    "hospital": (HospitalData, "sparcs.csv", {"features": 35}),
    "hospital-as-published": (HospitalData, "sparcs.csv", PUBLISHED | {"features": 9}),
    "hospital-twin": (HospitalData, None, {"features": 30}),
}
"""Of each: its class, its file or none, and its fields."""


@pytest.fixture
def kinds(tmp_path):
    """Return a specification of each kind by name, from further fields."""
    TABLE.to_parquet(tmp_path / "t.parquet")
    many(110).to_csv(tmp_path / "loan.csv", index=False)
    discharges(110).to_csv(tmp_path / "sparcs.csv", index=False)
    cards = np.random.default_rng(1).normal(size=(110, 4)) ** [1, 1, 1, 2]
    cards = pd.DataFrame(cards, columns=["V1", "V2", "V3", "Amount"])
    cards.assign(Class=np.arange(110) % 2).to_parquet(tmp_path / "cards.parquet")

    def made(name, **fields):
        if name == "gaussian":
            return GaussianData(features=3)
        kind, file, usual = KINDS[name]
        path = {} if file is None else {"path": str(tmp_path / file)}
        return kind(**path | usual | fields)

    return made


NAMES = [*KINDS, "gaussian"]


def build(spec, swap=None):
    return spec.build(len(N_I), N_I, Streams(5), swap)


def flat(data):
    return np.concatenate(data.features), np.concatenate(data.targets)


@one_in(3, "name", NAMES)
def test_only_the_record_changes_under_no_preprocessing(kinds, name):
    spec = kinds(name, **AS_THEY_ARE)
    before, after = build(spec), build(spec, Swap(row=33, by=8, factor=2.5))
    (x, y), (x_after, y_after) = flat(before), flat(after)
    assert np.array_equal(x_after[33], 2.5 * x[8])
    assert y_after[33] == y[8]
    assert np.array_equal(np.delete(x_after, 33, axis=0), np.delete(x, 33, axis=0))
    assert np.array_equal(np.delete(y_after, 33), np.delete(y, 33))
    assert after.records == before.records == N_I
    assert not np.array_equal(x_after[33], x[33])  # else nothing was tested
    assert after.features[1].flags.f_contiguous


@one_in(3, "name", KINDS)
def test_a_private_record_moves_no_other_by_a_bit(kinds, name):
    spec = kinds(name, **PROJECTED)
    before, after = build(spec), build(spec, Swap(row=33, by=8))
    (x, y), (x_after, y_after) = flat(before), flat(after)
    assert np.array_equal(np.delete(x_after, 33, axis=0), np.delete(x, 33, axis=0))
    assert np.array_equal(np.delete(y_after, 33), np.delete(y, 33))
    assert np.allclose(x_after[33], x[8], rtol=1e-9)


@pytest.mark.parametrize("name", KINDS)
def test_a_public_record_moves_the_projection_of_all(kinds, monkeypatch, name):
    for kind in (LendingData, FraudData, HospitalData):  # the twins are of that many rows
        monkeypatch.setattr(kind, "table_rows", 75)
    fields = {"public_overlap": True, **PROJECTED, "public_records": 45}
    spec = kinds(name, **fields)
    before, after = build(spec), build(spec, Swap(row=70, by=8, factor=3.0))
    assert before.public_rows_of_owner[2] > 0
    assert after.public_rows_of_owner == before.public_rows_of_owner
    for x, x_after in zip(before.features, after.features, strict=True):
        assert np.all(np.any(x != x_after, axis=0))


@one_in(2, "name", ["lending", "fraud", "hospital", "hospital-as-published"])
def test_the_table_that_was_read_keeps_its_places_in_the_file(kinds, name, monkeypatch):
    spec = kinds(name, **AS_THEY_ARE)
    frame, *others = spec._read(spec.path)
    frame = frame.iloc[1:]
    places = frame.index.tolist()
    monkeypatch.setattr(type(spec), "_read", lambda _, path: (frame, *others))  # noqa: ARG005
    build(spec)
    assert frame.index.tolist() == places


@one_in(3, "name", NAMES)
def test_rows_are_those_of_the_features(kinds, name):
    spec = kinds(name, **AS_THEY_ARE).model_copy(update={"held_out": 0.3})
    data, whole = build(spec), build(spec.model_copy(update={"held_out": 0.0}))
    x, _ = flat(whole)
    assert np.array_equal(np.concatenate(whole.rows), np.arange(75))
    for features, rows in zip(data.features, data.rows, strict=True):
        assert rows.dtype == np.int64
        assert np.array_equal(features, x[rows])


def test_the_owner_stays_whose_record_is_replaced(tmp_path):
    spec = of_frame(tmp_path, TABLE, "t.parquet", owner_column="who", features=3, public_records=20)
    before = spec.build(3, None, Streams(1))
    after = spec.build(3, None, Streams(1), Swap(row=4, by=9))  # of owner 1, of owner 0
    assert after.records == before.records
    place = before.rows[1].tolist().index(4)
    assert after.targets[1][place] == 9.0
    assert np.array_equal(after.targets[0], before.targets[0])
    assert [r.tolist() for r in after.rows] == [r.tolist() for r in before.rows]


def test_a_public_patient_moves_the_mean_stay_of_its_code(kinds):
    spec = kinds("hospital", public_overlap=True, **AS_THEY_ARE)
    assert np.array_equal(build(spec).features[0], build(spec).features[0])
    spec = spec.model_copy(update={"public_records": 45})
    before, after = build(spec), build(spec, Swap(row=70, by=8))
    changed = np.any(before.features[0] != after.features[0], axis=0)
    assert changed.tolist() == ["mean stay" in name for name in before.columns]


def test_imputations_see_the_replaced_record(tmp_path):
    """The last row is public: its age alone is the median that fills the gap."""
    ages = pd.DataFrame({"age": [None, 20.0, 30.0], "y": [1.0, 2.0, 3.0]})
    spec = of_frame(tmp_path, ages, "t.parquet", public_records=1, public_overlap=True)
    assert spec.build(1, (3,), Streams(1)).features[0].ravel().tolist() == [30, 20, 30]
    swapped = spec.build(1, (3,), Streams(1), Swap(row=2, by=1, factor=10.0))
    assert swapped.features[0].ravel().tolist() == [20, 20, 200]


def test_rows_without_a_target_are_counted(tmp_path):
    gaps = pd.DataFrame({"x": [1.0, 2.0, 3.0, 4.0], "y": [None, 5.0, 6.0, 7.0]})
    spec = of_frame(tmp_path, gaps, "t.parquet", public_records=0)
    data = spec.build(1, (4,), Streams(1), Swap(row=1, by=3))
    assert data.features[0].ravel().tolist() == [0, 4, 3, 4]
    assert data.targets[0][1:].tolist() == [7, 6, 7]
    assert np.isnan(data.targets[0][0])


def test_a_gaussian_record_may_come_from_another_owner_and_be_its_own():
    spec = GaussianData(features=2, condition=3.0, heterogeneity=1.0)
    before = build(spec)
    x, y = flat(before)
    for swap in (Swap(row=74, by=0), Swap(row=29, by=30), Swap(row=30, by=30, factor=-1.0)):
        x_after, y_after = flat(build(spec, swap))
        assert np.array_equal(x_after[swap.row], swap.factor * x[swap.by])
        assert y_after[swap.row] == y[swap.by]


@together
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("swap", "named"), [(Swap(5000, 0), "row"), (Swap(0, -1), "by")])
def test_rows_that_are_not_in_the_table(kinds, name, swap, named):
    with pytest.raises(ValueError, match=rf"a swap's {named} must lie in \[0, \d+\)"):
        build(kinds(name, **AS_THEY_ARE), swap)


def test_a_factor_is_finite():
    with pytest.raises(ValueError, match="finite"):
        Swap(0, 1, float("nan"))
