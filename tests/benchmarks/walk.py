"""``python -m tests.benchmarks.walk``: what one live update passes through, from clock to curve.

Counted from the end of update 20 to the end of update 21 (protocol ``request``, ideal channel,
Algorithm 1, Laplace noise): the files of the package whose lines are executed, and the switches, on
a kind or on something that may be absent: comparisons with None or with a text, ``isinstance``, and
a bare name or attribute that is asked whether it holds.
"""

import ast
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import asyncdp_sim
from asyncdp_sim.learning.live import LiveLearning
from asyncdp_sim.runs.run import run
from asyncdp_sim.scenario import Scenario, parse
from scenarios import entry

PACKAGE = str(Path(asyncdp_sim.__file__).parent)
FIRST, LAST = 20, 21
CELL = {
    "run": {"updates": 30, "replicates": 1, "record_every": 1, "seed": 1, "learning": "live"},
    "owners": {"count": 5, "records": 50},
}


class Walk:
    """Traces lines of the package while it is switched on.

    Attributes
    ----------
    files : Counter
        Lines executed, by file.
    switches : Counter
        Switches passed, by file.
    """

    def __init__(self) -> None:
        self.files: Counter[str] = Counter()
        self.switches: Counter[str] = Counter()

    def __call__(self, frame: FrameType, event: str, _: Any) -> "Walk | None":
        """Note a line that is about to be executed, as :func:`sys.settrace` tells of it."""
        file = frame.f_code.co_filename
        if not file.startswith(PACKAGE):
            return None
        if event == "line":
            name = str(Path(file).relative_to(PACKAGE))
            self.files[name] += 1
            self.switches[name] += switches(file)[frame.f_lineno]
        return self


@cache
def switches(file: str) -> Counter[int]:
    """Return how many switches each line of a file holds."""
    tree = ast.parse(Path(file).read_text(encoding="utf-8"))
    return Counter(line for node in ast.walk(tree) for line in _lines(node))


def _lines(node: ast.AST) -> Iterator[int]:
    """Yield the line of each switch that a node is, or asks in its test."""
    if isinstance(node, ast.Compare):
        others = [each.value for each in node.comparators if isinstance(each, ast.Constant)]
        yield from (node.lineno for value in others if value is None or isinstance(value, str))
    elif isinstance(node, ast.Call):
        yield from [node.lineno] * (getattr(node.func, "id", "") == "isinstance")
    asked = [node.test] if isinstance(node, ast.If | ast.IfExp | ast.While) else []
    asked += node.values if isinstance(node, ast.BoolOp) else []
    for test in asked:
        bare = test.operand if isinstance(test, ast.UnaryOp) else test
        if isinstance(bare, ast.Name | ast.Attribute):
            yield test.lineno


def walk() -> Walk:
    """Return what an update passes through."""
    seen, made = Walk(), LiveLearning.update

    def update(self: LiveLearning) -> None:
        made(self)
        if self._updates == LAST:
            sys.settrace(None)
        if self._updates == FIRST:
            sys.settrace(seen)
            frame: FrameType | None = sys._getframe(1)
            while frame is not None:  # those that are under way, of which Python does not tell
                frame.f_trace = seen
                frame = frame.f_back

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(LiveLearning, "update", update)
        run(scenario())
    return seen


def scenario() -> Scenario:
    """Return the first entry of the catalogue that learns by requests, with little to do."""
    base = entry("async-02").scenario()
    raw = base.cell(next(iter(base.grid()))).plain()
    for section, given in CELL.items():
        raw[section] |= given
    return parse(Scenario, raw)


if __name__ == "__main__":
    found = walk()
    for name, lines in sorted(found.files.items()):
        print(f"{name}: {lines} lines, {found.switches[name]} switches")
    print(f"{len(found.files)} files, {found.switches.total()} switches")
