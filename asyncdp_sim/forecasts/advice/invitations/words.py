"""An invitation in figures and in words."""

from dataclasses import dataclass

import numpy as np

from asyncdp_sim.forecasts.advice.coalition import Coalition, Invitation
from asyncdp_sim.forecasts.advice.contest import Played
from asyncdp_sim.forecasts.advice.shapley import Division
from asyncdp_sim.forecasts.advice.words import ESTIMATED, compared, following, gained, source
from asyncdp_sim.scenario import Participants, Scenario

NOBODY = (
    "nobody: every owner does worse by joining than by itself, in all that was simulated afresh"
)


@dataclass(frozen=True, eq=False)
class Trialled:
    """A coalition with what its learning came to in simulated runs.

    Attributes
    ----------
    coalition : Coalition
    simulated : Played
        Its members alone, judged on everybody's rows.
    moments : float or None
        What moments say, where they say anything.
    basis : str
        Which moments.
    owners : Participants
        All owners, members or not.
    """

    coalition: Coalition
    simulated: Played
    moments: float | None
    basis: str
    owners: Participants

    def __str__(self) -> str:
        """Return who they are, and what they come to."""
        it = self.coalition
        members = ", ".join(self.owners.labels[member - 1] for member in it.members[:12])
        more = len(it.members) - 12
        known = "not known" if self.moments is None else f"{self.moments:.4g}"
        owners = "owner" if len(it.members) == 1 else "owners"
        return (
            f"{len(it.members)} {owners} with {it.records} records, ρ = {it.rho:.4g}, "
            f"T = {it.updates}, K = {it.answers}: {self.simulated} ({self.basis} {known}); "
            f"{owners} {members}" + (f", … {more} more" * (more > 0))
        )


@dataclass(frozen=True, eq=False)
class Invited:
    """Advice on the owners to invite to a scenario's learning, and on what each adds.

    Attributes
    ----------
    best, everybody, given : Trialled
        Whom to invite, or the best choice where that is nobody; all owners, at the ρ and T that
        suit them best of those simulated; and the scenario as it is. Played in the same runs, which
        had no part in the choosing.
    others : tuple of Trialled
        The next best.
    verdict : str
        How many owners gain by the best choice.
    choices : int
        Coalitions with a ρ and T that were compared by simulated runs.
    invitation : Invitation
        The search by moments, of which clipping is taken as inactive.
    worth : Division
        Shapley's division of what everybody's learning is worth, by the quick cost: a coalition
        is worth ψ(θ_0) less its cost, or nothing where its model would be worse than θ_0.
    clipped : bool
        Whether gradients are clipped.
    estimated : bool
        Whether the moments beside a ψ are of clipped gradients.
    scenario : Scenario or None
        Of whom to invite, with their ρ, T and K in it; None for nobody.
    moments : str
        Of what data.
    doubts : tuple of str
        What moments take for granted.
    not_for_release : bool
        Whether private records were read.
    unchecked : bool
        Whether the records are the twin's of a table that was not read.
    """

    best: Trialled
    everybody: Trialled
    given: Trialled
    others: tuple[Trialled, ...]
    verdict: str
    choices: int
    invitation: Invitation
    worth: Division
    clipped: bool
    estimated: bool
    scenario: Scenario | None
    moments: str
    doubts: tuple[str, ...]
    not_for_release: bool
    unchecked: bool

    def lines(self, file: str = "FILE") -> list[str]:
        """Return the advice in words.

        Parameters
        ----------
        file : str
            The scenario and its settings, as typed.
        """
        found = self.invitation
        how = "all" if found.exhaustive else "greedily"
        certain = "proven" if found.proven else "not proven"
        inactive = ", clipping taken as inactive" * self.clipped
        value = np.argsort(-self.worth.share)
        return [
            *([f"invite    {NOBODY}"] if self.scenario is None else []),
            f"{'best  ' if self.scenario is None else 'invite'}    {self.best}",
            f"gains     {self.verdict}",
            f"everybody {self.everybody}",
            f"given     {self.given}",
            *(f"gain      {said}" for said in self._gains()),
            *following([(each, each.simulated) for each in self.others], self.best.simulated),
            f"runs      {compared(self.best.simulated, self.choices, 'coalitions, ρ and T')}",
            f"moments   ranked {found.ranked} coalitions ({how}){inactive}, {found.worked_out} of "
            f"them exactly; by them another is at most {found.gap:.2%} better than the best, "
            f"{certain} (exact over quick cost {found.ratio[0]:.4g} to {found.ratio[1]:.4g})",
            *([f"moments   beside ψ are {ESTIMATED}"] if self.estimated else []),
            f"adds most by moments{inactive}: "
            + ", ".join(self._share(i) for i in value[:5].tolist()),
            f"adds least by moments{inactive}: "
            + ", ".join(self._share(i) for i in value[:-4:-1].tolist()),
            *(f"assumed   by moments: {doubt}" for doubt in self.doubts),
            *source(
                self.moments,
                private=self.not_for_release,
                unchecked=self.unchecked,
                command=f"{file} --invite",
            ),
        ]

    def _gains(self) -> list[str]:
        """Return what leaving owners out is worth, and what the whole choice is."""
        told, best = [], self.best.simulated
        if len(self.best.coalition.members) == len(self.everybody.coalition.members):
            told.append("none by leaving anybody out: everybody is the best coalition found")
        else:
            told.append(gained(self.everybody.simulated.over(best), "of everybody", "of the best"))
        if self.best is self.given:
            told.append("none by another ρ or T: no better choice was found")
        else:
            told.append(gained(self.given.simulated.over(best), "as given", "of the best"))
        return told

    def _share(self, i: int) -> str:
        error = float(self.worth.error[i])
        known = f" ± {error:.2g}" if error > 0 else ""
        return f"{self.best.owners.said(i)}: {self.worth.share[i]:.4g}{known}"
