"""The noise of an exported app, by OpenDP, and audits of what its clients answer.

The ledger bounds ε from above, attacks from below. Needs the extra ``flower``: ``python -m pytest
-m flower tests/flower``.
"""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from asyncdp_sim import audit_answers
from asyncdp_sim.exports import export_flower, plan_of
from asyncdp_sim.exports.private_learning import ledger, owner, steps
from tests.tables import table
from tests.unit.exports.banks import banks, north

pytestmark = pytest.mark.flower
POINT = np.array([50.0, 0.0, 0.0, 0.0])
"""Where every gradient is clipped, so that one record moves the sum by as much as it may."""


@pytest.mark.parametrize(("shrunk", "shown"), [(1.0, False), (0.5, True)])
def test_half_the_noise_is_found(tmp_path: Path, shrunk: float, shown: bool) -> None:
    from asyncdp_sim.exports.private_learning.noise import OwnerNoise

    plan = plan_of(banks(tmp_path), 1.0)
    one = {**plan["owners"][0], "answers": 1, "epsilon": 1.0}
    noise = OwnerNoise(plan["privacy"], one, plan["size"])
    x = np.zeros((one["records"], 4))
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


CASES = table(__file__, "audit.toml")


@pytest.mark.parametrize("fault", CASES["planted"])
def test_a_charge_after_the_answer_is_found(tmp_path: Path, fault: str) -> None:
    export_flower(banks(tmp_path), tmp_path / "app")
    for file in (tmp_path / "app").rglob("*.py"):
        right, wrong = CASES["planted"][fault]
        text = file.read_text(encoding="utf-8")
        file.write_text(text.replace(right, wrong) if right else text, encoding="utf-8")
    made = tmp_path / "north.ledger"
    command = [sys.executable, "-m", "private_learning.ledger", str(made), "north"]
    subprocess.run(command, cwd=tmp_path / "app", check=True)
    head = made.stat().st_size
    command = [sys.executable, "-c", CASES["killed"], "north", str(tmp_path / "north.csv")]
    ended = subprocess.run(
        [*command, str(made)], cwd=tmp_path / "app", capture_output=True, text=True, check=False
    )
    assert ended.returncode == -9, ended.stderr
    on_disk, size = ended.stdout.split()
    assert int(size) == 4
    assert (int(on_disk) == head + 1) is (fault == "as it is")


# Noise by OpenDP, and charges.

GAUSSIAN = {"mechanism": "gaussian", "delta": 1e-6}
PRICE = {"budget": {"kind": "until-spent", "per_answer": 0.3}}  # 16 answers, 0.2 of ε is left


@pytest.mark.parametrize(("changes", "most"), [({}, 1.002), (GAUSSIAN, 1.25), (PRICE, 1.002)])
def test_all_answers_cost_what_is_allowed_by_noise_as_simulated(tmp_path, changes, most):
    from asyncdp_sim.exports.private_learning.noise import OwnerNoise

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


def test_a_client_charges_each_answer_and_refuses_when_all_is_spent(tmp_path, monkeypatch):
    settings = north(tmp_path, monkeypatch)
    assert owner.respond(settings, None)[0]["left"] == 15
    for left in range(14, -1, -1):
        reply, warning = owner.respond(settings, np.zeros(4))
        assert (reply["left"], len(reply["answer"]), warning) == (left, 4, "")
    reply, warning = owner.respond(settings, np.zeros(4))
    assert reply == {"owner": 0, "refused": ledger.REASONS.index("spent")}
    assert "15 answers of 15 are charged" in warning
    assert ledger.spent(settings["ledger"], "north") == (15, "")
