"""Oracles 2 to 5: owners that are not always online; nothing takes time and nobody is refused."""

from functools import partial

import numpy as np
import pytest

from asyncdp_sim.core.units import to_units
from asyncdp_sim.network.availability import Bernoulli, Diurnal, OnOff
from asyncdp_sim.network.clocks import PoissonClock
from asyncdp_sim.network.laws import Constant, Empirical, Exponential, Gamma, Lognormal, Uniform
from tests.tables import table
from tests.theory.availability import diurnal_integral, on_fraction, on_off_dispersion, thinned

from . import test_clocks
from .networks import in_windows, network, own_seed, runs
from .zscores import flat, require_kinds, score, shared, two_stages

pytestmark = [
    pytest.mark.long,
    pytest.mark.oracle("updates and time online of intermittently available owners"),
]

MANY = 2**31 - 1
"""Updates that no run reaches: the window ends it."""


# Oracle 2: thinning

TABLE = table(__file__, "availability.toml")
LISTENING = TABLE["listening"]


def listening(name, kind=Bernoulli, seed=1, count=test_clocks.RUNS, factor=1):
    """Return the scores of merged clocks, for those that remain when owners listen at times."""
    rates, shares = LISTENING[name]
    share = shares[0] if len(set(shares)) == 1 else shares
    clock, availability = PoissonClock(rate=rates), kind(probability=share)
    return test_clocks.measure(
        thinned(rates, shares), clock, seed, count * factor, availability=availability
    )


def heard(kind=Bernoulli, seed=1, count=60, windows=60, factor=1):
    """Return scores of the number of updates in a window, which is Poisson."""
    window, theory = 20.0, thinned((1.0,) * 2, (0.8,) * 2)
    net = network(2, MANY, until=windows * window, availability=kind(probability=0.8))
    traces = runs(net, seed, count * factor)
    number = np.array([in_windows(trace, window, windows) for trace in traces])
    mean = theory.mean_count(window)
    return {
        "mean": [score("updates in a window", number.mean(axis=1), mean)],
        "second": [score("their variance", np.mean((number - mean) ** 2, axis=1), mean)],
    }


# Oracle 3: exponential periods

CHAINS = {"periods": (2.0, 0.25, 0.75, 40.0, 50)}
"""λ, a, b, window, owners."""


def modulated(name, kind=OnOff, seed=1, count=60, factor=1):
    """Return scores of the number of updates of an owner in a window."""
    rate, leaving, returning, window, n_owners = CHAINS[name]
    availability = kind(on=Exponential(mean=1 / leaving), off=Exponential(mean=1 / returning))
    clock = PoissonClock(rate=rate)
    net = network(n_owners, MANY, until=window, clock=clock, availability=availability)
    mean = rate * window * on_fraction(1 / leaving, 1 / returning)
    index = on_off_dispersion(rate, leaving, returning, window)
    number = np.array([attempts(trace) for trace in runs(net, seed, count * factor)])
    return {
        "mean": [score("updates in a window", number.mean(axis=1), mean)],
        "second": [score("dispersion", np.mean((number - mean) ** 2, axis=1) / mean, index)],
    }


def attempts(trace):
    """Return updates per owner."""
    return np.bincount(trace.updates["owner"], minlength=trace.n_owners + 1)[1:]


# Oracle 4: periods of any laws, 19 on and 1 off in the mean

LAWS = {
    "constant": (Constant(value=19.0), Constant(value=1.0)),
    "exponential": (Exponential(mean=19.0), Exponential(mean=1.0)),
    "lognormal": (Lognormal(mean=19.0, cv=1.0), Lognormal(mean=1.0, cv=1.0)),
    "gamma": (Gamma(mean=19.0, cv=0.5), Gamma(mean=1.0, cv=1.5)),
    "uniform": (Uniform(low=9.0, high=29.0), Uniform(low=0.0, high=2.0)),
    "empirical": (Empirical(values=(3.0, 19.0, 35.0)), Empirical(values=(0.2, 0.6, 2.2))),
}
SPANS = [(name, "short") for name in LAWS if name != "exponential"] + [
    (name, "long") for name in ("constant", "lognormal", "gamma")
]
WINDOWS = {"short": (2.5, 40, 90, 0.01), "long": (57.0, 40, 22, 2.5)}
"""Length, runs, owners, rate of a clock; a period on and one off last 20 in the mean."""


def alternating(name, span, kind=OnOff, seed=1, factor=1, count=None):
    """Return scores of the share of a window in which owners are online."""
    on, off = LAWS[name]
    window, usual, n_owners, rate = WINDOWS[span]
    count = usual if count is None else count
    availability = kind(on=on, off=off)
    clock = PoissonClock(rate=rate)
    net = network(n_owners, MANY, until=window, clock=clock, availability=availability)
    share = on_fraction(on.mean, off.mean)
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


def days(name, kind=Diurnal, seed=1, count=54, factor=1):
    """Return scores of Λ(t_k) − Λ(t_{k−1}), for all owners together and for each."""
    rates, phases, period, low, high = DAYS[name]
    phase = phases[0] if len(set(phases)) == 1 else phases
    availability = kind(period=period, low=low, high=high, phase=phase)
    updates = test_clocks.UPDATES
    net = network(len(rates), updates, clock=PoissonClock(rate=rates), availability=availability)
    rows = []
    for trace in runs(net, seed, count * factor):
        time, owner = to_units(trace.updates["tick"]), trace.updates["owner"] - 1
        gap = np.diff(diurnal_integral(time, rates, phases, period, low, high), prepend=0.0)
        row = [gap.mean(), np.mean(gap > 2), np.mean(gap**2), np.mean(gap[1:] * gap[:-1])]
        for i, rate in enumerate(rates if len(rates) > 1 else ()):
            share = rate / sum(rates)
            first = int(updates * share - 8 * np.sqrt(updates * share * (1 - share)))
            own = time[owner == i][:first]
            assert len(own) == first  # a fixed number, so that where the run ends cannot bias it
            own = np.diff(
                diurnal_integral(own, [rate], [phases[i]], period, low, high), prepend=0.0
            )
            row += [np.mean(own > np.log(2)), np.mean(own**2)]
        rows.append(row)
    mean, tail, square, product, *own = np.array(rows).T
    return {
        "mean": [score("gap", mean, 1)],
        "tail": [
            score("P(gap > 2)", tail, np.exp(-2)),
            *(score(f"P(gap > ln 2) of {i}", x, 0.5) for i, x in enumerate(own[0::2], start=1)),
        ],
        "second": [
            score("gap²", square, 2),
            score("successive gaps", product, 1),
            *(score(f"gap² of {i}", x, 2) for i, x in enumerate(own[1::2], start=1)),
        ],
    }


def any_phase(kind=Diurnal, seed=1, count=40, factor=1):
    """Return scores of an owner's updates in part of a day, where each owner draws its phase.

    Its count given its phase φ is Poisson with mean Λ_φ, which φ makes vary like a sine.
    """
    n_owners, rate, period, low, high, window = 135, 2.0, 24.0, 0.5, 1.0, 18.0
    net = network(
        n_owners,
        MANY,
        until=window,
        clock=PoissonClock(rate=rate),
        availability=kind(period=period, low=low, high=high, phase="uniform"),
    )
    phases = np.arange(8) / 8
    given = [diurnal_integral(window, [rate], [p], period, low, high) for p in phases]
    mean, variance = np.mean(given), np.mean(given) + np.var(given)
    number = np.array([attempts(trace) for trace in runs(net, seed, count * factor)])
    return {
        "mean": [score("updates in part of a day", number.mean(axis=1), mean)],
        "second": [score("their variance", np.mean((number - mean) ** 2, axis=1), variance)],
    }


# All of them

MEASURES = {
    **{f"thinning {name}": partial(listening, name) for name in LISTENING},
    "thinning, a window": heard,
    **{f"exponential {name}": partial(modulated, name) for name in CHAINS},
    **{f"{span} {name}": partial(alternating, name, span) for name, span in SPANS},
    **{f"diurnal {name}": partial(days, name) for name in DAYS},
    "diurnal, phases drawn": any_phase,
}
CI = TABLE["ci"]
"""What every run measures; the other laws' turn comes at night."""


@shared
def sound(name):
    return MEASURES[name](seed=own_seed("availability", name))


def scores():
    """Return every score of a sound simulator."""
    return flat(map(sound, CI))


@pytest.mark.parametrize("name", CI)
def test_owners_are_heard_as_they_should_be(name):
    require_kinds(sound(name))


@pytest.mark.nightly
@pytest.mark.parametrize("name", MEASURES)
def test_fresh_seeds(name):
    two_stages(lambda seed, factor: flat([MEASURES[name](seed=seed, factor=factor)]))
