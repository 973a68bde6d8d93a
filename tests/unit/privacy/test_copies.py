"""N copies of the algorithm, each owner the learner of one: what each may spend, and its noise."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from asyncdp_sim.audits import audit
from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.core.specification import parse
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.learning.replay import replay
from asyncdp_sim.privacy import Ledger, Privacy
from asyncdp_sim.runs import Ready, manifest, run, run_together
from asyncdp_sim.runs.problem import build_dataset, prepare
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.sentences.label import label
from asyncdp_sim.sentences.scenario import describe
from tests.tables import table

N = 3
EXACT = "exact-as-published"
SCENES = table(__file__, "scenes.toml")
BASE = SCENES["copies"]
BUDGETS = BASE["privacy"]["epsilon"]
ALGORITHMS = {
    "rounds": {"kind": "collab-2", "step": 0.1},
    "request": {"kind": "async-gossip", "rho": 2.0},
}
EACH = pytest.mark.parametrize("protocol", ALGORITHMS)


def scenario(protocol="rounds", learner=None, epsilon=BUDGETS, **more):
    """Return a copy, or without a learner a run of its own."""
    privacy = BASE["privacy"] | {"epsilon": epsilon}
    privacy |= {} if learner is None else {"learner": learner}
    run = BASE["run"] | more.pop("run", {})
    parts = {"protocol": {"kind": protocol}, "algorithm": ALGORITHMS[protocol]}
    return parse(Scenario, {**BASE, **parts, "run": run, "privacy": privacy | more})


def copies(protocol="rounds", own="noised"):
    return [scenario(protocol, {"owner": j, "own": own}) for j in range(1, N + 1)]


@EACH
@pytest.mark.parametrize("own", ["noised", "exact-as-published"])
def test_a_copy_is_a_run_of_its_own_with_a_part_of_every_budget(protocol, own):
    """To the bit, once it is given the copy's noise: nothing else tells a copy from a run."""
    parts = N if own == "noised" else N - 1
    for j, each in enumerate(copies(protocol, own), start=1):
        found = run(each)
        part = [float(Fraction(str(e)) / parts) for e in BUDGETS]
        if own != "noised":
            part[j - 1] = float("inf")
        alone = scenario(protocol, epsilon=part)
        task = prepare(alone, build_dataset(alone)).task
        scopes = [Streams(1).within("replicate", r) for r in (1, 2)]
        reply = replace(task.reply, copy=j)
        assert np.array_equal(reply.noise.scale, found.problem.task.reply.noise.scale)
        path = replay(found.traces, task.steps, reply, scopes, 1, task.asks)
        assert np.array_equal(path.final, found.learned.models)
        assert not np.array_equal(run(alone).learned.models, found.learned.models)


@EACH
@pytest.mark.parametrize("own", ["noised", "exact-as-published"])
def test_what_all_copies_spend_is_the_budget(protocol, own):
    """Σ over copies of what owner i's finite answers cost is at most ε_i; all of it in rounds."""
    spent = []
    for each in copies(protocol, own):
        found = run(each)
        spent.append(Ledger.from_traces(found.problem.accountant, found.traces).spent)
        assert np.isinf(spent[-1]).any() == (own != "noised")
    spent = np.where(np.isfinite(spent), spent, 0.0)
    total = spent.sum(axis=0)
    assert np.all(total <= np.array(BUDGETS) * (1 + 1e-12))
    if protocol == "rounds":
        assert total == pytest.approx(np.tile(BUDGETS, (2, 1)), rel=1e-12)


def answers(cells):
    """Return the final models of cells that learn together over one trace."""
    first = run(cells[0])
    ready = [Ready.from_scenario(each, build_dataset(each)) for each in cells]
    return [each.learned.models for each in run_together(ready, first.traces)]


@EACH
def test_copies_learn_together_as_alone_and_live_as_over_a_trace(protocol):
    together = answers(copies(protocol))
    for j, models in enumerate(together, start=1):
        assert np.array_equal(models, run(scenario(protocol, {"owner": j})).learned.models)
        live = scenario(protocol, {"owner": j}, run={"learning": "live"})
        assert np.array_equal(models, run(live).learned.models)


@EACH
def test_copies_that_share_noise_are_seen(protocol, monkeypatch):
    """The planted bug: in rounds, copies with one noise are one model, copied."""
    apart = answers(copies(protocol))
    assert all(not np.array_equal(apart[0], other) for other in apart[1:])
    monkeypatch.setattr(Privacy, "copy_number", property(lambda _: 0))
    shared = answers(copies(protocol))
    assert all(np.array_equal(shared[0], other) for other in shared[1:])


def test_noise_of_copies_is_independent():
    """Of 3 copies, 6,000 numbers each: no correlation beyond chance, and none alike."""
    reply = prepare(copies()[0], build_dataset(copies()[0])).task.reply
    rows = []
    for j in range(N + 1):  # 0: the run without copies
        [source] = replace(reply, copy=j).noise_of([Streams(1).within("replicate", 1)])
        rows.append(reply.noise.rows(source, 3000, 2).ravel())
    found = np.corrcoef(rows)[np.triu_indices(N + 1, 1)]
    assert np.abs(found).max() < 4 / 6000**0.5


@pytest.mark.long
def test_the_audit_holds_a_copy_to_its_part():
    """Of 7 for three copies a copy claims 7/3, and a sixth of that for each of six answers."""
    found = audit(copies()[1], answers=100, runs=8, confidence=0.99)
    told = [check.describe() for check in found.checks]
    assert "of owner 3:" in told[0]
    assert f"stated {7 / 18:.3g}: " in told[0]
    assert f"stated {7 / 3:.3g}: " in told[1]
    assert not found.exceeded, found.lines()
    assert not audit(copies(own=EXACT)[1], answers=100, runs=8, confidence=0.99).exceeded
    with pytest.raises(SpecError, match="claims a finite ε"):
        audit(scenario(epsilon=float("inf")), answers=100, runs=8, confidence=0.99)


def test_what_is_said_of_a_copy():
    told = "\n".join(describe(scenario(learner={"owner": 2})))
    assert "copies: one of 3, whose learner is owner 2; privacy.epsilon is for all" in told
    assert "1/3 of it for each, and the learner's own answers are noised" in told
    private, exact = (manifest(run(copies(own=own)[1])) for own in ("noised", "exact-as-published"))
    said = label([private])
    assert said.private
    assert said.text.startswith(
        "Private as claimed: ε = 0.1 to 2.33 per owner over the run (a copy's part of it: copies "
        "add up), pure ε-DP, Laplace noise"
    )
    assert private["summary"]["epsilon_true"] == pytest.approx(7 / 3)
    assert not label([exact]).private
    assert "where it plays the learner itself" in " ".join(exact["warnings"])


@pytest.mark.parametrize("case", SCENES["copies_refused"])
def test_what_does_not_fit_is_refused(case):
    with pytest.raises(SpecError) as caught:
        scenario("rounds", **case["more"])
    assert [fault.key for fault in caught.value.faults] == [case["key"]]


def test_gossip_without_a_learner_has_no_copies():
    raw = scenario().plain()
    raw["protocol"] = {"kind": "gossip", "graph": {"kind": "ring"}}
    raw["algorithm"] = {"kind": "gossip-graph", "rho": 0.1}
    raw["privacy"]["learner"] = {"owner": 1}
    with pytest.raises(SpecError, match=r"privacy\.learner: given a table; not allowed where"):
        parse(Scenario, raw)
