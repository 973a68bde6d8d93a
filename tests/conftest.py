"""Use of this machine by tests: memory that stays, and one thread for linear algebra.

What collection leaves in memory stays to the end: garbage collections need not go over it. They
are rare besides, as hypothesis, once in use, times each of them. Tests run in as many processes as
there are processors; threads of OpenBLAS besides, in these and in the programs that they start,
wait for each other longer than they work.
"""

import gc
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.command import Command

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # read where numpy is imported
gc.disable()  # while modules are read and tests collected: all of that stays


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--blas-threads",
        default="",
        metavar="N,N",
        help="run each test once with each of these numbers of threads of linear algebra",
    )
    parser.addoption(
        "--share-of-the-week",
        action="store_true",
        help="run each seventh of the chosen tests, another seventh every day",
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    numbers = metafunc.config.getoption("--blas-threads")
    if numbers != "":
        metafunc.fixturenames.append("blas_threads")
        metafunc.parametrize("blas_threads", [int(n) for n in numbers.split(",")], indirect=True)


@pytest.hookimpl(trylast=True)  # after the marks have chosen
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--share-of-the-week"):
        day = datetime.now(UTC).toordinal() % 7
        others = [item for place, item in enumerate(items) if place % 7 != day]
        items[:] = [item for place, item in enumerate(items) if place % 7 == day]
        config.hook.pytest_deselected(items=others)


@pytest.fixture
def blas_threads(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Set the threads of linear algebra, in this process and in those that a test starts.

    OpenBLAS reads this variable first, and so it decides where OMP_NUM_THREADS is set, too.
    """
    from threadpoolctl import threadpool_limits

    monkeypatch.setenv("OPENBLAS_NUM_THREADS", str(request.param))
    with threadpool_limits(request.param, user_api="blas"):
        yield


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.set_threshold(50_000, 10, 10)
    gc.enable()


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> "Command":
    from tests.cli.command import Command  # most tests do without the command line

    return Command(monkeypatch, capsys)


@pytest.fixture
def here(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder of its own, with the module's FILES: texts by name."""
    monkeypatch.chdir(tmp_path)
    for name, text in getattr(request.module, "FILES", {}).items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path
