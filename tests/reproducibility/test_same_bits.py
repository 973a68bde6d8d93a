"""Choices that must not change a result do not change one bit of it."""

import multiprocessing
import os
from pathlib import Path

import pytest
import tomli_w

import asyncdp_sim as ad
from asyncdp_sim.core.files import synchronise
from asyncdp_sim.results import read_manifest
from asyncdp_sim.runs.run import run, write
from asyncdp_sim.scenario import dump, load
from tests.cli.command import program
from tests.one_in import one_in
from tests.reproducibility.runs import rows, scenario, tables, written
from tests.tables import table

ALL = {f"{name}.parquet" for name in ("updates", "curve", "owners", "events", "models", "optimum")}
PER_REPLICATE = ("updates", "curve", "owners", "events", "models")
LONG = pytest.mark.long


def test_the_small_scenario_is_lively(tmp_path):
    """Otherwise equal bits would prove little: refusals, dropped ticks, projections, noise."""
    outcome = run(scenario())
    assert outcome.summary["refusal_rate"] > 0.1
    assert outcome.summary["clip_count"] > 5
    assert set(written(scenario(), tmp_path / "a")) == ALL
    kinds = {row["kind"] for row in rows(tmp_path / "a", "events")}
    assert {"clock_dropped", "request_refused", "update_applied"} <= kinds


def test_another_seed_another_result(tmp_path):
    one = written(scenario(), tmp_path / "a")
    other = written(scenario(run__seed=12), tmp_path / "b")
    assert [name for name in ALL if one[name] == other[name]] == []


def test_replicates_differ(tmp_path):
    written(scenario(), tmp_path / "a")
    for name in PER_REPLICATE:
        first, second = (
            [{**row, "replicate": 0} for row in rows(tmp_path / "a", name, replicate)]
            for replicate in (1, 2)
        )
        assert first != second


@pytest.mark.parametrize(
    ("verb", "more", "kept"),
    [
        ("run", ["--events"], ALL),
        pytest.param("sweep", [], ALL - {"updates.parquet", "events.parquet"}, marks=LONG),
    ],
)
def test_the_number_of_workers_changes_nothing(verb, more, kept, tmp_path, command, monkeypatch):
    """Runs with a program of its own, from which the workers start as they do for a user."""
    monkeypatch.chdir(tmp_path)
    raw = scenario().plain()
    (tmp_path / "run.toml").write_text(tomli_w.dumps(raw), encoding="utf-8")
    raw["sweep"] = {"privacy.epsilon": [2.0]}
    raw["run"] |= {"updates": 10, "replicates": 2, "learning": "live"}
    (tmp_path / "sweep.toml").write_text(tomli_w.dumps(raw), encoding="utf-8")
    found = []
    for workers in (1, 2):
        place = tmp_path / f"{verb}-{workers}"
        words = (verb, f"{verb}.toml", "--out", place, "--workers", workers, *more)
        apart = (verb, workers) == ("sweep", 2)
        said = program(*words, folder=tmp_path) if apart else command(*words)
        assert said.code == 0, said.err
        found.append((tables(place), (place / "manifest.json").read_bytes()))
    assert found[0] == found[1]
    assert kept <= {Path(name).name for name in found[0][0]}


TABLE = table(__file__, "same_bits.toml")
VARIANTS = TABLE["variants"]


@pytest.mark.parametrize("changes", VARIANTS.values(), ids=VARIANTS)
def test_learning_live_is_learning_over_the_record(changes, tmp_path):
    live = written(scenario(**changes, run__learning="live"), tmp_path / "live")
    replay = written(scenario(**changes, run__learning="replay"), tmp_path / "replay")
    assert set(live) == ALL | ({"alone.parquet"} if "run__alone" in changes else set())
    assert [name for name in live if live[name] != replay.get(name)] == []
    one, other = (read_manifest(tmp_path / name)["summary"] for name in ("live", "replay"))
    assert one == other


@pytest.mark.parametrize("learning", ["replay", "live"])
def test_a_replicate_is_the_same_alone_or_among_others(learning, tmp_path):
    asked = scenario(run__replicates=10, run__learning=learning)
    written(asked, tmp_path / "ten")
    written(asked, tmp_path / "one", numbers=[7])
    for name in PER_REPLICATE:
        alone = rows(tmp_path / "one", name)
        assert len(alone) > 0
        assert {row["replicate"] for row in alone} == {7}
        assert alone == rows(tmp_path / "ten", name, replicate=7)
    assert rows(tmp_path / "one", "optimum") == rows(tmp_path / "ten", "optimum")


def test_more_replicates_change_no_earlier_one(tmp_path):
    written(scenario(run__replicates=2), tmp_path / "two")
    written(scenario(run__replicates=33), tmp_path / "many")
    for name in PER_REPLICATE:
        two, many = rows(tmp_path / "two", name), rows(tmp_path / "many", name)
        assert two == [row for row in many if row["replicate"] <= 2]


def test_more_owners_change_no_other_owners_records():
    few = run(scenario(owners__records=20)).dataset
    many = run(scenario(owners__records=20, owners__count=5, clock__rate=1.0)).dataset
    for owner in range(3):
        assert few.features[owner].tobytes() == many.features[owner].tobytes()
        assert few.targets[owner].tobytes() == many.targets[owner].tobytes()


OF_LEARNING_ALONE = TABLE["of_learning_alone"]


@one_in(3, "changes", OF_LEARNING_ALONE.values(), ids=OF_LEARNING_ALONE)
def test_what_the_network_does_not_know_changes_no_update(changes, tmp_path):
    before = written(scenario(), tmp_path / "before")
    after = written(scenario(**changes), tmp_path / "after")
    assert after["updates.parquet"] == before["updates.parquet"]
    assert after["events.parquet"] == before["events.parquet"]
    assert after["curve.parquet"] != before["curve.parquet"]


def test_keeping_events_changes_no_other_table(tmp_path):
    kept = written(scenario(), tmp_path / "kept")
    write(run(scenario()), tmp_path / "bare")
    kept.pop("events.parquet")
    assert tables(tmp_path / "bare") == kept


def test_a_scenario_survives_its_own_text(tmp_path):
    asked = scenario(privacy__epsilon=[0.1, float("inf"), 1 / 3], run__until=7.0)
    (tmp_path / "scenario.toml").write_text(dump(asked, None), encoding="utf-8")
    assert load(tmp_path / "scenario.toml") == (asked, [])


# A forked process runs what its parent ran: it inherits no thread, executor or lock in use.

WAITED = 60.0
"""Seconds; a child that inherits threads waits for them without end."""


def _again(scenario: ad.Scenario, before: Path, directory: Path) -> None:
    again = ad.run(scenario, out=directory)
    synchronise(directory.glob("*.parquet"))
    same = ad.open(before).curve.equals(ad.open(directory).curve)
    os._exit(0 if same and len(again.updates) > 0 else 1)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_forked_child_writes_and_reads_a_result(tmp_path):
    """Found by attack: 9 of 10 children waited for the threads that had synchronised files."""
    small = ad.load("vary-availability").replace(run={"updates": 5, "replicates": 1})
    before = tmp_path / "parent"
    ad.run(small, out=before)
    synchronise(before.glob("*.parquet"))  # many at a time, as a sweep does
    context = multiprocessing.get_context("fork")
    places = [tmp_path / f"child-{number}" for number in range(2)]
    children = [context.Process(target=_again, args=(small, before, place)) for place in places]
    for child in children:
        child.start()
    for child in children:
        child.join(WAITED)
    stuck = [child for child in children if child.is_alive()]
    for child in stuck:
        child.kill()
    assert stuck == []
    assert [child.exitcode for child in children] == [0, 0]
