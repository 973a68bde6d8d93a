"""Privacy of a whole owner: its answers are clipped as a whole, and every sentence says owner."""

import re
from typing import Any

import numpy as np
import pytest

from asyncdp_sim.audits.neighbours import neighbours
from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.core.specification import parse
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.learning.answers import clipped
from asyncdp_sim.runs import run
from asyncdp_sim.runs.outcome import manifest
from asyncdp_sim.runs.problem import build_dataset, prepare
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.sentences.label import label
from asyncdp_sim.sentences.scenario import describe
from tests.tables import table
from tests.together import together
from tests.whole_owners import RECORDS
from tests.whole_owners import WHOLE_OWNERS as BASE

LOCAL = {"kind": "parameter-server", "step": 1.0, "local_steps": 3, "local_step": 0.1}


def made(privacy: dict[str, Any] | None = None, **changed: Any) -> Scenario:
    return parse(Scenario, {**BASE, **changed, "privacy": {**BASE["privacy"], **(privacy or {})}})


def scales(**privacy: Any) -> Any:
    return made(privacy).noise_for(np.array(RECORDS)).scale


def test_noise_hides_an_answer_that_is_wholly_another() -> None:
    multiplier = made().accountant.multiplier
    assert multiplier is not None
    assert scales() == pytest.approx(2 * 0.5 * multiplier)
    assert scales(adjacency="replaced") == pytest.approx(scales())
    assert scales(adjacency="added-or-removed") == pytest.approx(scales() / 2)
    assert scales(unit="record") == pytest.approx(scales() / np.array(RECORDS))
    laplace = {"mechanism": "laplace", "delta": None}
    assert scales(**laplace) == pytest.approx(2 * 0.5 * 8 / 2.0)


UNKNOWN = [{"epsilon": 0.3}, {"delta": None}, {"sensitivity": None}, {"epsilon": None}]
"""What leaves it unknown how many answers at a price a budget holds, or lets it hold none."""


@together
@pytest.mark.parametrize("observer", ["model", "aggregate", "transcript"])
@pytest.mark.parametrize("accountant", [None, "pld"])
@pytest.mark.parametrize("unknown", UNKNOWN)
def test_a_budget_that_is_not_known_to_hold_an_answer_is_refused_by_its_field(
    observer: str, accountant: str | None, unknown: dict[str, Any]
) -> None:
    price = {"budget": {"kind": "until-spent", "per_answer": 1.0}, "accountant": accountant}
    with pytest.raises(SpecError) as caught:
        made({**price, "observer": observer, **unknown})
    named = {fault.key for fault in caught.value.faults}
    assert {"privacy.budget.per_answer", *(f"privacy.{field}" for field in unknown)} & named
    assert all(key.startswith("privacy.") for key in named)


@pytest.mark.parametrize(("adjacency", "times"), [("replaced", 2), ("added-or-removed", 1)])
def test_noise_of_a_sum_hides_the_owner_that_moves_it_most(adjacency: str, times: int) -> None:
    multiplier = made().accountant.multiplier
    assert multiplier is not None
    shares = scales(observer="aggregate", adjacency=adjacency)
    in_sum = np.sqrt(3) * shares * RECORDS  # Σ n_i Q_i is what is opened
    assert in_sum == pytest.approx(times * 0.5 * max(RECORDS) * multiplier, rel=1e-5)
    assert np.all(in_sum >= times * 0.5 * max(RECORDS) * multiplier)  # the grid is paid for


def test_a_trusted_learner_adds_to_a_sum_what_hides_an_owner_in_it() -> None:
    scenario, multiplier = made({"observer": "model"}), made().accountant.multiplier
    assert multiplier is not None
    in_sum = np.sqrt(3) * scales(observer="model") * RECORDS
    assert in_sum == pytest.approx(2 * 0.5 * max(RECORDS) * multiplier)
    said = label([manifest(run(scenario))]).text
    assert "with a learner that is trusted: it sees every answer without noise, and adds" in said
    assert any("is drawn in equal parts" in line for line in describe(scenario))


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_whole_answers_are_clipped_row_by_row(norm: Any) -> None:
    answers = Streams(1).generator("rows").normal(size=(7, 40)) * 10.0 ** np.arange(-3, 4)[:, None]
    whole = clipped(answers, 2.0, norm)
    lengths = np.linalg.norm(whole, ord=1 if norm == "l1" else 2, axis=1)
    before = np.linalg.norm(answers, ord=1 if norm == "l1" else 2, axis=1)
    assert lengths == pytest.approx(np.minimum(before, 2.0))
    assert np.array_equal(whole[before <= 2], answers[before <= 2])
    for row in range(7):  # of any number of rows, the bits are the same
        assert np.array_equal(clipped(answers[[row]], 2.0, norm)[0], whole[row])
    wild = np.array([[np.inf, 1.0], [np.nan, 1.0], [1e300, 1e300]])
    assert np.all(np.linalg.norm(clipped(wild, 2.0, norm), axis=1) <= 2)


@pytest.mark.parametrize("algorithm", [BASE["algorithm"], LOCAL], ids=["gradient", "steps"])
def test_an_answer_is_never_longer_than_the_bound_whatever_its_records_are(algorithm: Any) -> None:
    scenario = made(algorithm=algorithm)
    reply = prepare(scenario, build_dataset(scenario)).task.reply
    points = np.full((3, 2), 1e3)
    answers = reply.gradients.gradient(np.arange(3), points)
    assert np.linalg.norm(answers, axis=1) == pytest.approx(0.5)


def test_local_steps_are_exact_and_their_difference_is_hidden_once() -> None:
    scenario = made(algorithm=LOCAL)
    assert scenario.accountant.answers.tolist() == [8, 8, 8]
    assert scenario.noise_for(np.array(RECORDS)).scale == pytest.approx(scales())
    wide = made({"sensitivity": {"kind": "clip", "bound": 1e6}}, algorithm=LOCAL)
    task = prepare(wide, build_dataset(wide)).task
    start = np.array([[0.3, -0.2]])
    [sent] = task.reply.gradients.gradient(np.array([1]), start)
    model = start
    for _ in range(3):
        gradient = task.objective.gradient(np.array([1]), model)
        model = (1 - 0.1 * 0.1) * model - 0.1 * gradient
    assert sent == pytest.approx((start - model)[0] / 0.3)
    assert task.reply.hidden_steps(task.steps.local) is None
    assert any("clipped as a whole and hidden once" in line for line in describe(scenario))


@pytest.mark.parametrize("algorithm", [BASE["algorithm"], LOCAL], ids=["gradient", "steps"])
@pytest.mark.parametrize("observer", ["transcript", "aggregate", "model"])
def test_live_learning_is_its_replay(algorithm: Any, observer: str) -> None:
    replayed, live = (
        run(made({"observer": observer}, algorithm=algorithm, run={**BASE["run"], "learning": how}))
        for how in ("replay", "live")
    )
    assert replayed.fingerprints == live.fingerprints


REFUSED = table(__file__, "owner_unit.toml")["refused"]


@together
@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_known_to_hide_an_owner_is_refused(case: dict[str, Any]) -> None:
    with pytest.raises(SpecError, match=re.escape(case["why"])):
        made(case["privacy"], **case["changed"])


def test_a_record_is_the_unit_where_nothing_is_said() -> None:
    said, silent = made({"unit": "record"}), made({"unit": None})
    assert np.array_equal(scales(unit="record"), scales(unit=None))
    assert "unit" not in silent.plain()["privacy"]
    assert describe(said) == describe(silent)


@pytest.mark.parametrize(
    ("adjacency", "changed"),
    [("replaced", "be replaced"), ("added-or-removed", "be absent")],
)
def test_the_label_says_what_is_hidden_and_what_is_public(adjacency: str, changed: str) -> None:
    text = label([manifest(run(made({"adjacency": adjacency})))]).text
    assert text.startswith(
        "Private as claimed: ε = 2 per owner over the run, δ = 1e-06, Gaussian noise"
    )
    assert (
        f"The unit is an owner: all records of one owner may {changed} together; which owners "
        "take part, and their numbers of records, are public." in text
    )


def test_a_label_of_both_units_says_of_how_many_each_is() -> None:
    results = [manifest(run(made({"unit": unit}))) for unit in ("owner", "record")]
    text = label(results).text
    assert "The unit is an owner (in 1 of 2 cells; a record in the others): all records" in text


@pytest.mark.parametrize("adjacency", ["replaced", "added-or-removed"])
def test_an_audit_changes_all_records_of_one_owner_and_none_of_others(adjacency: str) -> None:
    pair = neighbours(made({"adjacency": adjacency}))
    tables = zip(pair.first.records.features, pair.second.records.features, strict=True)
    assert [int((one != other).any(axis=1).sum()) for one, other in tables] == [0, 0, 40]
    assert pair.owner == 2  # it has the most records, and moves sums most
    assert "each record of owner 3 is" in pair.words
    assert pair.words.endswith("or not there") is (adjacency == "added-or-removed")
