"""The page of a forecast answers at each ε that was tried, and lists owners by difference."""

import difflib
import json
import re
from pathlib import Path

import numpy as np
import pytest

from asyncdp_sim.core.errors import ResultError
from asyncdp_sim.figures import gains
from asyncdp_sim.forecasts.forecast import forecast
from asyncdp_sim.forecasts.gains import FACTORS, Asked
from asyncdp_sim.reports import page
from asyncdp_sim.sentences.forecast import as_json, beside, owners
from tests.cli.pages import alike
from tests.unit.reports.pages import BASE, Seen, scenario

OWNERS = BASE["owners"] | {"names": ["Ann", "Bob", "Café"]}


@pytest.fixture(scope="module")
def content():
    made = forecast(scenario(owners=OWNERS), judged=Asked(own_best="linear"))
    return json.loads(as_json(made))


@pytest.fixture
def seen(content, tmp_path):
    return lambda **changed: _page(content | changed, tmp_path / "soon.json")


def _page(content, file):
    file.write_text(json.dumps(content))
    return Seen(page([file]))


def test_the_json_has_every_budget_that_was_tried(content):
    tried = content["budgets"]
    assert [each["factor"] for each in tried] == list(FACTORS)
    [given] = [each for each in tried if each["factor"] == 1.0]
    assert {name: given[name] for name in ("owners", "consortium", "decision")}.items() <= (
        content.items()
    )
    for each in tried:
        assert f" at ε = {each['epsilon']:,g}" in each["decision"]["decision"]
        assert f"ε = {each['epsilon']:,g} per owner" in each["decision"]["privacy"]
        assert {owner["epsilon"] for owner in each["owners"]} == {each["epsilon"]}
        # the mean gain is that of the owners with this budget
        own = [owner["gain"] for owner in each["owners"]]
        assert np.mean(own) == pytest.approx(each["consortium"]["gain"], rel=1e-9)
    assert len({each["consortium"]["gain"] for each in tried}) == len(tried)


@pytest.mark.long
def test_one_budget_is_chosen_and_each_has_its_decision_and_its_owners(content, seen):
    drawn = seen()
    assert drawn.faults == drawn.foreign == []
    choices = [each for each in drawn.all("input") if each["type"] == "radio"]
    assert [choice["id"] for choice in choices] == [f"at-{n}" for n in range(1, 7)]
    assert ["checked" in choice for choice in choices] == [f == 1.0 for f in FACTORS]
    for number, each in enumerate(content["budgets"], start=1):
        assert f"body:has(#at-{number}:checked) .at-{number} {{ display: block; }}" in drawn.text
        shown = drawn.text.split(f'<p class="decision at at-{number}">')[1].partition("</p>")[0]
        assert f"at ε = {each['epsilon']:,g}" in shown
    assert len(re.findall(r'<div class="at at-', drawn.text)) == 2 * len(FACTORS)


@pytest.mark.long
@pytest.mark.parametrize("name", ["owners", "one-budget", "their-mean-alone", "other-protocols"])
def test_a_page_reads_as_it_is_kept(name, content, seen, file_regression):
    """Whole, or of other protocols what they add to the page."""
    sums = {
        "protocol": "sums of answers",
        "settings": {"privacy": {"delta": 1e-6}},
        "refused": None,
        "consortium": content["consortium"],
        "owners": [],
        "difference": {"gain": 0.3, "low": 0.1, "high": 0.5},
    }
    refused = {"protocol": "noisy second moments", "refused": "given mlp", "difference": None}
    changed = {
        "one-budget": {"budgets": []},
        "their-mean-alone": {"budgets": [], "owners": []},
        "other-protocols": {"alternatives": [sums, sums | refused]},
    }.get(name, {})
    drawn = seen(**changed)
    lines = drawn.answer
    assert ("budgets" in changed) == (drawn.all("input") == [] and ":has(" not in drawn.text)
    if name == "other-protocols":
        lines = [*difflib.unified_diff(seen().answer, lines, n=0, lineterm="")][2:]
    file = Path(__file__).parent / "printed" / f"forecast-{name}.txt"
    text = "\n".join([*lines, ""])
    file_regression.check(text, encoding="utf-8", fullpath=file, check_fn=alike)


def test_owners_stand_in_the_order_of_their_differences(content):
    head, *rows = beside(content["owners"], "days")
    assert head == ["owner", "records", "alone (days)", "together (days)", "difference (days)",
                    "verdict"]  # fmt: skip
    by_name = {owner["name"]: owner for owner in content["owners"]}
    found = [by_name[row[0]]["gain"] for row in rows]
    assert found == sorted(found, reverse=True)
    assert found != [owner["gain"] for owner in content["owners"]]
    for row in rows:
        value, _, half = row[4].partition(" ± ")
        owner = by_name[row[0]]
        assert float(value) == pytest.approx(owner["gain"], abs=float(half) / 10)
        assert float(half) == pytest.approx((owner["high"] - owner["low"]) / 2, rel=0.06)


def test_a_budget_without_its_parts_is_refused(seen):
    with pytest.raises(ResultError, match="JSON that is no forecast"):
        seen(budgets=[{"epsilon": 1.0}])


def test_beside_the_mean_gain_of_public_rows_stands_its_picture_by_epsilon(content, seen):
    nobody = [each | {"owners": []} for each in content["budgets"]]
    drawn = seen(budgets=nobody, owners=[])
    first = drawn.text.partition('<section id="answer">')[2].partition("</section>")[0]
    assert first.count("<svg ") == len(FACTORS)
    assert "average owner" in first.partition("aria-label=")[2].partition('"')[2].partition(".")[0]
    assert "Gain of the average owner by joining at each ε" not in drawn.text.replace(first, "")
    mean = gains.by_epsilon(content | nobody[1])
    assert mean is not None
    for key in ("gain", "low", "high"):
        assert mean.table[key].tolist() == [each["consortium"][key] for each in nobody]
    [here] = [mark.x for mark in mean.said.panels[0].marks if mark.kind == "upright"]
    assert here == nobody[1]["epsilon"]


def test_gains_on_the_screen_have_the_digits_that_their_interval_allows():
    errors = {"own": 2.0, "joint": 3.0, "adapted": 2.0, "verdict": "undecided"}
    gain = {"gain": 0.000254, "low": -0.00322, "high": 0.00373, "break_even": None}
    [_, row] = owners([{"owner": 1, "name": None, "records": 10, "epsilon": 1.0} | errors | gain])
    assert row[5:8] == ["0.0003", "-0.0032", "0.0037"]
