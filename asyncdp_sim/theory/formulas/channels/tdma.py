"""Owners that share one radio channel in turn: time division."""

from dataclasses import dataclass
from math import exp, expm1, inf

from asyncdp_sim.theory.formulas.arguments import count, nonnegative, positive, refused


@dataclass(frozen=True)
class TimeDivision:
    """Long-run behaviour of owners that send in turn.

    Attributes
    ----------
    success_rate : float
        Answers per time unit, of all owners together; none collides.
    saturated_rate : float
        The same where every owner always has an answer ready: one per owner and frame.
    mean_access_delay : float
        From an answer's readiness to its start, if it is ready at a uniform time in the frame.
    """

    success_rate: float
    saturated_rate: float
    mean_access_delay: float


def tdma(n_owners: int, slot: float, airtime: float, rate: float = inf) -> TimeDivision:
    """Return time division: owner i may start at the beginning of every N-th slot.

    The frame is F = N·``slot`` long. Saturated owners send once a frame: 1/``slot`` answers per
    time unit in all. An owner that ticks at rate λ while idle sends every F(1 + x) in the mean,
    x = e^{−λ(F−τ)}/(1 − e^{−λF}). Access takes F/2 in the mean.

    Notes
    -----
    The owner is idle from the end of its answer, F − τ before its next slot. If it ticks in that
    time, it uses that slot; otherwise each later one if it ticks in the frame before it: a
    geometric number with mean 1/(1 − e^{−λF}).

    Parameters
    ----------
    n_owners : int
        N ≥ 1.
    slot : float
        > 0: from one owner's start to the next one's, any guard time included.
    airtime : float
        0 ≤ τ ≤ ``slot``.
    rate : float, optional
        λ > 0, ticks of an idle owner per time unit; default: always an answer ready.

    Raises
    ------
    SpecError
        If an argument is outside its domain.
    """
    length, sending = positive("slot", slot), nonnegative("airtime", airtime)
    if sending > length:
        raise refused("airtime", repr(airtime), f"a number ≤ slot = {slot!r}")
    frame, skipped = count("n_owners", n_owners) * length, 0.0
    if rate != inf:
        each = positive("rate", rate)
        skipped = exp(-each * (frame - sending)) / -expm1(-each * frame)
    return TimeDivision(1 / (length * (1 + skipped)), 1 / length, frame / 2)
