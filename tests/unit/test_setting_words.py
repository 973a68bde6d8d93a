"""Words: numbers that agree, names that are meant, settings, and what is gone."""

import json
import tomllib
from typing import Any

import pytest

from asyncdp_sim.core import gone
from asyncdp_sim.core.errors import Fault, SpecError
from asyncdp_sim.core.messages import FormattedMessage
from asyncdp_sim.core.words import agreed, aligned, did_you_mean
from asyncdp_sim.scenario import Scenario, parse
from asyncdp_sim.scenario.catalogue import catalogue, entry
from asyncdp_sim.scenario.paths import axis, set_path, words
from asyncdp_sim.sentences.names import look_up
from tests.tables import table
from tests.together import together

# Swept settings as figures say them: words, never raw settings.


TABLE = table(__file__, "setting_words.toml")


@together
@pytest.mark.parametrize(("path", "value", "said"), TABLE["settings"])
def test_a_setting_is_said_in_words(path, value, said):
    assert words(path, value) == said
    if isinstance(value, list | dict):
        assert words(path, json.dumps(value)) == said  # as the table of cells holds it


def test_no_sweep_of_the_catalogue_speaks_a_scenarios_language():
    raw = [
        said
        for found in catalogue()
        for path, values in tomllib.loads(found.file.read_text()).get("sweep", {}).items()
        for value in values
        if path != "variant" and any(mark in (said := words(path, value)) for mark in '_{}["')
        and not said.startswith("n_i = ")
    ]  # fmt: skip
    assert raw == []
    assert axis("channel.slot_length") == "channel: slot length"


# After the number 1, nouns and verbs of messages are in the singular.


@together
@pytest.mark.parametrize(("text", "expected"), TABLE["singular"])
def test_one_is_singular(text, expected):
    assert agreed(text) == expected


def test_messages_refusals_and_tables_agree():
    assert FormattedMessage("{n} rows are lost", n=1) == "1 row is lost"
    assert FormattedMessage("{n} rows are lost", n=2) == "2 rows are lost"
    assert str(Fault("data", "1 values", "allowed is 2")) == "data: given 1 value; allowed is 2"
    assert aligned([["1 runs"], ["2 runs"]]) == [" 1 run", "2 runs"]


# The question that a refusal of an unknown name asks.


@pytest.mark.parametrize(("name", "most", "asked"), TABLE["near"])
def test_near_names_are_asked_for_and_far_ones_are_not(name, most, asked):
    assert did_you_mean(name, TABLE["names"], most) == asked


# Names that are gone: each is refused in one line that says what to do instead.


@pytest.fixture
def raw() -> dict[str, Any]:
    """Give the tables of a scenario."""
    plain: dict[str, Any] = entry("vary-owners").as_it_is.plain()
    return plain


@pytest.mark.parametrize("path", gone.FIELDS)
@pytest.mark.parametrize("value", [{"kind": "flip"}, 3], ids=["table", "field"])
def test_a_field_is_refused_by_its_path(raw, path, value):
    set_path(Scenario, raw, path, value)
    with pytest.raises(SpecError) as error:
        parse(Scenario, raw)
    [fault] = error.value.faults
    named = "table" if isinstance(value, dict) else "field"
    assert (fault.key, fault.allowed) == (path, f"this {named} is gone: {gone.FIELDS[path]}")


@pytest.mark.parametrize("name", gone.ENTRIES)
def test_an_entry_of_the_catalogue_is_refused(name):
    with pytest.raises(SpecError, match=f"given '{name}'; this scenario is gone: "):
        entry(name)
    assert name not in [each.name for each in catalogue()]


@pytest.mark.parametrize(
    "name", [*gone.FIELDS, *gone.COLUMNS, "adversary.owners", "trim", "privacy.mechanism.staircase"]
)
def test_describe_says_that_a_name_is_gone(name):
    with pytest.raises(SpecError, match="this name is gone: "):
        look_up(name)


@pytest.mark.parametrize("line", [*gone.COMMANDS])
def test_a_command_is_refused(command, line):
    instead = f"asyncdp: {line} is gone: {gone.COMMANDS[line]}"
    assert instead in command.refused(*line.split(), "x.toml")


def test_an_option_may_be_gone_from_one_command_alone(monkeypatch):
    monkeypatch.setitem(gone.OPTIONS, "forecast --sweep", "sweep it")
    assert gone.instead_of_option("forecast", "--sweep") == "--sweep is gone: sweep it"
    assert gone.instead_of_option("run", "--sweep") is None
    assert gone.instead_of_option(None, "--schedule") is not None
    assert gone.instead_of_command(["run", "rehearse"]) is None


def test_nothing_that_is_gone_has_come_back():
    for path in gone.FIELDS:
        assert gone.instead_of_field(path) is not None
    assert gone.instead_of_field("triggers") is None
