"""The bound Ξ of each kind, adaptive clipping, and the clipping of a whole owner."""

from itertools import product
from typing import Any

import numpy as np
import pytest

from analysis.exact.assumptions import nonlinear
from asyncdp_sim.audits.neighbours import neighbours
from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.core.specification import parse
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.forecasts.forecast import applying
from asyncdp_sim.learning.answers import AdaptiveBound, clipped
from asyncdp_sim.learning.objectives import LinearRecords, Ridge
from asyncdp_sim.learning.objectives.records import largest
from asyncdp_sim.privacy import Clip, Declared, Domain
from asyncdp_sim.runs.problem import build_dataset, prepare
from asyncdp_sim.runs.replicates import InProcess, Workers, learn_all, simulate_all
from asyncdp_sim.runs.run import manifest, run
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.sentences.label import label
from asyncdp_sim.sentences.scenario import describe
from tests.together import together
from tests.unit.learning.problems import live_is_replay
from tests.whole_owners import RECORDS, WHOLE_OWNERS

# The bound Ξ of each kind is never exceeded, and the domain's is reached.

LARGEST = pytest.mark.oracle("largest gradient over a domain")

ORDER = {"l1": 1, "l2": 2, "l2-as-published": 2}
NORMS = list(ORDER)
ROWS = [(norm, rows) for norm in NORMS for rows in (None, "l1", "l2")]
ULPS = 1 + 1e-12


def order_of_rows(domain: Domain) -> int:
    return ORDER[domain.norm if domain.rows is None else domain.rows]


@LARGEST
@together
@pytest.mark.parametrize(("norm", "rows_in"), ROWS)
@pytest.mark.parametrize("row_norm", [0.3, 1.0, 7.0])
def test_confine_respects_the_norm_and_the_range(norm, rows_in, row_norm):
    rng = np.random.default_rng(1)
    domain = Domain(row_norm=row_norm, target_max=2.0, norm=norm, rows=rows_in)
    order = order_of_rows(domain)
    features = [rng.normal(size=(500, 4)) * 10 ** rng.uniform(-3, 3, (500, 1)), np.zeros((2, 4))]
    targets = [rng.normal(size=500) * 10, np.array([-2.0, 2.0])]
    before = [x.copy() for x in features]
    rows, limited = domain.confine(features, targets)
    for x, y, old, target in zip(rows, limited, before, targets, strict=True):
        length = np.linalg.norm(x, ord=order, axis=1)
        assert np.all(length <= row_norm * ULPS)
        inside = np.linalg.norm(old, ord=order, axis=1) <= row_norm
        assert np.array_equal(x[inside], old[inside])  # what is inside stays as it is
        assert np.allclose(length[~inside], row_norm, rtol=1e-12)
        cross = x[:, :, None] * old[:, None, :]
        assert np.allclose(cross, cross.transpose(0, 2, 1), rtol=1e-9, atol=1e-12)  # same direction
        assert np.array_equal(y, np.clip(target, -2, 2))
    assert all(np.array_equal(x, old) for x, old in zip(features, before, strict=True))


def corner_search(domain: Domain, theta_max: float, p: int) -> float:
    """The largest gradient over extreme points and random points of rows, targets and Θ."""
    rng = np.random.default_rng(2)
    corners = np.array(list(product([-1.0, 1.0], repeat=p)))
    axes = np.concatenate([np.eye(p), -np.eye(p)])
    spread = corners / (p if order_of_rows(domain) == 1 else np.sqrt(p))
    wild = rng.normal(size=(200, p)) * 100
    rows, _ = domain.confine([np.concatenate([axes, spread, wild]) * domain.row_norm * 3], [])
    thetas = np.concatenate([corners, rng.uniform(-1, 1, (50, p))]) * theta_max
    worst = 0.0
    for target in (-domain.target_max, 0.0, domain.target_max):
        targets = np.full(len(rows[0]), target)
        norm = "l1" if domain.norm == "l1" else "l2"
        worst = max(worst, largest(LinearRecords(rows, [targets], None, norm), 0, thetas))
    return worst


@LARGEST
@together
@pytest.mark.parametrize(("norm", "rows"), ROWS)
@pytest.mark.parametrize("p", [1, 2, 5])
@pytest.mark.parametrize("theta_max", [0.1, 3.0])
def test_a_domains_bound_is_never_exceeded_and_is_tight(norm, rows, p, theta_max):
    domain = Domain(row_norm=0.7, target_max=1.5, norm=norm, rows=rows)
    worst = corner_search(domain, theta_max, p)
    bound = domain.xi(Ridge(regularisation=1.0, theta_max=theta_max), p)
    assert worst <= bound * ULPS
    assert worst == pytest.approx(bound, rel=1e-9)  # no larger than need be


@pytest.mark.parametrize("otherwise", ["l1", "l2"])
@pytest.mark.parametrize("rows", [None, "l1", "l2"])
def test_a_domain_without_a_norm_takes_that_of_the_mechanism(otherwise, rows):
    model = Ridge(regularisation=1.0, theta_max=0.5)
    bare = Domain(row_norm=0.7, target_max=1.5, rows=rows)
    named = Domain(row_norm=0.7, target_max=1.5, rows=rows, norm=otherwise)
    assert bare.xi(model, 9, otherwise) == named.xi(model, 9)
    x, y = [np.full((1, 9), 2.0)], [np.array([3.0])]
    assert np.array_equal(bare.confine(x, y, otherwise)[0], named.confine(x, y)[0])
    assert bare.describe(model, 9, otherwise) == named.describe(model, 9)


def test_both_bounds_of_a_domain_are_told():
    """Rows of ‖x‖₂ ≤ 1 in p = 9: Ξ₂ = 2(1.5 + 3·0.5) = 6, and Ξ₁ = √9 Ξ₂."""
    model = Ridge(regularisation=1.0, theta_max=0.5)
    told = "in the domain record gradients are bounded by Ξ₁ = {} and Ξ₂ = {}"
    by_l2 = Domain(row_norm=1.0, target_max=1.5, rows="l2")
    assert by_l2.describe(model, 9) == told.format(18, 6)
    by_mechanism = Domain(row_norm=1.0, target_max=1.5)
    assert by_mechanism.describe(model, 9, "l2") == told.format(18, 6)
    assert by_mechanism.describe(model, 9) == told.format(4, 4)
    assert by_mechanism.xi(model, 9, "l2") == 6


@pytest.mark.parametrize("kind", [Declared, Clip])
def test_a_named_bound_is_itself(kind):
    assert kind(bound=2.5).xi(Ridge(regularisation=1.0), 3) == 2.5
    boxed = Ridge(regularisation=1.0, theta_max=1.0)
    assert kind(bound=2.5, norm="l2-as-published").xi(boxed, 300) == 2.5


# Adaptive clipping in runs: one path however it is computed, its cost, and what is refused.

LOCAL = {"kind": "parameter-server", "step": 1.0, "local_steps": 3, "local_step": 0.1}


def of_owners(privacy: dict[str, Any] | None = None, **changed: Any) -> Scenario:
    private = WHOLE_OWNERS["privacy"] | (privacy or {})
    return parse(Scenario, {**WHOLE_OWNERS, **changed, "privacy": private})


def made(
    privacy: dict[str, Any] | None = None, bound: dict[str, Any] | None = None, **changed: Any
) -> Scenario:
    moving = {"kind": "adaptive-clip", "start": 0.5, "share": 0.2} | (bound or {})
    return of_owners({"observer": "model", "sensitivity": moving} | (privacy or {}), **changed)


def law(of: Scenario) -> AdaptiveBound:
    assert of.clip_law is not None
    return of.clip_law


@pytest.mark.parametrize(("adjacency", "moves"), [("replaced", 1.0), ("added-or-removed", 0.5)])
def test_a_sum_and_a_count_share_the_budget_of_an_answer(adjacency, moves):
    of = made({"adjacency": adjacency})
    multiplier = of.accountant.multiplier
    assert multiplier is not None
    fixed = made({"adjacency": adjacency, "sensitivity": {"kind": "clip", "bound": 0.5}})
    sizes = np.array(RECORDS)
    in_sum = np.sqrt(3) * of.noise_for(sizes).scale * sizes
    sensitivity = 2 * moves * 0.5 * max(RECORDS)
    assert in_sum == pytest.approx(sensitivity * multiplier / 0.8**0.5)
    assert law(of).noise == pytest.approx(moves * multiplier[0] / 0.2**0.5)
    told = (sensitivity / in_sum[0]) ** 2 + (moves / float(law(of).noise)) ** 2
    assert told == pytest.approx(multiplier[0] ** -2)
    assert fixed.accountant.multiplier == pytest.approx(multiplier)
    assert of.noise_for(sizes).scale == pytest.approx(fixed.noise_for(sizes).scale / 0.8**0.5)


@pytest.mark.parametrize("algorithm", [WHOLE_OWNERS["algorithm"], LOCAL], ids=["gradient", "steps"])
def test_live_learning_and_any_workers_give_its_replay(algorithm):
    asked = made(algorithm=algorithm)
    replayed = live_is_replay(asked)
    assert run(asked, workers=2).fingerprints == replayed.fingerprints
    curve = replayed.learned.curve
    assert curve["clip_bound"][curve["k"] == 0].tolist() == [0.5] * 3
    assert len(np.unique(curve["clip_bound"])) == len(curve) - 2  # replicates move apart


def test_cells_together_have_the_bits_of_each_alone():
    cells = [
        made(),
        made({"epsilon": 8.0}),
        made(bound={"start": 0.1}),
        made(bound={"quantile": 0.9, "rate": 0.5}),
        made(bound={"share": 0.6}),
    ]
    tasks = [prepare(each, build_dataset(each)).task for each in cells]
    here = Workers(1, InProcess())
    traces = simulate_all(cells[0].network, 4, range(1, 4), here)
    together = learn_all(tasks, 4, range(1, 4), traces, here)
    alone = [learn_all([each], 4, range(1, 4), traces, here)[0] for each in tasks]
    for one, other in zip(together, alone, strict=True):
        assert one.curve.tobytes() == other.curve.tobytes()
    [second] = learn_all([tasks[1]], 4, [2], traces[1:2], here)
    mine = together[1].curve
    assert second.curve.tobytes() == mine[mine["replicate"] == 2].tobytes()


def test_without_noise_the_bound_follows_the_exact_count():
    of = made()
    task = prepare(of, build_dataset(of)).task.without_noise()
    assert task.reply.bound is not None
    assert task.reply.bound.noise == 0.0
    assert task.reply.bound.start == 0.5


def test_what_takes_the_bound_for_fixed_refuses_or_says_so():
    of, fixed = made(), made({"sensitivity": {"kind": "clip", "bound": 0.5}})
    assert any("clip bound moves by noisy counts" in doubt for doubt in nonlinear(of))
    assert not any("noisy counts" in doubt for doubt in nonlinear(fixed))
    assert [each.learner_adds_noise for each in applying(of)] == [True]
    assert len(applying(fixed)) == 3


@pytest.mark.parametrize(("asked", "answers"), [(None, "3 answers"), (1, "1 answer;")])
def test_check_says_how_far_noise_on_counts_moves_the_bound(asked, answers):
    of = made(protocol={"kind": "rounds", "owners": asked})
    [line] = [line for line in describe(of) if line.startswith("noise on counts: ")]
    assert of.clip_law is not None
    moved = 100 * of.clip_law.rate * of.clip_law.noise / (asked or 3)
    assert f"on a count of {answers}" in line
    assert line.endswith(f"it changes the clip bound by {moved:.3g} % a round")


# Privacy of a whole owner: its answers are clipped as a whole, and every sentence says owner.


def scales(**privacy: Any) -> Any:
    return of_owners(privacy).noise_for(np.array(RECORDS)).scale


def test_noise_hides_an_answer_that_is_wholly_another():
    multiplier = of_owners().accountant.multiplier
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
    observer, accountant, unknown
):
    price = {"budget": {"kind": "until-spent", "per_answer": 1.0}, "accountant": accountant}
    with pytest.raises(SpecError) as caught:
        of_owners({**price, "observer": observer, **unknown})
    named = {fault.key for fault in caught.value.faults}
    assert {"privacy.budget.per_answer", *(f"privacy.{field}" for field in unknown)} & named
    assert all(key.startswith("privacy.") for key in named)


@pytest.mark.parametrize(("adjacency", "times"), [("replaced", 2), ("added-or-removed", 1)])
def test_noise_of_a_sum_hides_the_owner_that_moves_it_most(adjacency, times):
    multiplier = of_owners().accountant.multiplier
    assert multiplier is not None
    shares = scales(observer="aggregate", adjacency=adjacency)
    in_sum = np.sqrt(3) * shares * RECORDS  # Σ n_i Q_i is what is opened
    assert in_sum == pytest.approx(times * 0.5 * max(RECORDS) * multiplier, rel=1e-5)
    assert np.all(in_sum >= times * 0.5 * max(RECORDS) * multiplier)  # the grid is paid for


def test_a_trusted_learner_adds_to_a_sum_what_hides_an_owner_in_it():
    scenario, multiplier = of_owners({"observer": "model"}), of_owners().accountant.multiplier
    assert multiplier is not None
    in_sum = np.sqrt(3) * scales(observer="model") * RECORDS
    assert in_sum == pytest.approx(2 * 0.5 * max(RECORDS) * multiplier)
    said = label([manifest(run(scenario))]).text
    assert "with a learner that is trusted: it sees every answer without noise, and adds" in said
    assert any("is drawn in equal parts" in line for line in describe(scenario))


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_whole_answers_are_clipped_row_by_row(norm):
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


@pytest.mark.parametrize("algorithm", [WHOLE_OWNERS["algorithm"], LOCAL], ids=["gradient", "steps"])
def test_an_answer_is_never_longer_than_the_bound_whatever_its_records_are(algorithm):
    scenario = of_owners(algorithm=algorithm)
    reply = prepare(scenario, build_dataset(scenario)).task.reply
    answers = reply.gradients.gradient(np.arange(3), np.full((3, 2), 1e3))
    assert np.linalg.norm(answers, axis=1) == pytest.approx(0.5)


def test_local_steps_are_exact_and_their_difference_is_hidden_once():
    scenario = of_owners(algorithm=LOCAL)
    assert scenario.accountant.answers.tolist() == [8, 8, 8]
    assert scenario.noise_for(np.array(RECORDS)).scale == pytest.approx(scales())
    wide = of_owners({"sensitivity": {"kind": "clip", "bound": 1e6}}, algorithm=LOCAL)
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


@pytest.mark.parametrize("algorithm", [WHOLE_OWNERS["algorithm"], LOCAL], ids=["gradient", "steps"])
@pytest.mark.parametrize("observer", ["transcript", "aggregate", "model"])
def test_live_learning_is_its_replay(algorithm, observer):
    live_is_replay(of_owners({"observer": observer}, algorithm=algorithm))


def test_a_record_is_the_unit_where_nothing_is_said():
    said, silent = of_owners({"unit": "record"}), of_owners({"unit": None})
    assert np.array_equal(scales(unit="record"), scales(unit=None))
    assert "unit" not in silent.plain()["privacy"]
    assert describe(said) == describe(silent)


def test_a_label_of_both_units_says_of_how_many_each_is():
    results = [manifest(run(of_owners({"unit": unit}))) for unit in ("owner", "record")]
    text = label(results).text
    assert "The unit is an owner (in 1 of 2 cells; a record in the others): all records" in text


@pytest.mark.parametrize("adjacency", ["replaced", "added-or-removed"])
def test_an_audit_changes_all_records_of_one_owner_and_none_of_others(adjacency):
    pair = neighbours(of_owners({"adjacency": adjacency}))
    tables = zip(pair.first.records.features, pair.second.records.features, strict=True)
    assert [int((one != other).any(axis=1).sum()) for one, other in tables] == [0, 0, 40]
    assert pair.owner == 2  # it has the most records, and moves sums most
    assert "each record of owner 3 is" in pair.words
    assert pair.words.endswith("or not there") is (adjacency == "added-or-removed")
