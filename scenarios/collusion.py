"""Study of colluding owners: estimates of the owner that is the learner, from what runs send them.

The cells of ``owner-learner-collude`` of the catalogue are run again, transcribed.
"""

from math import fsum, sqrt

import numpy as np

from analysis.privacy.collusion import Learned, averaging, by_epsilon
from analysis.privacy.recovered import Recovered, Transcribed, from_exchanges, from_rounds
from asyncdp_sim.core.errors import Fault, SpecError
from asyncdp_sim.core.streams import Scope, Streams
from asyncdp_sim.figures.kit.picture import Shown
from asyncdp_sim.learning.algorithms import Array, Collab1Steps, GossipSteps
from asyncdp_sim.learning.replay import replay
from asyncdp_sim.network import simulate
from asyncdp_sim.results import Sweep
from asyncdp_sim.runs.problem import Problem, build_dataset, prepare
from asyncdp_sim.scenario import Scenario, load

HIDDEN = 0
"""The owner that plays the learner, from 0; all others collude."""


def transcribed(scenario: Scenario) -> tuple[Problem, Transcribed, Array]:
    """Run a scenario with all that is sent noted; return the final models (R, p) too."""
    problem = prepare(scenario, build_dataset(scenario))

    def scopes() -> list[Scope]:
        streams = Streams(scenario.run.seed)
        return [streams.within("replicate", r + 1) for r in range(scenario.run.replicates)]

    traces = [simulate(scenario.network, scope) for scope in scopes()]
    task, noted = problem.task, Transcribed(problem.task.steps)
    path = replay(traces, noted, task.reply, scopes(), task.record_every, task.asks)
    return problem, noted, path.final


def recover(problem: Problem, noted: Transcribed, replicate: int) -> Recovered:
    """Return what all owners but one know of its answers.

    Raises
    ------
    SpecError
        If nothing is worked out for this algorithm.
    """
    steps, seen = problem.task.steps, noted.transcript(replicate)
    # What follows from a transcript is algebra on these algorithms' own steps, and on no others.
    if isinstance(steps, GossipSteps):
        return from_exchanges(seen, HIDDEN, steps)
    if isinstance(steps, Collab1Steps):
        sizes = steps.rate / np.arange(1, int(seen.k[-1]) + 2)
        return from_rounds(seen, HIDDEN, steps.weights, sizes, float(steps.sigma))
    raise SpecError([Fault("algorithm.kind", "another", "allowed: async-gossip, collab-1")])


def learned(scenario: Scenario, name: str) -> Learned:
    """Return how well a scenario's hidden owner is known; NaN where nothing is worked out."""
    problem, noted, _ = transcribed(scenario)
    reply, p = problem.task.reply, problem.task.steps.n_features
    sizes: list[float] = []
    singles: list[float] = []
    means: list[float] = []
    counts: list[int] = []
    for replicate in range(scenario.run.replicates):
        found = recover(problem, noted, replicate)
        whole = np.isfinite(found.answers).all(axis=1)
        points, answers = found.points[whole], found.answers[whole]
        counts.append(len(points))
        if len(points) > 0:
            exact = reply.gradients.gradient(np.full(len(points), HIDDEN), points)
            sizes += np.square(exact).sum(axis=1).tolist()
            singles += np.square(answers - exact).sum(axis=1).tolist()
            means.append(float(np.square((answers - exact).mean(axis=0)).sum()))
    some = [1 / count for count in counts if count > 0]
    size = float(np.mean(sizes)) if len(some) > 0 else np.nan
    noise = 2 * p * float(reply.noise.scale[HIDDEN]) ** 2  # E‖b w‖²
    return Learned(
        name=name,
        epsilon=float(problem.accountant.epsilon[HIDDEN]),
        answers=float(np.mean(counts)),
        single=sqrt(fsum(singles) / max(1, len(singles)) / size),
        mean=sqrt(fsum(means) / max(1, len(means)) / size),
        noise=sqrt(noise / size),
        averaged_noise=sqrt(noise * fsum(some) / max(1, len(some)) / size),
    )


def collusion(sweep: Sweep) -> list[Shown]:
    """Run every cell of a sweep again, transcribed, and draw what the others learn.

    Raises
    ------
    SpecError
        If nothing is worked out for a cell's algorithm.
    """
    others = [path for path in sweep.paths if path != "privacy.epsilon"]
    rows = [
        learned(load(cell.result.directory / "scenario.toml")[0], cell.label(others))
        for cell in sweep.cells
    ]
    results = [cell.result for cell in sweep.cells]
    noisy = [result for row, result in zip(rows, results, strict=True) if np.isfinite(row.epsilon)]
    finite = sorted({row.epsilon for row in rows if np.isfinite(row.epsilon)})
    return [(by_epsilon(rows, results), results), (averaging(finite, noisy), noisy)]
