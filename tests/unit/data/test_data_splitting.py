import numpy as np
import pytest

from asyncdp_sim.core.errors import DataError, SpecError
from asyncdp_sim.core.specification import parse
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.data import DataSpec
from asyncdp_sim.data.splits import Split, TableToSplit, rows_by_value

ORACLE = pytest.mark.oracle("assignment of rows to owners")


def owner_rows(split, available, public, records, streams):
    who = (None, available, public, len(records), records, streams)
    asked = TableToSplit(*who, np.zeros(available), np.zeros(public))
    return parse(Split, split).owned(asked).rows


@ORACLE
def test_in_order_is_consecutive_blocks():
    rows = owner_rows("in-order", 10, 0, (2, 3, 4), Streams(1))
    assert [r.tolist() for r in rows] == [[0, 1], [2, 3, 4], [5, 6, 7, 8]]


@ORACLE
def test_shuffled_is_a_permutation_of_the_owners_rows_from_its_stream():
    rows = owner_rows("shuffled", 9, 3, (4, 5), Streams(1))
    expected = Streams(1).generator("data", "split").permutation(9)
    assert np.array_equal(np.concatenate(rows), expected)
    assert [len(r) for r in rows] == [4, 5]


@ORACLE
def test_each_value_is_one_owner_in_sorted_order():
    rows, notes = rows_by_value("h", [30, 4, None, 30, 4, 100], 3, None)
    assert [r.tolist() for r in rows] == [[1, 4], [0, 3], [5]]
    assert notes == (
        "Each of the 3 values of 'h' is one owner, in sorted order.",
        "1 row belongs to no owner: no value of 'h'.",
    )


def test_owners_of_a_column_may_keep_their_first_records():
    rows, _ = rows_by_value("h", ["b", "a", "b", "a"], 2, (1, 2))
    assert [r.tolist() for r in rows] == [[1], [0, 2]]
    with pytest.raises(DataError, match=r"owners.records: given 3 for owner 1; h 'a' has 2 rows"):
        rows_by_value("h", ["b", "a", "b", "a"], 2, (3, 2))


LENDING = {"kind": "lending", "features": 3, "public_records": 10}


def test_fewer_public_records_than_features():
    with pytest.raises(SpecError) as caught:
        parse(DataSpec, {**LENDING, "public_records": 2})
    assert caught.value.lines() == [
        "public_records: given 2; allowed is at least features = 3 "
        'with preprocessing = "eigen-uncentred"'
    ]
    parse(DataSpec, {**LENDING, "public_records": 0, "preprocessing": "none"})


def test_bounds_are_reported_together():
    with pytest.raises(SpecError) as caught:
        parse(DataSpec, {"kind": "lending", "features": 0, "public_records": -1})
    assert caught.value.lines() == [
        "features: given 0; allowed is a whole number ≥ 1",
        "public_records: given -1; allowed is a whole number ≥ 0",
    ]


def test_values_with_few_rows_are_no_owners():
    values = ["a", "b", "a", "c", "a", "b"]
    rows, notes = rows_by_value("where", values, 2, None, 2)
    assert [r.tolist() for r in rows] == [[0, 2, 4], [1, 5]]
    assert any("Not owners: 1 value of 'where' with fewer than 2 rows" in note for note in notes)
    with pytest.raises(DataError, match=r"allowed is 1, .* with at least 3 rows"):
        rows_by_value("where", values, 2, None, 3)
