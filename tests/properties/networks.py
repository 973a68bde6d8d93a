"""Random networks: owners × clocks × latencies × budgets × horizons."""

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from asyncdp_sim.network import Latency, Network
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
    max_examples=150,
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


def scripts(n: int) -> st.SearchStrategy[Clock]:
    """Ticks on a grid of a quarter, so that many fall together."""
    grid = st.lists(st.integers(0, 40), max_size=12, unique=True).map(
        lambda ticks: [tick / 4 for tick in sorted(ticks)]
    )
    return st.builds(ScriptedClock, times=st.lists(grid, min_size=n, max_size=n))


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
def networks(draw: st.DrawFn, *, only_scripted: bool = False) -> Network:
    """Draw a network; scripted clocks stop, and then small budgets and delays matter most."""
    n = draw(st.integers(1, 6))
    few = 4 if only_scripted else 1
    return Network(
        answers_allowed=draw(st.lists(st.integers(1, 8 // few), min_size=n, max_size=n)),
        updates=draw(st.integers(1, 40)),
        until=draw(st.none() | st.sampled_from([0.5, 5.0, 12.25])),
        ties=draw(st.sampled_from(["declared", "shuffled"])),
        clock=draw(scripts(n) if only_scripted else clocks(n)),
        latency=Latency(request=draw(LAWS), query=draw(LAWS), answer=draw(LAWS)),
        compute=draw(LAWS),
    )
