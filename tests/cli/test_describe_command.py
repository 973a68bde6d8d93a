"""``asyncdp describe`` and ``asyncdp schema``, and the line by which editors find the latter."""

import tomllib
from pathlib import Path

import pytest

from asyncdp_sim.scenario import SCHEMA_LINE, load
from asyncdp_sim.sentences.names import schema_text
from tests.cli.scenes import SMALL

CATALOGUE = Path(__file__).resolve().parents[2] / "asyncdp_sim" / "catalogue"


def test_a_field_is_described(command):
    said = command.done("describe", "privacy.delta")
    assert said.err == ""
    first, *meaning = said.out.splitlines()
    meaning, facts = meaning[:-5], meaning[-5:]
    assert first == "privacy.delta (field)"
    assert "for Gaussian noise" in " ".join(meaning)
    assert [line.split(maxsplit=1) for line in facts] == [
        ["unit", "none"],
        ["domain", "numbers > 0 and < 1"],
        ["default", "absent"],
        ["example", "privacy.delta = 1e-06"],
        ["more", "asyncdp docs semantics#privacy"],
    ]


def test_every_meaning_of_a_name_is_told(command):
    assert command.done("describe", "slot").out.count("channel.slot (field of ") == 3
    assert "updates.staleness" in command.done("describe", "staleness").out
    assert command.done("describe", "psi").out == command.done("describe", "ψ").out


def test_an_unknown_name_is_one_line_with_the_nearest(command):
    said = command("describe", "privacy.epsilom")
    assert (said.code, said.out) == (2, "")
    [line] = said.lines
    assert line.startswith("describe: given 'privacy.epsilom'; did you mean privacy.epsilon, ")


@pytest.mark.long
def test_the_schema_is_printed_or_written(command, here):
    assert command.done("schema").out == schema_text()
    name = SCHEMA_LINE.removeprefix("#:schema ")
    assert f"written to {name}" in command.done("schema", "-o", name).out
    assert (here / name).read_text("utf-8") == schema_text()
    command.refused("schema", "-o", here / "nowhere" / name)


def test_scenario_files_begin_with_the_line(command, tmp_path):
    (tmp_path / "small.toml").write_text(SMALL, encoding="utf-8")
    command.done("run", tmp_path / "small.toml", "--out", tmp_path / "r")
    written = tmp_path / "r" / "scenario.toml"
    for file in CATALOGUE.glob("*.toml"):
        assert file.read_text("utf-8").splitlines()[0] == SCHEMA_LINE, file
    assert "#:schema" not in written.read_text("utf-8")  # no schema lies beside results
    assert tomllib.loads(written.read_text("utf-8"))["id"] == "small"
    assert load(written)[0] == load(tmp_path / "small.toml")[0]
