"""Noise of the answers, held against the scale that Theorem 1 of Async and of Collab asks for.

What noise makes of models is judged by other rows, of which some are ratios, and some have a wide
window since a paper does not state all. This one is drawn from the mechanism itself.
"""

from collections.abc import Mapping, Sequence
from math import sqrt

import numpy as np

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.results import Result, Sweep
from asyncdp_sim.scenario import Scenario
from scenarios.papers import problem
from scenarios.papers.claims import Claim, Measure, Printed
from scenarios.papers.problem import once

DRAWS = 10_000
"""Answers whose noise is drawn: E |w| = b, of which their mean has a standard error of b/100."""
WITHIN = 4 / sqrt(DRAWS)
"""Four standard errors: |w|/b has mean 1 and standard deviation 1."""
SEED = 31


def scale_claims(xi: Mapping[str, float], judges: Printed | str) -> tuple[Claim, ...]:
    """Return that noise has the theorem's scale, for variants with these Ξ.

    Parameters
    ----------
    xi : mapping
        Ξ by variant, as the paper, its code or the figure's own choice has it.
    judges : Printed or str
        The theorem.
    """
    return tuple(
        Claim(
            f"mean |w| of an answer's noise over 2ΞK/(n_i ε_i), Ξ = {bound:g}, K answers",
            over_theorem_1(bound), 1 - WITHIN, 1 + WITHIN, 1.0,
            variants=tuple(name for name in xi if xi[name] == bound), judges=judges,
        )
        for bound in dict.fromkeys(xi.values())
    )  # fmt: skip


def over_theorem_1(xi: float) -> Measure:
    """Return what measures noise over the theorem's scale: of the cell that is farthest from 1."""

    def measured(sweep: Sweep) -> float:
        results: Sequence[Result] = [cell.result for cell in sweep.cells]
        found = [
            _over(each, xi) for each in results if each.scenario["privacy"]["mechanism"] != "none"
        ]
        return max(found, key=lambda ratio: abs(np.log(ratio)), default=np.nan)

    return measured


@once(512)
def _over(result: Result, xi: float) -> float:
    scenario = problem.scenario(result).base()
    replicate, records = result.columns("owners", "replicate", "records")
    own = records[replicate == replicate[0]]
    scale = theorem_1(scenario, own, xi)
    noise, owners = scenario.noise_for(own), np.arange(DRAWS) % len(own)
    rows = noise.rows(np.random.default_rng(SEED), DRAWS, 1)
    drawn = noise.add_noise(owners, np.zeros((DRAWS, 1)), rows)[:, 0]
    return float(np.mean(np.abs(drawn) / scale[owners]))


def theorem_1(scenario: Scenario, records: Array, xi: float) -> Array:
    """Return 2ΞK/(n_i ε_i), K the answers that owners pay for, shape (N,)."""
    said = scenario.plain()["privacy"]
    answers = said["budget"].get("answers", scenario.run.updates)
    epsilon = np.broadcast_to(np.array(said["epsilon"]), records.shape)
    return np.asarray(2 * xi * answers / (records * epsilon))
