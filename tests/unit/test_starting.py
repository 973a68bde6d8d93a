"""Starts of programs: while modules are read Ctrl-C is the system's; then all is as before."""

import signal
import sys

import pytest
from threadpoolctl import ThreadpoolController, threadpool_info

import asyncdp_sim
from asyncdp_sim.core.starting import loading, one_thread
from asyncdp_sim.runs.replicates import processes

# Starts of programs: while modules are read Ctrl-C is the system's; then all is as before.


@pytest.mark.parametrize("before", [signal.default_int_handler, signal.SIG_IGN])
def test_while_modules_are_read(before):
    kept = signal.signal(signal.SIGINT, before)
    try:
        with loading():
            ignored = before is signal.SIG_IGN
            now = signal.SIG_IGN if ignored else signal.SIG_DFL
            assert signal.getsignal(signal.SIGINT) is now
        assert signal.getsignal(signal.SIGINT) is before
    finally:
        signal.signal(signal.SIGINT, kept)


def test_where_a_module_cannot_be_read_all_is_as_before():
    before = signal.getsignal(signal.SIGINT)
    try:
        with pytest.raises(ImportError), loading():
            raise ImportError("damaged")
        assert signal.getsignal(signal.SIGINT) is before
    finally:
        signal.signal(signal.SIGINT, before)


# One thread of linear algebra, in this process and in workers.


@pytest.mark.long
def test_a_worker_computes_with_one_thread(monkeypatch):
    """In NumPy's BLAS and in SciPy's, whenever its work first needs them."""
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "2")
    with processes(2) as two:
        assert two.map(_blas_threads, [0]) == [{1}]


def _blas_threads(_: int) -> set[int]:
    import scipy.linalg  # noqa: F401

    return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}


def test_a_forecast_computes_with_one_thread(monkeypatch):
    """Its redraws too, which nothing that limits threads surrounds but the command itself."""
    seen = []

    def stop(*_: object, **__: object) -> None:
        seen.append(_blas_threads(0))
        raise KeyboardInterrupt

    monkeypatch.setattr("asyncdp_sim.forecasts.forecast.forecast", stop)
    two = ThreadpoolController().limit(limits=2, user_api="blas")
    with two, pytest.raises(KeyboardInterrupt):
        asyncdp_sim.forecast("vary-availability", progress=False)
    assert seen == [{1}]


def test_libraries_are_looked_for_again_after_an_import(monkeypatch):
    """What was loaded meanwhile has threads of its own."""
    made = []

    class FormattedMessage(ThreadpoolController):
        def __init__(self) -> None:
            made.append(self)
            super().__init__()

    with one_thread():
        pass
    monkeypatch.setattr("threadpoolctl.ThreadpoolController", FormattedMessage)
    for loaded in (0, 1):
        with one_thread():
            assert len(made) == loaded
        monkeypatch.setitem(sys.modules, "another_library", sys)
