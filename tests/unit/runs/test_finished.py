"""Results of finished runs: what they keep, whose labels follow, real tables, and energy."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from asyncdp_sim.core.errors import ResultError
from asyncdp_sim.figures.picture import run_settings
from asyncdp_sim.forecasts.forecast import forecast
from asyncdp_sim.results import open_directory, read_manifest, read_table
from asyncdp_sim.results.write import Writer
from asyncdp_sim.runs.outcome import energy_columns
from asyncdp_sim.runs.run import finished_or_free, reproduce, run, write
from asyncdp_sim.scenario import Scenario, load
from asyncdp_sim.sentences.forecast import as_json, lines
from asyncdp_sim.sentences.label import Label, label
from asyncdp_sim.sentences.result import figures, result_lines
from asyncdp_sim.sentences.scenario import describe
from asyncdp_sim.sweeps.sweep import sweep
from tests import tables
from tests.cli.scenes import SMALL
from tests.manifests import changed
from tests.reproducibility.runs import scenario as of_energy
from tests.scenes import text
from tests.unit.data.discharges import many as discharges
from tests.unit.data.loans import many as loans

# Directories that hold something like the run that is asked for: never taken for it.

TABLES = ("updates", "curve", "owners", "models", "optimum")


@pytest.fixture
def scenario(tmp_path):
    (tmp_path / "small.toml").write_text(SMALL, encoding="utf-8")
    return load(tmp_path / "small.toml")[0]


@pytest.fixture
def result(scenario, tmp_path):
    write(run(scenario), tmp_path / "result")
    return tmp_path / "result"


def refused(scenario: Scenario, result: Path) -> str:
    with pytest.raises(ResultError) as error:
        finished_or_free(scenario, result, events=False)
    [fault] = error.value.faults
    return fault.given


def test_it_is_finished_as_it_was_written(scenario, result):
    assert finished_or_free(scenario, result, events=False)
    assert not finished_or_free(scenario, result.with_name("elsewhere"), events=False)


@pytest.mark.parametrize("table", TABLES)
def test_not_without_any_of_its_tables(table, scenario, result):
    (result / f"{table}.parquet").unlink()
    assert refused(scenario, result) == f"a damaged result, without {table}.parquet"


@pytest.mark.parametrize("numbers", [[1], [2], [2, 1], [1, 2, 3], [], None], ids=str)
def test_not_with_other_replicates(numbers, scenario, result):
    with changed(result) as manifest:
        manifest["replicates"] = numbers
    refused(scenario, result)


def test_not_with_some_replicates_that_were_run_alone(scenario, tmp_path):
    write(run(scenario, numbers=[1]), tmp_path / "some")
    given = "an existing path, another result (of some replicates)"
    assert refused(scenario, tmp_path / "some") == given


def test_not_where_an_older_version_ran_real_processes(scenario, result):
    """Nor is it simulated again: ``replay`` names the command that is gone."""
    with changed(result) as manifest:
        manifest["measured"] = {"unit_seconds": 0.1}
    assert refused(scenario, result) == "an existing path, of real processes, not of a simulation"
    with pytest.raises(ResultError, match="given a result of real processes; rehearse is gone: "):
        reproduce(result)
    assert ("rehearsed", "with real processes") in figures(read_manifest(result))


# The privacy label goes where a result goes: every table, and the screen.

CASES = tables.table(__file__, "finished.toml")
SAID = Label("Private: ε = 1.", True, 1.0, 0.0, True, False)


@pytest.fixture
def file(tmp_path):
    (tmp_path / "s.toml").write_text(text(**CASES["labelled"]), encoding="utf-8")
    return tmp_path / "s.toml"


@pytest.fixture
def swept(file, tmp_path):
    sweep(load(file)[0], tmp_path / "sweep")
    return tmp_path / "sweep"


def said_by(table: Path) -> dict[str, str]:
    """Return the label in a table's metadata."""
    found = pq.read_schema(table).metadata or {}
    said = {key.decode(): value.decode() for key, value in found.items()}
    return {key: value for key, value in said.items() if key.startswith("asyncdp.")}


def test_every_table_of_a_result_says_that_it_is_not_private(file, tmp_path):
    write(run(load(file)[0], events=True), tmp_path / "result")
    expected = label([read_manifest(tmp_path / "result")])
    assert expected.text.startswith("NOT PRIVATE as claimed")
    tables = sorted((tmp_path / "result").glob("*.parquet"))
    assert len(tables) == 7
    network = expected.metadata_of_network()
    others = {"events": network, "updates": network, "models": expected.metadata()}
    for table in tables:
        assert said_by(table) == others.get(table.stem, expected.metadata_of_exact()), table.name


@pytest.mark.parametrize(
    ("settings", "owners"), CASES["metadata"], ids=["neither", "held out", "alone"]
)
def test_a_files_metadata_speaks_of_that_file(file, tmp_path, settings, owners):
    """Of a private run models alone are released: ψ, optima and losses are the simulator's."""
    private = 'privacy.sensitivity={kind="clip",bound=1.0}'
    write(run(load(file, [private, *settings])[0]), tmp_path / "result")
    found = {
        table.stem: said_by(table)["asyncdp.private"]
        for table in (tmp_path / "result").glob("*.parquet")
        if table.name != "updates.parquet"
    }
    assert found == {"models": "true", "curve": "false", "optimum": "false"} | owners


def test_every_table_of_a_sweep_has_its_label(swept):
    cells = sorted(swept.glob("cell-*"))
    manifests = [read_manifest(cell) for cell in cells]
    for cell, manifest in zip(cells, manifests, strict=True):
        assert said_by(cell / "curve.parquet") == label([manifest]).metadata_of_exact()
    assert said_by(swept / "cells.parquet") == label(manifests).metadata_of_exact()
    for shared in (swept / "traces").rglob("*.parquet"):
        assert said_by(shared) == label(manifests).metadata_of_network()


def test_a_label_is_written_as_it_is_and_the_same_bytes_each_time(tmp_path):
    for name in ("first", "second"):
        with Writer(tmp_path / name, SAID) as writer:
            writer.table("some.parquet", {"x": [1, 2]})
    first, second = (tmp_path / name / "some.parquet" for name in ("first", "second"))
    assert first.read_bytes() == second.read_bytes()
    assert said_by(first) == SAID.metadata()
    assert said_by(first)["asyncdp.label"] == "Private: ε = 1."
    assert list(read_table(first.parent, "some")["x"]) == [1, 2]


def test_the_screen_says_why_and_what_is_true(file, tmp_path):
    write(run(load(file)[0]), tmp_path / "result")
    with changed(tmp_path / "result") as manifest:
        manifest["summary"] |= {"delta": 1e-5, "timing_accounted": False}
        manifest["scenario"]["data"]["owner_column"] = "who"
    said = result_lines(tmp_path / "result")
    [private] = [line for line in said if line.startswith("private ")]
    assert private.split(maxsplit=1)[1].startswith("NO (no finite ε, δ = ")
    assert private.endswith(", δ = 1e-05)")
    first, second = (line for line in said if line.startswith("because"))
    assert "the declared bound 0.001 on a record gradient's L1 norm is exceeded: " in first
    assert said.index(first) == said.index(private) + 1
    assert second.split(maxsplit=1)[1] == "timing not accounted: the manifest gives no reason"
    assert any(line.split() == ["timing", "NOT", "accounted"] for line in said)
    mine = "a person with m records is protected only at mε and a larger δ"
    assert any(line.endswith(mine) for line in said)


def test_a_sweep_on_the_screen_states_delta(swept):
    *_, shared, header, pure, gaussian, together = result_lines(swept)
    assert shared.endswith("private = NO")
    assert header.split()[-2:] == ["ε", "δ"]
    assert [pure.split()[k] for k in (-3, -1)] == ["≥", "0"]
    assert [gaussian.split()[k] for k in (-3, -1)] == ["≥", "1e-05"]
    assert (
        together == "ε holds for each replicate of each cell; cells share noise: publish only one"
    )
    assert len(together) <= 80


# Notices on results from tables: their origin, and whether a guarantee covers them.

HOSPITAL = {"kind": "hospital", "path": "discharges.csv"}
PUBLISHED = {"encoding": "as-published", "preprocessing": "pca"}


@pytest.fixture
def folder(tmp_path):
    discharges(60).to_csv(tmp_path / "discharges.csv", index=False)
    loans(60).to_csv(tmp_path / "loans.csv", index=False)
    return tmp_path


def written(folder: Path, data: dict[str, Any], **more: Any) -> Scenario:
    rows = {} if data["kind"] == "gaussian" else {"public_records": 20}
    parts = {
        "run": {"seed": 1, "updates": 3},
        "owners": {"count": 2, "records": 10},
        "data": {**data, "features": 2, **rows},
        "algorithm": {"kind": "async-gossip", "rho": 1.0},
    }
    (folder / "s.toml").write_text(text(id="real", **parts, **more))
    return load(folder / "s.toml")[0]


@pytest.mark.parametrize(("data", "named", "source"), CASES["sources"])
def test_the_source_is_where_records_come_from(folder, data, named, source):
    scenario = written(folder, data, **named)
    assert scenario.source == source
    assert scenario.plain()["source"] == source


def test_each_cell_names_its_own_table(folder):
    swept = {"data.path": ["loans.csv", "more.csv"]}
    scenario = written(folder, {"kind": "lending"}, sweep=swept)
    cells = [scenario.cell(chosen).source for chosen in scenario.grid()]
    assert cells == ["lending table loans.csv", "lending table more.csv"]


def test_a_caption_and_a_manifest_say_whose_rows_they_show(folder):
    out = folder / "out"
    write(run(written(folder, HOSPITAL, source="synthetic")), out)
    assert read_manifest(out)["scenario"]["source"] == "hospital table discharges.csv"
    assert read_manifest(out)["summary"]["private"] is True
    assert "(source: hospital table discharges.csv)" in run_settings([open_directory(out)])
    with changed(out) as older:
        del older["scenario"]["source"]
    assert "(source: hospital, file discharges.csv)" in run_settings([open_directory(out)])


def test_an_encoding_in_which_records_move_others_is_not_private(folder):
    scenario = written(folder, HOSPITAL | PUBLISHED)
    found = run(scenario)
    assert (found.summary["private"], found.summary["epsilon_true"]) == (False, float("inf"))
    said = "not private: encoding as-published of a file: rows with anything missing"
    assert any(warning.startswith(said) for warning in found.warnings)
    why = f"not private, no finite ε: {scenario.data.unsound}"
    assert why in describe(scenario)
    assert not any(line.startswith("this holds for") for line in describe(scenario))
    foreseen = lines(forecast(scenario))
    assert any(line.split(maxsplit=1) == ["private", "NO (no finite ε)"] for line in foreseen)
    assert sum(str(scenario.data.unsound) in line for line in foreseen) == 1


# Energy in all that is told of a run: tables, summary, screen, report, check and forecast.

ENERGY = CASES["energy"]
TIMES = {"compute": {"kind": "exponential", "mean": 0.1}}
STATES = ("sending", "computing", "offline", "receiving", "listening", "idle")


@pytest.fixture(scope="module")
def powered(tmp_path_factory):
    place = tmp_path_factory.mktemp("energy") / "run"
    write(run(of_energy(energy=ENERGY, **TIMES)), place)
    return place


def summary(place: Path) -> dict:
    return read_manifest(place)["summary"]


def test_an_owners_row_is_power_times_time_and_bytes(powered):
    rows = pq.read_table(powered / "owners.parquet").to_pylist()
    for row in rows:
        watts = {"offline": 0.0} | ENERGY | {"computing": ENERGY["computing"][row["owner"] - 1]}
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
    write(run(of_energy(energy=ENERGY, **TIMES), numbers=[1]), place)
    told = summary(place)
    assert told["learner_watts"] == pytest.approx(50 + 30 * told["utilisation"])


def test_without_energy_nothing_of_a_result_changes(powered, tmp_path):
    plain = of_energy(**TIMES)
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


@pytest.mark.long
def test_a_forecast_tells_joules_or_why_not():
    found = forecast(of_energy(energy=ENERGY, **TIMES), judged=None)
    assert found.energy is not None
    assert found.energy.joules == pytest.approx(sum(found.energy.watts) * found.time)
    assert any(line.startswith("energy ") and " J of all owners" in line for line in lines(found))
    jobs = {"kind": "broadcast", "interval": 0.5, "own_tick": "overlap"}
    other = forecast(of_energy(energy=ENERGY, protocol=jobs, **TIMES), judged=None)
    assert (
        "energy              no formula applies, because exchanges of an owner overlap; a run "
        "measures it" in lines(other)
    )
    assert json.loads(as_json(other))["energy"]["joules"] is None


def test_cells_share_traces_and_powers_may_be_swept(tmp_path):
    swept = {"energy.idle": [0.0, 1.0], "privacy.epsilon": [1.0, 2.0]}
    sweep(of_energy(energy=ENERGY, sweep=swept, **TIMES), tmp_path / "sweep")
    assert len(list((tmp_path / "sweep/traces").iterdir())) == 1
    cells = pq.read_table(tmp_path / "sweep/cells.parquet").to_pydict()
    few, many = np.array(cells["joules"][:2]), np.array(cells["joules"][2:])
    assert few[0] == few[1]
    assert (many > few).all()


def test_some_owners_take_their_own_powers_along():
    some = of_energy(energy=ENERGY, owners__only=[1, 3], **TIMES).base()
    assert some.energy is not None
    assert some.energy.computing == (5.0, 7.0)
