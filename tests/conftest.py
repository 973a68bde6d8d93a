"""Use of this machine by tests: memory that stays, and one thread for linear algebra.

What collection leaves in memory stays to the end: garbage collections need not go over it. They
are rare besides, as hypothesis, once in use, times each of them. Tests run in as many processes as
there are processors; threads of OpenBLAS besides, in these and in the programs that they start,
wait for each other longer than they work.
"""

import gc
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.command import Command

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # read where numpy is imported
gc.disable()  # while modules are read and tests collected: all of that stays


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
