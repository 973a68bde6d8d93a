"""``asyncdp export``: an app from a scenario file, and one line for what it refuses."""

from pathlib import Path

import pytest

from tests.unit.exports.banks import banks


@pytest.fixture
def here(here: Path) -> Path:
    banks(here)
    (here / "full").mkdir()
    return here


def test_an_app_is_written(command, here):
    said = command.done("export", "flower", "banks.toml", "-o", "app", "--unit", "2")
    assert said.out.splitlines()[-1] == "written to app"
    assert (here / "app/private_learning/plan.json").exists()


@pytest.mark.parametrize(("arguments", "words"), [
    (("flower", "banks.toml", "-o", "full"), "--out: given full; allowed is a new directory"),
    (("flower", "banks.toml", "-o", "north.csv/app"), "north.csv/app (Not a directory)"),
    (("flower", "banks.toml", "-o", "app", "--unit", "0"), "--unit"),
    (("flower", "banks.toml"), "Missing option '-o'"),
    (("flower", "nothing-near-it", "-o", "app"), "nothing-near-it: given neither a file nor"),
    (("tensor", "banks.toml", "-o", "app"), "'tensor' is not "),
    (("flower", "lending-sound", "-o", "app"), "data.kind: given 'lending'; allowed in a Flower"),
    (("flower", "banks.toml", "-o", "app", "--set", "privacy.mechanism=none"),
     "privacy.mechanism: given 'none'; allowed in a Flower app is laplace"),
])  # fmt: skip
def test_refusals_are_one_line_and_write_nothing(command, here, arguments, words):
    before = sorted(here.rglob("*"))
    said = command("export", *arguments)
    assert (said.code, said.out, len(said.lines)) == (2, "", 1)
    assert words in said.err
    assert sorted(here.rglob("*")) == before
