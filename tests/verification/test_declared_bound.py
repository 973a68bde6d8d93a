"""A declared bound against a brute-force pass: every record at every query that was answered.

The queries are noted while the model is trained inside the network, whatever becomes of the
answers; the run under test learns over traces, and prunes.
"""

from copy import deepcopy
from dataclasses import replace
from itertools import product
from typing import get_args

import numpy as np
import pyarrow.parquet as pq
import pytest

from asyncdp_sim.core.specification import parse
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.learning import recording
from asyncdp_sim.learning.algorithms import AnyAlgorithm
from asyncdp_sim.learning.live import LiveLearning
from asyncdp_sim.learning.objectives import LinearRecords, Model
from asyncdp_sim.learning.objectives import records as gradients
from asyncdp_sim.learning.objectives.losses import SQUARED, Hinge, LogisticLoss
from asyncdp_sim.learning.objectives.mlp import Perceptron, PerceptronRecords
from asyncdp_sim.learning.objectives.records import GradientMonitor, Observed, largest
from asyncdp_sim.learning.replay import CellTask, fold
from asyncdp_sim.network import simulate
from asyncdp_sim.network.protocols import Protocol
from asyncdp_sim.runs.outcome import judge, notices, summary
from asyncdp_sim.runs.problem import build_dataset, prepare
from asyncdp_sim.runs.run import manifest, run, write
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.sentences.label import label
from asyncdp_sim.sentences.result import result_lines
from asyncdp_sim.trace import ExchangeOutcome
from tests.huber import HuberLoss
from tests.one_in import one_in
from tests.tables import table

from .networks import replicates

pytestmark = pytest.mark.oracle("largest gradient in a run with a declared bound")


LATE = {"answer": {"kind": "exponential", "mean": 0.4}}
BOTH = {ExchangeOutcome.applied, ExchangeOutcome.lost}
LOSSY = {"kind": "ideal", "loss": 0.3, "retransmissions": 1, "resend": "fresh"}
WAYS = table(__file__, "declared_bound.toml")
TABLE = table(__file__, "models_of_bounds.toml")
MODELS = TABLE["models"]
PRIVATE = TABLE["private"]


def scenario(*, model="ridge", privacy=None, bound=5.0, **parts):
    private = {"mechanism": "laplace"} if privacy is None else dict(privacy)
    norm = {"norm": private.pop("norm")} if "norm" in private else {}
    sensitivity = {"kind": "declared", "bound": bound} | norm
    fields = deepcopy(TABLE["scene"])
    fields["data"]["labels"] = model not in ("ridge", "mlp")
    fields["model"] |= MODELS[model]
    fields["privacy"] |= private | {"sensitivity": sensitivity}
    return parse(Scenario, fields | parts)


class Noting(LiveLearning):
    """Notes every query as it is formed, by the number of its message."""

    def __init__(self, *how, **more):
        super().__init__(*how, **more)
        self.noted: dict[int, np.ndarray] = {}

    def read(self, owner, message, peer=0):
        super().read(owner, message, peer)
        self.note(message)

    def take(self, owner, message, sent):
        super().take(owner, message, sent)
        self.note(message)

    def note(self, message):
        self.noted[message] = self._queries[message][0][0].copy()

    def again(self, message, former):
        super().again(message, former)
        self.noted[message] = self.noted[former]


def queries(asked):
    """Every query whose answer was transmitted: its owner from 0, where, its fate."""
    task, found = prepare(asked, build_dataset(asked)).task, []
    for scope in replicates(asked.run.seed, asked.run.replicates):
        live = Noting(task.steps, task.reply, scope, 1, task.asks, target=task.target)
        trace = simulate(asked.network, scope, learning=live)
        for row in trace.exchanges:
            fate = ExchangeOutcome(int(row["outcome"]))
            if row["transmissions"] > 0:
                found.append((int(row["owner"]) - 1, live.noted[int(row["message"])], fate))
    return found


def every_length(records, owner, points):
    """The lengths of gradients of an owner's records at all points, pair by pair."""
    pairs = np.indices((len(records.targets[owner]), len(points)))
    rows, places = (each.ravel() for each in pairs)
    return records.lengths_at(owner, rows, points[places])


def brute_force(outcome, *, of=None):
    """The largest gradient per owner, of all queries or of those with a fate among ``of``."""
    met = queries(outcome.scenario)
    found = np.zeros(outcome.scenario.owners.count)
    for owner in range(len(found)):
        own = [x for who, x, fate in met if who == owner and (of is None or fate in of)]
        if len(own) > 0:
            found[owner] = every_length(outcome.problem.records, owner, np.array(own)).max()
    return found


def fates(outcome):
    return {fate for *_, fate in queries(outcome.scenario)}


def folded(outcome, seen, numbers):
    """What a monitor meets, and the path, as runs are learned once more from their traces."""
    task = outcome.problem.task
    cell = CellTask(task.steps, task.reply, 1, *([] if seen is None else [seen]))
    scopes = [Streams(1).within("replicate", number) for number in numbers]
    [path] = fold(outcome.traces, [cell], scopes, *([task.asks] if seen is None else []))
    return path


CASES = [
    (way, model, PRIVATE[place % len(PRIVATE)])
    for place, (way, model) in enumerate(product(WAYS, MODELS))
]
ONE_EACH = [
    pytest.param(way, list(MODELS)[place % len(MODELS)], PRIVATE[place % len(PRIVATE)], id=way)
    for place, way in enumerate(WAYS)
]
"""One model for each way to talk and learn; all of them nightly."""


@one_in(4, ("way", "model", "privacy"), ONE_EACH)
def test_the_pruned_pass_is_the_brute_force_one(way, model, privacy):
    outcome = run(scenario(**WAYS[way], model=model, privacy=privacy))
    met = outcome.learned.met
    assert met.largest.tolist() == brute_force(outcome).tolist()
    assert met.queries == len(queries(outcome.scenario))
    assert outcome.summary["queries_unseen"] == 0


@pytest.mark.nightly
@pytest.mark.parametrize(("way", "model", "privacy"), CASES)
def test_the_pruned_pass_is_the_brute_force_one_for_all(way, model, privacy):
    test_the_pruned_pass_is_the_brute_force_one(way, model, privacy)


def kinds(union):
    """The kinds of a discriminated union."""
    return {member.model_fields["kind"].default for member in get_args(get_args(union)[0])}


def test_ways_are_all_that_the_unions_have():
    """No algorithm, protocol or model that can declare a bound is left out of the property.

    Two algorithms cannot: one releases no gradients, the other adds no noise. A third asks every
    owner once, at a start that is public: see below.
    """
    seen = [scenario(**parts) for parts in WAYS.values()]
    found = {each.algorithm.kind for each in seen}
    assert found == kinds(AnyAlgorithm) - {"noisy-statistics", "polar", "averaging"}
    assert {each.protocol.kind for each in seen} == kinds(Protocol) - {"servers"}  # polar's
    assert {each["kind"] for each in MODELS.values()} == kinds(Model)


@pytest.mark.parametrize(("bound", "holds"), [(1e-3, False), (1e3, True)])
def test_averaging_looks_at_the_only_query_of_each(bound, holds):
    once = {"mechanism": "gaussian", "delta": 1e-6}
    once |= {"budget": {"kind": "per-owner-cap", "answers": 1}}
    gossip = {"kind": "gossip", "graph": {"kind": "ring"}, "clock": {"kind": "poisson"}}
    averaging = {"kind": "averaging", "step": 0.1}
    asked = scenario(bound=bound, privacy=once, algorithm=averaging, protocol=gossip)
    summary = run(asked).summary
    assert summary["bound_exceeded"] != holds
    assert summary["private"] == holds
    assert summary["queries_unseen"] == 0


@pytest.mark.parametrize("part", ["request", "request, losses"])
def test_the_fold_meets_the_same(part, monkeypatch):
    """Also where queries wait for a shorter or longer time before they are measured."""
    outcome = run(scenario(**{} if part == "request" else {"channel": LOSSY}))
    monkeypatch.setattr(gradients, "NUMBERS", 40)
    seen = GradientMonitor(outcome.problem.task.watched)
    folded(outcome, seen, outcome.numbers)
    assert seen.observed().largest.tolist() == brute_force(outcome).tolist()
    assert seen.observed().queries == len(queries(outcome.scenario))
    assert part == "request" or fates(outcome) >= BOTH


def test_no_bit_of_what_is_learned_depends_on_being_watched():
    for way in ("request", "request, losses", "push", "gossip, ring"):
        outcome = run(scenario(**WAYS[way]))
        path = folded(outcome, None, outcome.numbers)
        assert path.final.tobytes() == outcome.learned.models.tobytes()


def test_live_learning_meets_what_its_replay_does():
    parts = {"latency": LATE, "channel": LOSSY}
    live = run(scenario(**parts, run={"updates": 25, "until": 40.0, "learning": "live"}))
    met = live.learned.met
    assert met.largest.tolist() == brute_force(live).tolist()
    assert fates(live) >= BOTH
    seen = GradientMonitor(live.problem.task.watched)
    folded(live, seen, [1])
    assert seen.observed().largest.tolist() == met.largest.tolist()


LOSSES = {"ridge": SQUARED, "logistic": LogisticLoss(), "svm": Hinge(), "huber": HuberLoss(0.7)}


def of_many(seed, model, norm, size, *, spread):
    """Records of unequal size, and points around a far centre, some of them far outliers."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(size, 4)) * np.exp(rng.normal(size=(size, 1)))
    y = np.sign(rng.normal(size=size)) if model in ("logistic", "svm") else rng.normal(size=size)
    if model == "mlp":
        net = Perceptron(3, 2)
        x[:, -1] = 1
        points = rng.normal(size=(150, net.numbers)) * spread + rng.normal(size=net.numbers)
        return PerceptronRecords(net, [x], [y], SQUARED, None, norm), points
    points = rng.normal(size=(150, 4)) * spread + rng.normal(size=4)
    points[:3] *= 30
    return LinearRecords([np.asfortranarray(x)], [y], None, norm, LOSSES[model]), points


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("model", [*LOSSES, "mlp"])
def test_the_largest_is_that_of_all_pairs(model, norm, monkeypatch):
    """To the bit, in blocks of any size, and with very few of all pairs looked at."""
    for seed, spread, together in product(range(2), (1e-3, 1.0), (8, 2**16)):
        monkeypatch.setattr(gradients, "PAIRS", together)
        records, points = of_many(seed, model, norm, 120, spread=spread)
        every = every_length(records, 0, points)
        assert largest(records, 0, points) == every.max()
        assert largest(records, 0, points, least=2 * every.max()) == 2 * every.max()
        centre = points.mean(axis=0)
        radius = float(np.linalg.norm(points - centre, axis=1).max()) * (1 + 1e-12)
        tops = records.ceilings(0, slice(None), centre[None], radius)
        assert np.isnan(tops).all() == (model == "mlp")  # a network has no bounds over balls
        assert not np.any(every.reshape(120, -1).max(axis=1) > tops[:, 0])


@pytest.mark.parametrize("model", LOSSES)
def test_one_gradient_above_all_before_is_seen_and_so_is_one_infinite_model(model):
    """Of models close together, where bounds over balls are hardly above the gradients."""
    records, points = of_many(0, model, "l2", 120, spread=1e-3)
    most = largest(records, 0, points[3:])
    assert largest(records, 0, points[3:], least=0.99 * most) == most
    points[-1, 0] = np.inf
    assert largest(records, 0, points[3:]) == np.inf


@pytest.mark.parametrize("model", [*LOSSES, "mlp"])
def test_few_pairs_are_measured_to_the_bit_of_their_bounds(model, monkeypatch):
    """Also of models that have diverged, no records, no points, and where all are below."""
    records, points = of_many(3, model, "l1", 20, spread=1.0)
    far = np.concatenate([points[:4], np.full((1, points.shape[1]), 1e300)])
    for some in (points[:7], far, points[:0], points[:1]):
        found = []
        for few in (0, 10**6):
            monkeypatch.setattr(gradients, "FEW", few)
            found += [largest(records, 0, some, least) for least in (0.0, 1.5)]
        assert found[:2] == found[2:]


@pytest.mark.parametrize("model", [*LOSSES, "mlp"])
def test_bounds_hold_where_sums_overflow_in_one_order_alone(model, monkeypatch):
    """|θᵀx| about the largest number: parts of a sum are infinite, or no numbers, by the order."""
    monkeypatch.setattr(gradients, "FEW", 0)  # few records have bounds
    for seed in range(60):
        rng = np.random.default_rng(seed)
        records, points = of_many(seed, model, "l1", 60, spread=1.0)
        x = np.sign(rng.normal(size=records.features[0].shape))
        records = replace(records, features=[x], targets=[np.sign(rng.normal(size=60))])
        far = np.sign(rng.normal(size=points[:8].shape)) * 10 ** rng.uniform(307.3, 308.2)
        with np.errstate(over="ignore", invalid="ignore"):
            every = every_length(records, 0, far)
        expected = np.where(np.isnan(every), np.inf, every).max()
        assert gradients.largest_of_all(records, far, np.zeros(1)) == [expected]


def test_few_of_all_pairs_are_looked_at(monkeypatch):
    """A pass over 20,000 records for 3,000 queries looks at less than one pair in 300."""
    rng = np.random.default_rng(1)
    x = np.asfortranarray(rng.normal(size=(20_000, 5)))
    records = LinearRecords([x], [rng.normal(size=20_000)])
    looked, plain = [], LinearRecords.ceilings

    def counted(self, owner, rows, centres, radius):
        found = plain(self, owner, rows, centres, radius)
        looked.append(found.size)
        return found

    monkeypatch.setattr(LinearRecords, "ceilings", counted)
    seen = GradientMonitor(records)
    seen.take(np.zeros(3_000, dtype=np.int64), rng.laplace(size=(3_000, 5)))
    assert seen.observed().largest[0] > 0
    assert sum(looked) < 20_000 * 3_000 / 300


def places(outcome):
    """Per owner the largest gradient by brute force: of queries, and elsewhere."""
    learned, records = outcome.learned, outcome.problem.records
    ends = {"start": learned.starts, "final": learned.models,
            "optimum": outcome.problem.task.objective.optimum[None]}  # fmt: skip
    owners = range(outcome.scenario.owners.count)
    return {"queries": brute_force(outcome)} | {
        name: np.array([every_length(records, owner, models).max() for owner in owners])
        for name, models in ends.items()
    }


def exceeded(found, xi):
    """Where the bound is exceeded."""
    return {place for place, values in found.items() if values.max() > xi}


ONE_RUN = {
    name: scenario(privacy={"mechanism": "laplace", "epsilon": epsilon}, bound=bound, **parts)
    for name, (epsilon, bound, parts) in TABLE["one_run"].items()
}
LOST = ONE_RUN.pop("lost")
"""Runs in which the bound is exceeded in one place alone, and one where only a lost answer does."""


def judged(outcome):
    return judge(outcome.problem, outcome.traces, outcome.learned, outcome.ledger)


@pytest.mark.parametrize("where", ONE_RUN)
def test_a_bound_that_is_exceeded_in_one_place_alone_is_exceeded(where):
    """And ε is that of the largest gradient of all, found by brute force."""
    outcome = run(ONE_RUN[where])
    found, xi, told = places(outcome), outcome.problem.xi, outcome.summary
    assert exceeded(found, xi) == {where}
    assert (told["private"], told["bound_exceeded"]) == (False, True)
    assert told["epsilon_true"] == ONE_RUN[where].privacy.epsilon * found[where].max() / xi
    assert told["epsilon_at_least"] is True


def test_a_bound_that_only_a_lost_answer_exceeds_is_exceeded():
    outcome = run(LOST)
    xi, others = outcome.problem.xi, set(ExchangeOutcome) - {ExchangeOutcome.lost}
    elsewhere = places(outcome) | {"queries": brute_force(outcome, of=others)}
    assert exceeded(elsewhere, xi) == set()
    lost = brute_force(outcome, of={ExchangeOutcome.lost}).max()
    assert lost > xi
    assert outcome.summary["epsilon_true"] == 50.0 * lost / xi


@pytest.mark.no_evidence
def test_what_is_left_out_would_be_noticed(monkeypatch):
    """Planted bugs: without queries, final models, starts, or lost answers the bound holds."""
    for where, left_out in (("final", "models"), ("start", "starts")):
        outcome = run(ONE_RUN[where])
        optimum = np.broadcast_to(outcome.problem.task.objective.optimum, (1, 3))
        less = replace(outcome.learned, **{left_out: optimum})
        assert judged(outcome).private is False
        assert judged(replace(outcome, learned=less)).private is True
    outcome = run(ONE_RUN["queries"])
    unmet = replace(outcome.learned, met=Observed(np.zeros(3), outcome.learned.met.queries))
    assert judged(replace(outcome, learned=unmet)).private is True
    few = tuple(fate for fate in recording.RELEASED if fate is not ExchangeOutcome.lost)
    monkeypatch.setattr(recording, "RELEASED", few)
    monkeypatch.setattr("asyncdp_sim.runs.outcome.RELEASED", few)
    assert run(LOST).summary["private"] is True


def test_queries_that_nobody_looked_at_are_counted_and_never_a_yes(tmp_path):
    """Here a run of which nothing was looked at: the count is that of all answers released."""
    outcome = run(scenario(bound=1000.0, channel=LOSSY, run={"updates": 25, "replicates": 2}))
    assert outcome.summary["private"] is True
    blind = replace(outcome, learned=replace(outcome.learned, met=None))
    found = judged(blind)
    answered = sum(int(trace.released.sum()) for trace in outcome.traces)
    assert (found.private, found.bound_exceeded, found.unseen) == (None, None, answered)
    figures = summary(blind.problem, blind.learned, found, blind.ledger)
    said = notices(blind.problem, blind.traces, blind.learned, found)
    shown = replace(blind, summary=blind.summary | figures, notices=said)
    write(shown, tmp_path / "r")
    lines = result_lines(tmp_path / "r")
    assert any(line.split()[:3] == ["private", "not", "shown"] for line in lines)
    told = label([manifest(shown)]).text
    assert told.startswith("NOT SHOWN to be private as claimed (ε = 20 ")
    assert f"{answered} of {answered} answered queries were not checked" in told
    assert "Private as claimed" not in told
    models = pq.read_schema(tmp_path / "r" / "models.parquet").metadata
    assert models[b"asyncdp.private"] == b"none"


def test_a_bound_that_held_where_it_was_looked_at_says_whose_epsilon_it_is():
    """The table's own records: for one that is in no table the same answers tell more."""
    outcome = run(scenario(bound=1000.0))
    told = label([manifest(outcome)]).text
    assert "Private as claimed" in told
    assert "ε ≥ 20 (these records; the declared bound may not hold for others)" in told
    assert "True ε" not in told
    [rests] = [said for said in outcome.warnings if "rests on the declared bound" in said]
    met = outcome.learned.met
    assert f"exceeded it at {met.queries} answered queries" in rests
    assert all(values.max() <= 1000.0 for values in places(outcome).values())
    x = np.array([[1e6, 0.0, 0.0]])
    assert largest(LinearRecords([x], [np.array([0.0])]), 0, outcome.learned.models) > 1000.0
