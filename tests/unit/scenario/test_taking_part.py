"""Owners that take part, that there are not, their names, and counts that are drawn."""

import json

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asyncdp_sim.audits import audit
from asyncdp_sim.core.errors import DataError, SpecError
from asyncdp_sim.core.specification import members, parse
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.decision import Judging
from asyncdp_sim.figures import gains, traces
from asyncdp_sim.forecasts.forecast import forecast
from asyncdp_sim.forecasts.invite import invite
from asyncdp_sim.forecasts.market import buy
from asyncdp_sim.learning.algorithms import AnyAlgorithm
from asyncdp_sim.network import simulate
from asyncdp_sim.network.protocols import Protocol
from asyncdp_sim.privacy.observers import Observer
from asyncdp_sim.results import Result
from asyncdp_sim.results.manifest import described, digest
from asyncdp_sim.runs.problem import build_dataset, prepare
from asyncdp_sim.runs.run import reproduce, run, write
from asyncdp_sim.scenario import Participants, Scenario, load
from asyncdp_sim.scenario.fields import examples_of
from asyncdp_sim.scenario.owners import LONGEST, LognormalCounts, Owners, places_of, shown
from asyncdp_sim.sentences import forecast as words
from asyncdp_sim.sentences.scenario import describe
from asyncdp_sim.sweeps.sweep import sweep
from tests import scenes, tables
from tests.together import together

# Owners that take part without others keep their numbers, clocks and records.

CASES = tables.table(__file__, "taking_part.toml")
COUPLED_BY_NOTHING = tables.table(__file__, "coupled_by_nothing.toml")


def scenario(owners=None, **parts):
    usual = CASES["usual"]
    raw = scenes.fields(**usual | {"owners": usual["owners"] | (owners or {})})
    return parse(Scenario, raw | parts)


def life_of(place, found):
    """Return all that happens to an owner, at a place from 1: ticks, kinds, attempts, details."""
    events = simulate(found.network, Streams(1).within("replicate", 1), events=True).events
    return events[events["owner"] == place][["tick", "kind", "attempt", "detail"]].tolist()


@pytest.mark.parametrize("parts", COUPLED_BY_NOTHING.values(), ids=COUPLED_BY_NOTHING)
def test_nobody_elses_clock_latency_or_absence_moves_by_a_bit(parts):
    full = scenario(**parts)
    part = scenario({"only": ["E", 2, "D"]}, **parts).base()
    assert part.owners.participants == (2, 4, 5)
    for place, number in enumerate(part.owners.participants, 1):
        life = life_of(place, part)
        assert len(life) > 1
        assert life == life_of(number, full), number


def test_noise_is_as_large_as_it_was_and_a_clients_own_is_the_same():
    full, part = scenario(), scenario({"without": ["A", "C"]}).base()
    whole, some = (prepare(each, build_dataset(each)) for each in (full, part))
    assert some.noise.scale.tolist() == whole.noise.scale[[1, 3, 4]].tolist()
    own = Streams(1).within("replicate", 1).of_owners((2, 4, 5)).within("client", 2)
    alone = Streams(1).within("replicate", 1, "client", 4)
    drawn = [scope.generator("noise").random(8).tolist() for scope in (own, alone)]
    assert drawn[0] == drawn[1]


def test_records_are_those_they_have_among_all():
    full, part = (build_dataset(s) for s in (scenario(), scenario({"only": ["B", "E"]}).base()))
    assert part.records == (40, 70)
    for place, number in enumerate((2, 5)):
        assert np.array_equal(part.features[place], full.features[number - 1])
    judged = {"only": ["B", "E"], "score_on": "everybody"}
    all_rows = build_dataset(scenario(judged).base())
    assert len(all_rows.unowned_targets) == 30 + 50 + 60
    by_some = build_dataset(scenario({"only": ["B", "E"], "score_on": ["E", 1, "D"]}).base())
    kept = (full.targets[0], full.targets[3])  # E takes part
    assert np.array_equal(by_some.unowned_targets, np.concatenate(kept))
    one, other = (prepare(s, build_dataset(s)) for s in (scenario(), scenario(judged).base()))
    np.testing.assert_allclose(one.task.objective.optimum, other.task.objective.optimum, rtol=1e-10)


def test_lists_are_of_the_participants_and_numbers_their_places():
    outages = COUPLED_BY_NOTHING["outages"]["availability"]
    capped = CASES["usual"]["privacy"] | CASES["capped"]
    part = scenario({"only": [2, 4]}, privacy=capped, availability=outages).base()
    raw = part.plain()
    for name, fields_of_two in CASES["of_two"].items():
        assert {**raw[name], **fields_of_two} == raw[name]
    spared = scenario({"only": ["E"]}, availability={**outages, "groups": [[1, 2], [3]]}).base()
    assert spared.availability.kind == "always"
    assert part.records == (40, 60)
    assert parse(Scenario, raw) == part
    assert "taking part: 2 of 5 owners: 2 (B), 4 (D)" in "\n".join(describe(part))


def test_all_of_them_is_the_scenario_without_the_question():
    parts = COUPLED_BY_NOTHING["outages"]
    asked = scenario({"only": [*"ABCDE"]}, **parts).base()
    assert digest(described(asked)) == digest(described(scenario(**parts)))


@together
@pytest.mark.parametrize(("owners", "said"), CASES["absent"])
def test_who_there_is_not_is_refused_in_one_line(owners, said):
    with pytest.raises(SpecError) as refused:
        scenario(owners).base()
    assert len(refused.value.faults) == 1
    assert said in str(refused.value)


def test_a_result_keeps_numbers_and_names_in_all_tables(tmp_path):
    part = scenario({"only": ["B", "E"]}, run={"updates": 40, "alone": True, "replicates": 2})
    write(run(part.base(), events=True, gains=Judging(own_best="linear")), tmp_path / "out")
    for name in ("owners", "updates", "alone", "gains"):
        assert {*pd.read_parquet(tmp_path / "out" / f"{name}.parquet")["owner"]} == {2, 5}
    assert {*pd.read_parquet(tmp_path / "out" / "events.parquet")["owner"]} <= {0, 2, 5}
    owners = pd.read_parquet(tmp_path / "out" / "owners.parquet")
    assert owners["name"].tolist() == ["B", "E"] * 2
    result = Result.read(tmp_path / "out")
    assert result.participants.labels == ("2 (B)", "5 (E)")
    assert [owner["owner"] for owner in result.manifest["owners"]] == [2, 5]
    picture = traces.SHARES.of(result)
    assert picture.table["owner"].tolist() == [2, 5]
    assert picture.table["updates"].sum() == 80
    assert {*traces.BY_UPDATE.of(result).table["owner"]} == {2, 5}
    reproduce(tmp_path / "out", on_note=lambda _: None)


def test_a_sweep_leaves_the_same_owners_out_of_every_cell(tmp_path):
    swept = {"privacy.epsilon": [1.0, [1.0, 2.0, 3.0, 4.0, 5.0]]}
    asked = scenario({"only": ["B", "E"]}, run={"updates": 10}, sweep=swept)
    assert sweep(asked, tmp_path / "sweep").done == 2
    for cell, epsilon in (("cell-0000", [1.0, 1.0]), ("cell-0001", [2.0, 5.0])):
        owners = pd.read_parquet(tmp_path / "sweep" / cell / "owners.parquet")
        assert owners["owner"].tolist() == [2, 5]
        assert owners["epsilon"].tolist() == epsilon
    [traces] = (tmp_path / "sweep" / "traces").iterdir()
    assert {*pd.read_parquet(traces / "updates.parquet")["owner"]} <= {2, 5}


def test_warnings_call_owners_by_their_numbers():
    asked = scenario({"only": ["B", "E"]}, run={"updates": 10})
    endless = asked.replace(privacy={"epsilon": [1.0, 2.0, 3.0, 4.0, float("inf")]})
    assert any("ε = ∞ for owner 5" in said for said in run(endless.base()).warnings)


def test_a_tables_column_says_who_is_meant(tmp_path):
    who = ["St. Mary's", "7", "Northside", "7", "St. Mary's", "Northside", "7", "7"]
    pd.DataFrame({"x": range(8), "who": who, "y": range(8)}).to_csv(tmp_path / "t.csv", index=False)
    of_a_table = scenes.text(**tables.composed({}, [CASES["of_a_table"]]))
    (tmp_path / "s.toml").write_text(of_a_table, encoding="utf-8")
    asked, _ = load(tmp_path / "s.toml")
    assert asked.owners.count == 3
    found = run(asked.base())
    assert found.problem.participants.labels == ("1 (7)", "3 (St. Mary's)")
    assert [rows.tolist() for rows in found.dataset.rows] == [[1, 3], [0, 4]]
    assert "taking part: 2 of 3 owners: 1 (7), 3 (St. Mary's)" in describe(asked)
    with pytest.raises(SpecError, match=r"s.toml: owners.only: given 'Northsid'; nearest names: N"):
        load(tmp_path / "s.toml", ['owners.only=["Northsid"]'])
    with pytest.raises(DataError, match=r"owners.count: given 4; allowed is 3, the number of dist"):
        load(tmp_path / "s.toml", ["owners.count=4"])


@pytest.mark.long
def test_an_attack_calls_owners_by_their_numbers():
    asked = scenario({"only": ["B", "E"]}, run={"updates": 10})
    lines = audit(asked, answers=1000, runs=100, confidence=0.999).lines()
    assert any(line.startswith("one answer of owner 5: ") for line in lines)
    assert not any("owner 1" in line for line in lines)


# Owners have names: whole in tables, printable and short on screens, the same everywhere.

HOSTILE = tuple(CASES["hostile"])


def named(names=HOSTILE):
    whole = CASES["named"]
    return scenes.scenario(**whole | {"owners": whole["owners"] | {"names": names}})


@settings(max_examples=30, deadline=None)
@given(st.lists(st.text(max_size=40), unique=True, max_size=30))
def test_whatever_names_are_what_is_shown_is_printable_short_and_unique(names):
    found = shown(names)
    assert len({*found}) == len(found) == len(names)
    assert all(0 < len(name) <= LONGEST and name.isprintable() for name in found)


def test_names_that_are_cut_alike_have_their_place_behind_them():
    found = shown(["Hospital of the Northern Valley", "Hospital of the Northern Coast", "Short"])
    assert found == ("Hospital of the … #1", "Hospital of the … #2", "Short")
    assert shown(["x #2", "a\tb", "a b"]) == ("x #2", "a b #2", "a b #3")


def test_a_name_is_found_by_itself_and_else_by_its_number():
    assert places_of("owners.only", ["2", 1, "North"], ("10", "2", "North"), (1, 2, 3)) == [0, 1, 2]
    assert places_of("owners.only", ["3", "B"], ("A", "B", "C"), (1, 2, 3)) == [1, 2]


@pytest.mark.parametrize(("given", "names", "said"), CASES["not_found"])
def test_a_name_that_is_none_or_several_is_refused_with_the_nearest(given, names, said):
    numbers = (1, 2, 3) if len(names) != 2 else (1, 2)
    with pytest.raises(SpecError, match=said):
        places_of("owners.only", given, tuple(names), numbers)


def test_names_stand_beside_numbers_in_the_result(tmp_path):
    write(run(named()), tmp_path / "named")
    table = pq.read_table(tmp_path / "named" / "owners.parquet")
    assert table.column_names[:3] == ["replicate", "owner", "name"]
    assert tuple(table["name"].to_pylist()) == HOSTILE
    manifest = json.loads((tmp_path / "named" / "manifest.json").read_text())
    assert tuple(manifest["owner_names"]) == HOSTILE
    result = Result.read(tmp_path / "named")
    labels = result.participants.labels
    assert labels == ("1 (St. Mary's)", "2 (\\x1b[31mred\\x9b\\u20…)", "3 (costs $5 or $6, whi…)")
    picture = traces.SHARES.of(result)
    assert tuple(picture.table["name"]) == HOSTILE
    ticks = [tick.get_text() for tick in picture.figure.axes[0].get_xticklabels()]
    assert ticks == [label.replace("$", r"\$") for label in labels]
    picture.figure.canvas.draw()
    written = traces.BY_UPDATE.of(result).figure.axes[0].get_yticklabels()
    assert [tick.get_text() for tick in written] == ticks


def test_without_names_a_result_is_as_it_was(tmp_path):
    found, bare = run(named()), run(named(None))
    assert found.fingerprints == bare.fingerprints
    write(bare, tmp_path / "bare")
    assert "name" not in pq.read_schema(tmp_path / "bare" / "owners.parquet").names
    assert "owner_names" not in json.loads((tmp_path / "bare" / "manifest.json").read_text())


def test_forecasts_and_their_figures_call_owners_by_name(tmp_path):
    found = forecast(named())
    assert tuple(owner.name for owner in found.gains.owners) == HOSTILE
    lines = words.lines(found)
    shown = [row[0] for row in words.owners(words.gains_content(found.gains)["owners"])[1:]]
    assert sorted(shown) == sorted(Participants((1, 2, 3), HOSTILE).shown)
    assert not any(ord(c) < 32 for line in lines for c in line)
    printed = words.as_json(found)
    assert all(c.isprintable() or c == "\n" for c in printed)
    (tmp_path / "f.json").write_text(printed, encoding="utf-8")
    read = gains.read(tmp_path / "f.json")
    assert [owner["name"] for owner in read["owners"]] == list(HOSTILE)
    picture = gains.owners(read)
    assert sorted(picture.table["name"]) == sorted(HOSTILE)
    labels = [text.get_text() for text in picture.figure.axes[0].get_xticklabels()]
    assert any(label.startswith("1 (St. Mary's), ") for label in labels)
    picture.figure.canvas.draw()


def test_advice_calls_owners_by_name():
    bought = buy(named(), (1.0, 1.0, 1.0), 0.5, replicates=2)
    assert bought.lines()[0].startswith("owner 1 (St. Mary's): ε = ")
    found = invite(named(), replicates=2)
    said = str(found.everybody)
    assert "; owners 1 (St. Mary's), 2 (" in said
    assert said.endswith(", 3 (costs $5 or $6, whi…)")


# Numbers of records that are drawn from a law of the scenario's.

LAW = {"mean": 500.0, "cv": 1.0}


def test_counts_have_their_mean_and_variation():
    """The mean of 20,000 has a standard error of 0.7 %, their cv one of about 3 %."""
    counts = np.array(LognormalCounts(**LAW).drawn(20_000, 1))
    assert counts.min() >= 1
    assert abs(counts.mean() / 500 - 1) < 4 * 0.007
    assert abs(counts.std() / counts.mean() - 1) < 4 * 0.03


def test_more_owners_leave_the_others_as_they_are_and_seeds_differ():
    law = LognormalCounts(**LAW)
    assert law.drawn(40, 1)[:3] == law.drawn(3, 1) == Owners(count=3, records=law).records_of(9 - 8)
    assert law.drawn(3, 2) != law.drawn(3, 1)


@pytest.mark.parametrize(("records", "line"), CASES["wrong_laws"])
def test_wrong_laws_are_one_line(records, line):
    with pytest.raises(SpecError) as refused:
        parse(Owners, {"count": 3, "records": records})
    [said] = refused.value.lines()
    assert said.startswith(line)


# Owners that there are not, named by any part: a fault says so, whatever stands beside it.

OUT_OF_RANGE = tables.table(__file__, "out_of_range.toml")


def naming(n_owners, *parts):
    raw = scenes.fields(**CASES["naming"] | {"owners": {"count": n_owners, "records": 5}})
    for part in parts:
        for key, value in part.items():
            whole = "kind" in value or key not in raw
            raw[key] = value if whole else {**raw[key], **value}
    return raw


def written(member):
    return examples_of(member)[0].model_dump(mode="json", exclude_none=True)


@together
@pytest.mark.parametrize("n_owners", [1, 3])
@pytest.mark.parametrize("part", OUT_OF_RANGE.values(), ids=OUT_OF_RANGE)
def test_it_is_refused_beside_whatever_else(part, n_owners):
    others = [
        *({"privacy": {"observer": written(each)}} for each in members(Observer)),
        *({"algorithm": written(each)} for each in members(AnyAlgorithm)),
        *({"protocol": written(each)} for each in members(Protocol)),
    ]
    assert len(others) > 15
    for other in others:
        with pytest.raises(SpecError):
            parse(Scenario, naming(n_owners, other, part))
