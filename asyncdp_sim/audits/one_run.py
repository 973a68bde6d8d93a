"""A scenario attacked in one training: canaries in its data, whose coins are guessed.

Each canary is one of two records by a fair coin. It moves its owner's answers along a coordinate
that no other one of that owner does, by as much as a bound that is enforced allows: so that they
hide each other as little as they can. Where the bound is declared, both are records of the table,
which it is claimed of: no others are blamed on it. However the coins are guessed, of r guesses no
more are right than of r independent ones that are right with probability e^ε/(1 + e^ε) each, up to
δ of each canary (Steinke, Nasr and Jagielski 2023); the proof is in docs/privacy/audit.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from asyncdp_sim.audits.check import Claim, least_probability, verdict
from asyncdp_sim.audits.claims import owed
from asyncdp_sim.audits.eavesdropper import View, overhear
from asyncdp_sim.audits.neighbours import (
    Record,
    changed_records,
    farthest_records,
    gradients_of_records,
    mean_distance,
    queries_of,
    records_along,
    replaced,
    trial_runs,
)
from asyncdp_sim.core.arrays import Array, Bools, Ints
from asyncdp_sim.core.errors import Fault, SpecError
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.core.validation import show
from asyncdp_sim.data import Dataset
from asyncdp_sim.runs.problem import Problem, Task, build_dataset, exact_answers, prepare
from asyncdp_sim.scenario import Scenario

Coins = Bools
Pair = tuple[Record, Record]
_LOOKED_AT = 200
"""Records of a table, at most, of which two are taken."""


@dataclass(frozen=True, eq=False)
class Canaries:
    """Records that coins decide.

    Attributes
    ----------
    scenario : Scenario
    dataset : Dataset
        The other records.
    owners, places : array of int (m,)
        Whose record, and which: the j-th of an owner lies along coordinate j.
    pairs : tuple
        By place, the two records of which one is there.
    """

    scenario: Scenario
    dataset: Dataset
    owners: Ints
    places: Ints
    pairs: tuple[Pair, ...]

    def problem(self, coins: Coins) -> Problem:
        """Return the scenario with what coins (m,) decide.

        Raises
        ------
        DataError
            As :func:`asyncdp_sim.runs.run.run`.
        """
        return prepare(self.scenario, self._placed(coins))

    def scores(self, view: View, task: Task) -> Array:
        """Return for each how much more the answers look like its second record, (m,).

        Of an owner's answers, the sum of ⟨answer − middle, d⟩/σ²: d is what its second record
        adds to the answer in place of its first, the middle that of all coins undecided, and σ²
        the variance of the noise. 0 where nothing was answered. Of the task, whose noise and
        algorithm know no records, those two are used.
        """
        noise, owners = task.reply.noise, view.owners
        first = self._answers(np.zeros_like(self.places, dtype=np.bool_), view, task)
        places = range(len(self.pairs))
        adds = [self._answers(self.places == at, view, task) - first for at in places]
        rest = view.answers - first - sum(adds, np.zeros_like(first)) / 2
        scores = np.zeros(len(self.owners))
        for place, difference in enumerate(adds):
            with np.errstate(divide="ignore", invalid="ignore"):
                products = (rest * difference).sum(axis=1) / noise.variance[view.places]
                total = np.bincount(owners, products, minlength=task.objective.n_owners)
            here = self.places == place
            scores[here] = np.nan_to_num(total, nan=0.0)[self.owners[here]]
        return scores

    def _answers(self, coins: Coins, view: View, task: Task) -> Array:
        """Return what these coins would have had answered to the same queries, without noise."""
        gradients = exact_answers(self.scenario, self._placed(coins), task.steps)
        return np.asarray(gradients.gradient(view.owners, view.points))

    def _placed(self, coins: Coins) -> Dataset:
        where = zip(self.owners.tolist(), self.places.tolist(), coins.tolist(), strict=True)
        records = {
            at: self.pairs[place][coin]
            for owner, place, coin in where
            for at in changed_records(self.scenario, self.dataset, owner, place)
        }
        return replaced(self.dataset, records)


def canaries(
    scenario: Scenario,
    dataset: Dataset,
    count: int | None,
    owners: Sequence[int],
    most: int,
    queries: Array | None = None,
) -> Canaries:
    """Return as many canaries of these owners, one of each, then a second; None is up to ``most``.

    They move gradients at ``queries``, or else at those of :func:`~.neighbours.trial_runs`.

    Raises
    ------
    SpecError
        If there is no room for so many: an owner has room for one per feature and record.
    """
    p = 1 if scenario.privacy.per_owner else scenario.data.features
    room = [(at, i) for at in range(p) for i in owners if at < dataset.records[i]]
    if count is not None and count not in range(1, len(room) + 1):
        per = "owner" if scenario.privacy.per_owner else "feature and record of each owner"
        hint = f"allowed is 1 to {len(room)}: one per {per}"
        raise SpecError([Fault("canaries", show(count), hint)])
    taken = room[: most if count is None else int(count)]
    if queries is None:
        queries = queries_of(trial_runs(scenario, prepare(scenario, dataset)))
    far_apart = _of_the_table if scenario.privacy.on_trust else _made_up
    pairs = [far_apart(scenario, dataset, queries, at) for at in range(taken[-1][0] + 1)]
    places, held = np.array(taken, dtype=np.int64).T
    return Canaries(scenario, dataset, held, places, tuple(pairs))


def _made_up(scenario: Scenario, dataset: Dataset, queries: Array, at: int) -> Pair:
    """Return two records along a coordinate whose gradients are far apart."""
    records = records_along(scenario, [np.eye(1, dataset.features[0].shape[1], at)[0]])
    gradients = gradients_of_records(scenario, records, queries)
    first, other, _ = farthest_records(scenario, gradients, mean_distance)
    return records[first], records[other]


def _of_the_table(scenario: Scenario, dataset: Dataset, queries: Array, at: int) -> Pair:
    """Return two records of the table whose gradients are far apart along a coordinate."""
    rows = [(x, float(y)) for owner_records in zip(dataset.features, dataset.targets, strict=True)
            for x, y in zip(*owner_records, strict=True)]  # fmt: skip
    records = rows[:: -(-len(rows) // _LOOKED_AT)]
    apart = gradients_of_records(scenario, records, queries)[:, :, [at]]
    first, other, _ = farthest_records(scenario, apart, mean_distance)
    return records[first], records[min(other, len(records) - 1)]  # of one record alone, the same


def shown(right: npt.ArrayLike, guesses: int, doubt: float) -> Array:
    """Return the largest ε that so many right guesses refute, at least 0.

    It is the ε at which P(Binomial(r, e^ε/(1 + e^ε)) ≥ right) = ``doubt``.

    Parameters
    ----------
    right : array of int
        Right guesses, 0…``guesses``.
    guesses : int
        r ≥ 0.
    doubt : float
        Below 1; 1 − doubt is the confidence. Where it is ≤ 0, nothing is shown.

    References
    ----------
    Steinke, Nasr and Jagielski (2023), Privacy auditing with one (1) training run.
    """
    if doubt <= 0 or guesses == 0:
        return np.zeros(np.shape(right))
    low = least_probability(right, guesses, doubt)
    with np.errstate(divide="ignore"):
        return np.asarray(np.maximum(np.log(low) - np.log1p(-low), 0.0))


def shown_if_tight(epsilon: float, guesses: int, doubt: float) -> float:
    """Return what guesses show on average where each is right with probability e^ε/(1 + e^ε).

    That is randomised response, of which nobody can guess more.
    """
    from scipy.special import expit
    from scipy.stats import binom

    count = np.arange(guesses + 1)
    chances = binom.pmf(count, guesses, expit(epsilon))
    return float(chances @ shown(count, guesses, doubt))


def doubt_left(doubt: float, delta: float, canaries: int) -> float:
    """Return what δ leaves of the doubt: each canary takes δ/2 of it; ≤ 0 is nothing."""
    return doubt - canaries * delta / 2


_SHARE = 0.5
"""Of canaries whose owners answered, those that are guessed: of the rest the answers say less."""
_MOST = 1000
"""Canaries where nothing else is asked for, if there is room for so many."""


@dataclass(frozen=True)
class Guessed:
    """The outcome of guesses of canaries.

    Attributes
    ----------
    canaries, guesses, right : int
        How many there were, how many were guessed, and how many of these rightly.
    claim : Claim
        Of the owner with the largest ε.
    doubt : float
        1 − the confidence.
    """

    canaries: int
    guesses: int
    right: int
    claim: Claim
    doubt: float

    @property
    def epsilon(self) -> float:
        """The lower bound on ε."""
        return float(shown(self.right, self.guesses, self._doubt))

    @property
    def most(self) -> float:
        """The largest ε that this number of guesses can measure: all of them are right."""
        return float(shown(self.guesses, self.guesses, self._doubt))

    @property
    def tight(self) -> float:
        """ε that the guesses measure on average for randomised response with the stated ε."""
        return shown_if_tight(self.claim.epsilon, self.guesses, self._doubt)

    @property
    def exceeded(self) -> bool:
        """Whether more was shown than is claimed."""
        return self.epsilon > self.claim.epsilon

    @property
    def _doubt(self) -> float:
        return doubt_left(self.doubt, self.claim.delta, self.canaries)

    def describe(self) -> str:
        """Return the result in one line."""
        result = verdict(self.exceeded)
        if self._doubt <= 0:
            result = f"undecided: {self.canaries} times δ is too much for the confidence"
        elif self.most <= self.claim.epsilon:
            most = f"{self.guesses} guesses can measure at most ε = {self.most:.3g}"
            result = f"undecided: too few canaries, {most}"
        return (
            f"one run with {self.canaries} canaries: measured ε ≥ {self.epsilon:.3g}, "
            f"stated {self.claim}: {result} "
            f"({self.right} of {self.guesses} guesses are right)"
        )

    def limits(self) -> str:
        """Return the range of ε that the guesses can measure, in one line."""
        return (
            f"{self.guesses} guesses measure at most ε = {self.most:.3g} (all right), and on "
            f"average {self.tight:.3g} for a mechanism with exactly the stated ε"
        )

    def row(self) -> dict[str, object]:
        """Return the result by column names."""
        return {
            "what": "one run with canaries",
            "epsilon_shown": self.epsilon,
            "epsilon_claimed": self.claim.epsilon,
            "delta": self.claim.delta,
            "epsilon_most": self.most,
            "exceeded": self.exceeded,
            "canaries": self.canaries,
            "guesses": self.guesses,
            "right": self.right,
            "epsilon_tight": self.tight,
        }

    def cells(self) -> tuple[str, ...]:
        """Return the result as cells of a table."""
        measured, stated = f"{self.epsilon:.3g}", f"{self.claim.epsilon:.3g}"
        return f"one run with {self.canaries} canaries", measured, stated, verdict(self.exceeded)


def audit_once(
    scenario: Scenario, count: int | None, doubt: float, queries: Array | None = None
) -> Guessed:
    """Train once on data with canaries, and guess their coins from all released answers.

    Parameters
    ----------
    scenario : Scenario
    count : int or None
        Canaries; None is as many as there is room for, up to 1000, and up to what leaves half of
        the doubt where δ > 0.
    doubt : float
        In (0, 1); 1 − doubt is the confidence.
    queries : array (q, p), optional
        Those that runs of the scenario ask, where they are known.

    Raises
    ------
    SpecError
        If there is no room for so many canaries.
    DataError
        As :func:`asyncdp_sim.runs.run.run`.
    """
    gaussian = scenario.timing_unaccounted is None
    claims = [claim_of_owner.of_all(gaussian=gaussian) for claim_of_owner in owed(scenario)]
    owners = [i for i, claim in enumerate(claims) if np.isfinite(claim.epsilon)]
    delta = max(claims[i].delta for i in owners)
    most = _MOST if delta == 0 else max(1, min(_MOST, int(doubt / delta)))
    placed = canaries(scenario, build_dataset(scenario), count, owners, most, queries)
    scope = Streams(scenario.run.seed).within("audit", "one-run")
    coins = scope.generator("coins").random(len(placed.owners)) < 0.5
    task = placed.problem(coins).task
    view = overhear(scenario.network, task, scope.within("run"))
    guessed, right = judged(placed.scores(view, task), coins)
    claim = max((claims[i] for i in placed.owners), key=lambda claim: claim.epsilon)
    return Guessed(len(coins), guessed, right, claim, doubt)


def judged(scores: Array, coins: Coins) -> tuple[int, int]:
    """Return how many coins are guessed, and how many rightly, by the sign of their scores.

    Half of the canaries that have a score, those with the largest: the choice, and how many it
    takes, depends on released answers alone.
    """
    guesses = int(np.ceil(_SHARE * np.count_nonzero(scores)))
    chosen = np.argsort(-np.abs(scores), kind="stable")[:guesses]
    return guesses, int(np.count_nonzero((scores[chosen] > 0) == coins[chosen]))
