"""Whoever sees central models, all of them or the last one alone, and no answer."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self

import numpy as np
from typing_extensions import override

from asyncdp_sim.errors import Fault
from asyncdp_sim.privacy.accountants.own import Accountant
from asyncdp_sim.privacy.observers.descent import Descent, Rounds, in_rounds
from asyncdp_sim.privacy.observers.kind import (
    Array,
    Learned,
    Listener,
    ObserverKind,
    gaussian_epsilons,
    plainly,
)
from asyncdp_sim.spec import about
from asyncdp_sim.trace import Trace


class ModelObserver(ObserverKind):
    """Somebody who sees central models, and whoever answered in each round; it adds no answer.

    Known of learning in rounds with Gaussian noise. All models tell no more than the rounds' sums,
    which all present owners' noise hides. The last one alone tells less where steps contract: that
    is proven of convex smooth losses of bounded rows (``docs/privacy/last-model.md``).
    """

    by_count = False
    sees_models = True

    kind: Literal["model"] = "model"
    sees: Annotated[
        Literal["all", "last"],
        about("Which central models it sees: every one, or the one at the end of the run alone"),
    ] = "all"

    @classmethod
    @override
    def ways(cls) -> tuple[Self, ...]:
        return (cls(), cls(sees="last"))

    @property
    @override
    def name(self) -> str:
        return "all models" if self.sees == "all" else "last model"

    @override
    def words(self) -> str:
        if self.sees == "all":
            return "whoever sees all central models and no answer"
        return "whoever sees the last central model alone"

    @override
    def misfits(self, scenario: Any) -> list[Fault]:
        privacy, algorithm = scenario.privacy, scenario.algorithm
        rounds, bound = algorithm.in_rounds, privacy.sensitivity
        reasons = [
            (
                rounds is None or rounds.trim > 0,
                "rounds whose answers are averaged, given algorithm "
                + (algorithm.kind if rounds is None else f"{algorithm.kind} with trim"),
            ),
            (
                privacy.mechanism.composition != "gaussian",
                f"Gaussian noise, given {privacy.mechanism.kind}",
            ),
            *plainly(scenario),
        ]
        if self.sees == "last":
            average = rounds is not None and rounds.schedule(1.0, 2).kept is not None
            curved = scenario.model.linear and scenario.model.phi.curvature is not None
            reasons += [
                (average, f"a last model that is no average, given {algorithm.kind}"),
                (not curved, f"a convex smooth loss, given {scenario.model.kind}"),
                (
                    bound is None or not bound.bounds_records,
                    "rows of bounded length, without which no step is sure to contract (domain), "
                    f"given {'none' if bound is None else bound.kind}",
                ),
                (scenario.model.theta_max is None, "models in a box, given no model.theta_max"),
                (scenario.trained_on is None, "public numbers of records, which the data decide"),
            ]
        return self.unmet("what models tell", reasons)

    @override
    def listening(self, scenario: Any) -> Listener:
        return self if self.sees == "all" else LastModel(Descent.of(scenario))

    @override
    def learned(self, accountant: Accountant, traces: Sequence[Trace]) -> Learned:
        """Return what all models tell, of which the last one is a part.

        One record of owner u moves the sum of round k by 2Ξ/n, and the noise in it is Σ z_j² of
        those who are in it, in that unit: μ_u² = Σ_k 1/Σ_j z_j² over the rounds that u is in.
        """
        noise = _multiplier(accountant)
        each = [in_rounds(trace, np.ones(len(noise)), noise) for trace in traces]
        return _told(accountant, traces, np.stack([_all(rounds) for rounds in each]))


class LastModel:
    """Whoever sees the last model alone, of a descent that is known.

    Parameters
    ----------
    descent : Descent
    """

    def __init__(self, descent: Descent) -> None:
        self._descent = descent

    def learned(self, accountant: Accountant, traces: Sequence[Trace]) -> Learned:
        """Return what the last model tells at most, and what it tells of one pair at least."""
        noise, descent = _multiplier(accountant), self._descent
        each = [in_rounds(trace, descent.weights, noise) for trace in traces]
        whole = np.stack([_all(rounds) for rounds in each])
        most = np.minimum(np.stack([descent.squared(rounds) for rounds in each]), whole)
        told = _told(accountant, traces, most)
        least = [
            descent.pair(rounds, accountant.delta, bound)
            for rounds, bound in zip(each, told.most, strict=True)
        ]
        known = [one for one in least if one is not None]
        return Learned(told.most, told.zcdp, least=np.stack(known) if len(known) > 0 else None)


def _multiplier(accountant: Accountant) -> Array:
    if accountant.multiplier is None:
        raise ValueError("what models tell is known of Gaussian answers alone")
    return accountant.multiplier


def _all(rounds: Rounds) -> Array:
    """Return μ² of every owner's record against whoever sees all rounds' sums."""
    return np.asarray((rounds.present / rounds.noise[:, None]).sum(axis=0))


def _told(accountant: Accountant, traces: Sequence[Trace], squared: Array) -> Learned:
    whole = accountant.spent(np.stack([trace.released for trace in traces]))
    return Learned(np.minimum(gaussian_epsilons(squared, accountant.delta), whole), squared / 2)


__all__ = ["LastModel", "ModelObserver"]
