"""From a scenario and its data to what the replicates need."""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from asyncdp_sim.data import Dataset
from asyncdp_sim.data.void import FAR, blank, only_labels, outlying, void
from asyncdp_sim.errors import DataError, Fault
from asyncdp_sim.learning.algorithms import Asks, NoisyStatistics, Setting, Statistics, Steps
from asyncdp_sim.learning.answers import Acceptance, Gradients, Reply, Sample
from asyncdp_sim.learning.live import Target
from asyncdp_sim.learning.objectives import Objective, Quadratic, Records
from asyncdp_sim.notices import Counted
from asyncdp_sim.privacy import Clip, Declared, Domain, Gaussian, Pure
from asyncdp_sim.privacy.mechanisms import Mechanism, NoNoise
from asyncdp_sim.runs.held_out import HeldOut, held_out
from asyncdp_sim.runs.scored import ScoredOnAll
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.streams import Streams
from asyncdp_sim.theory.predict.update_order import shares

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

    def without_noise(self) -> "Task":
        """Return the same with no noise on answers; clipping and the domain stay as they are.

        ``privacy.mechanism = "none"`` is something else: nothing is clipped or scaled there.
        """
        silent = NoNoise(np.zeros(self.objective.n_owners))
        return replace(self, reply=replace(self.reply, noise=silent))


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
    targets, unlabelled = _labelled(scenario, dataset, targets)
    nothing = void(targets)
    features, targets = blank(features, nothing), blank(targets, nothing)
    before = features, targets
    sensitivity = None if privacy.mechanism == "none" else privacy.sensitivity
    notes = unlabelled
    if isinstance(sensitivity, Domain):
        features, targets = sensitivity.confine(features, targets, privacy.norm)
        bounds = sensitivity.words(model, scenario.data.features, privacy.norm)
        notes = (*notes, _confined(before, (features, targets)), bounds)
    features = blank(model.design(features), nothing)
    objective = everybody = model.objective(features, targets)
    if isinstance(sensitivity, Domain) and isinstance(everybody, Quadratic):
        notes = (*notes, _moved(model.objective(*before), everybody))
    scored = features, targets
    if len(features) > len(dataset.features):
        features, targets = features[: len(dataset.features)], targets[: len(dataset.targets)]
        objective = model.objective(features, targets)
    judge, left_out = _judge(scenario, dataset, objective, everybody, scored)
    notes = (*notes, *left_out)
    p = objective.n_features
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


def _labelled(
    scenario: Scenario, dataset: Dataset, targets: list[Array]
) -> tuple[list[Array], tuple[str, ...]]:
    """Return targets, NaN where a model that classifies finds no label, and what is said of it.

    Whether a column is one of labels is for public rows to say, and for drawn ones, which tell of
    nobody: a private target that is none is a record that contributes nothing.
    """
    if not scenario.model.classifies:
        return targets, ()
    if not dataset.real:
        for owner, values in enumerate(targets, start=1):
            where = f"at owner {owner}" if owner <= scenario.owners.count else "in no owner's row"
            _require_labels(scenario, values, where)
        for values in dataset.held_out_targets:
            _require_labels(scenario, values, "in a held-out row")
    if dataset.public_targets is not None:
        _require_labels(scenario, dataset.public_targets, "in a public row")
    labels = [only_labels(values) for values in targets]
    lost = sum(
        int(np.count_nonzero(np.isnan(y) & ~np.isnan(t)))
        for y, t in zip(labels, targets, strict=True)
    )
    if all(np.isnan(values).all() for values in labels):
        raise _no_labels(scenario, "no label in any record")
    if lost == 0:
        return labels, ()
    return labels, (
        Counted(
            "{lost} targets are no labels -1 and 1: these records contribute nothing (loss and "
            "gradient are 0), and n_i counts them",
            lost=lost,
        ),
    )


def _require_labels(scenario: Scenario, values: Array, where: str) -> None:
    """Refuse targets other than −1 and 1, naming the first; absent ones are none."""
    other = values[~np.isnan(values) & (np.abs(values) != 1)]
    if len(other) > 0:
        raise _no_labels(scenario, f"the value {other[0]:g} {where}")


def _no_labels(scenario: Scenario, given: str) -> DataError:
    key = "data.target" if hasattr(scenario.data, "target") else "data"
    allowed = f"allowed are labels -1 and 1 with model.kind = {scenario.model.kind}"
    return DataError([Fault(key, given, allowed)])


def _judge(
    scenario: Scenario, dataset: Dataset, objective: Objective, everybody: Objective, scored: Rows
) -> tuple[Objective, tuple[str, ...]]:
    """Return what judges models, and what is said of it.

    A useless objective is refused before anything is simulated. But that θ* is not found for one
    private record of very large numbers ends no run: θ* is then that of the others.

    Raises
    ------
    DataError
        If θ* is not found, or if the relative fitness is undefined.
    """
    judge = objective if everybody is objective else ScoredOnAll(objective, everybody)
    try:
        judge.least  # noqa: B018
    except DataError:
        far = outlying(scored[0])
        count = sum(int(np.count_nonzero(rows)) for rows in far)
        if count == 0 or not dataset.real:
            raise
        others = scenario.model.objective(blank(scored[0], far), blank(scored[1], far))
        judge = ScoredOnAll(objective, others)
        judge.least  # noqa: B018
        return judge, (
            Counted(
                "θ* of all records is not found: f, θ* and ψ leave out {count} with numbers above "
                "{far:g} times the usual, which are trained on all the same",
                count=count,
                far=FAR,
            ),
        )
    return judge, ()


def _confined(before: Rows, after: Rows) -> str:
    """Say how many records the bounded domain has changed."""
    rows = sum(
        int(np.count_nonzero((x != z).any(axis=1)))
        for x, z in zip(before[0], after[0], strict=True)
    )
    values = sum(int(np.count_nonzero(y != z)) for y, z in zip(before[1], after[1], strict=True))
    total = sum(map(len, before[1]))
    return Counted(
        "the bounded domain scaled {rows} of {total} rows down and clipped {values} targets; "
        "fitness, optimum and ψ are those of the changed records",
        rows=rows,
        total=total,
        values=values,
    )


def _moved(before: Objective, objective: Quadratic) -> str:
    """Say what the optimum of records in a bounded domain lacks on the records before."""
    lost = float(before.excess(objective.optimum)) / objective.least
    return Counted(
        "on the records as they were, f of this optimum is {lost:.2g} f(θ*) above the least f",
        lost=lost,
    )
