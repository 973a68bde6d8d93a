"""Random networks: owners × clocks × availabilities × latencies × budgets × horizons."""

from functools import cache

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from asyncdp_sim.network import Latency, Network
from asyncdp_sim.network.availability import (
    Always,
    Availability,
    Bernoulli,
    Churn,
    Diurnal,
    OnOff,
    Outages,
)
from asyncdp_sim.network.clocks import (
    Clock,
    DeterministicClock,
    GammaClock,
    PoissonClock,
    ScriptedClock,
)
from asyncdp_sim.network.laws import (
    Constant,
    Empirical,
    Exponential,
    Gamma,
    Law,
    Lognormal,
    NoTime,
    Uniform,
)

FIXED = settings(
    derandomize=True,
    deadline=None,
    database=None,
    max_examples=100,
    suppress_health_check=[HealthCheck.too_slow],
)
"""The same examples in every run."""

LAWS: st.SearchStrategy[Law] = st.sampled_from(
    [
        NoTime(),
        Constant(value=0.0),
        Constant(value=0.25),  # a multiple of the scripted grid: ties
        Exponential(mean=0.2),
        Lognormal(mean=0.1, cv=2.0),
        Gamma(mean=0.3, cv=0.5),
        Uniform(low=0.0, high=0.5),
        Empirical(values=(0.0, 0.25, 0.5)),
    ]
)


PERIODS: st.SearchStrategy[Law] = st.sampled_from(
    [
        Constant(value=0.25),
        Constant(value=1.0),
        Exponential(mean=0.5),
        Lognormal(mean=0.5, cv=2.0),
        Gamma(mean=1.0, cv=0.5),
        Uniform(low=0.0, high=2.0),
        Empirical(values=(0.0, 0.25, 1.5)),
    ]
)
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


@cache
def availabilities(n: int) -> st.SearchStrategy[Availability]:
    """Nobody is offline for ever, but for having left: a run without a horizon ends."""
    shares = st.floats(0.2, 1)
    group = st.lists(st.integers(1, n), min_size=1, max_size=n, unique=True)
    phases = st.floats(-1, 1)
    return st.one_of(
        st.builds(Bernoulli, probability=shares | st.lists(shares, min_size=n, max_size=n)),
        st.builds(OnOff, on=PERIODS, off=PERIODS),
        st.builds(
            Diurnal,
            period=st.floats(0.5, 5),
            low=st.floats(0.1, 0.5),
            high=st.floats(0.5, 1),
            phase=phases | st.lists(phases, min_size=n, max_size=n) | st.just("uniform"),
        ),
        st.builds(Churn, join=LAWS | PERIODS, lifetime=st.just(NoTime()) | LAWS | PERIODS),
        st.builds(
            Outages, groups=st.lists(group, min_size=1, max_size=4), gap=PERIODS, length=PERIODS
        ),
    )


@st.composite
def networks(draw: st.DrawFn, *, only_scripted: bool = False) -> Network:
    """Draw a network; scripted clocks stop, and then small budgets and delays matter most."""
    n = draw(st.integers(1, 6))
    few = 4 if only_scripted else 1
    clock = draw(scripts(n) if only_scripted else clocks(n))
    availability = draw(st.just(Always()) | availabilities(n))
    # A deterministic clock may fall into the dark of a schedule each time, for ever.
    resonant = clock.kind == "deterministic" and availability.kind in ("on-off", "outages")
    horizons = st.sampled_from([0.5, 5.0, 12.25])
    return Network(
        answers_allowed=draw(st.lists(st.integers(1, 8 // few), min_size=n, max_size=n)),
        updates=draw(st.integers(1, 40)),
        until=draw(horizons if resonant else st.none() | horizons),
        ties=draw(st.sampled_from(["declared", "shuffled"])),
        clock=clock,
        availability=availability,
        latency=Latency(request=draw(LAWS), query=draw(LAWS), answer=draw(LAWS)),
        compute=draw(LAWS),
    )
