"""Local steps: an owner follows several gradients of its own before it answers."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from asyncdp_sim.core.errors import Fault
from asyncdp_sim.learning.algorithms.steps import AnswerBatch, Array, of_owners, of_rows, project
from asyncdp_sim.spec.base import about, per_owner
from asyncdp_sim.spec.validation import show

MOST = 10_000
"""Steps before an answer, at most."""
LONGEST = 1e9
"""Time units in which an answer must be ready, as far as the integer clock is concerned."""

LocalCount = Annotated[
    Annotated[int, Field(ge=1, le=MOST)] | None,
    about(
        "E: number of gradient steps that an owner takes from the model it received, before "
        "it sends the difference. Each step uses a noisy gradient and costs as much privacy "
        "as an answer. Absent: the learner takes one step",
        "gradients",
        example=4,
    ),
]


@dataclass(frozen=True, eq=False)
class LocalSteps:
    """Steps of owner i from the model θ that it was sent: E of them, and their sum.

    x_0 = θ, x_{e+1} = x_e − (ησ x_e + s_i Q_e), with Q_e its noisy gradient at Π_Θ[x_e], which
    takes the place of x_e; it sends (θ − x_E)/u. Π_Θ looks at noisy gradients alone.

    Attributes
    ----------
    count : int
        E ≥ 2.
    step : array (N,)
        s_i.
    shrink : float
        1 − ησ.
    theta_max : float or None
        The box Θ.
    unit : float
        u.
    """

    by_row: ClassVar[tuple[str, ...]] = ("step", "shrink", "theta_max", "unit")

    count: int
    step: Array
    shrink: float | Array
    theta_max: float | Array | None
    unit: float | Array = 1.0

    def sent(self, turn: AnswerBatch, points: Array, ask: Callable[[Array], Array]) -> Array:
        """Return what owners send that were sent ``points`` (r, p), shape (r, p).

        ``ask`` gives their noisy gradients at points of their own, which may be used up.
        """
        local, step, rows = points, of_owners(self.step, turn), turn.replicates
        shrink = of_rows(self.shrink, rows)
        bound = None if self.theta_max is None else of_rows(self.theta_max, rows)
        for made in range(self.count):
            if made > 0:
                project(local, bound)
            local = shrink * local - step * ask(local)
        return np.asarray((points - local) / of_rows(self.unit, rows))


def beyond_one_step(scenario: Any) -> list[Fault]:
    """Return what several gradients for each answer are not known to go with."""
    privacy = scenario.privacy
    steps, faults = str(scenario.algorithm.gradients_per_answer), []
    if privacy.hides and privacy.on_trust:
        remedy = "allowed with local steps: clip or domain; nobody watches a bound on the way"
        faults.append(Fault("privacy.sensitivity.kind", repr(privacy.sensitivity.kind), remedy))
    if len(privacy.prices(scenario.owners.count)) > 0:
        remedy = "allowed with local steps is answers: a price is of one gradient"
        faults.append(Fault("privacy.budget.per_answer", steps, remedy))
    if scenario.acceptance is not None:
        remedy = "not allowed with local steps: no length of honest differences is known"
        faults.append(Fault("acceptance.kind", repr(scenario.acceptance.kind), remedy))
    return faults + _too_slow(scenario)


def _too_slow(scenario: Any) -> list[Fault]:
    """Return what keeps gradients from being computed one after another."""
    count, faults = scenario.algorithm.gradients_per_answer, []
    for law in dict.fromkeys(per_owner(scenario.compute, 1)):
        if count * law.mean > LONGEST:
            remedy = f"allowed with {count} local steps is at most 1e9 for all of them together"
            faults.append(Fault("compute", show(law.model_dump()), remedy))
        elif law.in_a_row(count) is None:
            remedy = (
                "allowed with local steps: none, constant, exponential or gamma, several of which "
                "in a row have a law with a name"
            )
            faults.append(Fault("compute.kind", repr(law.kind), remedy))
    return faults
