"""Whatever has a name can be described; pages and the schema say the same."""

import json
import re
import tomllib
from pathlib import Path

import jsonschema
import pytest

from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.core.specification import kind_of, members
from asyncdp_sim.network.channels import Channel
from asyncdp_sim.results.columns import summary
from asyncdp_sim.results.columns import tables as tables_of_results
from asyncdp_sim.scenario.fields import tables
from asyncdp_sim.scenario.labels import labels as labels_of_pictures
from asyncdp_sim.sentences.names import entries, labels, look_up, schema_text
from tests.cli.scenes import SMALL
from tests.conformance.members import FAMILIES, FORMS
from tests.unit.reference.pages import results_page, scenario_pages

ROOT = Path(__file__).resolve().parents[3]
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")


def test_describe_works_on_every_path() -> None:
    paths = [table.path for table in tables() if table.path != ""]
    for table in tables():
        paths += [f"{table.path}.{kind.kind}" for kind in table.kinds]
        paths += [field.path for field in table.fields]
    paths += [*summary()]
    for table in tables_of_results().values():
        paths += [table.name, *(f"{table.name}.{each.name}" for each in table.columns)]
    assert len(paths) > 450
    for path in paths:
        for entry in look_up(path):
            said = entry.lines()
            assert path in said[0] or path in entry.names
            assert len(said) > 2
            assert max(len(line) for line in said[1:] if "example  " not in line) <= 80
            assert all(line.strip() != "" and "``" not in line for line in said)


def test_every_name_of_an_entry_finds_it() -> None:
    for entry in entries():
        for name in entry.names:
            found = look_up(name)
            assert entry in found or all(each.path == name for each in found)


def test_names_that_stand_for_several_things_list_all() -> None:
    slotted = {kind_of(each) for each in members(Channel) if "slot" in each.model_fields}
    assert len(slotted) > 2
    told = {
        kind for each in look_up("slot") for kind in each.of.removeprefix("field of ").split(", ")
    }
    assert told == slotted
    assert {each.path for each in look_up("clip")} == {"privacy.sensitivity.clip"}
    assert {each.path for each in look_up("latency.query.mean")} == {"compute.mean"}
    assert {each.path for each in look_up("availability.on.mean")} == {"compute.mean"}
    assert {each.path for each in look_up("protocol.clock.rate")} == {"clock.rate"}
    assert {each.path for each in look_up("channel.each.airtime")} == {"channel.airtime"}
    assert [each.path for each in look_up("tdma.slot")] == ["channel.slot"]
    assert len(look_up("psi_final")) == 4


ELSEWHERE = {
    *("_low", "_high", "psi_final_mean", "relative_fitness_median"),  # of CSVs beside pictures
    "noise_bound",  # of manifests
    *("packet_loss", "asyncdp check", "asyncdp describe"),  # in code, and commands
}
"""Names in the glossary of what the reference does not tell."""


def test_names_in_the_glossary_are_those_of_the_reference() -> None:
    named = set(re.findall(r"`([^`]+)`", GLOSSARY))
    assert len(named) > 50
    assert {" ".join(name.split()) for name in named if not is_known(name)} == ELSEWHERE


def is_known(name: str) -> bool:
    try:
        return len(look_up(name)) > 0
    except SpecError:
        return False


def test_every_family_is_a_word_of_the_glossary() -> None:
    words = set(re.findall(r"^\| ([\w -]+) \|", GLOSSARY.partition("## Words")[2], re.M))
    assert {*FAMILIES, *FORMS} <= words


def test_letters_of_the_papers_find_what_they_stand_for() -> None:
    rows = [line.split(" | ") for line in GLOSSARY.splitlines() if line.startswith("| ")]
    letters = {each: row for row in rows for each in row[0].removeprefix("| ").split(", ")}
    paths = {each.path for each in entries()}
    for letter, meant in labels()["symbols"].items():
        assert letter in letters, letter
        assert set(meant) <= paths
        assert set(meant) <= {each.path for each in look_up(letter)}
    for letter, path in (("ψ", "curve.relative_fitness"), ("ε", "privacy.epsilon"),
                         ("i_k", "updates.owner"), ("Ξ", "privacy.sensitivity"),
                         ("θ_max", "model.theta_max"), ("T", "run.updates")):  # fmt: skip
        assert path in {each.path for each in look_up(letter)}


def test_letters_that_a_swept_setting_has_in_pictures_find_it() -> None:
    """A reader of a picture asks what the letter at its axis is."""
    letters = {
        path: said
        for path, said in labels_of_pictures()["symbols"].items()
        if len(said.split("_")[0]) == 1
    }
    for path, letter in letters.items():
        assert path in {each.path for each in look_up(letter)}


def test_an_unknown_name_gets_the_nearest() -> None:
    with pytest.raises(SpecError, match=r"given 'privacy.epsilom'; did you mean privacy.epsilon"):
        look_up("privacy.epsilom")
    with pytest.raises(SpecError, match="allowed is a field, kind or column"):
        look_up("xyzzy qqq")


@pytest.mark.parametrize("name", [*scenario_pages(), "results"])
def test_pages_are_up_to_date(name: str, file_regression) -> None:
    """``python -m tests.regenerate`` writes them anew."""
    text = results_page() if name == "results" else scenario_pages()[name]
    page = ROOT / "docs" / "reference" / f"{name}.md"
    file_regression.check(text, encoding="utf-8", fullpath=page)


@pytest.mark.long
def test_the_schema_takes_every_entry_of_the_catalogue_and_no_unknown_key() -> None:
    schema = json.loads(schema_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    checked = jsonschema.Draft202012Validator(schema)
    catalogue = sorted((ROOT / "asyncdp_sim" / "catalogue").glob("*.toml"))
    assert len(catalogue) > 30
    for file in catalogue:
        assert list(checked.iter_errors(tomllib.loads(file.read_text("utf-8")))) == [], file.name
    good = tomllib.loads(SMALL)
    assert checked.is_valid(good)
    assert not checked.is_valid(good | {"chanel": {"kind": "ideal"}})
    assert not checked.is_valid(good | {"channel": {"kind": "ideal", "slot": 1.0}})
    assert not checked.is_valid(good | {"channel": {"kind": "idael"}})
    assert not checked.is_valid(good | {"clock": {"rate": 1.0}})
    assert not checked.is_valid(good | {"run": {"updates": 0}})
    assert checked.is_valid(good | {"clock": {"kind": "python:mine.py:Clock", "beat": 2}})


def test_the_schema_describes_every_field() -> None:
    schema = json.loads(schema_text())
    silent = [
        (name, field)
        for name, spec in ({"": schema} | schema["$defs"]).items()
        for field, said in spec.get("properties", {}).items()
        if field != "kind" and said.get("description", "") == ""
    ]
    assert silent == []
