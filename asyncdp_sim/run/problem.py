"""From a scenario and its data to what the replicates need."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from asyncdp_sim.data import Dataset
from asyncdp_sim.errors import DataError, Fault
from asyncdp_sim.learning.algorithms import Asks, Setting, Steps
from asyncdp_sim.learning.answers import Reply, Sample
from asyncdp_sim.learning.objectives import LinearRecords, Norm, Objective
from asyncdp_sim.privacy import Clip, Domain
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.streams import Streams
from asyncdp_sim.theory.updating import shares

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Task:
    """All that learning a replicate takes; small enough to send to a worker process.

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
    """

    objective: Objective
    steps: Steps
    reply: Reply
    record_every: int
    asks: Asks = "average"


@dataclass(frozen=True, eq=False)
class Problem:
    """A scenario with its numbers filled in.

    Attributes
    ----------
    task : Task
    records : LinearRecords
        The owners' records, for what second moments cannot tell.
    epsilon : array (N,)
        ε_i; infinite where no noise is added.
    answers_allowed : array of int (N,)
        K_i.
    xi : float or None
        Ξ that the noise is scaled for; None without a mechanism.
    notes : tuple of str
        What was done to the records, for the user.
    """

    task: Task
    records: LinearRecords
    epsilon: Array
    answers_allowed: npt.NDArray[np.int64]
    xi: float | None
    notes: tuple[str, ...] = ()


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
    features, targets = list(dataset.features), list(dataset.targets)
    sensitivity = None if privacy.mechanism == "none" else privacy.sensitivity
    notes: tuple[str, ...] = ()
    if isinstance(sensitivity, Domain):
        features, targets = sensitivity.confine(features, targets)
        notes = (_confined(dataset, features, targets),)
    if model.loss.classifies:
        _require_labels(scenario, targets)
    features = model.design(features)
    objective = model.objective(features, targets)
    p = objective.n_features
    objective.least  # noqa: B018  # a useless objective is refused before anything is simulated
    norm: Norm = "l1" if sensitivity is None or sensitivity.norm == "l1" else "l2"
    clip = sensitivity.bound if isinstance(sensitivity, Clip) else None
    records = LinearRecords(features, targets, clip, norm, model.loss)
    xi = None if sensitivity is None else scenario.xi
    known = None
    if scenario.algorithm.needs_shares:
        known = np.array(shares(scenario.network))
    noise = privacy.noise_for(objective.records, run.updates, 0.0 if xi is None else xi)
    setting = Setting(
        objective.weights, p, run.updates, model.sigma, model.theta_max, known, scenario.protocol
    )
    sample = (
        None if scenario.algorithm.sample is None else Sample(records, scenario.algorithm.sample)
    )
    gradients = objective if clip is None else records
    task = Task(
        objective=objective,
        steps=scenario.algorithm.steps(setting),
        reply=Reply(gradients, noise, sample),
        record_every=run.record_every,
        asks=scenario.protocol.asks,
    )
    allowed = privacy.budget.answers_allowed(objective.n_owners, run.updates)
    epsilon = privacy.epsilons(objective.n_owners)
    return Problem(task, records, epsilon, np.array(allowed, dtype=np.int64), xi, notes)


def _require_labels(scenario: Scenario, targets: list[Array]) -> None:
    """Refuse targets other than −1 and 1, naming the first."""
    for owner, values in enumerate(targets, start=1):
        other = values[np.abs(values) != 1]
        if len(other) > 0:
            key = "data.target" if hasattr(scenario.data, "target") else "data"
            given = f"the value {other[0]:g} at owner {owner}"
            allowed = f"allowed are labels -1 and 1 with model.kind = {scenario.model.kind}"
            raise DataError([Fault(key, given, allowed)])


def _confined(dataset: Dataset, features: list[Array], targets: list[Array]) -> str:
    """Say how many records the bounded domain has changed."""
    rows = sum(
        int(np.count_nonzero((x != z).any(axis=1)))
        for x, z in zip(dataset.features, features, strict=True)
    )
    values = sum(
        int(np.count_nonzero(y != z)) for y, z in zip(dataset.targets, targets, strict=True)
    )
    total = sum(dataset.records)
    return (
        f"the bounded domain scaled {rows} of {total} rows down and clipped {values} targets; "
        "fitness, optimum and ψ are those of the changed records"
    )
