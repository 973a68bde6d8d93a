import math

import numpy as np
import pytest

from asyncdp_sim.errors import SpecError
from asyncdp_sim.theory.formulas.channels.aloha import (
    aloha,
    aloha_capture,
    aloha_infinite,
    aloha_infinite_capture,
    slotted_aloha,
    slotted_aloha_infinite,
)
from asyncdp_sim.theory.formulas.channels.csma import (
    csma,
    csma_detecting,
    csma_detecting_infinite,
    csma_infinite,
    csma_one_persistent_infinite,
)
from asyncdp_sim.theory.formulas.channels.random_access import RandomAccess
from asyncdp_sim.theory.formulas.channels.tdma import TimeDivision, tdma
from tests.theory.aloha import capture_probability
from tests.together import together
from tests.verification.chains import flow, stationary


def agrees(samples, exact, allowed):
    """One value per independent run against its mean; the standard error must mean something."""
    samples = np.asarray(samples, float)
    error = samples.std(ddof=1) / math.sqrt(len(samples))
    assert error < allowed * exact
    assert abs(samples.mean() - exact) < 4 * error


def interference(starts, airtime, powers):
    """Return the sum of the powers of all answers that overlap each, for a constant airtime."""
    sums = np.zeros(len(starts))
    for step in range(1, len(starts)):
        near = starts[step:] - starts[:-step] < airtime
        if not near.any():
            return sums
        sums[step:] += near * powers[:-step]
        sums[:-step] += near * powers[step:]
    return sums


@pytest.mark.parametrize("load", [0.2, 0.5, 1.5])
def test_aloha_infinite_simulated(load):
    draw, got, captured = np.random.default_rng(5), [], []
    for _ in range(40):
        starts = np.cumsum(draw.exponential(1 / load, 5000))
        powers = draw.exponential(size=5000)
        sums = interference(starts, 1.0, powers)
        got.append((sums == 0).sum() / starts[-1])
        captured.append((powers > 2 * sums).sum() / starts[-1])
    agrees(got, aloha_infinite(load), 0.01)
    agrees(captured, aloha_infinite_capture(load, 2.0), 0.01)


def test_aloha_infinite_peaks_at_half():
    assert aloha_infinite(0.5) == pytest.approx(1 / (2 * math.e))
    assert slotted_aloha_infinite(1.0) == pytest.approx(1 / math.e)
    assert aloha_infinite(0.0) == slotted_aloha_infinite(0.0) == 0


def test_capture_between_no_and_all_survive():
    assert aloha_infinite_capture(0.7, 0.0) == 0.7
    assert aloha_infinite_capture(0.7, 1e9) == pytest.approx(aloha_infinite(0.7), rel=1e-8)
    assert capture_probability(0.5, 0) == 1
    powers = np.random.default_rng(6).exponential(size=(4, 100_000))
    survives = (powers[0] > 0.5 * powers[1:].sum(axis=0)).mean()
    assert survives == pytest.approx(capture_probability(0.5, 3), abs=4 * 0.0015)


def owners_starts(draw, rate, airtimes):
    """Return starts and airtimes of owners that alternate between idle times and answers."""
    idle = draw.exponential(1 / rate, airtimes.shape)
    ends = np.cumsum(idle + airtimes, axis=1)
    starts = (ends - airtimes).ravel()
    order = np.argsort(starts)
    shared = ends[:, -1].min()  # until then every owner is at work
    inside = order[: np.searchsorted(starts[order], shared)]
    return starts[inside], airtimes.ravel()[inside], shared


@pytest.mark.parametrize(("n_owners", "rate"), [(2, 0.5), (6, 0.15)])
@pytest.mark.parametrize("law", ["constant", "exponential", "uniform"])
def test_aloha_simulated(n_owners, rate, law):
    draw, tau = np.random.default_rng(7), 1.25
    transform = {
        "constant": None,
        "exponential": lambda s: 1 / (1 + s * tau),
        "uniform": lambda s: -math.expm1(-2 * tau * s) / (2 * tau * s),
    }[law]
    got = []
    for _ in range(30):
        size = (n_owners, 6000 // n_owners)
        airtimes = {
            "constant": lambda size=size: np.full(size, tau),
            "exponential": lambda size=size: draw.exponential(tau, size),
            "uniform": lambda size=size: draw.uniform(0, 2 * tau, size),
        }[law]()
        starts, sending, shared = owners_starts(draw, rate, airtimes)
        ends = starts + sending
        before = np.concatenate(([0.0], np.maximum.accumulate(ends)[:-1]))
        clean = (before <= starts) & (np.append(starts[1:], np.inf) >= ends)
        got.append((clean.sum() / shared, len(starts) / shared, clean.mean()))
    exact = aloha(n_owners, rate, tau, transform)
    rates, attempts, shares = zip(*got, strict=True)
    agrees(rates, exact.success_rate, 0.01)
    agrees(attempts, exact.attempt_rate, 0.01)
    agrees(shares, exact.success_probability, 0.01)


def test_aloha_by_a_markov_chain():
    """Exponential airtime, four owners: how many send, and whether one of them is still clean."""
    n, rate, ends = 4, 0.3, 0.8

    def rates(state):
        sending, _ = state
        yield rate * (n - sending), (sending + 1, sending == 0)
        yield ends * sending, (sending - 1, False)

    law = stationary(rates, (0, False))
    exact = aloha(n, rate, 1 / ends, lambda s: ends / (ends + s))
    assert flow(law, lambda state: ends * state[1]) == pytest.approx(exact.success_rate, rel=1e-12)
    begun = flow(law, lambda state: rate * (n - state[0]))
    assert begun == pytest.approx(exact.attempt_rate, rel=1e-12)


def test_aloha_formula_and_limits():
    by_hand = (math.exp(-0.2) / 1.2) ** 4
    assert aloha(5, 0.4, 0.5).success_probability == pytest.approx(by_hand, rel=1e-14)
    assert aloha(5, 0.4, 0.5).success_rate == pytest.approx(5 * 0.4 / 1.2 * by_hand, rel=1e-14)
    assert aloha(1, 0.4, 0.5) == RandomAccess(1, 0.4 / 1.2, 0.4 / 1.2)
    assert aloha(3, 2.0, 0.0) == RandomAccess(1, 6, 6)
    many = aloha(10**6, 0.5e-6, 1.0)
    assert many.success_rate == pytest.approx(aloha_infinite(0.5), rel=1e-5)
    capture = aloha_capture(10**6, 0.5e-6, 1.0, 3.0)
    assert capture.success_rate == pytest.approx(aloha_infinite_capture(0.5, 3.0), rel=1e-5)
    assert aloha_capture(5, 0.4, 0.5, 0.0).success_probability == pytest.approx(1, rel=1e-14)
    strict = aloha_capture(5, 0.4, 0.5, 1e12).success_probability
    assert strict == pytest.approx(by_hand, rel=1e-10)


@pytest.mark.parametrize(("n_owners", "rate", "threshold"), [(2, 2.0, 1.0), (5, 0.6, 4.0)])
def test_aloha_capture_simulated(n_owners, rate, threshold):
    """Rates so high that one owner often overlaps an answer twice."""
    draw, got = np.random.default_rng(8), []
    for _ in range(30):
        airtimes = np.full((n_owners, 8000 // n_owners), 1.0)
        starts, _, shared = owners_starts(draw, rate, airtimes)
        powers = draw.exponential(size=len(starts))
        survive = powers > threshold * interference(starts, 1.0, powers)
        got.append(survive.sum() / shared)
    agrees(got, aloha_capture(n_owners, rate, 1.0, threshold).success_rate, 0.01)


@pytest.mark.parametrize(("n_owners", "rate", "slot"), [(2, 1.0, 1.0), (5, 0.5, 0.4)])
def test_slotted_aloha_simulated(n_owners, rate, slot):
    draw, got, slots = np.random.default_rng(9), [], 6000
    for _ in range(30):
        idle = draw.exponential(1 / rate, (n_owners, slots))
        cycles = np.ceil(idle / slot) + 1  # idle slots up to the tick's end, and one sending
        sends = (np.cumsum(cycles, axis=1) - 1).astype(int)
        senders = np.bincount(sends[sends < slots], minlength=slots)
        got.append(((senders == 1).sum() / slots / slot, senders.sum() / slots / slot))
    exact = slotted_aloha(n_owners, rate, slot)
    rates, attempts = zip(*got, strict=True)
    agrees(rates, exact.success_rate, 0.01)
    agrees(attempts, exact.attempt_rate, 0.01)
    p = -math.expm1(-rate * slot)
    q = p / (1 + p)
    assert exact.success_rate * slot == pytest.approx(n_owners * q * (1 - q) ** (n_owners - 1))
    assert exact.success_probability == pytest.approx((1 - q) ** (n_owners - 1))


@pytest.mark.parametrize(("n_owners", "airtime", "rate"), [(1, 1.0, 0.7), (4, 0.75, 0.2)])
def test_tdma_simulated(n_owners, airtime, rate):
    """One owner's ticks one by one; the frame starts with its slot."""
    draw, frame, got = np.random.default_rng(10), float(n_owners), []
    for _ in range(30):
        ready, free, sent = -1.0, 0.0, 0
        ticks = np.cumsum(draw.exponential(1 / rate, 2000))
        for tick in ticks.tolist():
            if tick >= free:  # neither waiting nor sending
                ready = tick
                free = math.ceil(ready / frame) * frame + airtime
                sent += 1
        got.append(n_owners * sent / ticks[-1])
    division = tdma(n_owners, 1.0, airtime, rate)
    agrees(got, division.success_rate, 0.01)
    assert division.saturated_rate == 1
    ready = draw.uniform(0, frame, 20_000)
    delay = np.ceil(ready / frame) * frame - ready
    assert division.mean_access_delay == pytest.approx(delay.mean(), rel=0.02)


def test_tdma_saturated():
    assert tdma(5, 0.2, 0.1) == TimeDivision(5, 5, 0.5)
    assert tdma(5, 0.2, 0.1, 1e9) == TimeDivision(5, 5, 0.5)
    assert tdma(5, 0.2, 0.2, 1e-9).success_rate == pytest.approx(5e-9, rel=1e-8)


class Carrier:
    """Stations one tick at a time, straight from the rules; airtime 1, everyone hears after a."""

    def __init__(self, delay, detecting=False, persistent=False):
        self.delay, self.detecting, self.persistent = delay, detecting, persistent
        self.sent = []  # [start, end, station, destroyed]
        self.near = 0  # those before this one are over and silent

    def silent_from(self, time):
        """Return the first instant from ``time`` on at which no carrier is heard."""
        a, moved = self.delay, True
        while moved:
            moved = False
            for start, end, _, _ in self.sent[self.near :]:
                if start + a <= time < end + a:
                    time, moved = end + a, True
        return time

    def start(self, time, station):
        a, new = self.delay, [time, time + 1.0, station, False]
        for other in self.sent[self.near :]:
            if other[1] > time:
                other[3] = new[3] = True
                if self.detecting:
                    other[1] = min(other[1], time + a)
                    new[1] = min(new[1], other[0] + a)
        self.sent.append(new)

    def tick(self, time, station):
        while self.near < len(self.sent) and self.sent[self.near][1] + 4 < time:
            self.near += 1
        if any(end > time and who == station for _, end, who, _ in self.sent[self.near :]):
            return
        silent = self.silent_from(time)
        if silent == time:
            self.start(time, station)
        elif self.persistent:
            self.waiting.append(silent)

    def run(self, ticks, stations):
        self.waiting = []
        for time, station in zip(ticks.tolist(), stations.tolist(), strict=True):
            while self.waiting and self.waiting[0] <= time:
                self.start(self.waiting.pop(0), -1)
            self.tick(time, station)
        sent = [one for one in self.sent if one[0] < ticks[-1] - 5]
        clean = sum(not destroyed for _, _, _, destroyed in sent)
        return clean / (ticks[-1] - 5), len(sent) / (ticks[-1] - 5)


def carried(load, delay, n_owners=None, runs=25, size=2500, **rules):
    """Return success and attempt rates by run, at ``load`` ticks per airtime.

    With ``n_owners`` None every tick is another station's.
    """
    draw, got = np.random.default_rng(11), []
    for _ in range(runs):
        ticks = np.cumsum(draw.exponential(1 / load, size))
        stations = np.arange(size) if n_owners is None else draw.integers(n_owners, size=size)
        got.append(Carrier(delay, **rules).run(ticks, stations))
    return np.array(got).T


@pytest.mark.parametrize(("load", "delay"), [(1.0, 0.1), (2.0, 0.6)])
def test_csma_infinite_simulated(load, delay):
    agrees(carried(load, delay)[0], csma_infinite(load, delay), 0.015)


@pytest.mark.parametrize(("load", "delay"), [(0.8, 0.1), (1.0, 0.7)])
def test_one_persistent_csma_simulated(load, delay):
    got = carried(load, delay, persistent=True)
    agrees(got[0], csma_one_persistent_infinite(load, delay), 0.02)
    agrees(got[1], load, 0.01)


@pytest.mark.parametrize(("load", "delay"), [(2.0, 0.2), (1.5, 0.5), (2.0, 0.8)])
def test_csma_with_collision_detection_simulated(load, delay):
    got = carried(load, delay, detecting=True)
    agrees(got[0], csma_detecting_infinite(load, delay), 0.02)


@pytest.mark.parametrize(("n_owners", "load", "delay"), [(2, 3.0, 0.4), (5, 2.0, 0.8)])
@pytest.mark.parametrize("detecting", [False, True])
def test_csma_simulated(n_owners, load, delay, detecting):
    formula = csma_detecting if detecting else csma
    exact = formula(n_owners, load / n_owners, 1.0, delay)
    got = carried(load, delay, n_owners, detecting=detecting)
    agrees(got[0], exact.success_rate, 0.02)
    agrees(got[1], exact.attempt_rate, 0.01)


def test_published_shapes_of_csma():
    assert csma_infinite(2.0, 0.0) == pytest.approx(2 / 3)
    g = 1.7
    perfect = g * (1 + g) * math.exp(-g) / (g + math.exp(-g))
    assert csma_one_persistent_infinite(g, 0.0) == pytest.approx(perfect, rel=1e-14)
    for a in (0.01, 0.3, 0.5):
        e = math.exp(-a * g)
        tobagi_hunt = g * e / (g * e + 2 * a * g * (1 - e) + 2 - e)
        assert csma_detecting_infinite(g, a) == pytest.approx(tobagi_hunt, rel=1e-13)
    for formula in (csma_infinite, csma_one_persistent_infinite, csma_detecting_infinite):
        assert formula(0.0, 0.3) == 0
        assert formula(1e-6, 0.3) == pytest.approx(1e-6, rel=1e-5)
    peak = max(csma_infinite(g, 0.01) for g in np.geomspace(0.1, 100, 400))
    assert peak == pytest.approx(0.815, abs=0.001)
    peak = max(csma_one_persistent_infinite(g, 0.01) for g in np.geomspace(0.1, 10, 400))
    assert peak == pytest.approx(0.529, abs=0.001)


@pytest.mark.parametrize("delay", [0.0, 0.2, 0.9])
def test_csma_owners_and_limits(delay):
    alone = csma(1, 2.0, 0.5, delay * 0.5)
    assert alone.success_probability == 1
    assert alone.success_rate == pytest.approx(1 / (0.5 + 0.5 * (1 + delay)), rel=1e-13)
    assert csma_detecting(1, 2.0, 0.5, delay * 0.5).success_rate == pytest.approx(
        alone.success_rate, rel=1e-13
    )
    for finite, infinite in (
        (csma, csma_infinite),
        (csma_detecting, csma_detecting_infinite),
    ):
        many = finite(10**6, 0.8e-6, 2.0, 2 * delay)
        assert 2 * many.success_rate == pytest.approx(infinite(1.6, delay), rel=1e-5)
        assert many.success_rate == many.success_probability * many.attempt_rate


def test_csma_two_owners_by_hand():
    """E last start of one other owner: ∫₀^a (e^{−λy} − e^{−λa}) dy."""
    rate, a = 0.7, 0.3
    late = math.exp(-rate * a)
    last = (1 - late) / rate - a * late
    exact = late / (1 + a + last + 1 / (2 * rate))
    assert csma(2, rate, 1.0, a).success_rate == pytest.approx(exact, rel=1e-13)
    assert csma(2, rate, 1.0, a).success_probability == pytest.approx(late / (2 - late), rel=1e-14)


@together
@pytest.mark.parametrize(
    ("function", "arguments", "key"),
    [
        (aloha_infinite, (-1.0,), "load"),
        (slotted_aloha_infinite, (math.inf,), "load"),
        (aloha_infinite_capture, (1.0, -0.5), "threshold"),
        (capture_probability, (1.0, -1), "interferers"),
        (aloha, (0, 1.0, 1.0), "n_owners"),
        (aloha, (2, 0.0, 1.0), "rate"),
        (aloha, (2, 1.0, -1.0), "mean_airtime"),
        (aloha, (2, 1.0, 1.0, lambda s: math.exp(-2 * s)), "transform"),
        (aloha, (2, 1.0, 1.0, lambda s: 1 + s), "transform"),
        (aloha, (2, 1.0, 1.0, lambda _: math.nan), "transform"),
        (aloha_capture, (2, 1.0, 1.0, math.nan), "threshold"),
        (slotted_aloha, (2, 1.0, 0.0), "slot"),
        (tdma, (2, 0.5, 0.6), "airtime: given 0.6; allowed is a number ≤ slot = 0.5"),
        (tdma, (2, 0.5, 0.5, 0.0), "rate"),
        (csma_infinite, (1.0, 1.0), r"delay: given 1.0; .*below the airtime, 1.0"),
        (csma_one_persistent_infinite, (1.0, -0.1), "delay"),
        (csma_detecting_infinite, (1.0, math.nan), "delay"),
        (csma, (3, 1.0, 0.5, 0.5), r"propagation_delay: given 0.5; .*below the airtime, 0.5"),
        (csma, (3, 1.0, 0.0, 0.0), "airtime"),
        (csma_detecting, (3, 1.0, 0.5, 0.7), "propagation_delay"),
    ],
)
def test_bad_arguments_are_refused(function, arguments, key):
    with pytest.raises(SpecError, match=key):
        function(*arguments)
