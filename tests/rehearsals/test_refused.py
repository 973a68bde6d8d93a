"""Whatever cannot be rehearsed is refused by name, all of it, in one line each."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.core.units import to_units
from asyncdp_sim.network import simulate
from asyncdp_sim.rehearsals.config import paced, require_rehearsable
from asyncdp_sim.scenario import dump
from asyncdp_sim.trace import Ending
from tests.cli.command import Command
from tests.rehearsals.scenes import WAYS, scenario

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "channel": (
        {"channel": {"kind": "aloha", "airtime": 0.1}},
        "channel.kind: given 'aloha'; a wire has no channel to share",
    ),
    "protocol": (
        {"protocol": {"kind": "broadcast", "interval": 0.5}},
        "protocol.kind: given 'broadcast'; allowed in a rehearsal is request or push or rounds",
    ),
    "availability": (
        {"availability": {"kind": "diurnal", "period": 4.0, "low": 0.1, "high": 0.9}},
        "availability.kind: given 'diurnal'; allowed in a rehearsal is always or bernoulli or "
        "on-off or intervals",
    ),
    "clock": (
        {"clock": {"kind": "saturated"}, "protocol": {"kind": "push"}},
        "clock.kind: given 'saturated'; allowed in a rehearsal are owners with clocks",
    ),
    "energy": (
        {"energy": dict.fromkeys(("idle", "listening", "computing", "sending", "receiving"), 1.0)},
        "energy: given a table; processes do not tell what owners were at",
    ),
    "crowd": (
        {"clock": {"kind": "poisson", "population": "superposed"}},
        "clock.population: given 'superposed'; each owner is a process",
    ),
    "topology": (
        {"topology": {"kind": "star", "latency": 0.1}},
        "topology: given a table; the wire is its own",
    ),
    "acknowledgement": (
        {
            "latency": {"acknowledgement": {"kind": "constant", "value": 0.1}},
            "channel": {"kind": "ideal", "loss_acknowledgement": 0.1, "retransmissions": 1},
        },
        "latency.acknowledgement: given a law; TCP acknowledges messages itself",
    ),
    "local steps": (
        {
            "algorithm": {
                "kind": "parameter-server",
                "step": 0.1,
                "local_steps": 3,
                "local_step": 0.1,
            },
            "protocol": {"kind": "rounds"},
        },
        "algorithm.local_steps: given 3; allowed in a rehearsal is 1",
    ),
    "resting owners": (
        {"privacy": {**scenario().plain()["privacy"], "participation": {"apart": 2}}},
        "privacy.participation.apart: given 2; allowed in a rehearsal is nothing",
    ),
    "drawn owners": (
        {
            "algorithm": {"kind": "parameter-server", "step": 0.1},
            "protocol": {"kind": "rounds", "owners": 1},
        },
        "protocol.owners: given 1; allowed in a rehearsal is nothing",
    ),
    "ties": (
        {"run": {"updates": 20, "ties": "shuffled"}},
        "run.ties: given 'shuffled'; no two things are at one instant here",
    ),
}


@pytest.mark.parametrize(("changes", "line"), REFUSED.values(), ids=REFUSED.keys())
def test_it_is_named(changes: dict[str, Any], line: str) -> None:
    with pytest.raises(SpecError) as refused:
        require_rehearsable(scenario(**changes))
    assert any(said.startswith(line) for said in refused.value.lines()), refused.value.lines()


def test_what_never_ends_is_not_begun() -> None:
    network = scenario().network
    stalled = replace(simulate(network, Streams(1).within("replicate", 1)), ending=Ending.stalled)
    with pytest.raises(SpecError, match=r"run\.until: given nothing; .* a time at which it ends"):
        paced([stalled], None)


def test_a_rehearsal_sleeps_for_a_minute_and_is_refused_where_it_takes_hours() -> None:
    network = scenario().network
    traces = [simulate(network, Streams(1).within("replicate", each)) for each in (1, 2)]
    units = sum(to_units(trace.end_tick) for trace in traces)
    unit, seconds = paced(traces, None)
    assert unit * units == pytest.approx(60)
    assert 60 < seconds < 63
    assert paced(traces, 0.5)[0] == 0.5
    with pytest.raises(SpecError, match=rf"unit: given 1000; .*: --unit {unit:.3g}, for a minute"):
        paced(traces, 1000.0)
    with pytest.raises(SpecError, match=r"run\.replicates: given 40000; .*fewer replicates"):
        paced(traces * 20_000, None)


def test_all_is_named_at_once_and_nothing_begins(command: Command, tmp_path: Path) -> None:
    changes = REFUSED["channel"][0] | REFUSED["availability"][0]
    file = tmp_path / "both.toml"
    file.write_text(dump(scenario(**changes), tmp_path))
    said = command("rehearse", file, "--out", tmp_path / "out")
    assert said.code == 2
    assert [line.split(": ")[1] for line in said.lines] == ["availability.kind", "channel.kind"]
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("changes", WAYS.values(), ids=WAYS.keys())
def test_what_is_rehearsed_in_tests_may_be(changes: dict[str, Any]) -> None:
    require_rehearsable(scenario(**changes))
