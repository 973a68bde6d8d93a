"""Random networks: owners × clocks × availabilities × latencies × budgets × horizons.

A network is drawn from a seed by a generator of random numbers, and hypothesis draws the seed:
every choice is as likely as its neighbours, and costs a tenth of one that hypothesis draws itself.
"""

from collections.abc import Callable
from random import Random
from typing import Any, TypeVar

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.network import Latency, Network
from asyncdp_sim.network.availability import Always, Availability
from asyncdp_sim.network.clocks import Clock, ScriptedClock
from asyncdp_sim.network.laws import Law
from asyncdp_sim.trace import EventKind, Trace
from tests.drawn import TRIES, Domain, NothingFitsError

T = TypeVar("T")

FIXED = settings(
    derandomize=True,
    deadline=None,
    database=None,
    max_examples=100,
    suppress_health_check=[HealthCheck.too_slow],
)
"""The same examples in every run."""
SEEDS = st.integers(0, 2**32)


def counted(trace: Trace, *kinds: EventKind) -> list[int]:
    """Events of these kinds per owner."""
    rows = trace.events["owner"][np.isin(trace.events["kind"], kinds)]
    return np.bincount(rows, minlength=trace.n_owners + 1)[1:].tolist()


def seeded(draw: Callable[..., T], *args: Any, **kwargs: Any) -> st.SearchStrategy[T]:
    """Return what a function of a generator of random numbers draws, by seed.

    What does not fit together is drawn again.
    """

    def drawn(seed: int) -> T:
        rng = Random(seed)
        for _ in range(TRIES):
            try:
                return draw(rng, *args, **kwargs)
            except (SpecError, NothingFitsError):
                continue
        raise NothingFitsError

    return st.integers(0, 2**64 - 1).map(drawn)


LAW_NUMBERS = (0.25, 0.0, 0.1, 0.5)
"""Some are multiples of the scripted grid: ties."""
PERIOD_NUMBERS = (0.25, 1.0, 0.5, 2.0)
"""Many multiples of them lie on the scripted grid."""


def law(rng: Random) -> Law:
    """Any law."""
    return Domain(rng.choice, 3, LAW_NUMBERS).of(Law)


def period(rng: Random) -> Law:
    """A law with a positive mean."""
    while True:
        drawn = Domain(rng.choice, 3, PERIOD_NUMBERS).of(Law)
        if drawn.mean > 0:
            return drawn


def script(rng: Random, n: int) -> Clock:
    """Ticks on a grid of a quarter, so that many fall together."""
    times = [sorted(rng.sample(range(41), rng.randrange(13))) for _ in range(n)]
    return ScriptedClock(times=[[tick / 4 for tick in own] for own in times])


def clock(rng: Random, n: int) -> Clock:
    """A clock of any kind that ticks, of each owner's own."""
    drawn = domain(rng, n, (0.0, 0.25, 0.5, 1.0, 2.0, 4.0, rng.uniform(0.2, 5)))
    while True:
        found = drawn.clock(lambda: script(rng, n), lambda _: True)
        # Gaps that are more uneven round to no tick at all, and owners tick at one.
        if getattr(found, "cv", 0.0) <= 2:
            return found


def clocks(n: int) -> st.SearchStrategy[Clock]:
    """Clocks of n owners, by seed."""
    return seeded(clock, n)


def availability(rng: Random, n: int) -> Availability:
    """Nobody is offline nearly for ever: a run without a horizon ends."""
    return domain(rng, n, (0.25, 0.5, 0.8, 1.0, 3.0, 0.0, -0.3)).of(Availability)


def domain(rng: Random, n: int, numbers: tuple[float, ...]) -> Domain:
    """What fields may be, drawn by a generator; laws have positive means."""
    return Domain(rng.choice, n, numbers, lambda: period(rng))


def network(rng: Random, *, only_scripted: bool = False) -> Network:
    """Draw a network; scripted clocks stop, and then small budgets and delays matter most."""
    n = rng.randint(1, 6)
    few = 4 if only_scripted else 1
    ticks = script(rng, n) if only_scripted else clock(rng, n)
    present = Always() if rng.random() < 0.5 else availability(rng, n)
    # A deterministic clock may fall into the dark of a schedule each time, for ever.
    resonant = not ticks.mixing and present.comes_and_goes
    horizons = [0.5, 5.0, 12.25]
    return Network(
        answers_allowed=[rng.randint(1, 8 // few) for _ in range(n)],
        updates=rng.randint(1, 40),
        until=rng.choice(horizons if resonant else [None, None, None, *horizons]),
        ties=rng.choice(["declared", "shuffled"]),
        clock=ticks,
        availability=present,
        latency=Latency(request=law(rng), query=law(rng), answer=law(rng)),
        compute=law(rng),
    )


def networks(*, only_scripted: bool = False) -> st.SearchStrategy[Network]:
    """Networks, by seed."""
    return seeded(network, only_scripted=only_scripted)
