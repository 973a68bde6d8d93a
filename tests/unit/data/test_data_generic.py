import numpy as np
import pandas as pd
import pytest

from asyncdp_sim.core.errors import DataError
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.data import TableData
from tests.tables import table

ORACLE = pytest.mark.oracle("encoded rows of a table")

TABLE = pd.DataFrame(
    {
        "hospital": [7, 7, 3, 3, 7, 3],
        "age": [10.0, np.nan, 30.0, 40.0, 50.0, 70.0],
        "sex": ["F", "M", None, "X", "M", "F"],
        "admitted": pd.to_datetime(
            ["1970-01-02"] * 3 + ["1970-01-01 12:00", None, "1970-01-05"], format="ISO8601"
        ),
        "los": [1, 2, 3, 4, 5, 6],
    }
)


@pytest.fixture
def path(tmp_path):
    TABLE.to_parquet(tmp_path / "t.parquet")
    return str(tmp_path / "t.parquet")


def build(path, n_owners=2, records=(2, 2), **fields):
    fields = {"features": 4, "public_records": 2, "preprocessing": "none", **fields}
    return TableData(path=path, target="los", **fields).build(n_owners, records, Streams(1))


NOTES = table(__file__, "data_generic.toml")


@ORACLE
def test_columns_are_coded_from_the_public_rows_alone(path):
    data = build(path)
    assert data.columns == ("hospital", "age", "sex", "admitted")
    # Public rows: ages 50, 70 (median 60), sexes M, F (codes F 0, M 1, else 2), dates 4 (median).
    assert data.features[0].tolist() == [[7, 10, 0, 1], [7, 60, 1, 1]]
    assert data.features[1].tolist() == [[3, 30, 2, 1], [3, 40, 2, 0.5]]
    assert [t.tolist() for t in data.targets] == [[1, 2], [3, 4]]
    assert data.notes == tuple(NOTES["coded"])
    assert data.real
    assert data.source.name == "t.parquet"


@ORACLE
def test_an_owner_column_splits_and_is_no_feature(path):
    data = build(path, records=None, owner_column="hospital", features=3)
    assert data.columns == ("age", "sex", "admitted")
    assert [t.tolist() for t in data.targets] == [[3, 4], [1, 2]]  # hospitals 3, 7
    same = build(path, records=None, split={"column": "hospital"}, features=3)
    assert np.array_equal(same.features[1], data.features[1])


def test_overlap_is_counted_per_owner(path):
    data = build(path, records=None, owner_column="hospital", features=3, public_overlap=True)
    assert [t.tolist() for t in data.targets] == [[3, 4, 6], [1, 2, 5]]
    assert data.public_rows_of_owner == (1, 1)
    assert "2 of the 2 public rows are also owners' records" in " ".join(data.notes)


def test_dropped_columns_and_unused_rows(path):
    data = build(path, records=(1, 1), drop=("sex", "admitted"), features=2)
    assert data.columns == ("hospital", "age")
    assert data.notes[-1] == "Unused: 2 of the table's 6 rows, neither owned nor public."


@pytest.mark.parametrize("target", [None, "many", "inf", "1e400"])
def test_a_private_row_without_a_target_stays_and_contributes_nothing(tmp_path, target):
    TABLE.assign(los=[1, target, 3, 4, 5, 6]).to_csv(tmp_path / "t.csv", index=False)
    data = build(str(tmp_path / "t.csv"), drop=("admitted",), features=3, records=(2, 2))
    assert np.array_equal(data.targets[0], [1, np.nan], equal_nan=True)
    assert data.targets[1].tolist() == [3, 4]
    assert data.features[0].tolist() == [[7, 10, 0], [0, 0, 0]]
    assert data.notes[-1] == (
        "From private rows: Records without a target: 1. Their loss and gradient are 0, "
        "and n_i counts them."
    )


def test_missing_public_cells_are_not_counted_with_private_ones(tmp_path):
    frame = TABLE.assign(los=[1, None, 3, 4, None, 6], age=[10, None, 30, 40, 50, None])
    frame.to_csv(tmp_path / "t.csv", index=False)
    kept = {"drop": ("admitted", "sex"), "features": 2, "records": (2, 2)}
    notes = build(str(tmp_path / "t.csv"), score_on="all", **kept).notes
    assert "From private rows: age: 1 missing value became the public mean 50." in notes
    assert notes[-1].startswith("From private rows: Records without a target: 1.")


def test_a_number_above_the_largest_makes_a_record_that_contributes_nothing(tmp_path):
    TABLE.assign(age=[1e153, -1e51, 30, 1e50, 5, 7]).to_parquet(tmp_path / "t.parquet")
    data = build(str(tmp_path / "t.parquet"), drop=("sex", "admitted"), features=2)
    assert data.features[0].tolist() == [[0, 0], [0, 0]]
    assert data.features[1].tolist() == [[3, 30], [3, 1e50]]
    assert np.isnan(data.targets[0]).all()
    assert data.notes[-1].startswith("From private rows: Records with a number above 1e+50: 2.")
    with pytest.raises(DataError) as caught:
        build(
            str(tmp_path / "t.parquet"),
            1,
            (1,),
            drop=("sex", "admitted"),
            features=2,
            public_records=5,
        )
    assert str(caught.value) == (
        "data.public_records: given 5, with 1e+51 in column 'age' of row 2 of t.parquet; allowed "
        "are public rows of numbers up to 1e+50"
    )


def test_without_public_rows_every_column_is_one_of_numbers(path):
    data = build(path, public_records=0, records=(3, 3))
    assert data.features[0].tolist() == [[7, 10, 0, 1], [7, 0, 0, 1], [3, 30, 0, 1]]
    assert data.notes == tuple(NOTES["uncoded"])
