"""The noise of an exported app, by OpenDP, and audits of its clients' answers.

Needs the extra ``flower``: ``python -m pytest -m flower tests/flower``.
"""

from pathlib import Path

import numpy as np
import pytest

from asyncdp_sim.exports.flower import plan_of
from asyncdp_sim.exports.flower.private_learning import ledger, owner
from tests.unit.exports.banks import banks, north

pytestmark = pytest.mark.flower
GAUSSIAN = {"mechanism": "gaussian", "delta": 1e-6}


PRICE = {"budget": {"kind": "until-spent", "per_answer": 0.3}}  # 16 answers, 0.2 of ε is left


@pytest.mark.parametrize(("changes", "most"), [({}, 1.002), (GAUSSIAN, 1.25), (PRICE, 1.002)])
def test_all_answers_cost_what_is_allowed_and_noise_is_hardly_more_than_simulated(
    tmp_path: Path, changes: dict, most: float
) -> None:
    from asyncdp_sim.exports.flower.private_learning.noise import OwnerNoise

    plan = plan_of(banks(tmp_path).replace(privacy=changes), 1.0)
    for each in plan["owners"]:
        noise = OwnerNoise(plan["privacy"], each, plan["size"])
        assert noise.cost * each["answers"] <= noise.budget
        assert changes != PRICE or noise.cost <= 0.3 == each["price"]
        assert 1 <= noise.scale / each["simulated_scale"] < most
        drawn = np.array([noise.answer([0.0] * 4) for _ in range(2000)]).ravel()
        spread = noise.scale * (1.0 if changes == GAUSSIAN else 2**0.5)
        assert drawn.std() == pytest.approx(spread, rel=0.05)
        np.testing.assert_array_equal(np.round(drawn / noise.grid) * noise.grid, drawn)


def test_a_client_charges_each_answer_and_refuses_when_its_budget_is_spent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = north(tmp_path, monkeypatch)
    assert owner.respond(settings, None)[0]["left"] == 15
    for left in range(14, -1, -1):
        reply, warning = owner.respond(settings, np.zeros(4))
        assert (reply["left"], len(reply["answer"]), warning) == (left, 4, "")
    reply, warning = owner.respond(settings, np.zeros(4))
    assert reply == {"owner": 0, "refused": ledger.REASONS.index("spent")}
    assert "15 answers of 15 are charged" in warning
    assert ledger.spent(settings["ledger"], "north") == (15, "")
