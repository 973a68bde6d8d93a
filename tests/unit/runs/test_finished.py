"""Directories that hold something like the run that is asked for: never taken for it."""

from pathlib import Path
from typing import Any

import pytest

from asyncdp_sim.core.errors import ResultError
from asyncdp_sim.runs import finished, run, write
from asyncdp_sim.scenario import Scenario, load
from tests.cli.scenes import SMALL
from tests.manifests import changed

TABLES = ("updates", "curve", "owners", "models", "optimum")

EXCESS = {"mean": 1.0, "median": 1.0, "q90": 1.0, "largest": 1.0}
MEASURED = {"unit_seconds": 0.1, "null_excess_ms": 1.0, "excess_ms": EXCESS, "restarts": 0}
"""What a rehearsal's manifest says of the machine."""


@pytest.fixture
def scenario(tmp_path):
    (tmp_path / "small.toml").write_text(SMALL, encoding="utf-8")
    return load(tmp_path / "small.toml")[0]


@pytest.fixture
def result(scenario, tmp_path):
    write(run(scenario), tmp_path / "result")
    return tmp_path / "result"


def refused(scenario: Scenario, result: Path, **asked: Any) -> str:
    with pytest.raises(ResultError) as error:
        finished(scenario, result, **{"events": False, **asked})
    [fault] = error.value.faults
    return fault.given


def test_it_is_finished_as_it_was_written(scenario, result):
    assert finished(scenario, result, events=False)
    assert not finished(scenario, result.with_name("elsewhere"), events=False)


@pytest.mark.parametrize("table", TABLES)
def test_not_without_any_of_its_tables(table, scenario, result):
    (result / f"{table}.parquet").unlink()
    assert refused(scenario, result) == f"a damaged result, without {table}.parquet"


@pytest.mark.parametrize("numbers", [[1], [2], [2, 1], [1, 2, 3], [], None], ids=str)
def test_not_with_other_replicates(numbers, scenario, result):
    with changed(result) as manifest:
        manifest["replicates"] = numbers
    with pytest.raises(ResultError):
        finished(scenario, result, events=False)


def test_not_with_some_replicates_that_were_run_alone(scenario, tmp_path):
    write(run(scenario, numbers=[1]), tmp_path / "some")
    said = refused(scenario, tmp_path / "some")
    assert said == "an existing path, another result (of some replicates)"


def test_not_where_processes_rehearsed_it(scenario, result):
    said = refused(scenario, result, measured=True)
    assert said == "an existing path, a simulation"
    with changed(result) as manifest:
        manifest["measured"] = MEASURED
    assert refused(scenario, result) == "an existing path, a rehearsal, not a simulation"
    assert finished(scenario, result, events=False, measured=True)
