"""Batches: which cells of a network learn together; each once, and none with other records."""

from concurrent.futures import Future
from pathlib import Path

import pytest

from asyncdp_sim.runs.workers import InProcess
from asyncdp_sim.sweeps import BRIEF, MOST_SENT, _ended
from asyncdp_sim.sweeps.batch import Ended, Work
from asyncdp_sim.sweeps.folder import Folder
from asyncdp_sim.sweeps.grid import TOGETHER, Cell, batches


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


def test_brief_cells_are_sent_several_at_a_time_and_long_ones_alone():
    sent = []

    class Elsewhere(InProcess):
        def submit(self, _, /, *args):
            piece = args[1]
            sent.append([cell.number for batch in piece for cell in batch])
            future = Future()
            long = sent[-1][-1] > 30
            future.set_result(Work([Ended(number) for number in sent[-1]], BRIEF if long else 0.0))
            return future

    todo = [Cell(number, {}, None, 1, f"{number}", "0", 8) for number in range(60)]
    done = [each.number for each in _ended(Elsewhere(), 1, Folder(Path("none")), todo, None)]
    assert done == list(range(60))
    assert [len(piece) for piece in sent[:4]] == [1, 2, 4, 8]
    assert max(map(len, sent)) == MOST_SENT
    assert [len(piece) for piece in sent[-15:]] == [1] * 15
