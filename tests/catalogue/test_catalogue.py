"""Every scenario of the catalogue loads, is described, runs small, and is drawn."""

import runpy
import sys
from pathlib import Path

import pytest

from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.figures.draw import draw_all
from asyncdp_sim.runs.run import run, write
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.scenario.catalogue import Entry, catalogue, entry
from asyncdp_sim.sweeps.sweep import sweep
from tests.one_in import one_in
from tests.tables import table
from tests.together import together

ENTRIES = catalogue()
EACH = pytest.mark.parametrize("found", ENTRIES, ids=lambda found: found.name)
TABLE = table(__file__, "catalogue.toml")
"""What is promised, and what some entries need besides: fewer cells or owners, for instance."""
FEW = ("run.replicates=2", "run.updates=20")
SMALL = ("owners.records=400", *FEW)
"""Settings that make an entry quick."""
DRAWN = ("lending-convergence", "channel-load", "sync-or-async", "whom-to-ask")
"""Entries whose pictures are drawn by day: the first always, the others in a long run of tests. So
short a run of the last reaches no target, and has no price to draw."""
NAMES = [found.name for found in ENTRIES if found.name not in DRAWN]


def small(found: Entry) -> Scenario:
    """Return an entry with little to do."""
    data, algorithm = found.scenario().data, found.scenario().algorithm
    public = ("data.public_records=200",) if hasattr(data, "public_records") else ()
    # fit for few updates: it does not diverge
    mild = ("algorithm.rho=0.1",) if hasattr(algorithm, "rho") else ()
    by_target = data.says_records and data.split_column is None  # then the split says how many
    little = FEW if by_target else SMALL
    return found.scenario((*little, *public, *mild, *TABLE["besides"].get(found.name, ())))


def test_the_list_is_not_empty():
    names = [found.name for found in ENTRIES]
    assert len(names) >= 3
    assert set(names) >= set(TABLE["promised"])
    assert names == sorted(set(names))
    files = Path(entry("lending-sound").file).parent.glob("*.toml")
    assert {file.stem for file in files} == set(names)


@together
@EACH
def test_loads_under_its_own_name_says_what_it_is_and_makes_every_choice(found):
    """T, ε and the step have no default where a paper or a user must choose."""
    scenario, text = found.scenario(), found.file.read_text(encoding="utf-8")
    assert scenario.id == found.name == found.file.stem
    assert scenario.title != ""
    assert len(scenario.description.strip()) > 40
    assert scenario.source != ""
    assert getattr(scenario.data, "path", None) is None  # no file of ours is needed
    step = "rho" if hasattr(scenario.algorithm, "rho") else "step"
    noisy = ("epsilon", "noise") if scenario.privacy.hides else ()
    for key in ("seed", "replicates", "updates", step, "mechanism", *noisy):
        assert f"\n{key} = " in text, key


@one_in(9, "found", ENTRIES, ids=lambda found: found.name)
def test_is_described(found, command):
    said = command.done("check", found.file)
    scenario = found.scenario()
    assert said.err == ""
    assert said.out.startswith(f"{found.file}: valid\n")
    assert f"owners: {scenario.owners.count}," in said.out
    assert f"T = {scenario.run.updates:,} updates" in said.out


def carried_out(found: Entry, directory: Path) -> None:
    """Run an entry with little to do, and write its result."""
    scenario = small(found)
    if len(scenario.sweep) > 0:
        found = sweep(scenario, directory)
        assert found.failed == {}
        assert found.done == sum(1 for _ in scenario.grid())
        assert (directory / "cells.parquet").exists()
    else:
        outcome = run(scenario)
        assert outcome.summary["updates"] > 0
        write(outcome, directory)
    assert (directory / "manifest.json").exists()


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_runs_small(name, tmp_path):
    carried_out(entry(name), tmp_path / "result")


@pytest.mark.parametrize(
    "name",
    [
        DRAWN[0],
        *(pytest.param(name, marks=pytest.mark.long) for name in DRAWN[1:]),
        *(pytest.param(name, marks=pytest.mark.nightly) for name in NAMES),
    ],
)
def test_runs_small_and_is_drawn(name, tmp_path):
    directory = tmp_path / "result"
    carried_out(entry(name), directory)
    pictures = draw_all(directory).pictures
    assert len(pictures) > 0
    for picture in pictures:
        assert picture.is_relative_to(directory / "figures")
        assert picture.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


@pytest.mark.long
@EACH
def test_a_published_fault_is_labelled(found):
    """An as-published option is never silent: the result says that it is not private."""
    scenario = small(found).base()
    outcome = run(scenario)
    exact = not scenario.privacy.hides
    as_published = exact or scenario.privacy.noise == "scalar-as-published"
    broken = as_published or outcome.summary["bound_exceeded"] is True
    assert outcome.summary["private"] is not broken
    assert any("not private" in warning for warning in outcome.warnings) is broken


@pytest.fixture
def scenarios(monkeypatch, capsys):
    """Run ``python -m scenarios`` in this process; it returns exit code and both streams."""

    def run_it(*arguments):
        monkeypatch.setattr(sys, "argv", ["scenarios", *arguments])
        monkeypatch.delitem(sys.modules, "scenarios.__main__", raising=False)
        with pytest.raises(SystemExit) as end:
            runpy.run_module("scenarios", run_name="__main__")
        captured = capsys.readouterr()
        return int(end.value.code or 0), captured.out, captured.err

    return run_it


@pytest.mark.long
def test_the_program_lists(scenarios, here):
    code, out, err = scenarios()
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert len(lines) == len(ENTRIES)
    for line, found in zip(lines, ENTRIES, strict=True):
        assert line.split()[0] == found.name
        assert line.endswith(found.scenario().title)
    assert list(here.iterdir()) == []


def test_an_unknown_name_is_refused_with_the_nearest(scenarios):
    code, out, err = scenarios("lendin")
    assert code == 2
    assert out == ""
    [line] = err.splitlines()
    assert line == (
        "lendin: given neither a file nor a name of the catalogue; did you mean lending-sound, "
        "lending-timing or mobile-diurnal? asyncdp list prints all names"
    )
    with pytest.raises(SpecError):
        entry("../catalogue/lending-sound")


@pytest.mark.long
def test_the_program_runs_and_draws_and_never_overwrites(scenarios, here):
    settings = [word for setting in SMALL for word in ("--set", setting)]
    (here / "taken").mkdir()
    name = "lending-timing"
    code, _, err = scenarios(name, "--out", "taken", *settings)
    assert code == 2
    assert len(err.splitlines()) == 1
    assert list((here / "taken").iterdir()) == []
    code, out, err = scenarios(name, "--out", "new", *settings)
    assert (code, err) == (0, "")
    assert "result in new" in out
    assert len(list((here / "new" / "figures").glob("*.png"))) > 0


def test_a_result_of_another_scenario_is_not_passed_off_as_this_one(scenarios, tmp_path):
    """The command draws a finished result again; it must be the result that was asked for."""
    write(run(entry("lending-timing").scenario((*SMALL, "run.seed=99"))), tmp_path / "result")
    settings = [word for setting in SMALL for word in ("--set", setting)]
    code, _, err = scenarios("lending-timing", "--out", str(tmp_path / "result"), *settings)
    assert code == 2
    assert len(err.splitlines()) == 1
    assert not (tmp_path / "result" / "figures").exists()
