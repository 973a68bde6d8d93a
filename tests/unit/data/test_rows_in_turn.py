"""Rows that are projected as they are drawn: those of a whole table, in the room of a piece."""

import tracemalloc
from dataclasses import fields

import numpy as np
import pytest

from asyncdp_sim.data import LendingData
from asyncdp_sim.data.dataset import PIECE_ROWS
from asyncdp_sim.data.lending.twin import BLOCK_ROWS, Twin, calibrated, drifting
from asyncdp_sim.data.splits import InOrder
from asyncdp_sim.data.twin import RowsOfLaw
from asyncdp_sim.streams import Streams

CHUNK_ROWS = Twin.chunk_rows

FEW = {"features": 2, "public_records": 200}


def built(recipe, records, *, whole, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(InOrder, "in_order", not whole)
        return recipe.build(len(records), records, Streams(1))


@pytest.mark.parametrize("fields_of_recipe", [{"drift": True}, {"encoding": "as-published"}])
def test_records_have_the_bits_of_a_table_that_is_drawn_at_once(fields_of_recipe, monkeypatch):
    recipe = LendingData(**FEW, **fields_of_recipe)
    records = (2 * PIECE_ROWS + 1, 5, CHUNK_ROWS, 1)
    found, whole = (
        built(recipe, records, whole=whole, monkeypatch=monkeypatch) for whole in (False, True)
    )
    for owner in range(len(records)):
        assert found.features[owner].tobytes() == whole.features[owner].tobytes()
        assert found.targets[owner].tobytes() == whole.targets[owner].tobytes()
        assert found.features[owner].flags.f_contiguous
    assert np.array_equal(found.public_targets, whole.public_targets)
    arrays = ("features", "targets", "public_targets", "rows")
    names = [each.name for each in fields(found) if each.name not in arrays]
    assert all(getattr(found, name) == getattr(whole, name) for name in names)


@pytest.mark.parametrize("law", [calibrated("plain", "body"), drifting("plain")])
def test_rows_are_the_same_however_many_are_asked_for_at_a_time(law):
    total = 2 * CHUNK_ROWS + 9
    columns = len(calibrated("plain", "body").columns)
    found = []
    for cuts in ([], [1, 7, CHUNK_ROWS, BLOCK_ROWS, BLOCK_ROWS + 1, 2 * CHUNK_ROWS + 1]):
        matrix, target = np.zeros((total, columns), order="F"), np.zeros(total)
        rows = RowsOfLaw(law, np.random.default_rng(3))
        for start, stop in zip([0, *cuts], [*cuts, total], strict=True):
            rows.write(matrix[start:stop], target[start:stop])
        found.append((matrix, target))
    assert all(np.array_equal(one, two) for one, two in zip(*found, strict=True))


def test_a_table_is_never_there_as_a_whole(monkeypatch):
    """Its encoded rows are five times its records: these are there twice at most, and a piece."""
    records, peaks = (80_000, 80_000), {}
    for whole in (True, False):
        tracemalloc.start()
        data = built(LendingData(features=10, public_records=200), records, whole=whole,
                     monkeypatch=monkeypatch)  # fmt: skip
        peaks[whole] = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    size = sum(each.nbytes for each in (*data.features, *data.targets))
    piece = 2 * PIECE_ROWS * len(data.columns) * 8
    assert peaks[False] < 2 * size + piece < peaks[True]
