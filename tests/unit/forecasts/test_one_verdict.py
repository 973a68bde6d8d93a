"""One criterion decides who gains: counts, table, sentences and JSON agree on a screen."""

import json
import re
from typing import Any

from asyncdp_sim.forecasts import Forecast, forecast
from asyncdp_sim.forecasts.words import as_json, lines
from asyncdp_sim.scenario import Scenario
from tests.one_in import one_in
from tests.unit.forecasts.test_errors import RAW, on_a_table

APART = {"heterogeneity": 0.3, "noise": 0.3}
CASES: dict[str, dict[str, Any]] = {
    "rows held out": {},
    "owners unlike each other": {"data": APART},
    "small budgets": {"privacy": {"epsilon": 1.0}},
    "without privacy": {"privacy": {"mechanism": "none"}},
    "no rows held out": {"data": {"held_out": 0.0}},
    "no rows held out, unlike": {"data": APART | {"held_out": 0.0}},
    "exact": {
        "data": {"held_out": 0.0},
        "privacy": {"epsilon": 8.0, "sensitivity": {"kind": "declared", "bound": 8.0}},
    },
}


@one_in(3, "case", CASES)
def test_on_rows_of_their_own(case):
    scenario = Scenario.model_validate(RAW).replace(**CASES[case])
    found = forecast(scenario)
    assert (found.worth is None) is (scenario.data.holds_out is False)
    _says_one_thing(found)


def test_on_substitute_rows(tmp_path):
    found = forecast(on_a_table(tmp_path, "by column"))
    assert found.worth is not None
    assert found.worth.rows is not None
    assert (found.worth.rows > 0).all()
    _says_one_thing(found)


def _says_one_thing(found: Forecast) -> None:
    told = lines(found)
    table = _table(told, len(found.owners))
    verdicts = {"yes": True, "no": False, "undecided": None}
    place = {label: at for at, label in enumerate(found.participants.labels)}
    for row in table:
        assert found.owners[place[row[0]]].profits is verdicts[row[-2]]
    counts = [[row[-2] for row in table].count(word) for word in verdicts]
    named = re.findall(
        r"gains from joining +(\d+) of \d+ owners \((\d+) do worse, (\d+) und", told[_at(told)]
    )
    assert named == [tuple(map(str, counts))]
    assert _decided(told[0]) == tuple(counts)
    raw = json.loads(as_json(found))
    assert [owner["profits"] for owner in raw["owners"]] == [o.profits for o in found.owners]
    assert [owner.epsilon_needed for owner in found.owners] == found.break_even
    assert [owner.profits for owner in found.owners] == found.verdicts
    assert not any("profit" in line for line in told)
    if found.worth is None:
        assert raw["decided_by"] == "psi"
        assert [owner.profits for owner in found.owners] == [
            None if abs(o.alone - found.psi) <= found.psi_half_width > 0 else o.alone > found.psi
            for o in found.owners
        ]
        return
    assert raw["decided_by"] == "held-out errors"
    for owner, row in zip(_sorted(raw["errors"]["owners"]), table, strict=True):
        assert owner["profits"] is (row[-2] == "yes")
        assert owner["loses"] is (row[-2] == "no")
        if owner["epsilon_needed"] is None and len(found.worth.factors) > 1:
            assert row[-1].startswith("> ")


def _sorted(owners: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(owners, key=lambda owner: -owner["gain"])


def _decided(said: str) -> tuple[int, ...]:
    """Return how many owners gain, do worse and are undecided, by the first line."""
    if "not known" in said:
        return 0, 0, 4
    patterns = (r"(\d+) of \d+ owners should|(\d+) of \d+ gain", r"(\d+) of \d+ do(?:es)? worse",
                r"(\d+) (?:is|are) undecided")  # fmt: skip
    found = [re.search(pattern, said) for pattern in patterns]
    return tuple(0 if each is None else int(each[each.lastindex or 1]) for each in found)


def _at(told: list[str]) -> int:
    return next(at for at, line in enumerate(told) if line.startswith("gains from joining"))


def _table(told: list[str], count: int) -> list[list[str]]:
    first = next(at for at, line in enumerate(told) if line.endswith("break-even"))
    return [re.split(r" {2,}", line.strip()) for line in told[first + 1 : first + 1 + count]]
