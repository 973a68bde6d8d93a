"""Streams that are closed, or lack a letter, and places that have gone: no traceback, ever."""

import io
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from asyncdp_sim import cli
from tests.cli.command import PROGRAM
from tests.cli.scenes import SMALL

COMMANDS = {
    "help": ("--help",),
    "describe": ("describe", "relative_fitness"),
    "check": ("check", "small.toml"),
    "run": ("run", "small.toml", "--out", "out"),
}


FILES = {"small.toml": SMALL}


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("encoding", ["cp1252", "latin-1", "ascii"])
@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_a_letter_that_a_stream_lacks_is_spelled(words, encoding, monkeypatch):
    streams = [io.TextIOWrapper(io.BytesIO(), encoding=encoding) for _ in range(2)]
    for name, stream in zip(("stdout", "stderr"), streams, strict=True):
        monkeypatch.setattr(sys, name, stream)
    monkeypatch.setattr(sys, "argv", ["asyncdp", *words])
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code in (None, 0)
    if encoding != "ascii":  # typer takes that for a terminal whose language is not set
        printed = streams[0].buffer.getvalue().decode(encoding)
        assert ("psi" if words[0] != "--help" else "epsilon") in printed
        assert "?" not in printed.replace("what ψ is?", "")
        assert "\\u" not in printed


def started(words: tuple[str, ...], folder: Path, prepare: Callable[[], None]) -> tuple[int, str]:
    """Run a program that ``prepare`` prepares; return its exit code and standard error."""
    ended = subprocess.run(
        [PROGRAM, *words], cwd=folder, capture_output=True, check=False, preexec_fn=prepare,
    )  # fmt: skip
    return ended.returncode, ended.stderr.decode()


def closed(*numbers: int) -> Callable[[], None]:
    def close() -> None:
        for number in numbers:
            os.close(number)

    return close


@pytest.mark.long
def test_closed_streams_take_what_is_printed(here):
    assert started(COMMANDS["check"], here, closed(1)) == (0, "")
    assert started(COMMANDS["run"], here, closed(0, 1, 2)) == (0, "")
    assert (here / "out" / "manifest.json").exists()


@pytest.mark.long
def test_a_reader_that_has_gone(here):
    def into_a_closed_pipe() -> None:
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        reading, writing = os.pipe()
        os.close(reading)
        os.dup2(writing, 1)

    assert started(COMMANDS["describe"], here, into_a_closed_pipe) == (cli.READER_GONE, "")


@pytest.mark.long
def test_a_file_may_become_no_larger(here):
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    code, said = started(COMMANDS["run"], here, limit)
    assert code == 4
    assert said.startswith("asyncdp: the machine gave way: ")
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_a_working_directory_that_was_deleted(words, here, command):
    for file in here.iterdir():
        file.unlink()
    here.rmdir()
    assert command.refused(*words) == (
        "asyncdp: given a working directory that was deleted; allowed is one that exists: "
        "change to it first (cd)"
    )
