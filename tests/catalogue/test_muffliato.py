"""Muffliato's sum over messages against exact losses: the verdicts, and planted faults."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from asyncdp_sim.privacy.observers.node import Round
from asyncdp_sim.results import Sweep
from scenarios.beyond import muffliato
from scenarios.beyond.messages import new_messages, sums
from scenarios.papers.claims import Judged
from scenarios.papers.figure import AS_PUBLISHED
from scenarios.papers.verify import verify

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
    return verify([figure], out, full=False, workers=1, more=SMALL, say=str), out


def test_the_verdicts(verified: tuple[list[Judged], Path]) -> None:
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


@pytest.mark.parametrize(
    ("fault", "seen"),
    [
        ("sums", "first message alone: loss and sum, largest difference"),
        ("new_messages", "a node's loss summed over owners, less its new messages"),
    ],
)
def test_a_planted_fault_fails(
    verified: tuple[list[Judged], Path], monkeypatch: pytest.MonkeyPatch, fault: str, seen: str
) -> None:
    """Shares that are not squared; numbers that count what repeats others."""
    wrong: dict[str, Callable[[list[Round], int], np.ndarray]] = {
        "sums": lambda rounds, n: np.sqrt(sums(rounds, n)),
        "new_messages": lambda rounds, n: new_messages(rounds, n) + 0.3,
    }
    monkeypatch.setattr(muffliato, fault, wrong[fault])
    muffliato._known.cache_clear()
    sweep = Sweep.read(verified[1] / FIGURE.name / AS_PUBLISHED)
    [claim] = [each for each in FIGURE.claims if each.quantity == f"ring: {seen}"]
    assert claim.measure(sweep) > claim.high
    muffliato._known.cache_clear()


def test_replicates_that_are_drawn_again_are_told(verified: tuple[list[Judged], Path]) -> None:
    quantity = "ring: mean loss over a trusted curator's: a factor of the graph"
    [factor] = [each for each in verified[0] if each.quantity == quantity]
    assert factor.error is not None
    assert 0 < factor.error < factor.ours
