"""Runs the command line as a user does: in this process, or as a program."""

import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from asyncdp_sim import cli

PROGRAM = Path(sys.executable).parent / "asyncdp"


@dataclass(frozen=True)
class Said:
    """What a command gave: exit code, the two streams, and the processor seconds it took."""

    code: int
    out: str
    err: str
    seconds: float

    @property
    def lines(self) -> list[str]:
        return self.err.splitlines()


class Command:
    """``command("run", file)`` is ``asyncdp run FILE``; only its own way of ending is caught."""

    def __init__(self, patch: pytest.MonkeyPatch, capture: pytest.CaptureFixture[str]) -> None:
        self._patch = patch
        self._capture = capture

    def __call__(self, *arguments: object) -> Said:
        self._patch.setattr(sys, "argv", ["asyncdp", *map(str, arguments)])
        self._capture.readouterr()
        began = time.process_time()
        with pytest.raises(SystemExit) as end:
            cli.main()
        seconds = time.process_time() - began
        captured = self._capture.readouterr()
        assert end.value.code is None or isinstance(end.value.code, int)
        return Said(end.value.code or 0, captured.out, captured.err, seconds)

    def done(self, *arguments: object) -> Said:
        """Run a command that must succeed."""
        said = self(*arguments)
        assert said.code == 0, said.err
        return said

    def refused(self, *arguments: object, code: int = 2) -> str:
        """Run a command that must end with one line on stderr, without a traceback; return it."""
        said = self(*arguments)
        assert (said.code, len(said.lines)) == (code, 1), said.err
        assert "Traceback" not in said.err
        return said.lines[0]


def program(*arguments: object, folder: Path) -> Said:
    """Run ``asyncdp`` as a program of its own, with both streams in pipes."""
    began = time.process_time()
    ended = subprocess.run(
        [PROGRAM, *map(str, arguments)],
        cwd=folder,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=600,
    )
    return Said(ended.returncode, ended.stdout, ended.stderr, time.process_time() - began)
