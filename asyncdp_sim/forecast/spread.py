"""How ψ at the end is spread: the algorithm itself, over owners drawn independently."""

import numpy as np
import numpy.typing as npt

from asyncdp_sim.forecast.population import Population
from asyncdp_sim.learning.algorithms import Turn
from asyncdp_sim.learning.answers import Answers, Reply
from asyncdp_sim.learning.objectives import Quadratic
from asyncdp_sim.streams import Streams

Array = npt.NDArray[np.float64]
DRAWS = 500


def draws(known: Population, objective: Quadratic, chosen: Array) -> Array:
    """Return ψ(θ_L,T) of independent learnings, shape (DRAWS,).

    Nothing of the network is simulated: where exact moments apply, owners i_k are independent
    with probabilities π_i and answers are never stale, so that this is the law of ψ itself.

    Parameters
    ----------
    known : Population
    objective : Quadratic
        Whose gradients owners answer with.
    chosen : array (N,)
        π_i.
    """
    task, scenario = known.problem.task, known.scenario
    streams = Streams(scenario.run.seed)
    scopes = [streams.within("forecast", "replicate", r) for r in range(DRAWS)]
    answers = Answers(Reply(objective, task.reply.noise), scopes, task.steps.answer_size)
    order = streams.generator("forecast", "owners")
    state = task.steps.init(scopes)
    with np.errstate(over="ignore", invalid="ignore"):  # a learning that diverges
        for _ in range(scenario.run.updates):
            turn = Turn(order.choice(len(chosen), size=DRAWS, p=chosen))
            points = task.steps.query(state, turn)
            found = answers.give(turn, points)
            task.steps.apply(state, turn, points, found)
            task.steps.update(state)
        judge = objective if known.judge is None else known.judge
        return judge.relative_fitness(state.central)
