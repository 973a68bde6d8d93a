"""Ctrl-C and other signals that end a program: nothing half built, no traceback."""

import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from asyncdp_sim.figures.draw import Drawing
from tests.cli.scenes import SMALL
from tests.fresh import fresh_seed
from tests.one_in import one_in
from tests.tables import table

TABLE = table(__file__, "interruption.toml")
AT_IMPORT = TABLE["at_import"]
"""A program that hears Ctrl-C at one of its imports; the first few are Python's own."""
SIGNALS = [signal.SIGTERM, signal.SIGHUP]


@pytest.fixture(autouse=True)
def heeded() -> Iterator[None]:
    """Hear signals: under ``nohup``, or behind ``&``, some are ignored by all that is started."""
    wanted = {signal.SIGINT: signal.default_int_handler, **dict.fromkeys(SIGNALS, signal.SIG_DFL)}
    before = {number: signal.signal(number, how) for number, how in wanted.items()}
    yield
    for number, how in before.items():
        signal.signal(number, how)


FILES = {"small.toml": SMALL}


ROOT = Path(__file__).parents[2]
RUN = ("asyncdp_sim", "run", "small.toml", "--out", "result")
CATALOGUE = ("scenarios", "vary-availability", "--out", "result")


def interrupted_at(place, folder, command=RUN):
    """Run a command that hears Ctrl-C when it imports its so manieth module."""
    words = [sys.executable, "-c", AT_IMPORT, str(place), *command]
    said = os.environ | {"PYTHONPATH": str(ROOT)}  # where scenarios are
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False, env=said)


@one_in(2, "place", [40, 300])
@one_in(2, "program", [RUN, CATALOGUE])
def test_while_it_starts_it_ends_without_a_traceback(program, place, here):
    said = interrupted_at(place, here, program)
    assert said.returncode in (130, -signal.SIGINT)  # a shell says 130 of both
    assert "Traceback" not in said.stderr
    assert len(said.stderr.splitlines()) in (0, 2)
    assert [path.name for path in here.iterdir()] == ["small.toml"]


@pytest.mark.nightly
def test_wherever_it_starts(here, record_property):
    draw = random.Random(fresh_seed())
    record_property("tried", 61)
    for place in [20, *(draw.randrange(20, 900) for _ in range(60))]:
        said = interrupted_at(place, here)
        assert said.returncode in (130, -signal.SIGINT), (place, said)
        assert "Traceback" not in said.stderr, (place, said)
        assert [path.name for path in here.iterdir()] == ["small.toml"], place


@pytest.mark.parametrize("number", [signal.SIGINT, *SIGNALS])
@pytest.mark.parametrize(
    "where",
    ["asyncdp_sim.runs.replicates.learn_all", "asyncdp_sim.results.columns.optimum_columns"],
)
def test_who_ends_it_finds_nothing_half_built(number, where, command, here, monkeypatch):
    before = signal.getsignal(number)
    monkeypatch.setattr(where, lambda *_, **__: os.kill(os.getpid(), number))
    said = command("run", "small.toml", "--out", "result")
    assert said.code == 128 + number
    assert said.lines == [
        "interrupted: nothing is kept",
        "to start again: asyncdp run small.toml --out result",
    ]
    assert [path.name for path in here.iterdir()] == ["small.toml"]
    assert signal.getsignal(number) is before


@pytest.mark.long
@pytest.mark.usefixtures("here")
def test_a_signal_that_is_ignored_stays_so(command, monkeypatch):
    """As ``nohup`` wants it."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        monkeypatch.setattr("asyncdp_sim.figures.draw.draw_named", hang_up)
        assert command("run", "small.toml", "--out", "result", "--plot").code == 0
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def hang_up(*_: object) -> Drawing:
    os.kill(os.getpid(), signal.SIGHUP)
    return Drawing((), ())


@pytest.mark.usefixtures("here")
def test_what_is_tidied_up_is_not_interrupted_again(command, monkeypatch):
    import shutil

    remove = shutil.rmtree

    def twice(*given: object, **how: object) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        remove(*given, **how)

    monkeypatch.setattr("asyncdp_sim.results.write.shutil.rmtree", twice)
    monkeypatch.setattr(
        "asyncdp_sim.results.columns.optimum_columns",
        lambda *_: os.kill(os.getpid(), signal.SIGTERM),
    )
    assert command("run", "small.toml", "--out", "result").code == 143
    assert [path.name for path in Path().iterdir()] == ["small.toml"]
