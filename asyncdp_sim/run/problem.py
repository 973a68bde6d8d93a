"""From a scenario and its data to what the replicates need."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from asyncdp_sim.data import Dataset
from asyncdp_sim.errors import DataError, Fault
from asyncdp_sim.learning.algorithms import Asks, NoisyStatistics, Setting, Statistics, Steps
from asyncdp_sim.learning.answers import Acceptance, Gradients, Reply, Sample
from asyncdp_sim.learning.live import Target
from asyncdp_sim.learning.objectives import Objective, Quadratic, Records
from asyncdp_sim.privacy import Clip, Declared, Domain, Gaussian, Pure
from asyncdp_sim.privacy.mechanisms import Mechanism
from asyncdp_sim.run.held_out import HeldOut, held_out
from asyncdp_sim.run.scored import ScoredOnAll
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.streams import Streams
from asyncdp_sim.theory.updating import shares

Array = npt.NDArray[np.float64]
Rows = tuple[list[Array], list[Array]]
"""Features and targets, owner by owner."""


@dataclass(frozen=True, eq=False)
class Task:
    """All that learning a replicate takes, for a worker process.

    It holds records only where second moments do not do: where losses are not quadratic, where
    gradients are clipped, and where a declared bound is watched.

    Attributes
    ----------
    objective : Objective
        Judges models.
    steps, reply
        The algorithm, and the owners' answers.
    record_every : int
        Distance in k between rows of the curve.
    asks : str
        Where gradients are taken.
    held_out : HeldOut, optional
        Judges models on the held-out rows of all owners, where there are any.
    threshold : float, optional
        L2 norm of gradients that are worth an answer, where owners have a trigger.
    target : Target, optional
        How good a model has to be for its run to end.
    watched : Records, optional
        Whose gradients are measured at every query that is answered, where a bound was declared.
    """

    objective: Objective
    steps: Steps
    reply: Reply
    record_every: int
    asks: Asks = "average"
    held_out: HeldOut | None = None
    threshold: float | None = None
    target: Target | None = None
    watched: Records | None = None


@dataclass(frozen=True, eq=False)
class Problem:
    """A scenario with its numbers filled in.

    Attributes
    ----------
    task : Task
    records : Records
        The owners' records, for what second moments cannot tell.
    accountant : Accountant
        What answers cost: ε_i and K_i.
    xi : float or None
        Ξ that the noise is scaled for; None without a mechanism.
    notes : tuple of str
        What was done to the records, for the user.
    held_out : tuple of HeldOut
        One per owner, over its held-out rows; without members where none are.
    """

    task: Task
    records: Records
    accountant: Pure | Gaussian
    xi: float | None
    notes: tuple[str, ...] = ()
    held_out: tuple[HeldOut, ...] = ()


def build_dataset(scenario: Scenario) -> Dataset:
    """Return the owners' records of a scenario.

    Raises
    ------
    DataError
        If a data file is not what the scenario says.
    """
    return scenario.data.build(scenario.owners.count, scenario.records, Streams(scenario.run.seed))


def prepare(scenario: Scenario, dataset: Dataset) -> Problem:
    """Fill in a scenario's numbers from its data.

    Raises
    ------
    DataError
        If the targets are no labels of a model that classifies, if θ* is not found, or if the
        relative fitness is undefined on these data.
    """
    model, privacy, run = scenario.model, scenario.privacy, scenario.run
    features, targets = dataset.scored
    before = features, targets
    sensitivity = None if privacy.mechanism == "none" else privacy.sensitivity
    notes: tuple[str, ...] = ()
    if isinstance(sensitivity, Domain):
        features, targets = sensitivity.confine(features, targets, privacy.norm)
        bounds = sensitivity.words(model, scenario.data.features, privacy.norm)
        notes = (_confined(before, (features, targets)), bounds)
    if model.classifies:
        _require_labels(scenario, targets)
        _require_labels(scenario, list(dataset.held_out_targets))
    features = model.design(features)
    judge = everybody = model.objective(features, targets)
    if isinstance(sensitivity, Domain) and isinstance(everybody, Quadratic):
        notes = (*notes, _moved(model.objective(*before), everybody))
    objective = everybody
    if len(features) > len(dataset.features):
        features, targets = features[: len(dataset.features)], targets[: len(dataset.targets)]
        objective = model.objective(features, targets)
        judge = ScoredOnAll(objective, everybody)
    p = objective.n_features
    judge.least  # noqa: B018  # a useless objective is refused before anything is simulated
    clip = sensitivity.bound if isinstance(sensitivity, Clip) else None
    records = model.records(features, targets, clip, privacy.norm)
    xi = None if sensitivity is None else scenario.xi
    known = None
    if scenario.algorithm.needs_shares:
        known = np.array(shares(scenario.network))
    size = scenario.answer_numbers
    noise = privacy.noise_for(objective.records, run.updates, 0.0 if xi is None else xi, size)
    setting = Setting(
        objective.weights, p, run.updates, model.sigma, model.theta_max, known, scenario.protocol
    )
    sample = (
        None if scenario.algorithm.sample is None else Sample(records, scenario.algorithm.sample)
    )
    steps = scenario.algorithm.steps(setting)
    gradients: Gradients = objective if clip is None else records
    if isinstance(scenario.algorithm, NoisyStatistics) and isinstance(objective, Quadratic):
        steps = scenario.algorithm.steps(setting, noise.scale, sensitivity)
        gradients = Statistics.of(objective, steps.units)
    unseen, unseen_of_all = held_out(dataset, model, sensitivity, privacy.norm)
    task = Task(
        objective=judge,
        steps=steps,
        reply=Reply(
            gradients,
            noise,
            sample,
            *_conduct(scenario, noise, steps.answer_size),
            copy=privacy.copy_number,
        ),
        record_every=run.record_every,
        asks=scenario.protocol.asks,
        held_out=unseen_of_all,
        threshold=None if scenario.trigger is None else scenario.trigger.threshold,
        target=None if run.target is None else Target(judge, run.target),
        watched=records if isinstance(sensitivity, Declared) else None,
    )
    accountant = privacy.accountant(objective.n_owners, run.updates)
    return Problem(task, records, accountant, xi, notes, held_out=unseen)


def _conduct(
    scenario: Scenario, noise: Mechanism, n_features: int
) -> tuple[Array | None, Acceptance | None]:
    """Return what owners that lie multiply answers by, and what the learner does to answers."""
    adversary, acceptance = scenario.adversary, scenario.acceptance
    factors = None if adversary is None else adversary.factors(len(noise.scale))
    if acceptance is None:
        return factors, None
    return factors, acceptance.rule(scenario.honest_answers(noise, n_features))


def _require_labels(scenario: Scenario, targets: list[Array]) -> None:
    """Refuse targets other than −1 and 1, naming the first."""
    for owner, values in enumerate(targets, start=1):
        other = values[np.abs(values) != 1]
        if len(other) > 0:
            key = "data.target" if hasattr(scenario.data, "target") else "data"
            where = f"at owner {owner}" if owner <= scenario.owners.count else "in no owner's row"
            given = f"the value {other[0]:g} {where}"
            allowed = f"allowed are labels -1 and 1 with model.kind = {scenario.model.kind}"
            raise DataError([Fault(key, given, allowed)])


def _confined(before: Rows, after: Rows) -> str:
    """Say how many records the bounded domain has changed."""
    rows = sum(
        int(np.count_nonzero((x != z).any(axis=1)))
        for x, z in zip(before[0], after[0], strict=True)
    )
    values = sum(int(np.count_nonzero(y != z)) for y, z in zip(before[1], after[1], strict=True))
    total = sum(map(len, before[1]))
    return (
        f"the bounded domain scaled {rows} of {total} rows down and clipped {values} targets; "
        "fitness, optimum and ψ are those of the changed records"
    )


def _moved(before: Objective, objective: Quadratic) -> str:
    """Say what the optimum of records in a bounded domain lacks on the records before."""
    lost = float(before.excess(objective.optimum)) / objective.least
    return f"on the records as they were, f of this optimum is {lost:.2g} f(θ*) above the least f"
