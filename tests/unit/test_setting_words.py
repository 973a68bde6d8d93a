"""Swept settings as figures say them: words, never raw settings."""

import json
import tomllib
from typing import Any

import pytest

from asyncdp_sim.scenario.catalogue import catalogue
from asyncdp_sim.scenario.labels import axis, words
from tests.together import together


@together
@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("variant", "Laplace, capped", "Laplace, capped"),
        ("privacy.epsilon", 0.1, "ε = 0.1"),
        ("privacy.epsilon", [0.1, 1.0], "ε of owner 1 = 0.1, of 2 = 1"),
        ("owners.records", [300, 5, 5], "n of owner 1 = 300, of 2 to 3 = 5"),
        ("owners.records", [5, 5], "n_i = 5"),
        ("availability.probability", 0.2, "online 20 % of the time"),
        ("availability.probability", [1, 0, 0], "owner 1 online alone"),
        ("availability.probability", [1.0, 0.2, 0.2], "owners 2, 3 online 20 % of the time"),
        ("algorithm.selection", "uniform", "published step"),
        ("channel", {"kind": "slotted-aloha", "airtime": 1.0}, "slotted ALOHA, airtime 1"),
        (
            "availability",
            {"kind": "on-off", "on": {"kind": "exponential", "mean": 2.0}, "off": 1.0},
            "on for 2 units, off for 1, in the mean",
        ),
        ("some.new_setting", True, "new setting = yes"),
    ],
)
def test_a_setting_is_said_in_words(path: str, value: Any, said: str) -> None:
    assert words(path, value) == said
    if isinstance(value, list | dict):
        assert words(path, json.dumps(value)) == said  # as the table of cells holds it


def test_no_sweep_of_the_catalogue_speaks_a_scenarios_language() -> None:
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
