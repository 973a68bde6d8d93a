"""Batches: which cells of a network learn together; each once, and none with other records."""

import pytest

from asyncdp_sim.sweeps.batch import TOGETHER, Cell, batches


def cells(n_records, each, size=8):
    """Return the cells of a network over so many sets of records, so many over each."""
    of = [str(number // each) for number in range(n_records * each)]
    return [Cell(number, {}, None, 1, "n", data, size) for number, data in enumerate(of)]


@pytest.mark.parametrize("workers", [1, 2, 5])
@pytest.mark.parametrize(("n_records", "each"), [(1, 1), (1, 40), (7, 10), (20, 10)])
def test_each_cell_is_in_one_batch_with_its_records(n_records, each, workers):
    found = list(batches(cells(n_records, each), workers))
    assert [cell.number for batch in found for cell in batch] == list(range(n_records * each))
    assert all(len({cell.data for cell in batch}) == 1 for batch in found)
    assert max(map(len, found)) <= TOGETHER


def test_cells_stay_together_where_all_workers_have_others():
    assert [len(batch) for batch in batches(cells(8, 10), 2)] == [10] * 8
    assert [len(batch) for batch in batches(cells(7, 10), 2)] == [5] * 14
    assert [len(batch) for batch in batches(cells(1, 10), 4)] == [3, 3, 3, 1]


def test_cells_with_large_curves_learn_one_by_one():
    assert [len(batch) for batch in batches(cells(1, 3, size=2**30), 1)] == [1, 1, 1]
