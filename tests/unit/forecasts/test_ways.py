"""Gains of owners, in four ways, on laws of which the truth is known."""

import json
import sys
from dataclasses import replace
from itertools import chain

import numpy as np
import pandas as pd
import pytest

from asyncdp_sim.core.errors import InputError
from asyncdp_sim.core.specification import parse
from asyncdp_sim.core.words import number
from asyncdp_sim.figures.gains import by_epsilon
from asyncdp_sim.forecasts.forecast import forecast
from asyncdp_sim.forecasts.gains import Asked, _on, gains
from asyncdp_sim.forecasts.population import population
from asyncdp_sim.reports import page
from asyncdp_sim.scenario import Scenario, load
from asyncdp_sim.sentences.forecast import _remaining, as_json, decide, first_screen, lines
from tests.tables import table
from tests.unit.forecasts.banks import banks
from tests.unit.forecasts.clinics import clinics

LINEAR = Asked(own_best="linear")
SHORT = Asked(own_best="linear", break_even=False)
MODULE = sys.modules["asyncdp_sim.forecasts.gains"]  # its name there is a function's, too
NOISE = 1.5 * np.sqrt(2 / np.pi)
"""The mean of what clinics' stays differ from their law, absolutely."""


def found(scenario, whose=None, private=False):
    return gains(population(scenario, private=private), LINEAR, whose)


def test_all_rows_show_that_few_rows_gain_by_a_joint_model(tmp_path):
    """Twenty clinics of eleven rows, alike, about without noise: the joint model is the law."""
    result = found(clinics(tmp_path), private=True)
    assert (result.reads, result.release) == ("all", False)
    assert result.together.verdict == "gains"
    assert result.joint == pytest.approx(NOISE, rel=0.15)
    assert [owner.name for owner in result.owners][:2] == ["C1", "C10"]
    assert [owner.gain.records for owner in result.owners] == [11] * 20
    assert all(owner.gain.verdict != "does worse" for owner in result.owners)


def test_owners_that_gain_are_judged_once_more_as_if_the_others_left(tmp_path):
    result = found(clinics(tmp_path, owners=10), private=True)
    left = result.remaining
    gaining = [owner.owner for owner in result.owners if owner.gain.verdict == "gains"]
    assert 1 < len(gaining) < 10
    assert [owner.owner for owner in left.owners] == gaining
    assert (left.count, left.remaining) == (len(gaining), None)
    assert left.joint != result.joint
    said = _remaining(left)
    assert said.startswith(f"{len(gaining)} that gain, if they alone join: ")
    assert "; mean gain " in said
    assert found(clinics(tmp_path)).remaining is None  # public rows know no owner


def test_public_rows_show_the_mean_gain_of_owners_that_are_alike(tmp_path):
    scenario = clinics(tmp_path)
    result, all_rows = found(scenario), found(scenario, private=True)
    assert (result.reads, result.release, result.owners) == ("public", True, ())
    assert result.together.verdict == "gains"
    assert result.together.gain.parts[0][1] == 7  # degrees of freedom of eight halves
    mean = result.together.gain
    assert mean.low < all_rows.together.gain.value < mean.high
    assert not result.at_least
    assert result.alike.known == "no difference shown"
    assert result.joint == pytest.approx(NOISE, rel=0.15)


def test_more_own_rows_than_a_half_has_make_the_gain_a_lower_bound(tmp_path):
    assert found(clinics(tmp_path, rows=40, owners=6, public=120)).at_least


def test_public_rows_decide_nothing_where_they_show_that_owners_differ(tmp_path):
    result = found(clinics(tmp_path, away=1.5))
    assert result.alike.known == "differ"
    assert (result.together, result.break_even) == (None, None)


@pytest.mark.parametrize("public", [1600, 400])  # a half has enough rows for all owners, or not
def test_rows_of_one_person_that_repeat_show_nothing_more(tmp_path, public):
    """Each row stands three times: as own rows for three persons, they would halve own errors."""
    once = found(clinics(tmp_path, rows=12, public=public))
    for name in ("all", "public"):
        frame = pd.read_csv(tmp_path / f"{name}.csv").assign(person=lambda rows: rows.index)
        frame.loc[frame.index.repeat(3)].to_csv(tmp_path / f"{name}.csv", index=False)
    asked = ["data.person=person", f"data.public_records={3 * public}"]
    again = found(load(tmp_path / "clinics.toml", asked)[0])
    assert again.alike.known == once.alike.known == "no difference shown"
    assert again.alike.half_width == pytest.approx(once.alike.half_width, rel=0.3)
    assert again.own == pytest.approx(once.own, rel=0.1)
    assert again.together.verdict == once.together.verdict == "gains"


def test_an_owner_decides_by_its_own_rows_without_anybody_elses(tmp_path):
    """On its own machine: the table of all is not there."""
    clinics(tmp_path)
    scenario = load(tmp_path / "mine.toml")[0]
    result = found(scenario, whose="C1")
    [owner] = result.owners
    assert (result.reads, result.release, result.together) == ("owner", False, None)
    assert (owner.name, owner.gain.records) == ("C1", 11)
    assert len(np.unique(owner.gain.redraw)) == 8
    assert owner.gain.joint == pytest.approx(NOISE, rel=0.45)
    assert owner.gain.joint < owner.gain.own
    with pytest.raises(InputError, match=r"data.sizes: given numbers of rows, whose table is abs"):
        found(scenario, private=True)
    whole = found(clinics(tmp_path), whose="C1")  # its rows out of the table of all
    assert whole.owners[0].gain.own == pytest.approx(owner.gain.own)


def test_an_owner_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(InputError, match="--as: given 'C21'; nearest names: C2, C1, C20"):
        found(clinics(tmp_path), whose="C21")
    frame = pd.read_csv(tmp_path / "all.csv")
    frame["clinic"] = frame["clinic"].str.replace("C", "10")
    frame.to_csv(tmp_path / "all.csv", index=False)
    with pytest.raises(InputError, match="--as: given '2'; nearest names: 102, "):
        found(load(tmp_path / "clinics.toml")[0], whose="2")  # no number of an owner


def test_folds_have_the_noise_of_all_records(tmp_path):
    """With the noise of a fold, a fifth smaller, the variance would be 56 % larger."""
    known = population(clinics(tmp_path), private=True)
    fewer = known.dataset.of_owners(range(20))
    x, y = (tuple(rows[:9] for rows in part) for part in (fewer.features, fewer.targets))
    fewer = replace(fewer, features=x, targets=y)
    scale = _on(known, fewer, np.full(20, 11)).problem.noise.scale
    assert scale == pytest.approx(known.problem.noise.scale)
    assert (_on(known, fewer).problem.noise.scale > 1.2 * scale).all()


def test_joint_models_have_seen_no_row_of_the_fold_that_they_are_judged_on(tmp_path, monkeypatch):
    """In each of four divisions: a fold's models meet this fold, and were trained without it."""
    known = population(clinics(tmp_path, owners=4), private=True)
    trained, met = [], []

    def on(known, dataset, noise_records=None):
        trained.append(dataset.targets[1])
        return _on(known, dataset, noise_records)

    def by_fold(known, cv, design, models):
        met.append((cv, models))
        return right(known, cv, design, models)

    right = MODULE._joint_by_fold
    monkeypatch.setattr(MODULE, "_on", on)
    monkeypatch.setattr(MODULE, "_joint_by_fold", by_fold)
    MODULE.by_folds(known, SHORT, "all")
    cv, models = met[1]
    divisions = [[set(part) for part in division] for division in cv.divisions]
    assert len(divisions) == len(models) == 4
    assert divisions[0] != divisions[1]
    every = known.dataset.targets[1]
    out = [np.delete(every, part) for division in cv.divisions for part in division]
    assert all(np.array_equal(a, b) for a, b in zip(trained, out, strict=True))
    found = right(known, cv, np.ones((11, 5)), models)
    for joint, of_fold in zip(chain(*found), np.concatenate(models), strict=True):
        assert np.allclose(joint.scores[:, 0, 0], of_fold.sum(axis=1))


SCREENS = table(__file__, "first_screens.toml")["sentences"]


@pytest.mark.parametrize(("options", "away", "sentences"), SCREENS)
def test_the_first_screen_is_sentences(tmp_path, options, away, sentences):
    result = forecast(clinics(tmp_path, away=away), judged=LINEAR, **options)
    texts = first_screen(result)
    for row, said in sentences.items():
        assert any(text.startswith(f"{row:<16} {said}") for text in texts), texts
    assert any("undecided" in text and "gain," in text for text in texts) == ("private" in options)
    content = json.loads(as_json(result))
    assert content["release"] is (options == {})
    assert (content["score"], content["unit"]) == ("absolute error", "days")
    assert len(content["owners"]) == (1 if "whose" in options else 20 if options else 0)
    for owner in content["owners"]:
        assert owner.keys() >= {"own", "own_best", "joint", "adapted", "guessing", "gain", "low"}
        assert owner.keys() >= {"joint_gain_low", "verdict", "rows_to_decide", "break_even"}


def test_of_an_owner_without_a_target_only_that_is_said(tmp_path):
    scenario = clinics(tmp_path)
    rows = pd.read_csv(tmp_path / "all.csv")
    rows.loc[rows["clinic"] == "C1", "stay"] = np.nan
    rows.to_csv(tmp_path / "all.csv", index=False)
    decision, then, *_ = first_screen(forecast(scenario, whose="C1", judged=LINEAR))
    assert decision == "Decision         undecided for C1 at ε = 100,000: no rows to be judged on"
    assert then.startswith("How soon")


@pytest.mark.parametrize("private", [False, True], ids=["public rows", "all rows"])
def test_a_break_even_between_two_budgets_is_the_same_wherever_it_stands(tmp_path, private):
    """Without noise clinics of eleven rows gain, at small ε they do not: between is the level."""
    result = forecast(clinics(tmp_path, epsilon=10.0), private=private, judged=LINEAR)
    level, means = result.gains.break_even, [each.together for each in result.gains.tried]
    budgets = result.gains.budgets
    gains_from = [mean.verdict == "gains" for mean in means].index(True)
    assert all(mean.verdict == "gains" for mean in means[gains_from:])
    assert (level.low, level.high) == (budgets[gains_from - 1], budgets[gains_from])
    assert 0 < level.low < level.value < level.high
    ends = f"{number(level.value)} ({number(level.low)} to {number(level.high)})"
    sentence = f"from ε = {ends} on, the average owner gains"
    assert f"Break-even ε     {sentence}" in first_screen(result)
    other = replace(result, gains=replace(result.gains, material=0.025))
    assert any(line.endswith(" 2.5 % of the own error") for line in lines(other))
    explained = [line for line in lines(result) if line.startswith("break-even: the smallest ε")]
    assert len(explained) == private
    content = json.loads(as_json(result))
    assert content["break_even"] == {"low": level.low, "value": level.value, "high": level.high}
    (tmp_path / "f.json").write_text(json.dumps(content), encoding="utf-8")
    assert sentence in page([tmp_path / "f.json"])
    picture = by_epsilon(content)
    assert picture.said.title == f"F{sentence[1:]}"
    [upright] = [mark for mark in picture.said.panels[0].marks if mark.kind == "upright"]
    assert upright.x == level.value
    assert picture.table["gain"].tolist() == [mean.gain.value for mean in means]
    single = {owner["break_even"] is None for owner in content["owners"]}
    assert single == ({True, False} if private else set())


def test_no_break_even_is_printed_while_the_verdict_is_unknown(tmp_path):
    result = forecast(clinics(tmp_path, away=1.5, epsilon=10.0), judged=LINEAR)
    content = json.loads(as_json(result))
    assert content["consortium"] is content["break_even"] is by_epsilon(content) is None
    assert not any("Break-even" in text for text in first_screen(result))
    (tmp_path / "f.json").write_text(json.dumps(content), encoding="utf-8")
    assert "break-even" not in page([tmp_path / "f.json"]).lower()


def test_an_adapted_gain_that_does_not_cross_0_has_no_break_even(tmp_path):
    """One clinic's eleven rows decide nothing: its adapted gain tends to 0 at small ε."""
    result = forecast(clinics(tmp_path, epsilon=10.0), whose="C1", judged=LINEAR)
    assert result.gains.tried[0].owners[0].gain.gain.value == pytest.approx(0.0, abs=1e-3)
    assert "Break-even ε     none up to ε = 1,000, the largest tried" in first_screen(result)
    content = json.loads(as_json(result))
    assert content["break_even"] is content["owners"][0]["break_even"] is None
    picture = by_epsilon(content)
    assert picture.said.title == "No gain of this owner is shown at any ε between ε = 1 and 1,000"
    assert all(mark.kind != "upright" for mark in picture.said.panels[0].marks)


def test_noise_that_is_one_draw_for_all_coordinates_has_no_epsilon():
    raw = banks()
    raw["privacy"] |= {"noise": "scalar-as-published"}
    said = decide(forecast(parse(Scenario, raw), judged=None)).privacy
    assert said.startswith("NO finite ε: one draw of noise for all coordinates")


def test_an_owner_is_judged_by_its_own_draws_whoever_else_takes_part(monkeypatch):
    """On drawn data, too: streams have the number of an owner, and not its place among some."""
    seen = []
    right = MODULE._judged

    def noted(known, options, fresh, models, owner, generator):
        seen.append((known.participants.numbers[owner], generator.bit_generator.state))
        return right(known, options, fresh, models, owner, generator)

    monkeypatch.setattr(MODULE, "_judged", noted)
    asked = Scenario.model_validate(banks(updates=6))
    for scenario in (asked, asked.replace(owners={"only": [2, 3]}).base()):
        gains(population(scenario, private=False), SHORT)
    states = dict(seen[:3])
    assert [number for number, _ in seen] == [1, 2, 3, 2, 3]
    assert all(states[number] == state for number, state in seen[3:])
