"""Names and settings that are too long for anything, and a place that is refused before the work.

Other files that cannot be read, places that cannot be written and wrong commands are sessions of
``tests/cli/screens``: ``refused-places`` and ``refused-words``.
"""

from pathlib import Path

import pytest

from asyncdp_sim.cli import COMMANDS
from asyncdp_sim.comparisons.comparison import compare
from asyncdp_sim.core.errors import ResultError
from asyncdp_sim.results import Result, open_directory
from tests import tables
from tests.bad_input.transcript import leaked
from tests.scenes import text

TABLE = tables.table(__file__, "malformed_places.toml")
GOOD = text(**TABLE["good"])
FILES = {"good.toml": GOOD, "sweep.toml": GOOD + '[sweep]\n"privacy.epsilon" = [1.0, 2.0]\n'}
LONG = "x" * 5000
"""No file system has a name like it: the system refuses to look whether it is there."""
FIRST = {"export": ("flower", "-o", "app"), "import": ("trace",), "compare": (LONG,)}
"""What stands before a file's name, where that is not its first word."""
EACH = [*((name, *FIRST.get(name, ())) for name in COMMANDS), *TABLE["to_files"]]


def test_an_impossible_place_is_refused_before_the_work(command, here, monkeypatch):
    monkeypatch.setattr(
        "asyncdp_sim.runs.outcome.prepare", lambda *_: pytest.fail("it began to work")
    )
    assert command("run", "good.toml", "--out", here / "good.toml" / "below").code == 2


@pytest.mark.usefixtures("here")
def test_settings_nested_without_end_are_refused(command):
    for setting in (f"run.updates={'[' * 5000}{']' * 5000}", f"{'a.' * 5000}b=1"):
        command.refused("check", "good.toml", "--set", setting)


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("words", EACH)
def test_a_name_that_no_file_can_have_is_one_line(words, command):
    said = command(*words, LONG)
    assert (said.code, len(said.lines)) == (2, 1), said.err[-300:]
    assert leaked(said.err) == []


def test_python_callers_get_our_exceptions_for_such_a_name():
    for opened in (open_directory, Result.read, lambda path: compare([path, path / LONG])):
        with pytest.raises(ResultError):
            opened(Path(LONG))
