"""Pages on decisions and gains have the figures of the benchmark's answers, and of simulations."""

import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from asyncdp_sim.decision import JointModels, LinearModels, OwnRows
from scenarios.decided import ANSWERS as FILE_OF_ANSWERS
from scenarios.decided import REACH, page, picture, scaled, scaled_to, title
from scenarios.decisions import BUDGETS, COLUMNS, Cut, Row, Table, judged, read, tables
from tests.tables import table as toml
from tests.verification.decision_laws import judge_fresh

ROOT = Path(__file__).resolve().parents[2]
ANSWERS = read(ROOT / "scenarios" / "decisions.csv")


def test_the_page_has_the_tables_of_the_answers():
    text = (ROOT / "docs" / "decisions.md").read_text(encoding="utf-8")
    for block in "\n".join(page(ANSWERS, tables())).split("\n\n"):
        assert block in text
    assert (ROOT / "docs" / "pictures" / "decisions.png").read_bytes().startswith(b"\x89PNG")


def test_the_title_of_the_picture_counts_what_it_shows():
    some = answers(
        answer("gains", 1.0, 0.5, 0.6),
        answer("gains", 1.0, 0.5, -0.1),
        answer("does worse", -1.0, 0.5, -2.0),
        answer("undecided", 0.0, 3.0, 9.0),
        answer("no material difference", 0.0, 0.4, 0.1),
    )
    assert title(some) == (
        "1 of 5 verdicts are undecided. Of 3 gains and losses, 2 have the right sign (2 "
        "certainly) and 2 are truly 5 % or more; 1 of 1 verdicts of no material difference are "
        "true; 2 of 4 intervals hold the true gain"
    )


def test_the_picture_has_every_clear_verdict_beside_its_truth_and_no_other():
    few = answers(
        answer("gains", 1.0, 0.5, 0.6, 0.1),
        answer("does worse", -3.0, 0.5, -9.0, 0.4),
        answer("undecided", 9.0, math.inf, 0.0),
    )
    drawn = picture(few)
    assert drawn.table["verdict"].tolist() == ["gains", "does worse"]
    assert drawn.table["gain"].tolist() == [10, -30]  # per cent of the own error
    drawn_rows = [mark for mark in drawn.said.panels[0].marks if mark.kind == "rows"]
    ends = [(mark.x[0], mark.low[0], mark.high[0]) for mark in drawn_rows]
    expected = [(10, 5, 15), (6, 4.04, 7.96), (-90, -97.84, -82.16)]
    np.testing.assert_allclose(ends, scaled(expected))
    both, inside, outside = drawn_rows
    np.testing.assert_allclose([both.x[1], both.low[1], both.high[1]], scaled([-30, -35, -25]))
    assert "outside" in outside.name  # the truth of the second row is not in its interval
    assert abs(inside.y[0] - both.y[0]) < 1 < both.y[1] - both.y[0]
    assert abs(outside.y[0] - both.y[1]) < 1


def test_no_interval_of_a_gain_or_loss_leaves_the_picture():
    shown = ANSWERS.query("decided and owner != '' and way != 'public'")
    about = 1.96 * shown.error
    for ends in (shown.low, shown.high, shown.truth - about, shown.truth + about):
        assert (100 * ends / shown.own).between(*REACH).all()


def test_every_table_was_asked_in_four_ways_at_two_budgets():
    asked = set(ANSWERS[["table", "way", "epsilon"]].itertuples(index=False, name=None))
    wanted = {(table.name, way, epsilon) for table in tables()
              for way in ("public", "owner", "all", "run") for epsilon in BUDGETS}  # fmt: skip
    assert asked == wanted
    assert len({table.name for table in tables()}) >= 12
    assert len({table.domain for table in tables()}) >= 5


def answer(verdict: str, gain: float, half: float, truth: float, error: float = 0.0) -> Row:
    ends = (gain, gain - half, gain + half)
    return "t", "all", 1.0, "o", 30, 10.0, *ends, 0.5, verdict, truth, error, 1.0


def answers(*rows: Row) -> pd.DataFrame:
    return judged(pd.DataFrame(rows, columns=COLUMNS))


@pytest.mark.parametrize(
    ("said", "covered", "wrong"), toml(__file__, "decisions_page.toml")["answers"]
)
def test_what_is_covered_and_what_is_wrong(said, covered, wrong):
    [row] = answers(answer(*said)).itertuples()
    assert (row.covered, row.wrong) == (covered, wrong)


def test_a_table_is_cut_so_that_no_row_is_had_twice_and_the_truth_is_unseen():
    frame = pd.DataFrame({"y": range(3000), "owner": [f"o{row % 3}" for row in range(3000)]})
    for owner in (None, "owner"):
        table = Table("small", "none", "none", "none", "y", owner)
        cut = Cut.of(table, frame)
        drawn = cut.draw(1, 1.25)
        places = [place for rows in drawn.values() for place in rows]
        assert len(places) == len(set(places)) == sum(round(1.25 * n) for n in cut.sizes.values())
        assert not set(places) & set(cut.public)
        assert all(25 <= size <= 250 for size in cut.sizes.values())
        assert all(len(cut.pools[name]) - len(rows) > len(rows) for name, rows in drawn.items())
        assert [*Cut.of(table, frame).draw(1)["o1" if owner else "owner 1"]] == [
            *cut.draw(1)["o1" if owner else "owner 1"]
        ]


def test_the_page_counts_the_tables_whose_mean_gain_is_truly_material():
    means = ANSWERS.query("way == 'all' and owner == '' and truth >= material")
    reached = [(means.epsilon == epsilon).sum() for epsilon in BUDGETS]
    text = " ".join((ROOT / "docs" / "decisions.md").read_text(encoding="utf-8").split())
    assert (
        f"Of {len(tables())} true mean gains, {reached[0]} reach 5 % at ε = 1, and {reached[1]} "
        "at ε = 10"
    ) in text


def test_narrower_intervals_keep_the_stated_verdicts_at_their_whole_width_and_miss_the_targets():
    told = ANSWERS.query("owner != '' and way in ('owner', 'all')")
    assert scaled_to(told, 1.0).verdict.tolist() == told.verdict.tolist()
    for _, half in scaled_to(told, 0.5).groupby("way"):
        assert half.decided.mean() < 0.2
        assert half.covered.mean() < 0.93


def test_the_table_of_the_picture_does_not_replace_the_answers():
    assert f"{picture(ANSWERS).name}.csv" != FILE_OF_ANSWERS


# Figures of the page on gains.

PAGE = " ".join((ROOT / "docs" / "what-gain-means.md").read_text(encoding="utf-8").split())
WIDTH, FRESH, DRAWS = 8, 1000, 200


def rows(count: int, law: np.ndarray, classes: int, generator: np.random.Generator) -> OwnRows:
    """Return rows of a linear law: numbers with noise of deviation 1, or two classes."""
    x = generator.normal(size=(count, WIDTH))
    z = x @ law
    if classes == 0:
        y = z + generator.normal(size=count)
    else:
        y = (generator.random(count) < 1 / (1 + np.exp(z))).astype(float)
    return OwnRows(x, y, classes, np.arange(count))


def cost(count: int, classes: int) -> float:
    """Return by what share of the own error it errs to adapt a joint model of random numbers."""
    generator, size = np.random.default_rng([count, classes]), 0.7 if classes > 0 else 0.5
    own, adapted = 0.0, 0.0
    for _ in range(DRAWS):
        law, useless = size * generator.normal(size=(2, WIDTH))
        known, fresh = (rows(n, law, classes, generator) for n in (count, FRESH))
        linear = LinearModels(useless[None, None], np.zeros((1, 1)))
        joint = JointModels(linear.scores(known.columns), linear)
        as_is = linear.scores(fresh.columns)
        gain = judge_fresh(known, joint, fresh, as_is, 1e-3, generator, own_best="linear")
        own, adapted = own + gain.own, adapted + gain.adapted
    return adapted / own - 1


@pytest.mark.documents
def test_what_adapting_a_useless_joint_model_costs():
    said = re.search(
        r"absolute error by (\d+) % with 16 rows, (\d+) % with 40 and (\d+) % with 100; the log "
        r"loss by (\d+), (\d+) and (\d+) %",
        PAGE,
    )
    found = [100 * cost(count, classes) for classes in (0, 2) for count in (16, 40, 100)]
    assert [float(each) for each in said.groups()] == pytest.approx(found, abs=0.6)


def test_how_much_too_large_clear_gains_are_stated():
    clear = ANSWERS.query("owner != '' and decided")
    times = clear.gain / clear.truth
    assert f"{times.min():.1f} to {times.max():.1f} times the true ones" in PAGE
    gains = clear[clear.verdict == "gains"]
    small = (gains.truth < gains.material).sum()
    assert f"{small} of its {len(gains)} gains were truly below 5 %" in PAGE
    assert times.min() > 1


def test_errors_that_the_page_takes_from_the_hospital_are_on_its_page():
    hospital = (ROOT / "docs" / "one-hospital.md").read_text(encoding="utf-8")
    own, joint, adapted = re.search(
        r"errors ([\d.]+) own, ([\d.]+) joint and ([\d.]+) adapted", PAGE
    ).groups()
    assert f"{own} own model, {joint} joint model, {adapted} adapted" in hospital
    late, early = float(own) - float(adapted), float(own) - min(float(joint), float(adapted))
    assert f"the gain is {late:.2f}, not {early:.2f}:" in PAGE


def test_a_forecast_of_the_benchmark_takes_under_half_a_second():
    page = " ".join((ROOT / "docs" / "how-long.md").read_text(encoding="utf-8").split())
    assert "the median forecast takes under half a second: it has one budget and linear" in page
    for way in ("public", "owner", "all"):
        asked = ANSWERS[ANSWERS.way == way].drop_duplicates(["table", "epsilon", "seconds"])
        assert asked.seconds.median() < 0.5
