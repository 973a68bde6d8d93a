"""An observer of central models, all of them or only the last one, and of no answer.

With Π the projection onto Θ, a round is θ⁺ = Π[φ(θ) + w], φ(θ) = θ − γ(σθ + ∇F(θ)), w Gaussian with
standard deviation τ on each coordinate, and F convex with an L-Lipschitz gradient: φ is Lipschitz
with c = max(|1 − γσ|, |1 − γ(σ + L)|). A replaced record moves φ(θ) by at most s. Then last models
of two neighbouring datasets are at least as hard to distinguish as N(0, 1) from N(μ, 1), for any
a_k with

    μ² = Σ_k a_k²/τ_k²,    z_k = c_k z_{k−1} + s_k − a_k ≥ 0,    z_T = 0,

from the start, where z = 0, or from any round on, with z the diameter of Θ. With C_k the product of
later c, A_k = Σ_{l≤k} C_l a_l has to stay below M_k = Σ_{l≤k} C_l s_l (and what there was at
first), and to end with it; Σ (ΔA_k)²/(C_k τ_k)² is least where A is the greatest convex minorant of
M over Σ_{l≤k} (C_l τ_l)². Proof: ``docs/privacy/last-model.md``.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf, sqrt
from typing import Any, Literal, Self

import numpy as np
from typing_extensions import override

from asyncdp_sim.core.arrays import Array, Bools, Ints
from asyncdp_sim.core.errors import Fault
from asyncdp_sim.core.specification import trait
from asyncdp_sim.core.words import agreed
from asyncdp_sim.privacy.accountants import Accountant
from asyncdp_sim.privacy.mechanisms import AnswerNoise, LearnerNoise, RecordSensitivity
from asyncdp_sim.privacy.observers.kind import (
    Learned,
    Listener,
    ObserverKind,
    Requirement,
    at_most_all,
    multipliers,
    plainly,
)
from asyncdp_sim.trace import Trace

_UP = 1 + 1e-9
"""Factor that makes an upper bound larger, to cover rounding."""
_STARTS = 24
"""Number of first rounds f that are tried."""


@dataclass(frozen=True, eq=False)
class Rounds:
    """The owners in the rounds of one replicate, and the noise; the unit is 2Ξ/n.

    Attributes
    ----------
    numbers : array of int (K,)
        k, from 1, of the rounds that had answers.
    present : array of bool (K, N)
    share : array (K,)
        W_k = Σ n_j/n of the present owners, by which a sum is divided.
    noise : array (K,)
        Σ z_j² of the present owners: the variance of Σ (n_j/n) w_j.
    """

    numbers: Ints
    present: Bools
    share: Array
    noise: Array


def in_rounds(trace: Trace, weights: Array, multiplier: Array) -> Rounds:
    """Return the owners in each round of a trace, from its updates.

    Parameters
    ----------
    trace : Trace
        Of learning in rounds.
    weights, multiplier : array (N,)
        n_i/n and z_i.
    """
    numbers, places = np.unique(trace.updates["k"], return_inverse=True)
    present = np.zeros((len(numbers), len(weights)), dtype=np.bool_)
    present[places, trace.updates["owner"] - 1] = True
    return Rounds(
        numbers.astype(np.int64),
        present,
        np.asarray(present @ weights),
        np.asarray(present @ np.square(multiplier)),
    )


@dataclass(frozen=True, eq=False)
class Descent:
    """An observer of only the last model of a descent, with the descent's public numbers.

    Attributes
    ----------
    weights : array (N,)
        n_i/n.
    steps : array (T,)
        γ_k.
    convexity, smoothness : float
        σ, and L of every record's loss.
    unit : float
        2Ξ/n, the unit of noise, shifts and models.
    box : float
        θ_max.
    numbers : int
        p.
    """

    weights: Array
    steps: Array
    convexity: float
    smoothness: float
    unit: float
    box: float
    numbers: int

    @classmethod
    def from_scenario(cls, scenario: Any) -> "Descent":
        """Return those of a scenario without faults of the observer."""
        model, rounds, privacy = scenario.model, scenario.algorithm.in_rounds, scenario.privacy
        domain, records = privacy.sensitivity, np.array(scenario.trained_on, dtype=np.float64)
        longest = model.longest(domain.row_norm, domain.rows or privacy.norm)
        return cls(
            weights=records / records.sum(),
            steps=rounds.schedule(rounds.step_length, scenario.run.updates).sizes,
            convexity=model.sigma,
            smoothness=model.phi.curvature * longest**2,
            unit=2 * scenario.xi / float(records.sum()),
            box=model.theta_max,
            numbers=scenario.numbers,
        )

    def contractions(self, rounds: Rounds) -> Array:
        """Return c_k, shape (K,): above 1 if a step is longer than 2/(σ + L)."""
        gamma = self.steps[rounds.numbers - 1]
        ends = (1 - gamma * self.convexity, 1 - gamma * (self.convexity + self.smoothness))
        return np.asarray(np.maximum(*np.abs(ends)))

    def squared(self, rounds: Rounds) -> Array:
        """Return an upper bound on μ² of every owner's record, shape (N,)."""
        gamma, c = self.steps[rounds.numbers - 1] / rounds.share, self.contractions(rounds)
        late = np.append(np.cumprod(c[:0:-1])[::-1], 1.0)  # C_k
        noise, moved = np.square(late * gamma) * rounds.noise, late * gamma
        diameter = 2 * self.box * sqrt(self.numbers) / self.unit * c * late
        alike, which = np.unique(rounds.present, axis=1, return_inverse=True)
        squared_mu = [_hidden(moved * present, noise, diameter) for present in alike.T]
        return np.array(squared_mu)[which.ravel()] * _UP

    def learned(self, accountant: Accountant, traces: Sequence[Trace]) -> Learned:
        """Return an upper bound on what the last model reveals, at most what all models do."""
        noise = multipliers(accountant)
        by_trace = [in_rounds(trace, self.weights, noise) for trace in traces]
        squared = [np.minimum(self.squared(rounds), _all(rounds)) for rounds in by_trace]
        return _learned_by_composition(accountant, traces, squared)


def _hidden(moved: Array, noise: Array, diameter: Array) -> float:
    """Return the least μ² of one owner's record over the first rounds f.

    Parameters
    ----------
    moved, noise : array (K,)
        C_k s_k and (C_k τ_k)².
    diameter : array (K,)
        The diameter of Θ before round k, times c_k and C_k.
    """
    if not moved.any():  # in no round
        return 0.0
    count = len(moved)
    least = _minorant(moved, noise)
    for first in sorted({count - round(count**at) for at in np.linspace(0, 1, _STARTS)}):
        begun = moved[first:].copy()
        begun[0] += diameter[first]
        least = min(least, _minorant(begun, noise[first:]))
    return least


def _minorant(moved: Array, noise: Array) -> float:
    """Return Σ slope² · length of the greatest convex minorant of Σ moved over Σ noise from 0."""
    hull: list[tuple[float, float]] = []  # pieces: length and rise, of rising slopes
    waiting = 0.0  # where noise is too small for a number, a later round's hides what is moved
    for length, rise in zip(noise.tolist(), moved.tolist(), strict=True):
        piece = (length, rise + waiting)
        waiting = piece[1] if length == 0 else 0.0
        if length == 0:
            continue
        while len(hull) > 0 and hull[-1][1] * piece[0] >= piece[1] * hull[-1][0]:
            last = hull.pop()
            piece = (last[0] + piece[0], last[1] + piece[1])
        hull.append(piece)
    return inf if waiting > 0 else sum(rise * rise / length for length, rise in hull)


class ModelObserver(ObserverKind):
    """An observer of the central models and of each round's list of owners.

    Requires rounds with Gaussian noise. All models reveal no more than the sums of the rounds,
    which the noise of all present owners protects. The last model alone reveals less if steps
    contract, which is proven for convex smooth losses with bounded rows
    (``docs/privacy/last-model.md``).
    """

    by_count = False
    sees_models = True

    kind: Literal["model"] = "model"
    sees: Literal["all", "last"] = "all"

    @override
    def for_owners(self) -> ObserverKind:
        return TrustedLearner() if self.sees == "all" else self

    @classmethod
    @override
    def ways(cls) -> tuple[Self, ...]:
        return (cls(), cls(sees="last"))

    name = trait(lambda self: "all models" if self.sees == "all" else "last model")

    @override
    def describe(self) -> str:
        if self.sees == "all":
            return "an observer of all central models and of no answer"
        return "an observer of the last central model alone"

    @override
    def misfits(self, scenario: Any) -> list[Fault]:
        algorithm, bound = scenario.algorithm, scenario.privacy.sensitivity
        rounds = algorithm.in_rounds
        requirements = [
            Requirement(
                rounds is None,
                "rounds whose answers are averaged",
                f"algorithm {algorithm.kind}",
            ),
            *plainly(scenario),
        ]
        if self.sees == "last":
            average = rounds is not None and rounds.schedule(1.0, 2).kept is not None
            curved = scenario.model.linear and scenario.model.phi.curvature is not None
            requirements += [
                Requirement(average, "a last model that is no average", algorithm.kind),
                Requirement(not curved, "a convex smooth loss", scenario.model.kind),
                Requirement(
                    bound is None or not bound.bounds_records,
                    "rows of bounded length, without which no step is sure to contract (domain)",
                    "no sensitivity" if bound is None else bound.kind,
                ),
                Requirement(
                    scenario.model.theta_max is None, "models in a box", "no model.theta_max"
                ),
                Requirement(
                    scenario.trained_on is None, "public numbers of records, which the data decide"
                ),
            ]
        return self.unmet("what models reveal", requirements)

    @override
    def listening(self, scenario: Any) -> Listener:
        return self if self.sees == "all" else Descent.from_scenario(scenario)

    @override
    def learned(self, accountant: Accountant, traces: Sequence[Trace]) -> Learned:
        """Return what all models reveal; this also bounds what the last one reveals.

        One record of owner u moves the sum of round k by 2Ξ/n. In that unit the noise has variance
        Σ z_j² over the owners in it: μ_u² = Σ_k 1/Σ_j z_j² over the rounds of u.
        """
        noise = multipliers(accountant)
        squared = [_all(in_rounds(trace, np.ones(len(noise)), noise)) for trace in traces]
        return _learned_by_composition(accountant, traces, squared)


class TrustedLearner(ModelObserver):
    """An observer of all central models, in which the learner hides whole owners.

    The learner receives all answers without noise and adds noise to their sum in every round. The
    simulation draws this noise in equal parts, one with each answer.
    """

    by_count = True
    sees_sums = True
    sees_models = False
    hides_owners = True
    learner_adds_noise = True

    @override
    def describe(self) -> str:
        return (
            f"{super().describe()}, with a learner that is trusted: it sees every answer without "
            "noise, and adds the noise to their sum"
        )

    @override
    def misfits(self, scenario: Any) -> list[Fault]:
        network, n_owners = scenario.network, scenario.owners.count
        algorithm, protocol = scenario.algorithm, scenario.protocol
        lost = [max(network.channel.packet_loss(at).shares(n_owners)) for at in ("answer", "query")]
        asked = protocol.asked_at_most or n_owners
        full = _always_full(scenario, asked)
        requirements = [
            Requirement(
                not algorithm.sums_suffice or not protocol.makes_updates,
                "learning in rounds",
                f"{algorithm.kind} on {protocol.kind}",
            ),
            *plainly(scenario),
            Requirement(protocol.round_deadline is not None, "rounds without a deadline"),
            Requirement(network.channel.contended is not None, "answers that share no channel"),
            Requirement(max(lost) > 0, "messages that are not lost"),
            Requirement(not network.availability.always_online, "owners that are always online"),
            Requirement(not full and asked == n_owners, "owners that answer in every round"),
        ]
        faults = self.unmet("the noise of a round's sum", requirements)
        if not full and asked < n_owners:
            hint = (
                "a round may find fewer, since others have spent their budgets or rest: allowed "
                "are fewer, with more owners.count or a larger privacy.participation.most"
            )
            faults.append(Fault("protocol.owners", str(asked), hint))
        return faults

    @override
    def check_words(self, scenario: Any) -> Iterator[str]:
        yield "the learner's noise on a sum is drawn in equal parts, one with each answer"
        law = scenario.clip_law
        if law is not None:
            in_sum = scenario.protocol.asked_at_most or scenario.owners.count
            walks = law.rate * law.noise / in_sum
            yield agreed(
                f"noise on counts: Gaussian with standard deviation {law.noise:.3g} on a count of "
                f"{in_sum} answers; it changes the clip bound by {100 * walks:.3g} % a round"
            )

    @override
    def share_of_noise(self, n_owners: int, in_sum: int) -> float:
        """Return 1/√m of rounds of m owners, relative to the noise of the strictest owner."""
        return float(in_sum**-0.5)

    @override
    def shares(self, noise: AnswerNoise, influence: RecordSensitivity, parts: int) -> AnswerNoise:
        return LearnerNoise(noise.scale * parts**-0.5, parts)

    @override
    def heard(self, noise: AnswerNoise) -> AnswerNoise:
        return noise.alone if isinstance(noise, LearnerNoise) else noise

    @override
    def learned(self, accountant: Accountant, traces: Sequence[Trace]) -> Learned:
        return ObserverKind.learned(self, accountant, traces)


def _always_full(scenario: Any, asked: int) -> bool:
    """Return whether so many owners may be asked in every round, for any earlier rounds."""
    network = scenario.network
    count, updates, answers = network.n_owners, network.updates, min(network.answers_allowed)
    apart = network.apart or 1
    rested = count - asked * (apart - 1)
    if answers >= -(-updates // apart):  # budgets outlast the run
        return bool(rested >= asked)
    return bool(rested - asked * (updates - 1) // answers >= asked)


def _all(rounds: Rounds) -> Array:
    """Return μ² of every owner's record against an observer of all rounds' sums."""
    return np.asarray((rounds.present / rounds.noise[:, None]).sum(axis=0))


def _learned_by_composition(
    accountant: Accountant, traces: Sequence[Trace], of_each: Sequence[Array]
) -> Learned:
    """Return what is learned by μ² of each trace, at most what all answers together cost."""
    squared = np.stack(of_each)
    return Learned(at_most_all(accountant, traces, squared), squared / 2)
