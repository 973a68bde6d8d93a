"""Load of a shared channel by owners that push, as far as its formulas ask."""

from dataclasses import dataclass
from math import fsum

from asyncdp_sim.theory.predict.facts import Facts


@dataclass(frozen=True, kw_only=True)
class Load:
    """Owners' attempts to transmit, and why they may not be as formulas assume.

    Attributes
    ----------
    n_owners : int
        N.
    rates : tuple of float
        Of owners' Poisson clocks, each > 0; empty where something else makes them begin.
    airtime : float
        Of every answer, > 0.
    overlap : bool
        Whether every tick starts a job of its own: then attempts are Poisson, as those of an
        infinite population. Otherwise an idle owner's tick starts an answer.
    choices : int
        Channels side by side among which each transmission chooses at random.
    attempts : int
        How often an answer is sent at most.
    fresh : bool
        Whether an answer that is sent again is computed anew.
    saturated : bool
        Whether an owner begins its next job the moment the last one ends.
    job : float or None
        How long every job of a saturated owner takes without its airtime; None where not all take
        the same.
    can_lose_messages, not_poisson, slow : str
        Why a message may not arrive, or its owner wait, for other reasons than the channel's; why
        ticks are no Poisson process; why answers do not begin at ticks of owners idle until then.
        Empty where they do.
    """

    n_owners: int
    rates: tuple[float, ...]
    airtime: float
    overlap: bool
    choices: int = 1
    attempts: int = 1
    fresh: bool = False
    saturated: bool = False
    job: float | None = None
    can_lose_messages: str = ""
    not_poisson: str = ""
    slow: str = ""

    @property
    def total(self) -> float:
        """Ticks per time unit on one channel, of all owners together."""
        return fsum(self.rates) / self.choices

    @property
    def rate(self) -> float:
        """Ticks per time unit of one of many equal owners."""
        return self.total / self.n_owners

    @property
    def offered(self) -> float:
        """G: ticks per airtime on one channel."""
        return self.total * self.airtime

    @property
    def broken(self) -> str:
        """Why an answer that begins is not sent once and then at the learner, if it is not."""
        return "answers are sent again" if self.attempts > 1 else self.can_lose_messages

    @property
    def unequal(self) -> str:
        """Why owners that are idle until they tick are not all equal, if they are not."""
        spread = max(self.rates) - min(self.rates)
        differ = not self.overlap and spread > 1e-12 * max(self.rates)
        return "owners' rates differ" if differ else ""


def load_of(facts: Facts) -> Load:
    """Return what owners that push ask of the channel."""
    network = facts.network
    saturated = network.clock.saturated
    return Load(
        n_owners=facts.n_owners,
        rates=facts.rates or (),
        airtime=network.airtime or 0.0,
        overlap=facts.overlap,
        attempts=1 + network.channel.retransmissions,
        fresh=network.channel.resend == "fresh",
        saturated=saturated,
        job=facts.constant if saturated else None,
        can_lose_messages=facts.can_lose_messages,
        not_poisson=facts.not_poisson,
        slow=_slow(facts),
    )


def _slow(facts: Facts) -> str:
    """Why answers do not begin at ticks of owners idle until then, where that matters."""
    if facts.overlap:  # a Poisson process displaced by independent times is one
        return ""
    network = facts.network
    if max(*network.mean_times("query"), *network.mean_times("compute")) > 0:
        return "queries or computing take time"
    far = max(network.mean_times("answer")) > 0
    return "answers travel on after their airtime, while their owner stays busy" if far else ""
