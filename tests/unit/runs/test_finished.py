"""Directories that hold something like the run that is asked for: never taken for it."""

from pathlib import Path
from typing import Any

import pytest

from asyncdp_sim.core.errors import ResultError
from asyncdp_sim.results import read_manifest
from asyncdp_sim.runs import finished, reproduce, run, write
from asyncdp_sim.scenario import Scenario, load
from asyncdp_sim.sentences.result import figures
from tests.cli.scenes import SMALL
from tests.manifests import changed

TABLES = ("updates", "curve", "owners", "models", "optimum")


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


def test_not_where_an_older_version_ran_real_processes(scenario, result):
    """Nor is it simulated again: ``replay`` names the command that is gone."""
    with changed(result) as manifest:
        manifest["measured"] = {"unit_seconds": 0.1}
    assert refused(scenario, result) == "an existing path, of real processes, not of a simulation"
    with pytest.raises(ResultError, match="given a result of real processes; rehearse is gone: "):
        reproduce(result)
    assert ("rehearsed", "with real processes") in figures(read_manifest(result))
