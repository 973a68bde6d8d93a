"""Owners that take part without others keep their numbers, clocks and records."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from asyncdp_sim.audits import audit
from asyncdp_sim.core.errors import DataError, SpecError
from asyncdp_sim.core.specification import parse
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.figures import traces
from asyncdp_sim.network import simulate
from asyncdp_sim.results import Result
from asyncdp_sim.results.manifest import described, digest
from asyncdp_sim.runs import reproduce, run, write
from asyncdp_sim.runs.problem import build_dataset, prepare
from asyncdp_sim.scenario import Scenario, load
from asyncdp_sim.sentences.scenario import describe
from asyncdp_sim.sweeps import sweep
from tests.scenes import fields, text
from tests.tables import table
from tests.together import together

NAMES = ["A", "B", "C", "D", "E"]
EXPONENTIAL = {"kind": "exponential", "mean": 0.05}
COUPLED_BY_NOTHING = table(__file__, "coupled_by_nothing.toml")


def scenario(owners: dict[str, Any] | None = None, **parts: Any) -> Scenario:
    usual = {"count": 5, "records": [30, 40, 50, 60, 70], "names": NAMES}
    raw = fields(
        run={"updates": 100_000, "until": 20.0},
        owners=usual | (owners or {}),
        model={"regularisation": 1e-2},
        clock={"kind": "poisson", "rate": [1.0, 2.0, 3.0, 4.0, 5.0]},
        compute=EXPONENTIAL,
        latency={"answer": EXPONENTIAL},
        protocol={"kind": "push", "own_tick": "drop"},
        algorithm={"rho": 1.0},
        privacy={"epsilon": [1.0, 2.0, 3.0, 4.0, 5.0]},
    )
    made: Scenario = parse(Scenario, raw | parts)
    return made


def life_of(place: int, found: Scenario) -> list[tuple[int, ...]]:
    """Return all that happens to an owner, at a place from 1: ticks, kinds, attempts, details."""
    trace = simulate(found.network, Streams(1).within("replicate", 1), events=True)
    assert trace.events is not None
    return [
        (int(e["tick"]), int(e["kind"]), int(e["attempt"]), int(e["detail"]))
        for e in trace.events
        if e["owner"] == place
    ]


@pytest.mark.parametrize("name", COUPLED_BY_NOTHING)
def test_nobody_elses_clock_latency_or_absence_moves_by_a_bit(name):
    full = scenario(**COUPLED_BY_NOTHING[name])
    part = scenario({"only": ["E", 2, "D"]}, **COUPLED_BY_NOTHING[name]).base()
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
    assert all_rows.unowned_targets is not None
    assert len(all_rows.unowned_targets) == 30 + 50 + 60
    by_some = build_dataset(scenario({"only": ["B", "E"], "score_on": ["E", 1, "D"]}).base())
    kept = (full.targets[0], full.targets[3])  # E takes part
    assert np.array_equal(by_some.unowned_targets, np.concatenate(kept))
    one, other = (prepare(s, build_dataset(s)) for s in (scenario(), scenario(judged).base()))
    np.testing.assert_allclose(one.task.objective.optimum, other.task.objective.optimum, rtol=1e-10)


def test_lists_are_of_the_participants_and_numbers_their_places():
    part = scenario(
        {"only": [2, 4]},
        privacy={
            "epsilon": [1.0, 2.0, 3.0, 4.0, 5.0],
            "sensitivity": {"kind": "clip", "bound": 1.0},
            "budget": {"kind": "per-owner-cap", "answers": [1, 2, 3, 4, 5]},
        },
        availability=COUPLED_BY_NOTHING["outages"]["availability"],
    ).base()
    raw = part.plain()
    assert raw["owners"]["numbers"] == [2, 4]
    assert (raw["owners"]["count"], raw["owners"]["of"]) == (2, 5)
    assert raw["owners"]["names"] == ["B", "D"]
    assert raw["owners"]["records"] == [30, 40, 50, 60, 70]
    assert raw["clock"]["rate"] == [2.0, 4.0]
    assert raw["privacy"]["epsilon"] == [2.0, 4.0]
    assert raw["privacy"]["budget"]["answers"] == [2, 4]
    assert raw["availability"]["groups"] == [[1], [2], [1]]
    assert raw["availability"]["numbers"] == [2, 3, 4]
    outages = COUPLED_BY_NOTHING["outages"]["availability"]
    spared = scenario({"only": ["E"]}, availability={**outages, "groups": [[1, 2], [3]]}).base()
    assert spared.availability.kind == "always"
    assert part.records == (40, 60)
    assert parse(Scenario, raw) == part
    said = "\n".join(describe(part))
    assert "taking part: 2 of 5 owners: 2 (B), 4 (D)" in said


def test_all_of_them_is_the_scenario_without_the_question():
    parts = COUPLED_BY_NOTHING["outages"]
    asked = scenario({"only": NAMES}, **parts).base()
    assert digest(described(asked)) == digest(described(scenario(**parts)))


@together
@pytest.mark.parametrize(
    ("owners", "said"),
    [
        ({"only": ["F"]}, "owners.only: given 'F'; some of the names: A, B, C"),
        ({"without": ["a"]}, "owners.without: given 'a'; nearest names: A"),
        ({"without": [6]}, "owners.without: given 6; some of the names"),
        ({"without": NAMES}, "owners.without: given every owner; allowed are fewer"),
        ({"only": ["A"], "without": ["B"]}, "owners.without: given ['B']; allowed is it, or own"),
        ({"numbers": [1]}, "owners.of: given nothing; this field goes with owners.numbers"),
        ({"of": 9}, "owners.numbers: given nothing; this field goes with owners.of"),
        ({"numbers": [5, 4, 3, 2, 1], "of": 9, "records": 3}, "allowed are 5 numbers from 1 to 9"),
        ({"numbers": [1, 2, 3, 4, 10], "of": 9, "records": 3}, "allowed are 5 numbers from 1 to 9"),
    ],
)
def test_who_there_is_not_is_refused_in_one_line(owners, said):
    with pytest.raises(SpecError) as refused:
        scenario(owners).base()
    assert len(refused.value.faults) == 1
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("parts", "named"),
    [
        ({"topology": {"kind": "geometric", "radius": 2, "latency_per_distance": 1}}, "topology"),
        ({"availability": {"kind": "intervals", "path": "x.csv"}}, "availability.kind = interv"),
    ],
)
def test_what_is_of_all_owners_lets_nobody_be_left_out(parts, named):
    with pytest.raises(SpecError, match=rf"owners.only: given \['A'\]; not allowed with {named}"):
        scenario({"only": ["A"]}, **parts)


def test_a_result_keeps_numbers_and_names_in_all_tables(tmp_path):
    part = scenario({"only": ["B", "E"]}, run={"updates": 40, "alone": True, "replicates": 2})
    write(run(part.base(), events=True), tmp_path / "out")
    for name in ("owners", "updates", "alone"):
        assert {*pd.read_parquet(tmp_path / "out" / f"{name}.parquet")["owner"]} == {2, 5}
    assert {*pd.read_parquet(tmp_path / "out" / "events.parquet")["owner"]} <= {0, 2, 5}
    owners = pd.read_parquet(tmp_path / "out" / "owners.parquet")
    assert owners["name"].tolist() == ["B", "E"] * 2
    result = Result.read(tmp_path / "out")
    assert result.participants.labels == ("2 (B)", "5 (E)")
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


TABLE = text(
    run={"updates": 5},
    owners={"only": ["St. Mary's", "7"], "count": None, "records": None},
    data={"kind": "table", "path": "t.csv", "target": "y", "features": 1, "public_records": 2,
          "owner_column": "who"},
    model={"regularisation": 1e-2},
    algorithm={"rho": 1.0},
)  # fmt: skip


def test_a_tables_column_says_who_is_meant(tmp_path):
    who = ["St. Mary's", "7", "Northside", "7", "St. Mary's", "Northside", "7", "7"]
    pd.DataFrame({"x": range(8), "who": who, "y": range(8)}).to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "s.toml").write_text(TABLE, encoding="utf-8")
    asked, _ = load(tmp_path / "s.toml")
    assert asked.owners.count == 3
    found = run(asked.base())
    assert found.participants.labels == ("1 (7)", "3 (St. Mary's)")
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
