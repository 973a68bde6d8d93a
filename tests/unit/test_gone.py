"""Names that are gone: each is refused in one line that says what to do instead."""

from typing import Any

import pytest

from asyncdp_sim.core import gone
from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.scenario import Scenario, parse
from asyncdp_sim.scenario.catalogue import catalogue, entry
from asyncdp_sim.scenario.paths import set_path
from asyncdp_sim.sentences.names import look_up


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
