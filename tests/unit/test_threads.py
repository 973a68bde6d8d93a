"""One thread of linear algebra, in this process and in workers."""

import sys

import pytest
from threadpoolctl import ThreadpoolController, threadpool_info

import asyncdp_sim
from asyncdp_sim.core.starting import one_thread
from asyncdp_sim.runs.replicates import processes


@pytest.mark.long
def test_a_worker_computes_with_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """In NumPy's BLAS and in SciPy's, whenever its work first needs them."""
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "2")
    with processes(2) as mapped:
        assert mapped(_blas_threads, [0]) == [{1}]


def _blas_threads(_: int) -> set[int]:
    import scipy.linalg  # noqa: F401

    return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}


def test_a_forecast_computes_with_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its redraws too, which nothing that limits threads surrounds but the command itself."""
    seen = []

    def stop(*_: object, **__: object) -> None:
        seen.append(_blas_threads(0))
        raise KeyboardInterrupt

    monkeypatch.setattr("asyncdp_sim.forecasts.forecast", stop)
    two = ThreadpoolController().limit(limits=2, user_api="blas")
    with two, pytest.raises(KeyboardInterrupt):
        asyncdp_sim.forecast("vary-availability", progress=False)
    assert seen == [{1}]


def test_libraries_are_looked_for_again_after_an_import(monkeypatch: pytest.MonkeyPatch) -> None:
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
