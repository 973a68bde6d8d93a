import numpy as np
import pandas as pd
import pytest
from of_frames import of_frame

from asyncdp_sim.core.errors import DataError
from asyncdp_sim.core.streams import Streams
from tests.tables import table

ORACLE = pytest.mark.oracle("encoded rows of a table")

NOTES = table(__file__, "data_generic.toml")
TABLE = pd.DataFrame(NOTES["table"])
TABLE["admitted"] = pd.to_datetime(TABLE["admitted"], format="ISO8601")


def build(folder, n_owners=2, records=(2, 2), frame=TABLE, name="t.parquet", **fields):
    fields = {"target": "los", "features": 4, "public_records": 2} | fields
    return of_frame(folder, frame, name, **fields).build(n_owners, records, Streams(1))


@ORACLE
def test_columns_are_coded_from_the_public_rows_alone(tmp_path):
    data = build(tmp_path)
    assert data.columns == ("hospital", "age", "sex", "admitted")
    # Public rows: ages 50, 70 (median 60), sexes M, F (codes F 0, M 1, else 2), dates 4 (median).
    assert data.features[0].tolist() == [[7, 10, 0, 1], [7, 60, 1, 1]]
    assert data.features[1].tolist() == [[3, 30, 2, 1], [3, 40, 2, 0.5]]
    assert [t.tolist() for t in data.targets] == [[1, 2], [3, 4]]
    assert data.notes == tuple(NOTES["coded"])
    assert data.real
    assert data.source.name == "t.parquet"


@ORACLE
def test_an_owner_column_splits_and_is_no_feature(tmp_path):
    data = build(tmp_path, records=None, owner_column="hospital", features=3)
    assert data.columns == ("age", "sex", "admitted")
    assert [t.tolist() for t in data.targets] == [[3, 4], [1, 2]]  # hospitals 3, 7
    same = build(tmp_path, records=None, split={"column": "hospital"}, features=3)
    assert np.array_equal(same.features[1], data.features[1])


def test_overlap_is_counted_per_owner(tmp_path):
    data = build(tmp_path, records=None, owner_column="hospital", features=3, public_overlap=True)
    assert [t.tolist() for t in data.targets] == [[3, 4, 6], [1, 2, 5]]
    assert data.public_rows_of_owner == (1, 1)
    assert "2 of the 2 public rows are also owners' records" in " ".join(data.notes)


@pytest.mark.parametrize("target", [None, "many", "inf", "1e400"])
def test_a_private_row_without_a_target_stays_and_contributes_nothing(tmp_path, target):
    frame = TABLE.assign(los=[1, target, 3, 4, 5, 6])
    data = build(tmp_path, frame=frame, name="t.csv", drop=("admitted",), features=3)
    assert np.array_equal(data.targets[0], [1, np.nan], equal_nan=True)
    assert data.targets[1].tolist() == [3, 4]
    assert data.features[0].tolist() == [[7, 10, 0], [0, 0, 0]]
    assert data.notes[-1] == NOTES["without_a_target"]


def test_missing_public_cells_are_not_counted_with_private_ones(tmp_path):
    frame = TABLE.assign(los=[1, None, 3, 4, None, 6], age=[10, None, 30, 40, 50, None])
    asked = {"drop": ("admitted", "sex"), "features": 2, "score_on": "all"}
    notes = build(tmp_path, frame=frame, name="t.csv", **asked).notes
    assert "From private rows: age: 1 missing value became the public mean 50." in notes
    assert notes[-1].startswith("From private rows: Records without a target: 1.")


def test_a_number_above_the_largest_makes_a_record_that_contributes_nothing(tmp_path):
    frame = TABLE.assign(age=[1e153, -1e51, 30, 1e50, 5, 7])
    asked = {"frame": frame, "drop": ("sex", "admitted"), "features": 2}
    data = build(tmp_path, **asked)
    assert data.features[0].tolist() == [[0, 0], [0, 0]]
    assert data.features[1].tolist() == [[3, 30], [3, 1e50]]
    assert np.isnan(data.targets[0]).all()
    assert data.notes[-1].startswith("From private rows: Records with a number above 1e+50: 2.")
    with pytest.raises(DataError) as caught:
        build(tmp_path, 1, (1,), public_records=5, **asked)
    assert str(caught.value) == NOTES["too_large"]


def test_without_public_rows_every_column_is_one_of_numbers(tmp_path):
    data = build(tmp_path, public_records=0, records=(3, 3))
    assert data.features[0].tolist() == [[7, 10, 0, 1], [7, 0, 0, 1], [3, 30, 0, 1]]
    assert data.notes == tuple(NOTES["uncoded"])
