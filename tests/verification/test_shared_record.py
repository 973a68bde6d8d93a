"""Attacks on one record that several owners hold, beside what is printed of attackers.

Neighbours differ in one record of each of κ owners, whose gradients the record moves from one end
of what the bound allows to the other. The attacker has all their answers, and scores them by the
exact log-likelihood ratio.
"""

from itertools import combinations
from math import exp
from typing import Any

import numpy as np
import pytest

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.privacy.accountants.attacker import of_pure
from asyncdp_sim.runs import RunResult, run
from asyncdp_sim.runs.account import owner_columns
from asyncdp_sim.runs.outcome import manifest
from asyncdp_sim.sentences.result import figures
from tests.one_in import one_in
from tests.reproducibility.runs import scenario

pytestmark = pytest.mark.no_evidence

RUNS = 500_000
F = 0.01
GAUSSIAN = {"privacy__mechanism": "gaussian", "privacy__delta": 1e-6}
COMPOSED = {"privacy__accountant": "pld", "privacy__delta": 1e-6}


def shared(answers: int, owners: int, **changes: Any) -> RunResult:
    """Return a run of one feature, whose owners have so many answers, and share records."""
    return run(
        scenario(
            data={"kind": "gaussian", "features": 1, "condition": 1.0},
            privacy__epsilon=[1.0, 2.0, 3.0],
            privacy__sensitivity={"kind": "clip", "bound": 1.0},
            privacy__budget={"kind": "per-owner-cap", "answers": answers},
            privacy__overlap=owners,
            **changes,
        )
    )


def attack(found: RunResult, owners: tuple[int, ...], counts: list[int]) -> tuple[float, float]:
    """Return the true-positive rate at F, and the advantage, of the best test of a record."""
    noise, generator = found.problem.noise, np.random.default_rng(sum(owners) + 10 * len(owners))
    records = found.problem.task.objective.records
    gaussian = found.problem.accountant.multiplier is not None
    scores = np.zeros((2, RUNS))
    for owner in owners:
        move, scale = 2.0 / records[owner], float(noise.scale[owner])
        for _ in range(counts[owner]):
            for side, score in enumerate(scores):
                draw = generator.normal if gaussian else generator.laplace
                answer: Array = draw(scale=scale, size=RUNS) + side * move
                if gaussian:
                    score += (answer - move / 2) * move / scale**2
                else:
                    score += (np.abs(answer) - np.abs(answer - move)) / scale
    still, moved = np.round(scores, 9)
    apart = np.mean(moved > 0) - np.mean(still > 0)  # where the likelihood ratio is above 1
    threshold = np.quantile(still, 1 - F, method="higher")
    above, at = np.mean(still > threshold), np.mean(still == threshold)
    power = np.mean(moved > threshold) + (F - above) / at * np.mean(moved == threshold)
    return float(power), float(apart)


def beyond(power: float, bound: float) -> bool:
    """Return whether an attack is beyond a bound, by more than four standard errors.

    The curve's slope is e at most, for all that is spent on a record is ε = 1.
    """
    return power > bound + 4 * np.sqrt((bound + exp(2) * F) / RUNS)


@one_in(2, "owners", [2, 3])
@one_in(
    3,
    ("answers", "changes"),
    [(1, {}), (4, {}), (1, GAUSSIAN), (4, GAUSSIAN), (4, COMPOSED)],
    ids=["laplace", "four", "gaussian", "four gaussian", "composed"],
)
def test_a_record_that_several_owners_hold_is_detected_no_more_often_than_is_printed(
    answers: int, owners: int, changes: dict[str, Any]
) -> None:
    found = shared(answers, owners, **changes)
    power, advantage = attack(found, tuple(range(owners)), [answers] * 3)
    summary, accountant = found.summary, found.problem.accountant
    assert not beyond(power, summary["attacker_power"])
    assert advantage <= summary["attacker_advantage"] + 4 / np.sqrt(RUNS)
    alone = float(accountant.attacker(accountant.answers).power.max())
    assert beyond(power, alone)  # what one owner's answers allow is too little
    said = dict(figures(manifest(found)))["an attacker"]
    assert f"that {owners} owners hold at most {100 * summary['attacker_power']:.3g} %" in said


@pytest.mark.long
@pytest.mark.parametrize("changes", [{}, GAUSSIAN, COMPOSED], ids=["laplace", "gaussian", "pld"])
def test_the_owners_table_is_of_a_record_that_others_hold_too(changes: dict[str, Any]) -> None:
    found = shared(4, 2, **changes)
    charged = (found.problem, found.ledger, found.judged, 2)
    table = owner_columns(*charged, found.traces, found.numbers, found.participants)
    printed = table["attacker_power"][:3]  # of the first replicate
    counts = found.ledger.released[0].tolist()
    for pair in combinations(range(3), 2):
        power, _ = attack(found, pair, counts)
        assert not any(beyond(power, printed[owner]) for owner in pair)
    if not changes:  # ε adds up: that of the owner, and of the other one that spent most
        spent = found.ledger.spent[0]
        both = [spent[owner] + max(np.delete(spent, owner)) for owner in range(3)]
        assert printed == pytest.approx(of_pure(np.array(both)).power)
