"""Oracles 2 to 5: owners that are not always online; nothing takes time and nobody is refused."""

from functools import partial

import numpy as np
import pytest

from asyncdp_sim.core.units import to_units
from asyncdp_sim.network.availability import Bernoulli, Diurnal, OnOff
from asyncdp_sim.network.clocks import PoissonClock
from asyncdp_sim.network.laws import Exponential
from tests.tables import table
from tests.theory.availability import diurnal_integral, on_fraction, on_off_dispersion, thinned

from . import test_clocks
from .networks import in_windows, lasting, network, own_seed, runs
from .zscores import fresh_seeds, numbers, require_kinds, score, shared

pytestmark = [
    pytest.mark.long,
    pytest.mark.oracle("updates and time online of intermittently available owners"),
]

# Oracle 2: thinning

TABLE = table(__file__, "availability.toml")
LISTENING = TABLE["listening"]


def listening(name, seed, factor=1):
    """Return the scores of merged clocks, for those that remain when owners listen at times."""
    rates, shares = LISTENING[name]
    share = shares[0] if len(set(shares)) == 1 else shares
    parts = {"clock": PoissonClock(rate=rates), "availability": Bernoulli(probability=share)}
    count = test_clocks.RUNS * factor
    return test_clocks.measure(thinned(rates, shares), seed=seed, count=count, **parts)


def heard(seed, factor=1):
    """Return scores of the number of updates in a window, which is Poisson."""
    window, windows, mean = 20.0, 60, thinned((1.0,) * 2, (0.8,) * 2).mean_count(20.0)
    net = lasting(2, windows * window, availability=Bernoulli(probability=0.8))
    found = [in_windows(trace, window, windows) for trace in runs(net, seed, 60 * factor)]
    return numbers("updates in a window", np.array(found), mean, mean)


# Oracle 3: exponential periods


def modulated(seed, factor=1):
    """Return scores of the number of updates of an owner in a window."""
    rate, leaving, returning, window, n_owners = 2.0, 0.25, 0.75, 40.0, 50
    availability = OnOff(on=Exponential(mean=1 / leaving), off=Exponential(mean=1 / returning))
    net = lasting(n_owners, window, clock=PoissonClock(rate=rate), availability=availability)
    mean = rate * window * on_fraction(1 / leaving, 1 / returning)
    variance = mean * on_off_dispersion(rate, leaving, returning, window)
    found = of_owners(runs(net, seed, 60 * factor))
    return numbers("updates in a window", found, mean, variance)


def of_owners(traces):
    """Return updates per owner, (runs, owners)."""
    return np.array([
        np.bincount(trace.updates["owner"], minlength=trace.n_owners + 1)[1:] for trace in traces
    ])  # fmt: skip


# Oracle 4: periods of any laws

LAWS = TABLE["laws"]
SPANS = [(name, "short") for name in LAWS if name != "exponential"] + [
    (name, "long") for name in ("constant", "lognormal", "gamma")
]
WINDOWS = {"short": (2.5, 40, 90, 0.01), "long": (57.0, 40, 22, 2.5)}
"""Length, runs, owners, rate of a clock; a period on and one off last 20 in the mean."""


def alternating(name, span, seed, factor=1):
    """Return scores of the share of a window in which owners are online."""
    window, count, n_owners, rate = WINDOWS[span]
    clock, periods = PoissonClock(rate=rate), OnOff(**LAWS[name])
    net = lasting(n_owners, window, clock=clock, availability=periods)
    share = on_fraction(periods.on.mean, periods.off.mean)
    rows = []
    for trace in runs(net, seed, count * factor):
        online = trace.owners["online"].mean()
        rows.append([online, len(trace.updates) / n_owners - rate * window * online])
    online, beyond = np.array(rows).T
    found = {"mean": [score("online", online, share)]}
    if span == "long":
        scale = rate * window * share
        found["mean"].append(score("updates − λ · time online", beyond, 0, scale))
    return found


# Oracle 5: diurnal availability

DAYS = TABLE["days"]
"""Rates, phases, period, low, high."""


def days(name, seed, factor=1):
    """Return scores of Λ(t_k) − Λ(t_{k−1}), for all owners together and for each."""
    rates, phases, period, low, high = DAYS[name]
    phase = phases[0] if len(set(phases)) == 1 else phases
    availability = Diurnal(period=period, low=low, high=high, phase=phase)
    updates = test_clocks.UPDATES
    net = network(len(rates), updates, clock=PoissonClock(rate=rates), availability=availability)

    def gaps(time, rates, phases):
        return np.diff(diurnal_integral(time, rates, phases, period, low, high), prepend=0.0)

    rows = []
    for trace in runs(net, seed, 54 * factor):
        time, owner = to_units(trace.updates["tick"]), trace.updates["owner"] - 1
        gap = gaps(time, rates, phases)
        row = [gap.mean(), np.mean(gap > 2), np.mean(gap**2), np.mean(gap[1:] * gap[:-1])]
        for i, rate in enumerate(rates if len(rates) > 1 else ()):
            share = rate / sum(rates)
            first = int(updates * share - 8 * np.sqrt(updates * share * (1 - share)))
            own = time[owner == i][:first]
            assert len(own) == first  # a fixed number, so that where the run ends cannot bias it
            own = gaps(own, [rate], [phases[i]])
            row += [np.mean(own > np.log(2)), np.mean(own**2)]
        rows.append(row)
    mean, tail, square, product, *own = np.array(rows).T
    tails, squares = (list(enumerate(own[first::2], start=1)) for first in (0, 1))
    return {
        "mean": [score("gap", mean, 1)],
        "tail": [score("P(gap > 2)", tail, np.exp(-2))]
        + [score(f"P(gap > ln 2) of {i}", x, 0.5) for i, x in tails],
        "second": [score("gap²", square, 2), score("successive gaps", product, 1)]
        + [score(f"gap² of {i}", x, 2) for i, x in squares],
    }


def any_phase(seed, factor=1):
    """Return scores of an owner's updates in part of a day, where each owner draws its phase.

    Its count given its phase φ is Poisson with mean Λ_φ, which φ makes vary like a sine.
    """
    n_owners, rate, period, low, high, window = 135, 2.0, 24.0, 0.5, 1.0, 18.0
    availability = Diurnal(period=period, low=low, high=high, phase="uniform")
    net = lasting(n_owners, window, clock=PoissonClock(rate=rate), availability=availability)
    phases = np.arange(8) / 8
    given = [diurnal_integral(window, [rate], [p], period, low, high) for p in phases]
    mean, found = np.mean(given), of_owners(runs(net, seed, 40 * factor))
    return numbers("updates in part of a day", found, mean, mean + np.var(given))


# All of them

MEASURES = {
    **{f"thinning {name}": partial(listening, name) for name in LISTENING},
    "thinning, a window": heard,
    "exponential periods": modulated,
    **{f"{span} {name}": partial(alternating, name, span) for name, span in SPANS},
    **{f"diurnal {name}": partial(days, name) for name in DAYS},
    "diurnal, phases drawn": any_phase,
}
CI = TABLE["ci"]
"""What every run measures; the other laws' turn comes at night."""


def measure(name, *, seed=None, count=1):
    return MEASURES[name](own_seed("availability", name) if seed is None else seed, count)


sound = shared(measure)


@pytest.mark.parametrize("name", CI)
def test_owners_are_heard_as_they_should_be(name):
    require_kinds(sound(name))


test_fresh_seeds = fresh_seeds(measure, MEASURES, 1)
