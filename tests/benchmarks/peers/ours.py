"""Ours, by the word that follows: live, replayed or owners."""

import sys
from functools import partial

from asyncdp_sim.core.streams import Streams
from asyncdp_sim.learning.algorithms import FedAsync, Setting
from asyncdp_sim.learning.answers import AnswerModel
from asyncdp_sim.learning.live import LiveLearning
from asyncdp_sim.learning.objectives import Quadratic
from asyncdp_sim.learning.replay import CellTask, replay_together
from asyncdp_sim.network import Network, simulate
from asyncdp_sim.network.clocks import PoissonClock
from asyncdp_sim.network.laws import Exponential
from asyncdp_sim.privacy import Declared, Privacy

from .work import (
    N_OWNERS,
    NOISE,
    RATE,
    RECORDS,
    SERVICE,
    SIGMA,
    STEP,
    UNTIL,
    UPDATES,
    Learned,
    P,
    Served,
    Work,
    records,
    told,
)

BOUND, THETA_MAX, REPLICATES = 5.0, 1e5, 100
EPSILON = 2 * BOUND * UPDATES / (RECORDS * NOISE)
"""Which T answers of Laplace noise of that scale cost."""
ASKING = Network(answers_allowed=(UPDATES,) * N_OWNERS, updates=UPDATES)
OWNERS = Network(
    answers_allowed=(10**9,) * N_OWNERS,
    updates=10**9,
    until=UNTIL,
    clock=PoissonClock(rate=RATE),
    compute=Exponential(mean=SERVICE),
)


def cell() -> CellTask:
    """Return one gradient step an update, of which the first model and the last are recorded."""
    features, targets = records()
    objective = Quadratic.from_records(list(features), list(targets), SIGMA, THETA_MAX)
    setting = Setting(objective.weights, P, UPDATES, SIGMA, THETA_MAX)
    noise = Privacy(epsilon=EPSILON, sensitivity=Declared(bound=BOUND)).noise_for(
        objective.records, UPDATES, BOUND, P
    )
    steps = FedAsync(step=STEP, mixing=1.0).steps(setting)
    return CellTask(steps, AnswerModel(objective, noise), record_every=UPDATES)


def scope(number: int):
    """Return the random streams of a replicate."""
    return Streams(1).within("replicate", number)


def scopes():
    """Return those of all replicates, fresh."""
    return [scope(number) for number in range(1, REPLICATES + 1)]


def live() -> Work:
    """Return a replicate simulated with its events and learned as it goes."""
    task = cell()

    def work() -> partial[Learned]:
        learning = LiveLearning(task.steps, task.reply, scope(1), task.record_every)
        trace = simulate(ASKING, scope(1), learning=learning, events=True)
        return partial(Learned.of, trace.n_updates, learning.trajectory().final[0])

    return work


def replayed() -> Work:
    """Return replicates simulated first and then learned together."""
    task = cell()

    def work() -> partial[Learned]:
        traces = [simulate(ASKING, scope) for scope in scopes()]
        ((_, found),) = replay_together(traces, [task], scopes)
        return partial(Learned.of, traces[0].n_updates, *found.final)

    return work


def owners() -> Work:
    """Return the owners and the learner that they share, with every event recorded."""
    return lambda: partial(Served, simulate(OWNERS, scope(1), events=True).n_updates)


WORKS = {
    "live": partial(told, live),
    "replayed": partial(told, replayed, shared=REPLICATES),
    "owners": partial(told, owners),
}

if __name__ == "__main__":
    WORKS[sys.argv[1]]()
