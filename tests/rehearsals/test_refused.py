"""Whatever cannot be rehearsed is refused by name, all of it, in one line each."""

from dataclasses import replace

import pytest

from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.core.units import to_units
from asyncdp_sim.network import simulate
from asyncdp_sim.rehearsals.config import paced, require_rehearsable
from asyncdp_sim.scenario import dump
from asyncdp_sim.trace import Ending
from tests.rehearsals.scenes import WAYS, scenario
from tests.tables import table
from tests.together import together

REFUSED = table(__file__, "refused.toml")


@together
@pytest.mark.parametrize("name", REFUSED)
def test_it_is_named(name):
    with pytest.raises(SpecError) as refused:
        require_rehearsable(scenario(**REFUSED[name]["changes"]))
    assert any(said.startswith(REFUSED[name]["line"]) for said in refused.value.lines()), (
        refused.value.lines()
    )


def test_what_never_ends_is_not_begun():
    network = scenario().network
    stalled = replace(simulate(network, Streams(1).within("replicate", 1)), ending=Ending.stalled)
    with pytest.raises(SpecError, match=r"run\.until: given nothing; .* a time at which it ends"):
        paced([stalled], None)


def test_a_rehearsal_sleeps_for_a_minute_and_is_refused_where_it_takes_hours():
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


def test_all_is_named_at_once_and_nothing_begins(command, tmp_path):
    changes = REFUSED["channel"]["changes"] | REFUSED["availability"]["changes"]
    file = tmp_path / "both.toml"
    file.write_text(dump(scenario(**changes), tmp_path))
    said = command("rehearse", file, "--out", tmp_path / "out")
    assert said.code == 2
    assert [line.split(": ")[1] for line in said.lines] == ["availability.kind", "channel.kind"]
    assert not (tmp_path / "out").exists()


@together
@pytest.mark.parametrize("changes", WAYS.values(), ids=WAYS.keys())
def test_what_is_rehearsed_in_tests_may_be(changes):
    require_rehearsable(scenario(**changes))
