"""Checks of an audit: the claim of one attack, its result, and both in words."""

from dataclasses import dataclass
from typing import Protocol

from asyncdp_sim.privacy.attack import Claim, Finding

COLUMNS = {
    "what": ("none", "what was attacked, or the fact that was found"),
    "owner": ("none", "whose record, from 1; none of a fact"),
    "epsilon_shown": ("none", "lower bound on ε that the attack shows"),
    "epsilon_claimed": ("none", "ε that is claimed"),
    "delta": ("none", "δ at which it is claimed"),
    "epsilon_most": ("none", "the largest ε that so many runs can show"),
    "runs": ("runs", "runs on each of the two datasets"),
    "exceeded": ("none", "whether the claim is refuted by it"),
    "canaries": ("records", "records that coins decided, in one run"),
    "guesses": ("records", "canaries whose coins were guessed"),
    "right": ("records", "guesses that are right"),
    "epsilon_tight": ("none", "what so many guesses show of a mechanism tight at its claim"),
}
"""Columns of an audit's frame, with unit and meaning."""


class Checked(Protocol):
    """One attack on a scenario, or one fact that its claim rests on."""

    @property
    def exceeded(self) -> bool:
        """Whether the claim is refuted by it."""

    def words(self) -> str:
        """Return what was shown, in one line."""

    def row(self) -> dict[str, object]:
        """Return what was shown, by columns; no column of what it does not have."""

    def cells(self) -> tuple[str, ...]:
        """Return what was shown, as cells of a table: what, ε shown and claimed, the verdict."""


@dataclass(frozen=True)
class Check:
    """One attack on a scenario.

    Attributes
    ----------
    what : str
        What was attacked.
    owner : int
        Whose record, from 1.
    claim : Claim
    finding : Finding
    runs : int
        Runs on each of the two datasets.
    most : float
        The largest ε that so many runs can show.
    """

    what: str
    owner: int
    claim: Claim
    finding: Finding
    runs: int
    most: float

    @property
    def exceeded(self) -> bool:
        """Whether more was shown than is claimed."""
        return self.finding.epsilon > self.claim.epsilon

    def words(self) -> str:
        """Return what was shown, in one line."""
        claim, finding = self.claim, self.finding
        stated = f", δ = {claim.delta:g}" if claim.delta > 0 else ""
        verdict = "EXCEEDED" if self.exceeded else "not exceeded"
        if self.most <= claim.epsilon:
            verdict = f"cannot be exceeded: so many runs show at most {self.most:.4g}"
        return (
            f"{self.what} of owner {self.owner}: ε ≥ {finding.epsilon:.4g} shown, "
            f"{claim.epsilon:.4g} claimed{stated}: {verdict} ({self._event()})"
        )

    def row(self) -> dict[str, object]:
        """Return what was shown, by columns."""
        return {
            "what": self.what,
            "owner": self.owner,
            "epsilon_shown": self.finding.epsilon,
            "epsilon_claimed": self.claim.epsilon,
            "delta": self.claim.delta,
            "epsilon_most": self.most,
            "runs": self.runs,
            "exceeded": self.exceeded,
        }

    def cells(self) -> tuple[str, ...]:
        """Return what was shown, as cells of a table: what, ε shown and claimed, the verdict."""
        figures = (self.finding.epsilon, self.claim.epsilon)
        verdict = "EXCEEDED" if self.exceeded else "not exceeded"
        return (f"{self.what} of owner {self.owner}", *(f"{x:.4g}" for x in figures), verdict)

    def beside(self) -> str:
        """Return what the event measures of the trade-off curve, beside what the claim allows."""
        finding = self.finding
        allowed = self.claim.most_true(finding.falsely)
        return (
            f"{self.what} of owner {self.owner}: by that event, one record of this owner is "
            f"detected in ≥ {finding.rightly:.3g} with false alarms in ≤ {finding.falsely:.3g}; "
            f"the claim allows ≤ {allowed:.3g}"
        )

    def _event(self) -> str:
        event, finding = self.finding.event, self.finding
        if finding.epsilon == 0:
            return f"nothing told {self.runs} runs each apart"
        side = "≥" if event.above else "≤"
        return (
            f"{event.score} {side} {event.threshold:.4g} in {finding.likely:.4g} against "
            f"{finding.unlikely:.4g} of {self.runs} runs each"
        )


@dataclass(frozen=True)
class Fact:
    """Something that is so or is not, whatever is drawn; it takes no confidence.

    Attributes
    ----------
    said : str
        What was found.
    exceeded : bool
        Whether no claim can rest on it.
    """

    said: str
    exceeded: bool

    def words(self) -> str:
        """Return what was found, in one line."""
        return f"{self.said}: {'EXCEEDED' if self.exceeded else 'not exceeded'}"

    def row(self) -> dict[str, object]:
        """Return what was found, by columns; it has no figures."""
        return {"what": self.said, "exceeded": self.exceeded}

    def cells(self) -> tuple[str, ...]:
        """Return what was found, as cells of a table."""
        return (self.said, "–", "–", "EXCEEDED" if self.exceeded else "not exceeded")
