"""``asyncdp list`` and ``asyncdp new``; a name of the catalogue wherever a file goes."""

import json
import re
import tomllib
from importlib.metadata import version

import pytest

from asyncdp_sim.cli.catalogue import BEYOND, MARKS, SECONDS, listed
from asyncdp_sim.core.words import SCREEN
from asyncdp_sim.data import SYNTHETIC
from asyncdp_sim.scenario import load
from asyncdp_sim.scenario.catalogue import catalogue, commented, entry
from asyncdp_sim.scenario.files import SCHEMA_FILE
from asyncdp_sim.sentences.pages import schema_text
from tests.directories import manifest
from tests.documents.listed import marks

ENTRIES = catalogue()


def text_of(found):
    return found.file.read_text(encoding="utf-8")


SMALL = ("--set", "run.updates=10", "--set", "run.replicates=2", "--set", "owners.records=300")


def test_the_list_has_every_entry_and_fits_the_screen(command):
    said = command.done("list").out
    assert max(map(len, said.splitlines())) <= SCREEN
    listed = re.findall(r"^  ([\w-]+) ", said, re.M)
    assert sorted(listed) == [found.name for found in ENTRIES]
    assert (
        "\nFrom the papers: Async\n  async-02                  One-on-one updates of Async" in said
    )
    assert "  lending-sound             Three banks learn interest rates, privately (sweep" in said
    assert said.endswith(
        "sweep, 14 s: asyncdp sweep NAME --plot takes 14 CPU seconds and draws it.\n"
        "Entries are private as claimed unless marked.\n"
        "A name goes wherever a file does: asyncdp check lending-sound\n"
        "A copy to change:                 asyncdp new lending-sound -o my.toml\n"
    )


@pytest.mark.long
def test_the_list_is_what_validated_scenarios_say():
    """``python -m tests.documents`` writes anew what is said of privacy."""
    assert MARKS.read_text("utf-8") == marks()
    told = {each.name: each for each in listed()}
    for found in ENTRIES:
        each, source = told.pop(found.name), found.as_it_is.source
        assert (each.title, each.privacy) == (found.as_it_is.title, found.privacy)
        assert each.command == ("sweep" if len(found.as_it_is.sweep) > 0 else "run")
        paper = each.group.removeprefix("From the papers: ")
        assert (source in (None, SYNTHETIC)) is (each.group == BEYOND)
        assert each.group == BEYOND or source.startswith(f"{paper},")
    assert told == {}
    assert set(json.loads(SECONDS.read_text("utf-8"))) == {found.name for found in ENTRIES}


@pytest.mark.parametrize(
    ("name", "mark", "private"),
    [
        ("lending-sound", "", True),
        ("lending-timing", "NOT private", False),
        ("collab-02", "private if its declared bound holds", None),
        ("polar-server-graphs", "claims no ε", False),
    ],
)
def test_what_the_list_says_of_privacy_is_what_runs_say(name, mark, private, command, tmp_path):
    assert entry(name).privacy == mark
    records = ("--set", "data.public_records=200") if "lend" in name or "coll" in name else ()
    mild = ("--set", "algorithm.step=0.001") if name == "collab-02" else ()
    command.done("run", name, *SMALL, *records, *mild, "--out", tmp_path / "r")
    summary = manifest(tmp_path / "r")["summary"]
    if private is None:
        assert summary["epsilon_at_least"]  # so that it is for the table's records alone to say
    else:
        assert summary["private"] is private


def test_a_sweep_is_marked_for_each_of_its_cells():
    assert entry("every-owner-a-learner").privacy == "in part NOT private"
    learners = entry("every-owner-a-learner").as_it_is
    private = [cell for cell in learners.grid() if "exact" not in str(cell)]
    assert 0 < len(private) < len(list(learners.grid()))


def test_comments_change_nothing_and_are_there():
    """No entry names a file, so that a copy loads wherever it lies."""
    assert not any(re.search(r"path\" ?=|^path ?=|path =", each) for each in map(text_of, ENTRIES))
    for found in ENTRIES[::3]:
        text, plain = commented(found.name), found.file.read_text(encoding="utf-8")
        assert tomllib.loads(text) == tomllib.loads(plain), found.name
        assert text.count("\n# ") > plain.count("\n# ") + 10, found.name
    assert "# ε_i: privacy budget of each owner for the whole run" in commented("lending-sound")


def test_new_writes_a_copy_that_runs_where_it_lies(command, here):
    (here / "a folder").mkdir()
    said = command.done("new", "lending-timing", "-o", "a folder/my.toml")
    assert said.out.splitlines()[-1] == "to run it:      asyncdp run 'a folder/my.toml'"
    line = command.refused("new", "lending-timing", "-o", "a folder/my.toml")
    assert (
        line
        == "-o: given an existing path, a folder/my.toml; allowed is a file that does not exist yet"
    )
    assert load(here / "a folder" / "my.toml")[0] == entry("lending-timing").as_it_is


def test_new_without_a_name_writes_a_private_scenario_of_few_lines(command, here):
    command.done("new")
    file = here / "my-scenario.toml"
    assert {each.name for each in here.iterdir()} == {file.name, SCHEMA_FILE}
    settings = [line for line in file.read_text("utf-8").splitlines() if " = " in line]
    sections = [line for line in settings if not line.startswith('"')]
    said = [line for line in sections if "#" not in line]
    assert len(said) <= 8  # the rest say on their own line what they mean
    command.done("new", "-o", "other.toml")
    ran = command.done("run", "other.toml", "--set", "run.replicates=2").out
    assert "private              yes (ε = 1 per owner)" in ran


@pytest.mark.long
def test_a_new_scenario_has_the_schema_that_it_names_beside_it(command, here):
    (here / "f").mkdir()
    said = command.done("new", "lending-sound", "-o", "f/my.toml").out.splitlines()
    line, schema = (here / "f" / "my.toml").read_text("utf-8").splitlines()[0], here / "f"
    named = schema / line.removeprefix("#:schema ")
    assert named.read_text("utf-8") == schema_text()
    assert said[1] == f"also written: {named.name}; editors use it to complete and check the file"
    assert named.name not in command.done("new", "-o", "f/other.toml").out
    named.write_text("{}", encoding="utf-8")
    said = command.done("new", "-o", "f/third.toml").out.splitlines()
    assert said[1] == (
        "f/asyncdp.schema.json is of another version; to replace it: "
        "asyncdp schema -o f/asyncdp.schema.json"
    )
    assert named.read_text("utf-8") == "{}"
    command.done("schema", "-o", "f/asyncdp.schema.json")
    assert named.read_text("utf-8") == schema_text()
    named.unlink()
    named.symlink_to("nowhere")
    assert "to replace it: asyncdp schema" in command.done("new", "-o", "f/fourth.toml").out


@pytest.mark.long
def test_a_name_goes_where_a_file_does_and_a_file_that_is_there_goes_first(command, here):
    assert "owners: 3," in command.done("check", "lending-sound").out
    little = ("--set", "owners.records=100", "--set", "data.public_records=100")
    command.done("forecast", "collab-02", *little)
    assert "results/lending-sound-" in command("sweep", "lending-sound", "--status").err
    (here / "lending-sound").write_text(commented("whom-to-ask"), encoding="utf-8")
    assert "owners: 10," in command.done("check", "lending-sound").out


@pytest.mark.long
def test_check_takes_settings(command):
    said = command.done("check", "collab-06", "whom-to-ask", "--set", "run.updates=7")
    assert said.out.count("T = 7 updates") == 2
    assert command("check", "collab-06", "--set", "run.updates=0").code == 2


def test_the_version(command):
    assert command.done("--version").out == f"asyncdp {version('asyncdp_sim')}\n"
