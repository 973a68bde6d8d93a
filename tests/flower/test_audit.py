"""Audits of what an exported app's clients answer: the ledger bounds ε from above, attacks below.

Needs the extra ``flower``.
"""

import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from asyncdp_sim import audit_answers
from asyncdp_sim.exports.flower import plan_of
from asyncdp_sim.exports.flower.private_learning import ledger, owner, steps
from tests.unit.exports.banks import banks

pytestmark = pytest.mark.flower
POINT = np.array([50.0, 0.0, 0.0, 0.0])
"""Where every gradient is clipped, so that one record moves the sum by as much as it may."""


@pytest.mark.parametrize(("shrunk", "shown"), [(1.0, False), (0.5, True)])
def test_half_the_noise_is_found(tmp_path: Path, shrunk: float, shown: bool) -> None:
    from asyncdp_sim.exports.flower.private_learning.noise import OwnerNoise

    plan = plan_of(banks(tmp_path), 1.0)
    north = {**plan["owners"][0], "answers": 1, "epsilon": 1.0}
    noise = OwnerNoise(plan["privacy"], north, plan["size"])
    x = np.zeros((north["records"], 4))
    x[0, 0], rows = 1.0, []
    for name, target in (("with", -1e6), ("without", 1e6)):  # one record replaced: ±Ξ
        y = np.where(x[:, 0] > 0, target, 0.0)
        exact = np.array(steps.gradient(x, y, POINT, plan["model"]))
        for _ in range(4000):
            answer = exact + shrunk * (np.array(noise.answer(exact.tolist())) - exact)
            rows.append([name, *answer])
    frame = pd.DataFrame(rows, columns=["dataset", "a", "b", "c", "d"])
    epsilon = audit_answers(frame).epsilon
    assert epsilon > 0.5  # the attack is not blind
    assert (epsilon > noise.cost) is shown


def test_no_answer_leaves_before_its_charge_is_on_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps(plan_of(banks(tmp_path), 1.0)), encoding="utf-8")
    monkeypatch.setattr(ledger, "PLAN", plan)
    path = str(tmp_path / "north.ledger")
    ledger.create(path, "north")
    settings = {"owner": "north", "table": str(tmp_path / "north.csv"), "ledger": path}

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        assert "answer" not in owner.respond(settings, [0.0] * 4)[0]
    assert ledger.spent(path, "north")[0] == 1  # written, perhaps not synced: it counts
