"""A figure of a paper: what runs it, how it is drawn, and what it says."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from asyncdp_sim.figures.kit.picture import Picture
from asyncdp_sim.results import Sweep
from asyncdp_sim.scenario import Scenario
from scenarios.catalogue import entry
from scenarios.papers.claims import Claim, Printed

Settings = tuple[str, ...]
"""``path=value``, as on the command line."""
AS_PUBLISHED = "as-published"
"""The options of the authors' published code: the catalogue's file as it is."""
AS_WRITTEN = "as-written"
"""What the paper's text says, where that is something else."""
SOUND = "sound"
"""The same question with answers that are private as claimed."""
EVERY = (AS_PUBLISHED, AS_WRITTEN, SOUND)
"""What every figure has; some have more."""


def enforced(answers: int) -> Settings:
    """Return what makes Async's experiments private, and changes nothing else.

    The published bound Ξ is enforced: record gradients are clipped to it, in L1. Every coordinate
    gets noise of its own, for so many answers of an owner and no more: enough that nobody has to
    fall silent before T, so that who talks when stays as published. Clipped gradients go through
    every record and not through moments: fewer replicates of them.
    """
    return (
        "privacy.noise=vector",
        "privacy.sensitivity.kind=clip",
        f'privacy.budget={{ kind = "per-owner-cap", answers = {answers} }}',
        "run.replicates=10",
    )


@dataclass(frozen=True)
class PaperFigure:
    """A figure of a paper, or a result that one states.

    Attributes
    ----------
    name : str
        The paper and the figure's number, such as ``async-05``.
    source : str
        As in the scenario, such as ``Async, figure 5``.
    entry : str
        Id of the catalogue's scenario, which has a sweep.
    claims : tuple of Claim
    pictures : callable
        Draws a finished sweep, in the paper's manner.
    variants : mapping
        Settings by name; ``as-published`` has none.
    small : tuple of str
        Settings that make a run of seconds of it.
    small_of : mapping
        Those of single variants, in their place.
    full : tuple of str
        Settings of the paper's size, where the entry has another.
    alike : str
        Why the text asks for nothing else than what is run as published, where ``as-written`` has
        no settings; empty elsewhere.
    printed : tuple of Printed
        What claims judge that name no sentence of their own.
    """

    name: str
    source: str
    entry: str
    claims: tuple[Claim, ...]
    pictures: Callable[[Sweep], Sequence[Picture]]
    variants: Mapping[str, Settings]
    small: Settings = ()
    small_of: Mapping[str, Settings] = field(default_factory=dict)
    full: Settings = ()
    alike: str = ""
    printed: tuple[Printed, ...] = ()

    def scenario(self, variant: str, *, full: bool, more: Settings = ()) -> Scenario:
        """Load the scenario of a variant.

        Raises
        ------
        SpecError
            If a setting does not fit.
        """
        size = self.full if full else self.small_of.get(variant, self.small)
        return entry(self.entry).scenario((*self.variants[variant], *size, *more))

    def repeats(self, variant: str) -> bool:
        """Return whether a variant asks for nothing else than what is run as published."""
        return variant != AS_PUBLISHED and len(self.variants[variant]) == 0
