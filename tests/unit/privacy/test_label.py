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
from asyncdp_sim.sentences import label as of_label
from asyncdp_sim.sentences.label import composition, label, reasons
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
    none = {name: without_null(value) for name, value in more.items()}
    found = made(privacy, *(WARNINGS[name] for name in warnings), **none)
    found["summary"] = {k: v for k, v in found["summary"].items() if v != "absent"}
    return found


def without_null(value: Any) -> Any:
    return None if value == "null" else value


@together
@pytest.mark.parametrize("case", CASES["labels"], ids=lambda case: case["said"])
def test_the_label_says_what_is_and_what_is_not(case):
    manifests, said = [of_cell(**cell) for cell in case["cells"]], case["said"]
    found = label(manifests)
    known = {
        "private": found.private,
        "epsilon_true": found.epsilon_true,
        "name": of_label.named_guarantee(manifests),
        "unit": of_label.stated_unit(manifests[0]),
        "values": found.values(),
        "metadata": found.metadata(),
    }
    expected = {"private": said.startswith("Private")} | case
    assert found.text == said
    assert found.timing_accounted is ("TIMING" not in said)
    assert found.release is ("RELEASE" not in said)
    for name in known.keys() & expected.keys():
        assert known[name] == without_null(expected[name]), name


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


def test_a_table_of_exact_values_says_that_no_epsilon_covers_it():
    found = label([made({}, not_for_release=True)])
    assert found.private is True
    said = found.metadata_of_exact()
    assert said["asyncdp.label"] == f"{of_label.EXACT} Its run: {found.text}"
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


def test_reasons_are_told_in_full():
    broken = made({}, EXCEEDED, "another", EVENTS, private=False, timing_accounted=False)
    assert reasons(broken) == [EXCEEDED.removeprefix("not private: "), EVENTS]
    assert of_label.timing_reasons(broken) == [EVENTS.removeprefix("timing not accounted: ")]
    assert reasons(made({})) == of_label.timing_reasons(made({})) == []


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


def copy(owner: int, own: str = "noised", epsilon: float = 1.5) -> Scenario:
    learner = {"owner": owner, "own": own}
    return scenario(run={"replicates": 1}, privacy={"epsilon": epsilon, "learner": learner})


def other(epsilon: float, seed: int = 1) -> Scenario:
    return scenario(run={"replicates": 1, "seed": seed}, privacy={"epsilon": epsilon})


ALONE = other(1.5)
ADDS_UP = "holds for each replicate of each cell; the ε of all published ones adds up"
SHARED = "holds for each replicate of each cell; cells share noise: publish only one"
CELLS = [
    ((ALONE, copy(1), copy(2)), ADDS_UP),
    ((ALONE, copy(1), copy(1, epsilon=3.0)), SHARED),
    ((copy(1), copy(1, "exact-as-published")), SHARED),
    ((copy(1), copy(2, "exact-as-published")), ADDS_UP),
    ((ALONE, other(3.0)), SHARED),
    ((ALONE, other(3.0, seed=2)), ADDS_UP),
]


@one_in(2, ("cells", "said"), CELLS)
def test_cells_that_share_noise_say_so(cells, said, tmp_path):
    """Two of them tell a gradient exactly; copies of other learners have noise of their own.

    Whoever answers exactly in a copy, the others' noise there is that of the copy.
    """
    answers = [first_answer(cell, owner=2) for cell in cells]
    rows = [(noisy - exact) / scale for noisy, exact, scale in answers if scale > 0]
    alike = any(np.allclose(a, b) for i, a in enumerate(rows) for b in rows[:i])
    assert alike is (said == SHARED)
    assert composition([manifest(run(cell)) for cell in cells]) == said
    changes = [
        {"name": f"{number}", **{part: cell.plain()[part] for part in ("run", "privacy")}}
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
