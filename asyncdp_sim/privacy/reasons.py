"""Reasons why a result is not private as claimed, and what a claim rests on: one class each."""

from dataclasses import dataclass, field
from typing import ClassVar

from asyncdp_sim.notices import Listed, Notice, Number
from asyncdp_sim.privacy.manifest_facts import UNTIMED


@dataclass(frozen=True)
class Reason(Notice):
    """A reason, behind the words that say what it is one for.

    Attributes
    ----------
    mark : str
        Empty, or how warnings begin that say why a result is not private, or not shown to be.
    """

    mark: str = field(default="", kw_only=True)

    def words(self) -> str:
        """Return the mark and the sentence."""
        return f"{self.mark}{super().words()}"


@dataclass(frozen=True)
class AnswersExact(Reason):
    """Nothing hides the answers."""

    text: ClassVar[str] = "answers are exact: no noise is added"


@dataclass(frozen=True)
class Obfuscated(Reason):
    """Perturbations hide the answers from those who see one, and cancel in all of them."""

    text: ClassVar[str] = "obfuscated, no DP guarantee: perturbations that cancel have no finite ε"


@dataclass(frozen=True)
class BoundExceeded(Reason):
    """A record gradient is longer than the noise was scaled for."""

    bound: Number
    norm: str
    largest: Number
    owner: Number
    text: ClassVar[str] = (
        "the declared bound {bound:g} on a record gradient's {norm} norm is exceeded: "
        "{largest:.4g} at owner {owner}"
    )


@dataclass(frozen=True)
class NoFiniteEpsilon(Reason):
    """Owners with ε = ∞ add no noise; ``published`` where that one plays the learner."""

    owners: Listed
    published: str
    text: ClassVar[str] = "ε = ∞ for {owners}: {owners:their} answers are exact{published}"


@dataclass(frozen=True)
class AddsNothing(Reason):
    """An ε is claimed, and by its own statement the noise has no variance."""

    mechanism: str
    owners: Listed
    text: ClassVar[str] = "mechanism {mechanism} adds no noise for {owners}: answers are exact"


@dataclass(frozen=True)
class NotVouchedFor(Reason):
    """Code from outside, of which nothing is known but what it says of itself."""

    parts: str
    text: ClassVar[str] = (
        "the claim rests on code from outside: no proof covers {parts}, and an audit can show only "
        "how large ε is at least"
    )


@dataclass(frozen=True)
class Diverged(Reason):
    """Models that diverged: which answers are finite tells records."""

    replicates: Number
    text: ClassVar[str] = (
        "the model diverged in {replicates} replicates: no bound holds for gradients at an "
        "infinite model, and which answers are finite tells records"
    )


@dataclass(frozen=True)
class PublicRecords(Reason):
    """Owners' records are among the public rows."""

    rows: Number
    owners: Listed
    text: ClassVar[str] = "public overlap: {rows} public rows are records of {owners}, ε = ∞ there"


@dataclass(frozen=True)
class Unsound(Reason):
    """One private record has a say in what is made of others."""

    why: str
    text: ClassVar[str] = "{why}"


CHOSEN = "settings chosen from private records, not accounted"
"""Why no ε holds where private records had a say in the settings."""


@dataclass(frozen=True)
class SettingsChosen(Reason):
    """Private records had a say in the scenario's settings, which everybody sees."""

    text: ClassVar[str] = CHOSEN


@dataclass(frozen=True)
class Untimed(Reason):
    """Timing that nobody pays for: who speaks, and when, tells of records."""

    why: str
    text: ClassVar[str] = f"{UNTIMED}{{why}}"


@dataclass(frozen=True)
class OneDraw(Reason):
    """All coordinates of an answer have the same noise."""

    text: ClassVar[str] = (
        "one draw of noise on all coordinates: not private for any ε, since differences between "
        "coordinates leak exactly"
    )


@dataclass(frozen=True)
class OtherNorm(Reason):
    """Laplace noise is scaled to a bound in another norm than L1."""

    factor: Number
    text: ClassVar[str] = (
        "norm l2-as-published: Laplace noise scaled to an L2 bound gives up to √p = {factor:.3g} "
        "times the claimed ε"
    )


@dataclass(frozen=True)
class Unseen(Reason):
    """Queries at which the declared bound was not looked at."""

    queries: Number
    answered: Number
    bound: Number
    text: ClassVar[str] = (
        "{queries} of {answered} answered queries were not looked at: the declared bound {bound:g} "
        "may be exceeded there"
    )


@dataclass(frozen=True)
class RestsOnBound(Reason):
    """The claim holds for records that keep to the declared bound."""

    bound: Number
    queries: Number
    text: ClassVar[str] = (
        "the claim rests on the declared bound {bound:g}: no record of this table exceeded it at "
        "{queries} answered queries, at the start, at θ* or at the final models; other records may"
    )


@dataclass(frozen=True)
class LargeDelta(Reason):
    """δ is so large that a mechanism which shows one record would pass."""

    delta: Number
    share: Number
    text: ClassVar[str] = (
        "δ = {delta:g} is not below 1/n = {share:.2g}: a mechanism that shows one record, drawn at "
        "random, would pass with it"
    )
