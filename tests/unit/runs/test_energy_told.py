"""Energy in all that is told of a run: tables, summary, screen, report, check and forecast."""

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import asyncdp_sim as ad
from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.forecasts import forecast
from asyncdp_sim.runs import run, write
from asyncdp_sim.runs.account import energy_columns
from asyncdp_sim.sentences.forecast import as_json, lines
from asyncdp_sim.sentences.result import result_lines
from asyncdp_sim.sentences.scenario import describe
from asyncdp_sim.sweeps import sweep
from tests.reproducibility.runs import scenario

ENERGY = {
    "idle": 0.25, "listening": 0.5, "computing": [5.0, 6.0, 7.0], "sending": 2.0, "receiving": 1.0,
    "byte_sent": 1e-3, "learner": {"idle": 50.0, "busy": 80.0},
}  # fmt: skip
TIMES = {"compute": {"kind": "exponential", "mean": 0.1}}
STATES = ("sending", "computing", "offline", "receiving", "listening", "idle")


@pytest.fixture(scope="module")
def powered(tmp_path_factory):
    place = tmp_path_factory.mktemp("energy") / "run"
    write(run(scenario(energy=ENERGY, **TIMES)), place)
    return place


def summary(place: Path) -> dict:
    return json.loads((place / "manifest.json").read_text())["summary"]


def test_an_owners_row_is_power_times_time_and_bytes(powered):
    rows = pq.read_table(powered / "owners.parquet").to_pylist()
    for row in rows:
        watts = {"idle": 0.25, "listening": 0.5, "sending": 2.0, "receiving": 1.0, "offline": 0.0}
        watts["computing"] = 4.0 + row["owner"]
        exact = sum(watts[state] * row[f"time_{state}"] for state in STATES)
        exact += 1e-3 * row["bytes_sent"]
        assert row["joules"] == pytest.approx(exact, rel=1e-12)
    told = summary(powered)
    replicates = max(row["replicate"] for row in rows)
    whole = sum(row["joules"] for row in rows)
    assert told["joules"] == pytest.approx(whole / replicates)
    assert told["joules_per_update"] == pytest.approx(whole / told["updates"])
    assert told["watts"] == pytest.approx(told["joules"] / told["simulated_time"])
    assert told["intervals"]["watts"][0] < told["watts"] < told["intervals"]["watts"][1]
    assert told["learner_watts"] == pytest.approx(50 + 30 * told["utilisation"])
    assert "learner draws" in "\n".join(result_lines(powered))


def test_the_learners_power_is_that_of_a_single_replicate_too(tmp_path):
    place = tmp_path / "run"
    write(run(scenario(energy=ENERGY, **TIMES), numbers=[1]), place)
    told = summary(place)
    assert told["learner_watts"] == pytest.approx(50 + 30 * told["utilisation"])


def test_without_energy_nothing_of_a_result_changes(powered, tmp_path):
    plain = scenario(**TIMES)
    assert "energy" not in plain.plain()
    assert plain.network.occupation is False
    write(run(plain), tmp_path / "plain")
    for name in ("updates", "curve"):
        one, other = (place / f"{name}.parquet" for place in (tmp_path / "plain", powered))
        assert one.read_bytes() == other.read_bytes()
    bare, whole = (
        pq.read_table(place / "owners.parquet").column_names
        for place in (tmp_path / "plain", powered)
    )
    assert [name for name in whole if name in bare] == bare
    assert set(whole) - set(bare) == {
        "joules", "bytes_sent", "bytes_received", *(f"time_{state}" for state in STATES)
    }  # fmt: skip
    assert set(summary(powered)) - set(summary(tmp_path / "plain")) == {
        "joules", "joules_per_update", "watts", "learner_watts", "bytes_sent", "bytes_received"
    }  # fmt: skip
    assert "energy" not in json.loads(as_json(forecast(plain, judged=None)))
    assert energy_columns(plain, []) == {}


def test_check_says_what_owners_draw_and_what_follows():
    told = describe(scenario(energy=ENERGY | {"seconds": 60.0}, **TIMES))
    [said] = [line for line in told if line.startswith("energy:")]
    assert said == (
        "energy: W idle 0.25, listening 0.5, receiving 1, offline 0, computing 5 to 7, sending 2; "
        "a time unit is 60 s; 0.001 J for a byte sent, 0 J for one heard"
    )
    predictions = "".join(line for line in told if line.startswith("predicted "))
    for quantity in ("energy", "power of all owners", "power of the learner"):
        assert f" {quantity}: " in predictions
    assert not any("watts" in line for line in describe(scenario(**TIMES)))


@pytest.mark.long
def test_a_forecast_tells_joules_or_why_not():
    found = forecast(scenario(energy=ENERGY, **TIMES), judged=None)
    assert found.energy is not None
    assert found.energy.joules == pytest.approx(sum(found.energy.watts) * found.time)
    assert any(line.startswith("energy ") and " J of all owners" in line for line in lines(found))
    push = {"kind": "push", "own_tick": "overlap"}
    ample = forecast(scenario(energy=ENERGY, protocol=push, **TIMES), judged=None)
    assert ample.energy is not None
    assert ample.energy.joules is not None
    jobs = {"kind": "broadcast", "interval": 0.5, "own_tick": "overlap"}
    other = forecast(scenario(energy=ENERGY, protocol=jobs, **TIMES), judged=None)
    assert (
        "energy              no formula applies, because exchanges of an owner overlap; a run "
        "measures it" in lines(other)
    )
    assert json.loads(as_json(other))["energy"]["joules"] is None


def test_cells_share_traces_and_powers_may_be_swept(tmp_path):
    swept = {"energy.idle": [0.0, 1.0], "privacy.epsilon": [1.0, 2.0]}
    sweep(scenario(energy=ENERGY, sweep=swept, **TIMES), tmp_path / "sweep")
    assert len(list((tmp_path / "sweep/traces").iterdir())) == 1
    cells = pq.read_table(tmp_path / "sweep/cells.parquet").to_pydict()
    few, many = np.array(cells["joules"][:2]), np.array(cells["joules"][2:])
    assert few[0] == few[1]
    assert (many > few).all()


def test_some_owners_take_their_own_powers_along():
    some = scenario(energy=ENERGY, owners__only=[1, 3], **TIMES).base()
    assert some.energy is not None
    assert some.energy.computing == (5.0, 7.0)


def test_several_servers_are_refused_by_name():
    polar, watts = ad.load("polar-convergence"), ENERGY | {"computing": 5.0}
    with pytest.raises(SpecError, match=r"protocol\.kind: given 'servers'; allowed with"):
        polar.replace(energy=watts)
