"""Guarantees and labels: words against the facts, and settings chosen from private records."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import product
from math import inf, sqrt
from typing import Any

import numpy as np
import pytest

from asyncdp_sim.core.specification import parse
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.data import Dataset
from asyncdp_sim.learning.algorithms import AnswerBatch
from asyncdp_sim.learning.answers import Answers
from asyncdp_sim.privacy import Clip, Declared, Domain, Guarantee, ObservedMax, Privacy, guarantee
from asyncdp_sim.privacy.accountants import gaussian_epsilon, gaussian_multiplier
from asyncdp_sim.privacy.guarantee import foreseen
from asyncdp_sim.runs.problem import build_dataset, prepare
from asyncdp_sim.runs.run import manifest, run
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


@pytest.mark.parametrize(("key", "words"), CASES["unsaid"].items())
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


# Guarantee of a run, for each combination of choices.

P, XI, T = 4, 5.0, 10
EPSILON = [0.5, 2.0]
RECORDS = np.array([50, 80, 20])
WORDS = table(__file__, "words_of_reasons.toml")


def judged(
    largest: Sequence[float] | None = (4.0, 5.0), public: Sequence[int] = (0, 0), unseen: int = 0,
    kind: str = "declared", norm: str | None = None, obfuscated: bool = False,
    timing: str | None = None, diverged: int = 0, **fields: Any,
) -> Guarantee:  # fmt: skip
    sensitivity = {
        "declared": Declared(bound=XI, norm=norm),
        "clip": Clip(bound=XI, norm=norm),
        "domain": Domain(row_norm=1.0, target_max=1.0, norm=norm),
    }[kind]
    privacy = Privacy(**{"epsilon": EPSILON, "sensitivity": sensitivity} | fields)
    n_owners = len(fields.get("epsilon", EPSILON))
    accountant, records = privacy.accountant_for(n_owners, T), RECORDS[:n_owners]
    look = None
    if kind == "declared" and privacy.mechanism.kind != "none" and largest is not None:
        look = ObservedMax(np.array(largest), 70 - unseen, unseen)
    return guarantee(
        privacy, accountant, XI, P, look, public, records,
        noise=privacy.noise_for(records, T, XI, P), obfuscated=obfuscated, timing=timing,
        diverged=diverged,
    )  # fmt: skip


def named(found: Guarantee) -> set[str]:
    return {key for key, words in WORDS.items() if any(words in r for r in found.reasons)}


CHOICES = product(
    ["declared", "clip", "domain"],
    [None, "l2-as-published"],
    ["laplace", "discrete-laplace", "none"],
    ["vector", "scalar-as-published"],
    *[[False, True]] * 3,
)


@together
@pytest.mark.parametrize(
    ("kind", "norm", "mechanism", "noise", "infinite", "exceeded", "overlap"), CHOICES
)
def test_every_combination(kind, norm, mechanism, noise, infinite, exceeded, overlap):
    found = judged(
        (15.0, 5.0) if exceeded else (4.0, 5.0),
        (0, 7) if overlap else (0, 0),
        kind=kind,
        norm=norm,
        mechanism=mechanism,
        noise=noise,
        epsilon=[0.5, inf] if infinite else EPSILON,
    )
    noisy = mechanism != "none"
    expected = {
        "none": not noisy,
        "infinite": noisy and infinite,
        "scalar": noisy and noise == "scalar-as-published",
        "l2": noisy and norm == "l2-as-published",
        "exceeded": noisy and exceeded and kind == "declared",
        "overlap": overlap,
    }
    assert named(found) == {key for key, holds in expected.items() if holds}
    assert found.private is not any(expected.values())
    assert found.bound_exceeded == (exceeded if noisy and kind == "declared" else None)
    assert found.delta == (0 if noisy else None)
    endless = {"none", "infinite", "scalar", "overlap"}
    if any(expected[key] for key in endless):
        assert found.epsilon_true == inf
    else:
        worse = 3.0 if expected["exceeded"] else 1.0  # 15/5, at the owner of ε = 0.5
        true = max(0.5 * worse, 2.0) * (sqrt(P) if expected["l2"] else 1.0)
        assert found.epsilon_true == pytest.approx(true)
    assert len(found.reasons) == len(set(found.reasons))


def agree(found: Iterable[str], told: Sequence[str]) -> None:
    for text, expected in zip(found, told, strict=True):
        assert text.startswith(expected.removesuffix("…"))
        assert expected.endswith("…") or text == expected


@together
@pytest.mark.parametrize("case", table(__file__, "judged.toml")["cases"], ids=str)
def test_what_is_judged(case):
    case = {name: None if value == "null" else value for name, value in case.items()}
    found, declared = judged(**case["given"]), "kind" not in case["given"]
    assert (found.private, found.delta) == (case["private"], case.get("delta", 0.0))
    assert found.epsilon_true == pytest.approx(case["epsilon"], rel=1e-5)
    assert found.epsilon_true <= case["epsilon"] * (1 + 1e-12)
    assert (found.bound_exceeded, found.at_least) == (case.get("exceeded"), declared)
    assert found.unseen == (case.get("unseen", 0) if declared else None)
    agree(found.reasons, case.get("reasons", ()))
    agree((each.describe() for each in found.remarks), case.get("remarks", ()))


def test_a_declared_bound_is_never_judged_without_a_look():
    with pytest.raises(ValueError, match="needs the gradients"):
        judged(largest=None)


@together
@pytest.mark.parametrize("kind", ["declared", "clip", "domain"])
@pytest.mark.parametrize("mechanism", ["laplace", "gaussian", "discrete-laplace", "none"])
def test_timing_that_nobody_pays_for_has_no_finite_epsilon(kind, mechanism):
    delta = 1e-6 if mechanism == "gaussian" else None
    found = judged(kind=kind, mechanism=mechanism, delta=delta, timing="who speaks")
    assert (found.private, found.epsilon_true) == (False, inf)
    assert "timing not accounted: who speaks" in found.reasons


def test_the_judged_epsilon_is_not_written_back():
    """The ledger's ε must not change because the guarantee is worse."""
    privacy = Privacy(epsilon=EPSILON, sensitivity=Declared(bound=XI))
    accountant = privacy.accountant_for(2, T)
    look = ObservedMax(np.array([50.0, 50.0]), 1)
    noise = privacy.noise_for(RECORDS[:2], T, XI, P)
    guarantee(privacy, accountant, XI, P, look, (1, 1), RECORDS[:2], noise=noise)
    assert accountant.epsilon.tolist() == EPSILON
    assert accountant.spent(accountant.answers).tolist() == EPSILON


def test_a_gaussians_true_epsilon_where_the_bound_was_exceeded():
    """A gradient m times as long is a sensitivity of m Ξ: the multiplier is divided by m."""
    found = judged(largest=(15.0, 5.0), **GAUSSIAN)  # at the owner of ε = 0.5
    assert found.bound_exceeded is True
    assert not found.private
    worse = gaussian_epsilon(gaussian_multiplier(0.5, 1e-6) / 3, 1e-6)
    assert 3 * 0.5 < worse < 2.0  # more than in proportion, and less than the other owner's
    assert found.epsilon_true == pytest.approx(2.0, rel=1e-5)
    found = judged(largest=(25.0, 5.0), **GAUSSIAN)
    worse = gaussian_epsilon(gaussian_multiplier(0.5, 1e-6) / 5, 1e-6)
    assert found.epsilon_true == pytest.approx(worse, rel=1e-6)
    assert worse > 2.5
    assert "5 on a record gradient's L2 norm is exceeded: 25 at owner 1" in found.reasons[0]


def test_the_excess_of_owners_that_share_a_record_adds_up_in_rho():
    gaussian = judged(overlap=2, largest=(10.0, 20.0), **GAUSSIAN)
    rho = 1 / (2 * gaussian_multiplier(0.5, 1e-6) ** 2) / 2  # of each owner
    worse = gaussian_epsilon(1 / sqrt(2 * rho * (2**2 + 4**2)), 1e-6)
    assert gaussian.epsilon_true == pytest.approx(worse, rel=1e-6)


def test_a_run_that_diverged_is_not_private():
    """No bound holds at an infinite model, and which answers are finite reveals records."""
    outcome = run(parse(Scenario, table(__file__, "scenes.toml")["diverging"]))
    assert outcome.summary["private"] is False
    assert outcome.summary["epsilon_true"] == inf
    assert any("diverged in 2 replicates" in said for said in outcome.warnings)
    one = judged(kind="clip", diverged=1)
    assert (one.private, one.epsilon_true, one.times) == (False, inf, inf)


def test_one_owner_without_noise_is_foreseen():
    asked = Privacy(epsilon=[inf, 1.0], sensitivity=Clip(bound=XI))
    assert foreseen(asked, 2, timing=None, unsound=()) is False
    assert foreseen(asked.model_copy(update={"epsilon": 1.0}), 2, timing=None, unsound=()) is True
