"""Work side by side: all of it once, whatever threads there are, and no bit changes for it."""

import os
import sys
from collections import Counter
from threading import Barrier, current_thread

import numpy as np
import pytest

from asyncdp_sim import threads
from asyncdp_sim.data.dataset import Array
from asyncdp_sim.data.lending.drift import drifting
from asyncdp_sim.data.lending.rows import CHUNK_ROWS, Law, RowsOfLaw
from asyncdp_sim.data.lending.twin import calibrated
from asyncdp_sim.learning.objectives import LinearRecords, Squared
from asyncdp_sim.learning.objectives import records as linear
from asyncdp_sim.learning.objectives.perceptron import records as perceptron
from asyncdp_sim.learning.objectives.perceptron.network import Perceptron
from asyncdp_sim.learning.objectives.perceptron.records import PerceptronRecords
from asyncdp_sim.runs.workers import processes
from asyncdp_sim.threads import LIMIT, cores, side_by_side
from tests.unit.learning.problems import records


@pytest.fixture(autouse=True)
def pool(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many threads as the tests want, on any machine."""
    monkeypatch.setenv(LIMIT, "4")
    threads._pool.cache_clear()


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_each_piece_is_done_once(count: int) -> None:
    done: list[int] = []
    side_by_side(done.append, range(1000), count)
    assert sorted(done) == list(range(1000))
    side_by_side(done.append, [], count)
    assert len(done) == 1000


@pytest.mark.parametrize("count", [1, 2, 4])
def test_so_many_threads_work_at_once(count: int) -> None:
    """Each waits in its first piece until all have one."""
    met, names = Barrier(count, timeout=30), Counter[str]()

    def work(_: int) -> None:
        met.wait()
        names[current_thread().name] += 1

    side_by_side(work, range(3 * count), count)
    assert len(names) == count
    assert sum(names.values()) == 3 * count


@pytest.mark.parametrize("count", [1, 3])
def test_an_error_is_the_callers(count: int) -> None:
    def work(piece: int) -> None:
        if piece == 7:
            raise ValueError("seven")

    with pytest.raises(ValueError, match="seven"):
        side_by_side(work, range(20), count)


def test_what_numpy_may_meet_is_what_the_caller_says() -> None:
    """A run that diverges overflows in silence, in whatever thread."""
    met = Barrier(2, timeout=30)

    def work(_: int) -> None:
        met.wait()
        np.float64(1e308) * np.array([1e308])

    with np.errstate(over="ignore"):
        side_by_side(work, range(2), 2)
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        side_by_side(work, range(2), 2)


def test_without_room_for_threads_one_does_all(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("threading.Thread.start", refuse)
    done: list[int] = []
    side_by_side(done.append, range(9), 3)
    assert done == list(range(9))


def test_threads_are_as_many_as_one_may_have(monkeypatch: pytest.MonkeyPatch) -> None:
    assert cores() == 4
    monkeypatch.setenv(LIMIT, "1")
    assert cores() == 1
    for nothing in ("", "0", "many"):
        monkeypatch.setenv(LIMIT, nothing)
        found = cores()
        assert 1 <= found <= (os.cpu_count() or 1)
        if sys.platform == "linux":
            assert found == len(os.sched_getaffinity(0))


def test_workers_share_the_cores() -> None:
    """Four of them among two processes; one each among five."""
    for workers, share in [(2, 2), (5, 1)]:
        with processes(workers) as mapped:
            assert mapped(_cores, [0]) == [share]


def _cores(_: int) -> int:
    return cores()


@pytest.mark.parametrize("clip", [None, 0.5])
@pytest.mark.parametrize("kind", ["linear", "perceptron"])
def test_gradients_have_the_same_bits_on_any_number(
    kind: str, clip: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng, net = np.random.default_rng(4), Perceptron(5, 5)
    p = 6 if kind == "linear" else net.numbers
    x, y = records(1, (700, 31, 1), 6)
    some: LinearRecords | PerceptronRecords = LinearRecords(x, y, clip, "l1", Squared())
    if kind == "perceptron":
        some = PerceptronRecords(net, x, y, Squared(), clip)
    owners, points = rng.integers(0, 3, 100), rng.normal(size=(100, p))
    met = set()
    for module in (linear, perceptron):
        monkeypatch.setattr(module, "ALONE", -1)
    for count in (1, 2, 3, 4):
        monkeypatch.setenv(LIMIT, str(count))
        met.add(some.gradient(owners, points).tobytes())
    assert len(met) == 1


@pytest.mark.parametrize("law", [calibrated("plain", "body"), drifting("plain")])
def test_loans_that_are_drawn_have_the_same_bits_on_any_number(
    law: Law, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many chunks are made at once as there are threads, each with one; the last is short."""
    total, columns = 11 * CHUNK_ROWS + 9, len(calibrated("plain", "body").columns)
    found = set()
    for count in (4, 3, 2, 1):  # the most first, for which threads are made
        monkeypatch.setenv(LIMIT, str(count))
        matrix, target = np.zeros((total, columns), order="F"), np.zeros(total)
        RowsOfLaw(_AllAtOnce(law, count), np.random.default_rng(3)).write(matrix, target)
        found.add((matrix.tobytes(), target.tobytes()))
    assert len(found) == 1


class _AllAtOnce:
    """A law each of whose chunks waits until so many are made at once."""

    def __init__(self, law: Law, count: int) -> None:
        self._law = law
        self._met = Barrier(count, timeout=30)
        self.n_variables = law.n_variables

    def fill(self, matrix: Array, target: Array, normals: Array, first: int, row: int) -> None:
        self._met.wait()
        self._law.fill(matrix, target, normals, first, row)
