"""What one attack claims, shows, and says."""

from dataclasses import dataclass

from asyncdp_sim.privacy.attack import Claim, Finding


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
    """

    what: str
    owner: int
    claim: Claim
    finding: Finding
    runs: int

    @property
    def exceeded(self) -> bool:
        """Whether more was shown than is claimed."""
        return self.finding.epsilon > self.claim.epsilon

    def words(self) -> str:
        """Return what was shown, in one line."""
        event, finding = self.finding.event, self.finding
        stated = f", δ = {self.claim.delta:g}" if self.claim.delta > 0 else ""
        verdict = "EXCEEDED" if self.exceeded else "not exceeded"
        side = "≥" if event.above else "≤"
        return (
            f"{self.what} of owner {self.owner}: ε ≥ {finding.epsilon:.4g} shown, "
            f"{self.claim.epsilon:.4g} claimed{stated}: {verdict} "
            f"({event.score} {side} {event.threshold:.4g} in {finding.likely:.4g} against "
            f"{finding.unlikely:.4g} of {self.runs} runs each)"
        )
