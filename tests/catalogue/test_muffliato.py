"""Muffliato's sum over messages against exact losses: the verdicts, and planted faults."""

from dataclasses import replace
from pathlib import Path

import pytest

from scenarios.beyond import muffliato
from scenarios.papers.claims import Judged
from scenarios.papers.figure import AS_PUBLISHED
from tests.catalogue.verdicts import verdicts

[FIGURE] = muffliato.RESULTS
N = 8
SMALL = (
    f"owners.count={N}", "owners.records=50", "run.replicates=2", "run.updates=40",
    'sweep.variant=[{ name = "ring" }, '
    '{ name = "complete", "protocol.graph" = { kind = "complete" } }]',
)  # fmt: skip


@pytest.fixture(scope="module")
def verified(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Judged], Path]:
    out = tmp_path_factory.mktemp("muffliato")
    there = {"ring", "complete"}
    of_these = [claim for claim in FIGURE.claims if claim.quantity.partition(":")[0] in there]
    figure = replace(FIGURE, claims=tuple(of_these))
    return verdicts(figure, out, *SMALL), out


def test_the_verdicts(verified):
    found, out = verified
    assert [each for each in found if each.verdict == "fails"] == []
    assert {each.verdict for each in found} == {"agrees", "differs"}
    differ = {each.quantity.partition(": ")[2] for each in found if each.verdict == "differs"}
    assert "share of pairs whose loss is above the sum" in differ
    assert differ <= {
        "share of pairs whose loss is above the sum",
        "mean loss over the mean of the sum, capped",
    }
    drawn = (out / FIGURE.name / AS_PUBLISHED / "figures").glob("*.png")
    assert [path.stem for path in drawn] == ["message-sums"]


def test_replicates_that_are_drawn_again_are_told(verified):
    quantity = "ring: mean loss over a trusted curator's: a factor of the graph"
    [factor] = [each for each in verified[0] if each.quantity == quantity]
    assert factor.error is not None
    assert 0 < factor.error < factor.ours
