"""The label's words, against the facts, and settings that were chosen from private records."""

from dataclasses import replace
from math import inf
from typing import Any

import numpy as np
import pytest

from asyncdp_sim.core.specification import parse
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.data import Dataset
from asyncdp_sim.learning.algorithms import AnswerBatch
from asyncdp_sim.learning.answers import Answers
from asyncdp_sim.privacy.accountants.own import gaussian_epsilon
from asyncdp_sim.runs.directory import manifest
from asyncdp_sim.runs.problem import build_dataset, prepare
from asyncdp_sim.runs.run import run
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.sentences.label import (
    EXACT,
    composition,
    label,
    named_guarantee,
    reasons,
    stated_unit,
    timing_reasons,
)
from asyncdp_sim.sentences.result import result_lines
from asyncdp_sim.sentences.scenario import describe
from asyncdp_sim.sweeps.sweep import sweep
from tests.one_in import one_in
from tests.tables import table
from tests.together import together

# The label's words from manifests: what is broken, unknown or stated is never left out.

GAUSSIAN = {"mechanism": "gaussian", "delta": 1e-6}
CASES = table(__file__, "labels.toml")
WARNINGS = CASES["warnings"]
EXCEEDED, EVENTS, NO_NOISE = (WARNINGS[name] for name in ("exceeded", "events", "exact"))


def made(
    privacy: dict[str, Any], *warnings: str, data: dict[str, Any] | None = None, **summary: Any
) -> dict[str, Any]:
    standard = {"private": True, "epsilon_true": 1.0, "delta": 0.0, "timing_accounted": True}
    declared = (privacy.get("sensitivity") or {}).get("kind") == "declared"
    standard["queries_unseen"] = 0 if declared else None
    return {
        "scenario": {"privacy": {"epsilon": 1.0} | privacy, "data": data or {}},
        "summary": standard | {"not_for_release": False} | summary,
        "warnings": list(warnings),
    }


def of_cell(privacy: Any, warnings: Any = (), **more: Any) -> dict[str, Any]:
    """Return the manifest of a cell of the table."""
    none = {name: None if value == "null" else value for name, value in more.items()}
    return made(privacy, *(WARNINGS[name] for name in warnings), **none)


@together
@pytest.mark.parametrize("case", CASES["labels"], ids=lambda case: case["said"])
def test_the_label_says_what_is_and_what_is_not(case):
    found, said = label([of_cell(**cell) for cell in case["cells"]]), case["said"]
    assert found.text == said
    assert found.private is said.startswith("Private")
    assert found.timing_accounted is ("TIMING" not in said)
    assert found.release is ("RELEASE" not in said)


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("private", "NOT PRIVATE as claimed"),
        ("timing_accounted", "TIMING NOT ACCOUNTED: the manifest gives no reason"),
        ("not_for_release", "NOT FOR RELEASE"),
    ],
)
@pytest.mark.parametrize("value", [None, "absent"])
def test_what_a_manifest_does_not_say_is_taken_for_the_worse(key, words, value):
    manifest = made({}, **{key: value})
    if value == "absent":
        del manifest["summary"][key]
    assert words in label([manifest]).text
    assert words in label([made({}), manifest]).text


@pytest.mark.parametrize("unseen", [7, None, "absent"])
def test_a_declared_bound_is_shown_to_hold_by_a_look_at_every_query_alone(unseen):
    """Manifests of before that was done do not say that it was."""
    manifest = made({"sensitivity": {"kind": "declared", "bound": 5.0}}, queries_unseen=unseen)
    if unseen == "absent":
        del manifest["summary"]["queries_unseen"]
    found = label([manifest])
    assert found.private is None
    assert found.text.startswith("NOT SHOWN to be private as claimed (ε = 1 per owner")
    assert named_guarantee([manifest]) == "NOT SHOWN to be private, ε ≥ 1"
    assert label([manifest, made({}, EXCEEDED, private=False)]).private is False


def test_an_unknown_true_epsilon_is_infinite():
    assert label([made({}, epsilon_true=None)]).epsilon_true == inf
    assert "True ε = ∞" in label([made({}, epsilon_true=None)]).text


def test_one_that_is_not_private_makes_all_that_is_shown_with_it_so():
    broken = made({}, EXCEEDED, private=False, epsilon_true=3.0)
    found = label([made(GAUSSIAN, delta=1e-6), broken])
    assert found.values() == {
        "private": False,
        "epsilon_true": 3.0,
        "delta": 1e-6,
        "timing_accounted": True,
        "release": True,
        "epsilon_at_least": False,
    }
    assert found.metadata() == {
        "asyncdp.label": found.text,
        "asyncdp.private": "false",
        "asyncdp.epsilon_true": "3.0",
        "asyncdp.delta": "1e-06",
        "asyncdp.timing_accounted": "true",
        "asyncdp.release": "true",
        "asyncdp.epsilon_at_least": "false",
    }


def test_a_table_of_exact_values_says_that_no_epsilon_covers_it():
    found = label([made({}, not_for_release=True)])
    assert found.private is True
    said = found.metadata_of_exact()
    assert said["asyncdp.label"] == f"{EXACT} Its run: {found.text}"
    assert "NOT FOR RELEASE" in said["asyncdp.label"]
    assert (said["asyncdp.private"], said["asyncdp.epsilon_true"]) == ("false", "inf")
    assert (said["asyncdp.delta"], said["asyncdp.release"]) == ("none", "false")


def test_tables_of_order_and_times_say_what_is_accounted():
    pure, gaussian = made({}), made(GAUSSIAN, delta=1e-6, epsilon_true=0.5)
    said = label([pure]).metadata_of_network()
    assert said == label([gaussian]).metadata_of_network()
    assert said["asyncdp.timing_accounted"] == "true"
    untimed = label([made({}, EVENTS, timing_accounted=False)]).metadata_of_network()
    assert untimed["asyncdp.label"].endswith("TIMING NOT ACCOUNTED.")
    assert untimed["asyncdp.timing_accounted"] == "false"


def test_a_baseline_beside_private_cells_claims_nothing_and_is_not_private():
    baseline = made(
        {"mechanism": "none", "epsilon": inf}, NO_NOISE, private=False, epsilon_true="inf"
    )
    found = label([made({}), baseline])
    assert "NOT PRIVATE" not in found.text
    assert found.text.startswith("Private as claimed: ε = 1 per owner over the run, pure ε-DP")
    assert "No privacy is claimed (ε = ∞ per owner over the run, no noise) in 1 of 2" in found.text
    assert found.private is False
    assert found.epsilon_true == inf
    assert named_guarantee([baseline]) == "no privacy claimed"
    assert named_guarantee([made({}), baseline]) == "ε-DP, pure, Laplace noise"
    some = made({"epsilon": [inf, 1.0]}, NO_NOISE, private=False, epsilon_true="inf")
    assert label([some]).text.startswith("NOT PRIVATE as claimed")  # owner 2 was promised an ε


def test_guarantees_have_short_names():
    gaussian = made(GAUSSIAN, delta=1e-6)
    assert named_guarantee([made({})]) == "ε-DP, pure, Laplace noise"
    assert named_guarantee([gaussian]) == "(ε, 1e-06)-DP, Gaussian noise"
    broken = [made({}, EXCEEDED, private=False, epsilon_true=e) for e in (3.0, 40.0)]
    assert named_guarantee(broken) == "NOT PRIVATE as claimed, true ε = 3 to 40"
    assert named_guarantee([gaussian, broken[0]]) == "NOT PRIVATE as claimed, true ε = 1 to 3"


def test_reasons_are_told_in_full():
    broken = made({}, EXCEEDED, "another", EVENTS, private=False, timing_accounted=False)
    assert reasons(broken) == [EXCEEDED.removeprefix("not private: "), EVENTS]
    assert timing_reasons(broken) == [EVENTS.removeprefix("timing not accounted: ")]
    assert reasons(made({})) == timing_reasons(made({})) == []


@pytest.mark.parametrize("data", [{"owner_column": "who"}, {"split": {"column": "who"}}])
def test_a_column_that_says_whose_a_record_is_makes_records_the_unit(data):
    unit = "the unit is a record: a person with m records is protected only at mε"
    assert stated_unit(made({}, data=data)) == unit
    assert stated_unit(made(GAUSSIAN, data=data, delta=1e-6)) == f"{unit} and a larger δ"
    assert stated_unit(made({}, data={"split": "in-order"})) is None


def test_a_simulated_split_says_at_whose_place_a_record_is_replaced():
    said = stated_unit(made({}, data={"split": {"dirichlet": 0.5, "cv": 0.0}}))
    assert said is not None
    assert said.endswith("ε is of one record replaced at the owner that it went to")


def test_older_manifests_state_delta_in_their_scenario():
    old = made(GAUSSIAN)
    del old["summary"]["delta"]
    assert label([old]).delta == 1e-6
    del old["scenario"]["privacy"]["mechanism"]
    assert label([old]).delta == 0
    old["scenario"]["privacy"]["mechanism"] = "none"
    assert label([old]).delta is None


# Labels' words on replicates, cells and timing, held against the facts by working them out.

Parts = dict[str, Any]
BASE: Parts = table(__file__, "scenes.toml")["statements"]


def scenario(*, run: Parts | None = None, privacy: Parts | None = None, **parts: Any) -> Scenario:
    changed = {"run": BASE["run"] | (run or {}), "privacy": BASE["privacy"] | (privacy or {})}
    return parse(Scenario, {**BASE, **changed, **parts})


def first_answer(asked: Scenario, owner: int = 1) -> tuple[np.ndarray, np.ndarray, float]:
    """An owner's first noisy answer at θ = 0, the exact gradient there, and the noise's scale."""
    task = prepare(asked, build_dataset(asked)).task
    scope = Streams(asked.run.seed).within("replicate", 1)
    turn, point = AnswerBatch(np.array([owner - 1])), np.zeros((1, 2))
    exact = task.reply.gradients.gradient(turn.owners, point.copy())
    noisy = Answers(task.steps, task.reply, [scope]).noisy_gradients(turn, point)
    return noisy[0], exact[0], float(task.reply.noise.scale[owner - 1])


def without_noise(one: tuple[Any, ...], two: tuple[Any, ...]) -> np.ndarray:
    """What two answers with the same draw of different scale tell of their common gradient."""
    (a, _, s), (b, _, t) = one, two
    return np.asarray((t * a - s * b) / (t - s))


def test_cells_share_noise_so_that_two_of_them_tell_a_gradient_exactly():
    cells = [scenario(privacy={"epsilon": epsilon}) for epsilon in (1.5, 3.0)]
    one, two = map(first_answer, cells)
    assert np.allclose(without_noise(one, two), one[1], rtol=1e-9)
    assert np.abs(one[0] - one[1]).min() > 1e-3  # which neither of them tells
    said = "holds for each replicate of each cell; cells share noise: publish only one"
    assert composition([manifest(run(cell)) for cell in cells]) == said


def test_cells_of_other_seeds_do_not_share_noise():
    cells = [
        scenario(run={"seed": seed}, privacy={"epsilon": epsilon})
        for seed, epsilon in ((1, 1.5), (2, 3.0))
    ]
    noise = [np.divide(a - g, s) for a, g, s in map(first_answer, cells)]
    assert np.abs(noise[0] - noise[1]).min() > 1e-3
    manifests = [manifest(run(cell)) for cell in cells]
    said = "holds for each replicate of each cell; the ε of all published ones adds up"
    assert composition(manifests) == said
    assert "share noise" not in label(manifests).text


def copy(owner: int, own: str = "noised", epsilon: float = 1.5) -> Scenario:
    learner = {"owner": owner, "own": own}
    return scenario(run={"replicates": 1}, privacy={"epsilon": epsilon, "learner": learner})


ALONE = scenario(run={"replicates": 1})
ADDS_UP = "holds for each replicate of each cell; the ε of all published ones adds up"
SHARED = "holds for each replicate of each cell; cells share noise: publish only one"


@one_in(
    2,
    ("cells", "said"),
    [
        ((ALONE, copy(1), copy(2)), ADDS_UP),
        ((ALONE, copy(1), copy(1, epsilon=3.0)), SHARED),
        ((copy(1), copy(1, "exact-as-published")), SHARED),
        ((copy(1), copy(2, "exact-as-published")), ADDS_UP),
    ],
)
def test_copies_with_other_learners_have_noise_of_their_own(cells, said, tmp_path):
    """Whoever answers exactly in a copy, the others' noise there is that of the copy."""
    answers = [first_answer(cell, owner=2) for cell in cells]
    rows = [(noisy - exact) / scale for noisy, exact, scale in answers if scale > 0]
    alike = any(np.allclose(a, b) for i, a in enumerate(rows) for b in rows[:i])
    assert alike is (said == SHARED)
    assert composition([manifest(run(cell)) for cell in cells]) == said
    changes = [
        {"name": f"{number}", "privacy": cell.plain()["privacy"]}
        for number, cell in enumerate(cells)
    ]
    swept = scenario(run={"replicates": 1}, sweep={"variant": changes})
    assert f"ε {said}" in describe(swept)
    sweep(swept, tmp_path / "s")
    assert f"ε {said}" in result_lines(tmp_path / "s")


def neighbours() -> tuple[Scenario, Dataset, Dataset]:
    """Owner 1's first record replaced by its opposite, both clipped: the largest move there is."""
    asked = scenario()
    given = build_dataset(asked)
    tables = []
    for sign in (1.0, -1.0):
        x, y = given.features[0].copy(order="F"), given.targets[0].copy()
        x[0], y[0] = (1e3, 0.0), sign * 1e3
        tables.append(replace(given, features=(x, *given.features[1:]),
                              targets=(y, *given.targets[1:])))  # fmt: skip
    return asked, tables[0], tables[1]


def test_replicates_cost_as_often_as_there_are_and_no_more():
    """All answers of R replicates tell Rε of two neighbours, at the answer that tells them most."""
    asked, one, two = neighbours()
    tasks = [prepare(asked, table).task for table in (one, two)]
    owner, point = np.array([0]), np.zeros((1, 2))
    gradients = [task.reply.gradients.gradient(owner, point.copy()) for task in tasks]
    noise, replicates, answers = tasks[0].reply.noise, 4, 6
    far = gradients[0] + 1e3 * np.sign(gradients[0] - gradients[1])
    told = [float(noise.log_likelihood(owner, g, far)[0]) for g in gradients]
    each = answers * (told[0] - told[1])
    assert each == pytest.approx(1.5, rel=1e-9)
    row = [line for line in label([manifest(run(asked))]).text.split(". ") if "replicates" in line]
    assert row == ["This holds for each of 4 replicates; publishing all costs at most 4 ε."]
    assert replicates * each > 1.5 * 3.999
    streams = Streams(1)
    noises = [
        noise.rows(streams.within("replicate", r).generator("noise"), 1, 2) for r in (1, 2, 3, 4)
    ]
    assert len({x.tobytes() for x in noises}) == 4  # which is why they add up, and tell no step


@pytest.mark.parametrize("overlap", [1, 2])
@pytest.mark.parametrize("replicates", [2, 10, 1000])
def test_gaussian_replicates_cost_at_most_r_times_epsilon_and_delta(overlap, replicates):
    """Exactly composed at R δ, they cost less: "at most" is what is said."""
    privacy = {"mechanism": "gaussian", "delta": 1e-6, "overlap": overlap}
    asked = scenario(privacy=privacy, run={"replicates": replicates})
    accountant = prepare(asked, build_dataset(asked)).accountant
    rho = overlap * float(accountant.zcdp(accountant.answers)[0]) * replicates
    assert gaussian_epsilon(1 / np.sqrt(2 * rho), replicates * 1e-6) <= replicates * 1.5
    said = composition([{"scenario": asked.plain(), "summary": {
        "epsilon_true": 1.5, "delta": 1e-6, "timing_accounted": True}}])  # fmt: skip
    assert said == (
        f"holds for each of {replicates} replicates; publishing all costs at most "
        f"{replicates} ε and {replicates} δ"
    )


def test_where_there_is_nothing_to_add_up_nothing_is_said():
    assert composition([manifest(run(scenario(run={"replicates": 1})))]) is None
    assert composition([manifest(run(scenario(privacy={"epsilon": inf})))]) is None
    assert composition([manifest(run(scenario(privacy={"mechanism": "none"})))]) is None


# Settings chosen from private records are a leak that nobody pays for, and it is said.

CHOSEN = table(__file__, "scenes.toml")["chosen"]
WHY = "settings chosen from private records, not accounted"


def of_chosen(chosen: str | None, mechanism: str = "laplace") -> Scenario:
    privacy = CHOSEN["privacy"] | {"mechanism": mechanism}
    more = {} if chosen is None else {"chosen_from": chosen}
    return parse(Scenario, {**CHOSEN, "privacy": privacy, **more})


@pytest.mark.parametrize("chosen", [None, "public rows"])
def test_settings_of_public_rows_cost_nothing(chosen):
    found = run(of_chosen(chosen))
    assert found.summary["private"] is True
    assert not any(WHY in said for said in found.warnings)
    assert not any(WHY in line for line in describe(of_chosen(chosen)))


def test_a_large_delta_is_no_reason_why_a_result_is_not_private():
    """It is printed as it is, also where settings chosen from private records break the claim."""
    privacy = CHOSEN["privacy"] | {"mechanism": "gaussian", "delta": 0.5}
    found = run(parse(Scenario, {**CHOSEN, "privacy": privacy, "chosen_from": "private rows"}))
    assert reasons(manifest(found)) == [WHY]
    [large] = [line for line in found.warnings if "is not below 1/n" in line]
    assert large.startswith("δ = 0.5 ")


def test_it_is_said_of_exact_answers_too():
    assert f"not private: {WHY}" in run(of_chosen("private rows", "none")).warnings


def test_the_results_figures_are_the_same_whatever_they_were_chosen_from():
    said, bare = run(of_chosen("private rows")), run(of_chosen(None))
    assert said.fingerprints == bare.fingerprints
