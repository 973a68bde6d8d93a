"""``docs/tutorial-own-table.md``: what it shows comes out, and no private row has a say in it."""

import shlex
from pathlib import Path

import pytest

from asyncdp_sim.scenario import load
from tests.cli.pages import FOLDER, commands, fenced, hold
from tests.tables import table

PAGE = FOLDER.parent / "tutorial-own-table.md"


@pytest.fixture
def here(here: Path) -> Path:
    [(_, made)] = fenced(PAGE, "python")
    exec(made, {})
    return here


@pytest.mark.documents
def test_its_commands_print_what_it_shows(command, here):
    told = [
        each for _, text in fenced(PAGE, "console") for each in commands(PAGE.stem, False, text, {})
    ]
    assert len(told) == 6
    for each in told:
        hold(command, each)
    written = (here / "stays.toml").read_text("utf-8")
    lines = [line for line in written.splitlines() if "=" in line]
    assert sum("  # " in line for line in lines) > 0.8 * len(lines)
    assert load(here / "stays.toml")[0].privacy.epsilon == 1


@pytest.mark.parametrize(
    "epsilon", [(), pytest.param(("--epsilon", 1), marks=pytest.mark.nightly)], ids=["data", "all"]
)
def test_private_rows_have_no_say_in_what_is_told_and_written(epsilon, command, here, monkeypatch):
    asked = ("--target", "Days", "--owner", "Clinic", "--public", 400)
    lines = (here / "stays.csv").read_text("cp1252").splitlines()
    scrambled = [
        ";".join(["?", line.split(";")[1], "€1.234", "", "x", "1e300", "zz", "secret", "z"])
        for line in lines[1:1601]
    ]
    (here / "other").mkdir()
    other = here / "other" / "stays.csv"
    other.write_text("\n".join([lines[0], *scrambled, *lines[1601:]]), encoding="cp1252")
    told = []
    for place in (here, here / "other"):
        monkeypatch.chdir(place)
        seen = command.done("data", "stays.csv", *asked).out
        command.done("data", "stays.csv", *asked, "--write", "s.toml", *epsilon)
        told.append((seen, Path("s.toml").read_text("utf-8")))
    assert told[0] == told[1]


@pytest.mark.long
def test_a_look_at_private_rows_is_not_for_release(command, here):
    asked = ("data", "stays.csv", "--target", "Days", "--owner", "Clinic", "--public", 400)
    said = command.done(*asked, "--private", "--write", "s.toml")
    assert said.out.startswith("not for release: all rows were read, private ones too\n")
    assert 'chosen_from = "private rows"' in (here / "s.toml").read_text("utf-8")


@pytest.mark.usefixtures("here")
def test_without_public_rows_names_and_sizes_are_all(command):
    said = command.done("data", "stays.csv", "--owner", "Clinic", "--charset", "cp1252")
    assert said.lines == []
    assert said.out.splitlines()[2:] == [
        "columns: Case id, Admitted, Sex, Risk, Weight, Charges, Weeks, Days",
        "owners: 8 by Clinic, 200 records each",
        "types: unknown, because no row is public; add --public M or --public FILE",
        "no scenario yet: add --target COLUMN, the column to predict",
        "no scenario yet: add --public M: the last M rows are public",
        "for example: asyncdp data stays.csv --target Days --owner Clinic --public 400",
    ]


def test_a_table_of_one_column_has_no_target_to_suggest(command, here):
    (here / "one.csv").write_text("Clinic\na\na\nb\n", encoding="utf-8")
    assert "for example" not in command.done("data", "one.csv", "--owner", "Clinic").out


def test_public_rows_of_one_target_are_no_ground_for_a_scenario(command, here):
    """A table in the order of its classes, as frauds first: its last rows show one of them."""
    rows = [f"{row % 7},{row % 3},{int(row < 40)}" for row in range(200)]
    (here / "classes.csv").write_text("\n".join(["a,b,Class", *rows, ""]), "utf-8")
    asked = ("data", "classes.csv", "--target", "Class", "--public", 60)
    why = (
        "--public: given public rows with the same value of the target; add --public-seed 1, which "
        "draws the public rows at random"
    )
    said = command.done(*asked).out.splitlines()
    assert f"no scenario yet: {why.removeprefix('--public: given ')}" in said
    assert "Class: only one value, '0'" in said
    assert command.refused(*asked, "--write", "s.toml", "--epsilon", 1) == f"classes.csv: {why}"
    shuffled = [*rows[3::7], *rows]
    (here / "classes.csv").write_text("\n".join(["a,b,Class", *shuffled[::-1], ""]), "utf-8")
    assert 'target = "Class"' in command.done(*asked).out


REFUSED = table(__file__, "refused.toml")["tutorial"]


@pytest.mark.parametrize("options", REFUSED)
@pytest.mark.usefixtures("here")
def test_wrong_options(command, options):
    assert command.refused("data", "stays.csv", *shlex.split(options)).startswith(REFUSED[options])
