"""Results of an earlier version, in which a field that has another default now had no name."""

import shutil
from pathlib import Path

import pytest

from asyncdp_sim.core.gone import as_earlier, as_now, unnamed
from asyncdp_sim.results.manifest import default_directory
from asyncdp_sim.scenario import load

EARLIER = Path(__file__).parent / "earlier_defaults"


@pytest.mark.parametrize("name", ["dcf", "sweep"])
def test_it_is_made_again_to_the_bit(command, tmp_path, name):
    """Slots of Bianchi's model, which was the only one, also where a sweep has a whole channel."""
    result = shutil.copytree(EARLIER / name, tmp_path / name)
    assert (
        "reproduced (manifest, scenario and every table agree" in command.done("replay", result).out
    )


def test_the_same_scenario_that_names_the_old_value_has_the_old_directory(tmp_path):
    earlier = load(EARLIER / "dcf" / "scenario.toml")[0]
    assert earlier.channel.counting == "bianchi"
    assert default_directory(earlier).name == "earlier-dcf-5bed0310"
    file = tmp_path / "mine.toml"
    file.write_text((EARLIER / "dcf" / "scenario.toml").read_text("utf-8"), encoding="utf-8")
    new, _ = load(file)
    assert new.channel.counting == "frozen"
    assert default_directory(new) != default_directory(earlier)
    assert default_directory(load(file, ["channel.counting=bianchi"])[0]) == default_directory(
        earlier
    )


def test_fields_are_named_and_left_out_wherever_the_kind_is():
    tables = {
        "channel": {"kind": "parallel", "each": {"kind": "dcf", "slot": 0.1}},
        "sweep": {
            "variant": [{"channel.kind": "dcf", "name": "a"}, {"channel.counting": "bianchi"}],
            "channel": [{"kind": "dcf"}, {"kind": "aloha"}],
        },
    }
    bare = {"kind": "dcf", "slot": 0.1}
    named = as_earlier({"a": [tables, bare]})
    assert tables["channel"]["each"] == {"kind": "dcf", "slot": 0.1, "counting": "bianchi"}
    assert tables["sweep"]["variant"][0]["channel.counting"] == "bianchi"
    assert tables["sweep"]["channel"] == [{"kind": "dcf", "counting": "bianchi"}, {"kind": "aloha"}]
    unnamed(named)
    assert tables["channel"]["each"] == {"kind": "dcf", "slot": 0.1}
    assert tables["sweep"]["variant"] == [
        {"channel.kind": "dcf", "name": "a"},
        {"channel.counting": "bianchi"},
    ]
    as_now(tables)
    assert "counting" not in tables["channel"]["each"]
    assert tables["sweep"]["channel"][0] == {"kind": "dcf", "counting": "frozen"}
