"""The price of hiding answers in sums: the page by formulas, bytes by hand, and verdicts."""

import csv
from pathlib import Path

import numpy as np
import pytest

from asyncdp_sim.scenario import Scenario
from scenarios import entry
from scenarios.beyond.observers import secure_sums as sums
from tests.catalogue.verdicts import once

[FIGURE] = sums.RESULTS
DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "beyond" / "secure-sums.md").read_text("utf-8")
PROOF = (DOCS / "privacy" / "aggregation.md").read_text("utf-8")
GRID = {
    (each["variant"]["name"], round(1 - each["availability.probability"], 9)): each
    for each in entry("price-of-secure-sums").scenario().grid()
}
FEW = ('sweep."availability.probability"=[1.0, 0.9, 0.8, 0.7, 0.6]',)
FITS = {"below 1": "better", "above 1": "worse", "undecided": "undecided"}
GAINS = {"above 0": "larger", "no material difference": "no difference"}
"""Verdicts on ratios of ψ and on gains, as the page has them."""


def at(name: str, absent: float) -> Scenario:
    return entry("price-of-secure-sums").scenario().cell(GRID[name, absent])


def test_the_page_has_the_shares_of_sums_that_open():
    assert len(rows()) == 5
    for name, absent, opened, *_ in rows():
        assert opened == f"{sums.opens(at(name, float(absent))):.3f}"


def rows() -> list[list[str]]:
    """Return the cells of the page's table: sums, absent, opened, ratio and gain."""
    lines = [line for line in PAGE.splitlines() if line.startswith(("| 12", "| 4"))]
    return [line.strip("| ").split(" | ") for line in lines]


def test_pages_decide_by_intervals():
    """Of shares that open, one is undecided: all larger ones fit better, all smaller ones worse."""
    with (DOCS / "pictures" / "secure-sums.csv").open(encoding="utf-8") as stream:
        names = ("opened", "ratio", "ratio_low", "ratio_high")
        cells = sorted([float(row[name]) for name in names] for row in csv.DictReader(stream))
    worse = [cell for cell in cells if cell[2] > 1]
    better = [cell for cell in cells if cell[3] < 1]
    [undecided] = [cell for cell in cells if cell[2] <= 1 <= cell[3]]
    assert [*worse, undecided, *better] == cells
    least, most = f"at least {100 * better[0][0]:.2g} %", f"at most {100 * worse[-1][0]:.2g} %"
    said = [f"{least} of the sums open", f"where {most} open single answers fit better"]
    said.append("{:.2f} times that of single answers ({:.2f} to {:.2f})".format(*better[0][1:]))
    said.append(
        "at {:.0f} % it is undecided ({:.2f}; {:.2f} to {:.2f})".format(
            100 * undecided[0], *undecided[1:]
        )
    )
    page = " ".join(PAGE.split())
    assert [part for part in said if part not in page] == []
    for file in ("beyond/README.md", "catalogue.md"):
        assert f"where {least} of" in (DOCS / file).read_text("utf-8")


def test_bytes_of_an_update_are_those_that_are_counted_by_hand():
    """Sixteen owners, five numbers of 8 bytes, headers of 40, keys of 64 and shares of 80."""
    single = at(sums.SINGLE, 0.0)
    assert sums.bytes_of_update(single) == 16 * (80 + 80)
    query, answer, opening = 80 + 15 * 144, 80 + 64 + 15 * 80, 42 + 40 + 15 * 80
    assert sums.bytes_of_update(at("12 of 16, one trip", 0.0)) == 16 * (query + answer + opening)
    keys, shares = 40 + 40 + 64, 40 + 15 * 64 + 40 + 15 * 80
    query, answer = 80 + 15 * 80, 80
    three = sums.bytes_of_update(at("12 of 16, three trips", 0.0))
    assert three == 16 * (keys + shares + query + answer + opening)


def test_bytes_count_sums_that_stay_shut(monkeypatch):
    """By played sums: Σ bytes over opened ones; and a planted fault, all owners asked to open."""
    draws, found = np.random.default_rng(4), at("12 of 16, one trip", 0.1)
    query, answer = found.network.query_bytes, found.network.answer_bytes
    there, back = found.network.opening_bytes
    answered = draws.binomial(16, 0.9, 100_000)
    replied = draws.binomial(answered, 0.9)
    opening = np.where(answered >= 12, answered * there + replied * back, 0)
    total = (16 * query + answered * answer + opening).sum()
    played = total / np.sum(replied >= 12)
    assert sums.bytes_of_update(found) == pytest.approx(played, rel=0.01)
    monkeypatch.setattr(sums, "asked_by_step", lambda n, *_: n)
    assert sums.bytes_of_update(found) != pytest.approx(played, rel=0.01)


summed = once(FIGURE, *FEW)


@pytest.mark.long
def test_verdicts_are_those_of_intervals(summed):
    """Each verdict of the page is one that ``verify`` gives, and its interval bears it out."""
    found, sweep = summed.found, summed.sweep
    assert summed.differ == {}
    assert summed.drawn == ["price-of-secure-sums"]
    for name, absent, _, ratio, gain in rows():
        value, low, high = sums.psi_over_single(sweep, name, float(absent))
        more = sums.gain_above_single(sweep, name, float(absent))
        at_this = f"{100 * float(absent):.0f} % absent: "
        of_ratio, of_gain = (
            quantity.rpartition(": ")[2]
            for part in (": ψ over", ": mean gain above")
            for quantity in found
            if quantity.startswith(name + part) and at_this in quantity
        )
        assert ratio == f"{value:.3f} ({low:.3f} to {high:.3f}): {FITS[of_ratio]}"
        assert gain == f"{more.value:.3f} ± {more.half_width:.3f}: {GAINS[of_gain]}"
        assert FITS[of_ratio] == ("better" if high < 1 else "worse" if low > 1 else "undecided")
        assert (GAINS[of_gain] == "larger") is (more.low > 0)


@pytest.mark.long
def test_sums_pay_where_the_page_says(summed):
    found, sweep = summed.found, summed.sweep
    late = found["8 of 16, one trip: ε if late answers were unmasked singly"].ours
    assert f"cost a mean owner ε = {late:.2f} in place of 1" in PROOF
    assert "Reproduced: 1.77 and 2.02." in PAGE
    own = sums.gains(sums.cell(sweep, sums.SINGLE, 0.1)).owners
    assert f"own error, {np.mean([owner.own for owner in own]):.2f}" in PAGE
    bytes_of = [sums.larger(sweep, "12 of 16, one trip", each) for each in (0.0, 0.1, 0.2)]
    assert "{:.0f}, {:.0f} and {:.0f}".format(*bytes_of) in PAGE


@pytest.mark.long
def test_a_sum_that_opens_with_a_share_more_or_less_is_seen(summed, monkeypatch):
    right = sums.sum_opens
    for moved in (-1, 1):
        with monkeypatch.context() as patch:
            patch.setattr(sums, "sum_opens", lambda n, least, s, m=moved: right(n, least + m, s))
            low, high = sums.around(summed.sweep, "12 of 16, one trip", 0.2)
        assert not low <= sums.opened(summed.sweep, "12 of 16, one trip", 0.2) <= high
