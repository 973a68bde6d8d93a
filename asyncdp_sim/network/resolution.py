"""Resolution of time: ticks of owners' clocks that fall on one tick of time, and how many may.

Let x = Λδ be the ticks of all clocks in one tick of time, Λ = Σλ_i and δ = 10⁻⁹ time units. Of
exponential gaps rounded to ticks:

- the mean is (λδ/2)/sinh(λδ/2) of what it was, short by (λδ)²/24 of itself;
- of owners whose clocks tick together, the one that was served last comes last, so that
  P(i_{k+1} = i_k) is short by (N − 1)/(2N)·x of itself, to first order.

The period of a regular clock is off by half a tick at most, x/2 of itself. So what is measured is
off by x/2 of itself at most; ``tests/verification/test_resolution.py`` holds all of it.
"""

from math import fsum
from typing import Any

from asyncdp_sim.errors import Fault
from asyncdp_sim.network.latency import mean_times
from asyncdp_sim.spec import LONGEST
from asyncdp_sim.units import TICKS_PER_UNIT

NOTICED = 1e-3
"""x from which a reader is told: figures are off by 0.05 %."""
REFUSED = 1e-2
"""x from which nothing is simulated: figures would be off by 0.5 %."""


def meeting(n_owners: int, parts: Any) -> float:
    """Return x = Λδ, the mean number of ticks of all clocks in one tick of time.

    Owners without a clock begin anew when a job ends, at the rate of jobs. Where ticks have no
    rate none meet by rounding.
    """
    rates = parts.clock.rates(n_owners)
    if parts.clock.saturated:
        rates = [1 / time for time in mean_times(n_owners, parts) if time > 0]
    return 0.0 if rates is None else fsum(rates) / TICKS_PER_UNIT


def unresolved(n_owners: int, parts: Any) -> list[Fault]:
    """Return a fault where clocks are too fast for ticks of time to tell who was first.

    Or too slow: the mean gap is a duration, which has a longest one.
    """
    slowest = min(parts.clock.rates(n_owners) or (1.0,))
    if slowest * LONGEST < 1:
        allowed = f"allowed is at least {1 / LONGEST:g}: choose a longer time unit"
        return [Fault("clock.rate", f"{slowest:g}", allowed)]
    met = meeting(n_owners, parts)
    if met <= REFUSED:
        return []
    key, what = ("compute", "jobs end") if parts.clock.saturated else ("clock.rate", "clocks tick")
    given = f"owners whose {what} {met * TICKS_PER_UNIT:.3g} times per time unit in all"
    allowed = (
        f"allowed are {REFUSED * TICKS_PER_UNIT:g} at most, as time is counted in steps of "
        f"{1 / TICKS_PER_UNIT:g}: choose a shorter time unit, by which rates fall and times grow"
    )
    return [Fault(key, given, allowed)]
