"""Checks of an audit: the claim of one attack, its result, and both in words."""

from dataclasses import dataclass
from typing import Protocol

from asyncdp_sim.privacy.attack import Claim, Finding


class Checked(Protocol):
    """One attack on a scenario, or one fact that its claim rests on."""

    @property
    def exceeded(self) -> bool:
        """Whether the claim is refuted by it."""

    def words(self) -> str:
        """Return what was shown, in one line."""


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
