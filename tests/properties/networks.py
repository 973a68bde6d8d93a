"""Random networks: owners × clocks × availabilities × latencies × budgets × horizons."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from hypothesis import HealthCheck, reject, settings
from hypothesis import strategies as st

from asyncdp_sim.errors import SpecError
from asyncdp_sim.network import Latency, Network
from asyncdp_sim.network.availability import Always, Availability
from asyncdp_sim.network.clocks import (
    Clock,
    DeterministicClock,
    GammaClock,
    PoissonClock,
    ScriptedClock,
)
from asyncdp_sim.network.laws import Law
from tests.drawn import Domain

FIXED = settings(
    derandomize=True,
    deadline=None,
    database=None,
    max_examples=100,
    suppress_health_check=[HealthCheck.too_slow],
)
"""The same examples in every run."""


def chooser(draw: st.DrawFn) -> Callable[[Sequence[Any]], Any]:
    """Let hypothesis choose: by number, as a strategy of its own for each choice takes long."""
    return lambda options: options[draw(st.integers(0, len(options) - 1))]


@st.composite
def laws(draw: st.DrawFn, *numbers: float) -> Law:
    """Any law whose fields are of these numbers."""
    return Domain(chooser(draw), 3, numbers).of(Law)


LAWS = laws(0.25, 0.0, 0.1, 0.5)
"""Some of their values are multiples of the scripted grid: ties."""
PERIODS = laws(0.25, 1.0, 0.5, 2.0).filter(lambda law: law.mean > 0)
"""Laws with positive means; many of their values lie on the scripted grid."""


@cache
def scripts(n: int) -> st.SearchStrategy[Clock]:
    """Ticks on a grid of a quarter, so that many fall together."""
    grid = st.lists(st.integers(0, 40), max_size=12, unique=True).map(
        lambda ticks: [tick / 4 for tick in sorted(ticks)]
    )
    return st.builds(ScriptedClock, times=st.lists(grid, min_size=n, max_size=n))


@cache
def clocks(n: int) -> st.SearchStrategy[Clock]:
    rates = st.floats(0.2, 5) | st.lists(st.floats(0.2, 5), min_size=n, max_size=n)
    return st.one_of(
        st.builds(PoissonClock, rate=rates),
        st.builds(GammaClock, rate=rates, cv=st.sampled_from([0.3, 1.0, 2.0])),
        st.builds(
            DeterministicClock,
            rate=st.sampled_from([1.0, 2.0, 4.0]),
            phase=st.lists(st.sampled_from([0.0, 0.25, 0.5]), min_size=n, max_size=n),
        ),
        scripts(n),
    )


@st.composite
def availabilities(draw: st.DrawFn, n: int) -> Availability:
    """Nobody is offline nearly for ever: a run without a horizon ends."""
    return domain(draw, n, (0.25, 0.5, 0.8, 1.0, 3.0, 0.0, -0.3), PERIODS).of(Availability)


def domain(
    draw: st.DrawFn, n: int, numbers: tuple[float, ...], laws: st.SearchStrategy[Law]
) -> Domain:
    """What fields may be, chosen by hypothesis."""
    return Domain(chooser(draw), n, numbers, lambda: draw(laws))


def possible(**parts: Any) -> Network:
    """Return a network of these parts; parts that do not fit together are no example."""
    try:
        return Network(**parts)
    except SpecError:
        reject()


@st.composite
def networks(draw: st.DrawFn, *, only_scripted: bool = False) -> Network:
    """Draw a network; scripted clocks stop, and then small budgets and delays matter most."""
    n = draw(st.integers(1, 6))
    few = 4 if only_scripted else 1
    clock = draw(scripts(n) if only_scripted else clocks(n))
    availability = draw(st.just(Always()) | availabilities(n))
    # A deterministic clock may fall into the dark of a schedule each time, for ever.
    resonant = not clock.mixing and availability.comes_and_goes
    horizons = st.sampled_from([0.5, 5.0, 12.25])
    return possible(
        answers_allowed=draw(st.lists(st.integers(1, 8 // few), min_size=n, max_size=n)),
        updates=draw(st.integers(1, 40)),
        until=draw(horizons if resonant else st.none() | horizons),
        ties=draw(st.sampled_from(["declared", "shuffled"])),
        clock=clock,
        availability=availability,
        latency=Latency(request=draw(LAWS), query=draw(LAWS), answer=draw(LAWS)),
        compute=draw(LAWS),
    )
