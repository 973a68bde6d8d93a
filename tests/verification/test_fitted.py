"""Fits of a measured trace: they find what it was simulated with, and predict what follows.

Standard errors are those that the fit states; scores are of one long run each, with fixed seeds.
"""

from itertools import product
from math import log

import numpy as np
import pytest

from asyncdp_sim import imports
from asyncdp_sim.core.errors import DataError
from asyncdp_sim.network import clocks, laws, protocols
from asyncdp_sim.network.availability import Always, Bernoulli, OnOff
from asyncdp_sim.network.spec import Latency
from asyncdp_sim.scenario import load
from tests.unit.imports.measure import client_log, measured

from . import networks

pytestmark = [pytest.mark.long, pytest.mark.no_evidence]

RATES = (0.3, 0.5, 0.8, 1.2, 2.0)
AWAY = OnOff(on=laws.Exponential(mean=8.0), off=laws.Exponential(mean=12.0))
PROTOCOLS = {
    "push": (protocols.Push(), False),
    "refuse": (protocols.Request(busy="refuse"), False),
    "refuse, told": (protocols.Request(busy="refuse"), True),
    "queue": (protocols.Request(busy="queue"), False),
}
"""Protocols, and whether the table has the requests that were refused."""
PRESENCE = {"always": Always(), "on-off": AWAY}
NETWORKS = pytest.mark.parametrize(("name", "presence"), list(product(PROTOCOLS, PRESENCE)))


def network(protocol, availability, until):
    parts = {"clock": clocks.PoissonClock(rate=RATES), "compute": laws.Lognormal(mean=0.1, cv=0.8)}
    parts |= {"latency": Latency(answer=laws.Gamma(mean=0.02, cv=0.5)), "protocol": protocol}
    return networks.lasting(len(RATES), until, availability=availability, **parts)


def table_of(name, presence, until, folder):
    """Return a protocol and the table of a measured network of it."""
    protocol, refused = PROTOCOLS[name]
    net = network(protocol, PRESENCE[presence], until)
    return protocol, measured(net, folder / "t.csv", refused=refused)


def scores(found, away):
    """Scores of each owner's rate and, of those who come and go, of their periods."""
    assert (found.availability.kind == "on-off") == away
    values = np.array(found.clock.rate) - RATES
    if away:
        periods = found.availability
        values = np.append(values, [log(periods.on.mean / 8.0), log(periods.off.mean / 12.0)])
    return values / found.errors[: len(values)]


@NETWORKS
def test_clocks_and_periods_are_found(name, presence, tmp_path):
    protocol, file = table_of(name, presence, 4000.0, tmp_path)
    trace = imports.read_trace(file)
    assert trace.protocol == protocol
    assert np.abs(scores(imports.fit_owners(trace), presence == "on-off")).max() < 4
    travel, _ = trace.durations()["request"]
    assert travel.max() < 1e-6  # requests take no time here, however long they wait


class LockForgotten(imports.MeasuredTrace):
    """Takes the time in which requests are refused, and unseen, for time in which none came."""

    @property
    def unseen(self):
        return False


def test_a_lock_that_is_forgotten_is_noticed(tmp_path):
    trace = imports.read_trace(table_of("refuse", "always", 4000.0, tmp_path)[1])
    columns = (getattr(trace, name) for name in ("owner", "request", "read", "release", "end"))
    assert np.abs(scores(imports.fit_owners(trace), False)).max() < 4
    found = imports.fit_presence(*LockForgotten(trace.names, *columns).gaps())
    assert found.availability.kind == "on-off"  # it takes the lock for absence
    assert found.clock.rate[4] > 2.0 + 8 * found.errors[4]


LAWS = [laws.Exponential(mean=0.3), laws.Lognormal(mean=0.3, cv=0.7), laws.Gamma(mean=0.3, cv=0.4)]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.kind)
def test_a_law_is_found_again(law):
    found = imports.fit_law(*(law.draw(np.random.default_rng(seed), 4000) for seed in (1, 2)))
    error = (law.variance / 8000) ** 0.5
    assert found.law.kind == law.kind
    assert 0.8 < found.error / error < 1.25
    assert abs(found.law.mean - law.mean) < 4 * error
    assert found.p > 1e-3


def test_no_law_of_two_humps_is_made_smooth():
    draws = np.random.default_rng(1)
    seen = draws.choice([0.1, 0.5], 2000) * draws.lognormal(0, 0.02, 2000)
    found = imports.fit_law(seen, seen[::-1])
    assert found.half == laws.Empirical(values=tuple(seen.tolist()))
    assert found.law == laws.Empirical(values=(*seen.tolist(), *seen[::-1].tolist()))
    assert imports.fit_law(np.full(9, 0.25), np.full(9, 0.25)).law == laws.Constant(value=0.25)


def second_half_is_predicted(told, quantities):
    """To five times the spread of a half: both halves are drawn, and so is the fit."""
    begin = next(i for i, line in enumerate(told) if "second half" in line) + 1
    for line in told[begin : begin + quantities]:
        was, foretold, spread = (float(cell) for cell in line.split()[-3:])
        assert abs(was - foretold) <= 5 * spread, line


@NETWORKS
def test_the_first_half_predicts_the_second(name, presence, tmp_path):
    protocol, file = table_of(name, presence, 2000.0, tmp_path)
    second_half_is_predicted(imports.import_trace(file, tmp_path / "fitted.toml", 1), 2)
    scenario, _ = load(tmp_path / "fitted.toml")
    assert scenario.protocol.kind == protocol.kind
    assert scenario.owners.count == 5


SHARES = (0.15, 0.3, 0.5, 0.7, 0.9)


def in_rounds(shares, updates, compute):
    parts = {"availability": Bernoulli(probability=shares), "protocol": protocols.Rounds()}
    return networks.network(len(shares), updates, answers_per_update=None, compute=compute, **parts)


@pytest.mark.parametrize("form", ["seconds", "iso"])
@pytest.mark.parametrize("shares", [SHARES, (0.2, 0.4)], ids=["five", "two"])
def test_who_takes_part_in_rounds_is_found(shares, form, tmp_path):
    """Of two owners, 48 % of the rounds are empty and leave no trace."""
    rounds = in_rounds(shares, 4000, laws.Lognormal(mean=20.0, cv=0.8))
    trace = imports.read_trace(client_log(rounds, tmp_path / "log.csv", form))
    assert trace.protocol == protocols.Rounds()
    found = imports.fit_owners(trace)
    z = (np.array(found.availability.probability) - shares) / found.errors
    assert np.abs(z).max() < 4
    [fitted] = imports.fit_laws(trace, trace.request.max() / 2)["compute"]
    assert isinstance(fitted.law, laws.Lognormal)
    assert abs(fitted.law.mean - 20.0) < 4 * 0.8 * 20.0 / len(trace.owner) ** 0.5


@pytest.mark.parametrize("form", ["seconds", "iso"])
def test_a_log_of_clients_that_come_and_go_is_found(form, tmp_path):
    trace = imports.read_trace(
        client_log(network(protocols.Push(), AWAY, 4000.0), tmp_path / "log.csv", form)
    )
    assert not trace.in_rounds
    assert np.abs(scores(imports.fit_owners(trace), True)).max() < 4
    values, _ = trace.durations()["compute"]
    assert abs(values.mean() - 0.12) < 4 * values.std() / len(values) ** 0.5 + 1e-3


def test_rounds_with_a_pause_predict_their_second_half(tmp_path):
    rounds = in_rounds(SHARES, 1000, laws.Gamma(mean=20.0, cv=0.5))
    file = client_log(rounds, tmp_path / "log.csv", "seconds", pause=7.0)
    told = imports.import_trace(file, tmp_path / "fitted.toml", 1)
    assert "latency.query: constant, mean 7 ± 0" in told
    second_half_is_predicted(told, 1)
    assert load(tmp_path / "fitted.toml")[0].protocol.kind == "rounds"


@pytest.mark.parametrize("apart", [5.0, 1.0], ids=["saturated", "overlapping"])
def test_owners_without_pauses_are_refused(apart):
    asked = apart * np.arange(60)
    trace = imports.MeasuredTrace(("a",), np.zeros(60, int), asked, asked, asked + 4, asked + 5)
    with pytest.raises(DataError, match="given owner 'a' without a pause"):
        imports.fit_owners(trace)


@pytest.mark.filterwarnings("error")
def test_periods_far_shorter_than_all_gaps_are_none():
    """Of owner b all answers are lost: its busy times are 0, and seem to end periods online."""
    pauses = np.random.default_rng(2).exponential(1.0, (2, 80))
    first, second = np.cumsum(pauses + np.array([[0.2], [0.1]]), axis=1)
    asked, none = np.concatenate([first, second]), np.full(80, np.nan)
    steps = asked, asked, asked + 0.1, np.concatenate([first + 0.2, none])
    order = np.argsort(asked)
    trace = imports.MeasuredTrace(
        ("a", "b"), np.repeat([0, 1], 80)[order], *(at[order] for at in steps)
    )
    assert imports.fit_owners(trace).availability == Always()
