"""A run whose updates take longer than time can be counted is refused before it starts."""

import pytest

import asyncdp_sim as ad
from asyncdp_sim.theory.predict.size import require_room
from tests.cli.scenes import SMALL

SLOW = SMALL.replace("rate = 1.0", "rate = 1e-9").replace("updates = 12", "updates = 200")
FILES = {"slow.toml": SLOW}
RATE_ONE = {"kind": "poisson", "rate": 1.0}
SAID = (
    "slow.toml: run.updates: given 200, which take 6.67e+10 time units; allowed is what takes "
    "4.61e+09, as time is counted in steps of 1e-09: choose a time unit 100 times as long, by "
    "which rates grow and durations fall, or set run.until"
)


@pytest.mark.usefixtures("here")
def test_every_door_refuses_it_and_proposes_the_unit(command):
    """Found by attack: the run ended after 10 of 200 updates, with a late note."""
    for verb in ("check", "run"):
        assert command.refused(verb, "slow.toml") == SAID


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    "parts",
    [
        {"clock": {"kind": "poisson", "rate": 1e-9}},
        {"compute": {"kind": "constant", "value": 9e8}},
        {
            "clock": {"kind": "poisson", "rate": 1e-9},
            "availability": {
                "kind": "on-off",
                "on": {"kind": "uniform", "low": 1.0, "high": 2.0},
                "off": {"kind": "uniform", "low": 1.0, "high": 2.0},
            },
        },
    ],
    ids=["clocks", "exchanges", "no predictions"],
)
def test_what_ends_before_its_updates_is_refused_and_nothing_else(parts, here):
    slow = ad.load(here / "slow.toml").replace(**{"clock": RATE_ONE, **parts})
    with pytest.raises(ad.SpecError, match=r"run.updates: given 200, which take"):
        require_room(slow)
    require_room(slow.replace(run={"until": 1e9}))
    require_room(slow.replace(run={"updates": 3}))
