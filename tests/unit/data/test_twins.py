"""Synthetic twins of tables: rows, owners and public rows, whatever the kind."""

from functools import partial

import numpy as np
import pytest

from asyncdp_sim.core.streams import Streams
from asyncdp_sim.data import FraudData, HospitalData, LendingData, fraud_data
from asyncdp_sim.data import lending_data as lending
from asyncdp_sim.data.declared_columns import Twin

CHUNK_ROWS = Twin.chunk_rows


@pytest.mark.parametrize(
    "draw",
    [
        partial(lending.twin_table, "plain"),
        partial(lending.twin_table, "as-published"),
        fraud_data.twin_table,
    ],
)
def test_a_row_is_the_same_however_many_are_drawn(draw):
    few = draw(100, 50, Streams(1))
    many = draw(CHUNK_ROWS + 7, CHUNK_ROWS + 3, Streams(1))
    public = CHUNK_ROWS + 7
    for mine, all_rows in ((few.matrix, many.matrix), (few.target, many.target)):
        assert np.array_equal(mine[:100], all_rows[:100])
        assert np.array_equal(mine[100:], all_rows[public:][:50])
    for other in (many.matrix[CHUNK_ROWS:], many.matrix[public:], draw(7, 0, Streams(2)).matrix):
        assert not np.array_equal(many.matrix[:7], other[:7])


@pytest.mark.parametrize("kind", [LendingData, HospitalData, FraudData])
def test_adding_owners_leaves_the_others_and_the_projection_unchanged(kind):
    data = kind(features=3, public_records=500)
    few, more = (data.build(len(n), n, Streams(1)) for n in ((30, 40), (30, 40, 50)))
    for i in range(2):
        assert np.allclose(few.features[i], more.features[i], rtol=1e-12, atol=0)
        assert np.array_equal(few.targets[i], more.targets[i])
    assert (more.real, more.source) == (False, None)
    assert more.notes[0].startswith("Synthetic twin")


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        (LendingData, {}),
        (HospitalData, {}),
        (HospitalData, {"split": {"column": "Facility Id"}}),
        (FraudData, {}),
    ],
)
def test_public_overlap_is_that_of_a_table_of_the_real_size(kind, fields, monkeypatch):
    monkeypatch.setattr(kind, "table_rows", 3000)
    data = kind(features=3, public_records=1000, public_overlap=True, **fields)
    overlaps = [
        data.build(2, (n, 2 * n), Streams(1)).public_rows_of_owner for n in (500, 900, 1500)
    ]
    assert overlaps == [(0, 0), (0, 700), (0, 1000)]
