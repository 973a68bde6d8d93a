"""Attacks on a scenario's privacy, as a user runs them: lower bounds on ε beside its claims."""

from dataclasses import dataclass

import numpy as np

from asyncdp_sim.audit.check import Check
from asyncdp_sim.audit.neighbours import Neighbours, neighbours
from asyncdp_sim.audit.per_answer import audit_answer
from asyncdp_sim.audit.whole_run import OnPart, audit_run
from asyncdp_sim.errors import Fault, SpecError
from asyncdp_sim.privacy.attack import Claim, Event, Finding
from asyncdp_sim.scenario import Scenario


@dataclass(frozen=True)
class Audit:
    """What attacks on a scenario showed.

    Attributes
    ----------
    checks : tuple of Check
    pair : str
        What the neighbouring datasets of the whole run were.
    confidence : float
        With which all lower bounds hold.
    overlap : int
        κ, owners that may share a record.
    """

    checks: tuple[Check, ...]
    pair: str

    confidence: float
    overlap: int = 1

    @property
    def exceeded(self) -> bool:
        """Whether any attack shows more than is claimed."""
        return any(check.exceeded for check in self.checks)

    def lines(self) -> list[str]:
        """Return what was attacked and what it showed, a line each."""
        verdict = "EXCEEDED: the claim is refuted" if self.exceeded else "not refuted, not proven"
        shared = []
        if self.overlap > 1:
            said = f"a record that {self.overlap} owners share is not attacked"
            shared = [f"claims are of one owner's copy of a record; {said}"]
        sure = f"lower bounds that hold together at {self.confidence:.12g} confidence"
        return [
            f"neighbouring datasets: {self.pair}",
            *(check.words() for check in self.checks),
            *shared,
            f"claim {verdict} ({sure})",
        ]


def audit(
    scenario: Scenario,
    *,
    answers: int,
    runs: int,
    confidence: float,
    workers: int = 1,
    on_part: OnPart | None = None,
) -> Audit:
    """Attack a scenario's mechanism, answer by answer, and the whole scenario end to end.

    What is reported are lower bounds: one above the claim refutes it, with the confidence asked
    for; one below it proves nothing.

    Parameters
    ----------
    scenario : Scenario
        Its sweep, if any, is left out: this is the base cell.
    answers : int
        Answers on each side of the first attack, ≥ 4.
    runs : int
        Runs on each side of the second, ≥ 4.
    confidence : float
        In (0, 1), of all attacks together. A Gaussian claim is attacked by its μ = 1/z, from
        which all its (ε, δ) follow.
    workers : int
        Processes, ≥ 1; does not change the result.
    on_part : callable, optional
        Told how many runs are done, and of how many, from time to time.

    Raises
    ------
    SpecError
        If the scenario claims no finite ε, so that there is nothing to refute.
    DataError
        If a data file is not what the scenario says, or an optimum is not found.
    """
    scenario = scenario.base()
    privacy, allowed = scenario.privacy, "allowed is a scenario that claims a finite ε: nothing is"
    if privacy.mechanism == "none":
        raise SpecError([Fault("privacy.mechanism", "'none'", f"{allowed} claimed without noise")])
    if np.isinf(privacy.epsilons(scenario.owners.count)).all():
        raise SpecError([Fault("privacy.epsilon", "inf", f"{allowed} claimed where ε = ∞")])
    pair = neighbours(scenario)
    if pair.error is not None:
        checks: tuple[Check, ...] = (_ended(pair),)
        return Audit(checks, pair.words, confidence, privacy.overlap)
    doubt = (1 - confidence) / 2  # two attacks, one verdict
    checks = (
        audit_answer(scenario, pair.first, answers, doubt),
        audit_run(scenario, pair, runs, doubt, workers=workers, on_part=on_part),
    )
    return Audit(checks, pair.words, confidence, privacy.overlap)


def _ended(pair: Neighbours) -> Check:
    """Return what is shown by a run that one record keeps from taking place."""
    accountant = pair.first.accountant
    claim = Claim(float(accountant.epsilon[pair.owner]), accountant.delta)
    event = Event(f"an error ({pair.error})", 1.0, above=True, second=True)
    found = Finding(np.inf, event, likely=1.0, unlikely=0.0)
    return Check("whether there is a run", pair.owner + 1, claim, found, runs=1, most=np.inf)


__all__ = ["Audit", "Check", "audit"]
