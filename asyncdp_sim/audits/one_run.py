"""A scenario attacked in one training: canaries in its data, whose coins are guessed."""

from dataclasses import dataclass

import numpy as np

from asyncdp_sim.audits.canaries import Array, Coins, canaries
from asyncdp_sim.audits.claims import owed
from asyncdp_sim.audits.guesses import doubt_left, shown, shown_if_tight
from asyncdp_sim.audits.overheard import overhear
from asyncdp_sim.privacy.attack import Claim
from asyncdp_sim.runs.problem import build_dataset
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.streams import Streams

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
        """The largest ε that so many guesses can show: all of them are right."""
        return float(shown(self.guesses, self.guesses, self._doubt))

    @property
    def tight(self) -> float:
        """What so many show on average of randomised response with the claimed ε."""
        return shown_if_tight(self.claim.epsilon, self.guesses, self._doubt)

    @property
    def exceeded(self) -> bool:
        """Whether more was shown than is claimed."""
        return self.epsilon > self.claim.epsilon

    @property
    def _doubt(self) -> float:
        return doubt_left(self.doubt, self.claim.delta, self.canaries)

    def words(self) -> str:
        """Return what was shown, in one line."""
        stated = f", δ = {self.claim.delta:g}" if self.claim.delta > 0 else ""
        verdict = "EXCEEDED" if self.exceeded else "not exceeded"
        if self._doubt <= 0:
            verdict = f"cannot be exceeded: {self.canaries} times δ is too much for the confidence"
        elif self.most <= self.claim.epsilon:
            verdict = f"cannot be exceeded: so many guesses show at most {self.most:.4g}"
        return (
            f"one run with {self.canaries} canaries: ε ≥ {self.epsilon:.4g} shown, "
            f"{self.claim.epsilon:.4g} claimed{stated}: {verdict} "
            f"({self.right} of {self.guesses} guesses are right)"
        )

    def limits(self) -> list[str]:
        """Return what the bound stands beside, a line each."""
        return [
            f"so many guesses show at most ε = {self.most:.4g}, all right; a mechanism tight at "
            f"what is claimed shows {self.tight:.4g} on average",
            "complements the audit in many runs, which attacks one pair of records and more facts",
        ]

    def row(self) -> dict[str, object]:
        """Return what was shown, by columns."""
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
        """Return what was shown, as cells of a table."""
        verdict = "EXCEEDED" if self.exceeded else "not exceeded"
        figures = (self.epsilon, self.claim.epsilon)
        return (f"one run with {self.canaries} canaries", *(f"{x:.4g}" for x in figures), verdict)


def audit_once(scenario: Scenario, count: int | None, doubt: float) -> Guessed:
    """Train once on data with canaries, and guess their coins from all released answers.

    Parameters
    ----------
    scenario : Scenario
    count : int or None
        Canaries; None is as many as there is room for, up to 1000, and up to what leaves half of
        the doubt where δ > 0.
    doubt : float
        In (0, 1); 1 − doubt is the confidence.

    Raises
    ------
    SpecError
        If there is no room for so many canaries.
    DataError
        As :func:`asyncdp_sim.runs.run`.
    """
    gaussian = scenario.timing_unaccounted is None
    claims = [each.of_all(gaussian=gaussian) for each in owed(scenario)]
    owners = [i for i, claim in enumerate(claims) if np.isfinite(claim.epsilon)]
    delta = max(claims[i].delta for i in owners)
    most = _MOST if delta == 0 else max(1, min(_MOST, int(doubt / delta)))
    placed = canaries(scenario, build_dataset(scenario), count, owners, most)
    scope = Streams(scenario.run.seed).within("audit", "one-run")
    coins = scope.generator("coins").random(len(placed.owners)) < 0.5
    task = placed.problem(coins).task
    view = overhear(scenario.network, task, scope.within("run"))
    guessed, right = judged(placed.scores(view, task), coins)
    claim = max((claims[i] for i in placed.owners), key=lambda claim: claim.epsilon)
    return Guessed(len(coins), guessed, right, claim, doubt)


def judged(scores: Array, coins: Coins) -> tuple[int, int]:
    """Return how many coins are guessed, and how many rightly, by the sign of their scores.

    Half of those that have any score, those with the largest: which they are, and how many, is
    told by what was released alone.
    """
    guesses = int(np.ceil(_SHARE * np.count_nonzero(scores)))
    chosen = np.argsort(-np.abs(scores), kind="stable")[:guesses]
    return guesses, int(np.count_nonzero((scores[chosen] > 0) == coins[chosen]))
