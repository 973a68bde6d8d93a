"""Files that cannot be stored as text, places that cannot be written, and wrong commands.

The tests may run as root, whom file permissions do not stop; a loop of links stops everybody.
"""

import os
from pathlib import Path

import pytest

from asyncdp_sim.cli import COMMANDS
from asyncdp_sim.comparisons.comparison import compare
from asyncdp_sim.core.errors import ResultError
from asyncdp_sim.results import Result, open_directory
from tests import tables
from tests.bad_input.transcript import leaked
from tests.cli.command import Said
from tests.one_in import one_in
from tests.scenes import text

TABLE = tables.table(__file__, "malformed_places.toml")
GOOD = text(**TABLE["good"])
SWEEP = GOOD + '[sweep]\n"privacy.epsilon" = [1.0, 2.0]\n'
TAKEN = "allowed is a directory that does not exist yet: name another with --out"
UNWRITABLE = "allowed is a place that can be written to"


FILES = {"good.toml": GOOD, "sweep.toml": SWEEP}


def refused(said: Said, *expected: str) -> None:
    assert said.code == 2
    assert said.out == ""
    assert said.lines == list(expected)
    assert leaked(said.err) == []


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


NESTED = "given text that is not TOML (tables or lists nested more than 100 deep); "
UNREADABLE = {
    "not UTF-8": (b'schema = 1\nid = "caf\xe9"\n', "given bytes that are not UTF-8 at offset 20; "),
    "UTF-16": (GOOD.encode("utf-16"), "given bytes that are not UTF-8 at offset 0; "),
    "zeros": (b"\0" * 10, "given text that is not TOML ("),
    "lists in lists": (b"x = " + b"[" * 5000 + b"]" * 5000, NESTED),
    "tables in tables": (b"x = " + b"{a=" * 5000 + b"1" + b"}" * 5000, NESTED),
    "dotted keys": (b"a." * 5000 + b"b = 1", NESTED),
    "cut off": (GOOD.encode()[:-30], "given text that is not TOML ("),
}


@pytest.mark.parametrize("content", UNREADABLE.values(), ids=UNREADABLE)
@one_in(3, "verb", ["run", "sweep", "check"])
def test_bytes(verb, content, command, here):
    (here / "bad.toml").write_bytes(content[0])
    assert command.refused(verb, "bad.toml").startswith(f"bad.toml: {content[1]}")
    assert names(here) == ["bad.toml", "good.toml", "sweep.toml"]


def test_empty_file(command, here):
    (here / "bad.toml").write_bytes(b"")
    sections = ("id", "run", "owners", "data", "model", "algorithm", "privacy")
    said = command("run", "bad.toml")
    refused(said, *(f"bad.toml: {s}: given nothing; this field is required" for s in sections))


def test_places_that_are_no_file(command, here):
    allowed = "allowed is a scenario file in TOML"
    lost = "given a file that does not exist; to create it: asyncdp new -o FILE"
    (here / "loop.toml").symlink_to("loop.toml")
    (here / "dangling.toml").symlink_to("nowhere.toml")
    (here / "folder.toml").mkdir()
    refused(command("run", "nowhere.toml"), f"nowhere.toml: {lost}")
    refused(command("run", "dangling.toml"), f"dangling.toml: {lost}")
    refused(command("run", "folder.toml"), f"folder.toml: given a directory; {allowed}")
    nowhere = "given neither a file nor a name of the catalogue; asyncdp list prints all names"
    refused(command("run", "x" * 300), f"{'x' * 300}: {nowhere}")
    for file in ("loop.toml", "good.toml/below.toml", f"{'x' * 300}.toml"):
        [line] = command("run", file).lines
        assert line.startswith(f"{file}: given an unreadable file (")


def test_unreadable_data(command, here):
    (here / "loop.csv").symlink_to("loop.csv")
    (here / "dangling.csv").symlink_to("nowhere.csv")
    table = 'kind = "table"\ntarget = "y"\nfeatures = 2\npublic_records = 2\n'
    for name in ("loop.csv", "dangling.csv"):
        text = GOOD.replace('kind = "gaussian"\nfeatures = 2', f'{table}path = "{name}"')
        (here / "bad.toml").write_text(text, encoding="utf-8")
        line = command.refused("run", "bad.toml")
        assert line.startswith(f"bad.toml: data.path: given '{here / name}'; there is no such file")


def test_an_existing_place_is_never_overwritten(command, here):
    (here / "taken").mkdir()
    (here / "taken" / "mine.txt").write_text("mine", encoding="utf-8")
    for place in ("taken", "good.toml"):
        said = command("run", "good.toml", "--out", place)
        refused(said, f"{place}: --out: given an existing path; {TAKEN}")
        said = command("sweep", "sweep.toml", "--out", place)
        allowed = "allowed is a new directory, or a sweep of the same scenario"
        refused(said, f"{place}: --out: given an existing path; {allowed}")
    assert (here / "taken" / "mine.txt").read_text(encoding="utf-8") == "mine"
    assert names(here / "taken") == ["mine.txt"]
    assert (here / "good.toml").read_text(encoding="utf-8") == GOOD


PLACES = {
    "link": "",
    "good.toml/below/it": UNWRITABLE,
    "/proc/nowhere/result": UNWRITABLE,
    "x" * 300: UNWRITABLE,
    "s3://bucket/results": "'s3://bucket/results', a URL; allowed is a directory",
}


@pytest.mark.parametrize("verb", ["run", "sweep"])
@pytest.mark.parametrize("place", PLACES)
def test_places_that_cannot_be(place, verb, command, here):
    (here / "link").symlink_to("nowhere/deep")
    said = command(verb, "sweep.toml", "--out", place)
    assert said.code == 2
    [line] = [line for line in said.lines if not line.startswith("note: ")]
    where = "asyncdp: Invalid value for '--out'" if ":" in place else f"{place}: --out"
    assert line.startswith(f"{where}: given ")
    assert PLACES[place] in line
    assert names(here) == ["good.toml", "link", "sweep.toml"]


def test_an_impossible_place_is_refused_before_the_work(command, here, monkeypatch):
    monkeypatch.setattr(
        "asyncdp_sim.runs.outcome.prepare", lambda *_: pytest.fail("it began to work")
    )
    assert command("run", "good.toml", "--out", here / "good.toml" / "below").code == 2


def test_no_command(command):
    said = command()
    assert said.code == 2
    assert said.lines == ["asyncdp: given no command; allowed is one of those above"]
    for verb in ("run", "sweep", "check", "replay"):
        assert verb in said.out


@pytest.mark.usefixtures("here")
def test_settings_nested_without_end_are_refused(command):
    for setting in (f"run.updates={'[' * 5000}{']' * 5000}", f"{'a.' * 5000}b=1"):
        command.refused("check", "good.toml", "--set", setting)


def test_a_pipe_is_not_waited_for(command, here):
    os.mkfifo(here / "pipe.toml")
    given = "given an unreadable file (not a regular file); allowed is a readable TOML file"
    for verb in ("check", "run"):
        refused(command(verb, "pipe.toml"), f"pipe.toml: {given}")


NO_CLASS = "there is nothing named No in its code; its classes: Yes"
NAMED = tables.table(__file__, "words.toml")


@pytest.mark.parametrize("words", NAMED)
def test_one_line_names_the_option_or_the_file(words, command, here):
    (here / "half").mkdir()
    (here / "half" / "scenario.toml").write_text(SWEEP, encoding="utf-8")
    refused(command(*words.split(" ")), NAMED[words])
    assert names(here) == ["good.toml", "half", "sweep.toml"]


def test_a_class_that_a_file_lacks_is_of_its_field(command, here):
    (here / "own.py").write_text("class Yes: ...\n", encoding="utf-8")
    place = f"python:{here / 'own.py'}:No"
    said = command("check", "good.toml", "--allow-code", "--set", f"algorithm.kind={place}")
    refused(said, f"good.toml: algorithm.kind: given '{place}'; {NO_CLASS}")


def test_a_file_that_begins_with_a_dash_is_typed_as_a_path(command, here):
    said = command.done("new", "-o", "-x.toml").out.splitlines()
    assert said[-1].endswith("asyncdp run ./-x.toml")
    assert (here / "-x.toml").exists()


LONG = "x" * 5000
"""No file system has a name like it: the system refuses to look whether it is there."""
FIRST = {"export": ("flower", "-o", "app"), "import": ("trace",), "compare": (LONG,)}
"""What stands before a file's name, where that is not its first word."""
TO_FILES = TABLE["to_files"]


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("words", [*((name, *FIRST.get(name, ())) for name in COMMANDS), *TO_FILES])
def test_a_name_that_no_file_can_have_is_one_line(words, command):
    said = command(*words, LONG)
    assert (said.code, len(said.lines)) == (2, 1), said.err[-300:]
    assert leaked(said.err) == []


def test_python_callers_get_our_exceptions_for_such_a_name():
    for opened in (open_directory, Result.read, lambda path: compare([path, path / LONG])):
        with pytest.raises(ResultError):
            opened(Path(LONG))
