"""Every law of durations, every clock and every packet loss: moments, rates, shares, blocks."""

import tomllib
from itertools import islice, repeat
from math import sqrt
from typing import Any

import numpy as np
import pytest
import tomli_w

from asyncdp_sim.core.streams import Streams
from asyncdp_sim.core.units import TICKS_PER_UNIT
from asyncdp_sim.network import Network, simulate
from asyncdp_sim.network.channels import Ideal
from asyncdp_sim.network.channels.kind import GilbertElliott, PacketLoss, PacketLosses
from asyncdp_sim.network.clocks import Clock, PoissonClock
from asyncdp_sim.network.laws import Law, NoTime
from asyncdp_sim.network.protocols import Push
from asyncdp_sim.trace import EventKind, Trace
from tests.conformance.members import examples, said
from tests.one_in import one_in
from tests.together import together

# Every law of durations knows its moments and draws integers that do not depend on blocks.

LAWS = examples(Law)
TIMED = [law for law in LAWS if not law.instant]
EACH = pytest.mark.parametrize("law", TIMED, ids=said)
DRAWS = 100_000


def drawn(law: Law, count: int, block: int, seed: int = 1) -> list[int]:
    return list(islice(law.durations(Streams(seed).within("law").generator, block), count))


def test_none_gives_none():
    assert NoTime() in LAWS
    assert NoTime().durations(Streams(1).generator, 16) is None
    assert (NoTime().mean, NoTime().variance) == (0, 0)
    assert NoTime().biased(Streams(1).generator("biased")) == 0


@together
@pytest.mark.oracle("mean and variance of durations")
@EACH
def test_mean_and_variance_against_a_hundred_thousand_draws(law):
    """z-tests, |z| < 4 (fixed seed).

    Standard errors: √(variance/n) for the mean, with the law's own variance; √((m₄ − s⁴)/n) for
    the variance, with the sample's fourth central moment m₄. Rounding to ticks adds 10⁻⁹.
    """
    sample = np.array(drawn(law, DRAWS, 4096), dtype=float) / TICKS_PER_UNIT
    grain = 1 / TICKS_PER_UNIT
    mean_error = sqrt(law.variance / DRAWS)
    assert abs(sample.mean() - law.mean) <= 4 * mean_error + grain
    spread = sample.var()
    fourth = ((sample - sample.mean()) ** 4).mean()
    variance_error = sqrt(max(fourth - spread**2, 0) / DRAWS)
    assert abs(spread - law.variance) <= 4 * variance_error + grain
    if law.variance > 0:  # the test can fail: a mean or variance 10 % off would be seen
        assert 4 * mean_error < 0.1 * law.mean
        assert 4 * variance_error < 0.2 * law.variance


@one_in(2, "law", TIMED, ids=said)
def test_length_biased_draws_have_the_exact_mean_and_law(law):
    """z-tests on 10⁵ draws, |z| < 4 (fixed seed): P(biased ≤ x) = E[X; X ≤ x]/E X.

    The mean is E X²/E X = mean + variance/mean, from the law's own moments; its standard error is
    √(s²/n) with the sample's variance s². P(biased ≤ E X) against the mean m of X·1(X ≤ E X)/E X
    over 10⁵ plain draws; its standard error is √(m(1 − m)/n + s²/n), s² that of the latter.
    """
    if law.mean == 0:
        assert law.biased(Streams(1).generator("biased")) == 0
        return
    generator = Streams(1).generator("biased")
    sample = np.array([law.biased(generator) for _ in range(DRAWS)])
    assert np.all(sample > 0)
    exact = law.mean + law.variance / law.mean
    error = sqrt(sample.var() / DRAWS)
    assert abs(sample.mean() - exact) <= 4 * error + 1e-12 * exact
    if law.variance > 0:  # the test can fail: plain draws would be seen
        assert 8 * error < exact - law.mean
    plain = np.array(drawn(law, DRAWS, 4096), dtype=float) / TICKS_PER_UNIT
    limit = law.mean + 1 / TICKS_PER_UNIT
    weighed = np.where(plain <= limit, plain, 0) / law.mean
    share = weighed.mean()
    spread = sqrt((max(share * (1 - share), 0) + weighed.var()) / DRAWS)
    assert abs((sample <= limit).mean() - share) <= 4 * spread + 1e-8 / law.mean


@together
@EACH
def test_durations_are_integers_from_zero_on(law):
    ticks = drawn(law, 5000, 512)
    assert all(type(tick) is int for tick in ticks)
    assert min(ticks) >= 0
    assert len(ticks) == 5000  # without end


@together
@EACH
def test_the_stream_is_made_at_the_first_draw(law):
    streams = Streams(1)
    law.durations(lambda: streams.generator("lazily"), 16)
    streams.generator("lazily")  # not taken: nothing was drawn


# Every clock ticks forwards, at its rate, and does not depend on blocks.

CLOCKS = examples(Clock)
EACH_CLOCK = pytest.mark.parametrize("clock", CLOCKS, ids=said)
N = 3


def ticks(clock: Clock, owner: int, count: int, block: int = 256, seed: int = 1) -> list[int]:
    own = Streams(seed).within("owner", owner)
    found = clock.ticks(owner, lambda: own.generator("clock"), block)
    return [] if found is None else list(islice(found, count))  # None: no clock to tick


@together
@EACH_CLOCK
def test_ticks_are_integers_and_never_go_back(clock):
    """A drawn gap may round to no tick at all (gamma, cv = 2: one in a hundred), never to less."""
    for owner in range(N):
        found = ticks(clock, owner, 3000)
        assert all(type(tick) is int for tick in found)
        assert all(tick >= 0 for tick in found[:1])
        gaps = np.diff(found)
        assert np.all(gaps >= 0)
        if clock.kind in ("deterministic", "scripted"):
            assert np.all(gaps > 0)
        assert np.count_nonzero(gaps == 0) <= 0.05 * len(gaps)


@pytest.mark.oracle("long-run rate of ticks")
@EACH_CLOCK
def test_the_long_run_rate_is_the_declared_one(clock):
    """z-test on the mean of 20,000 gaps, |z| < 4; standard error √(s²/n); 10⁻⁹ for rounding."""
    rates = clock.rates(N)
    if rates is None:
        assert not clock.mixing  # gaps of one law have a mean
        return
    assert len(rates) == N
    for owner, rate in enumerate(rates):
        gaps = np.diff(ticks(clock, owner, 20_001)) / TICKS_PER_UNIT
        error = sqrt(gaps.var() / len(gaps))
        assert abs(gaps.mean() - 1 / rate) <= 4 * error + 1e-9
        assert 4 * error < 0.1 / rate


@together
@EACH_CLOCK
def test_a_list_of_rates_is_one_per_owner(clock):
    listed = getattr(clock, "rate", None)
    if isinstance(listed, tuple):
        assert clock.rates(N) == listed
        spans = [ticks(clock, owner, 2000)[-1] for owner in range(N)]
        assert spans == sorted(spans, reverse=True)  # the examples' rates increase
        assert len(clock.faults(N - 1)) == 1
    elif clock.rates(N) is not None:
        assert clock.rates(N) == (clock.rates(1)[0],) * N
    assert clock.faults(N) == []


@pytest.mark.parametrize("spec", [*TIMED, *CLOCKS], ids=said)
def test_the_block_size_never_changes_the_values(spec):
    for owner in range(N):
        whole = series(spec, 1000, 1000, owner=owner)
        for block in (1, 2, 7, 16, 512):
            assert series(spec, 1000, block, owner=owner) == whole


@together
@pytest.mark.parametrize("spec", [*TIMED, *CLOCKS], ids=said)
def test_the_stream_decides_the_values(spec):
    """Where it asks for one: another seed gives other values, and the same the same."""
    varies = spec.variance > 0 if spec in TIMED else draws(spec)
    assert series(spec, 50, 16) == series(spec, 50, 16)
    assert (series(spec, 50, 16) != series(spec, 50, 16, seed=2)) == varies
    assert varies or spec in TIMED or not spec.mixing


def series(spec: Any, count: int, block: int, seed: int = 1, owner: int = 0) -> list[int]:
    """Return durations of a law, which are no owner's, or ticks of an owner's clock."""
    if spec in TIMED:
        return drawn(spec, count, block, seed)
    return ticks(spec, owner, count, block, seed)


def draws(clock: Clock) -> bool:
    """Whether it asks for its stream."""
    asked: list[np.random.Generator] = []

    def source() -> np.random.Generator:
        asked.append(Streams(1).within("owner", 1).generator("clock"))
        return asked[-1]

    list(islice(clock.ticks(0, source, 256) or (), 50))
    return len(asked) > 0


def test_a_list_was_tried_for_every_clock_that_has_a_rate():
    listed = {c.kind for c in CLOCKS if isinstance(getattr(c, "rate", None), tuple)}
    assert listed == {c.kind for c in CLOCKS if hasattr(c, "rate")}


# Every packet loss: its form, its share, its memory, and whose it is.

LOSSES = examples(PacketLosses)
EACH_LOSS = pytest.mark.parametrize("spec", LOSSES, ids=str)
ALIKE = [each for each in LOSSES if len(set(each.shares(3))) == 1]
"""Of owners that lose alike."""
CHAINS, LENGTH = 3000, 6


@together
@EACH_LOSS
def test_a_scenario_writes_it_in_a_form_of_its_own(spec):
    """As plain values, in TOML, and back; no ``kind`` is among them."""
    plain = Ideal(loss=spec.written).model_dump(mode="json")["loss"]
    assert "kind" not in str(plain)
    again = tomllib.loads(tomli_w.dumps({"loss": plain}))["loss"]
    assert Ideal(loss=again).packet_loss() == spec


def test_a_member_that_leaves_something_open_is_refused():
    left = {"called": "left", "__module__": __name__}
    with pytest.raises(TypeError, match="leaves open: bursty, written, draws, shares"):
        type("Left", (PacketLoss,), left)


def table(loss: PacketLoss, owner: int) -> np.ndarray:
    """Whether message m of chain c is lost, for independent owners like this one (from 0)."""
    streams = Streams(4)
    rows = [
        loss.draws(lambda c=c: streams.generator("chain", c), owner) or repeat(False)
        for c in range(CHAINS)
    ]
    return np.array([list(islice(row, LENGTH)) for row in rows])


def pair_lost(loss: PacketLoss, share: float) -> float | None:
    """P(two in a row are lost): of two on their own, or by the law and one step of a chain."""
    if not loss.bursty:
        return share**2
    return of_chain(loss)[1] if isinstance(loss, GilbertElliott) else None


def of_chain(loss: GilbertElliott) -> tuple[float, float]:
    """P(lost) and P(two in a row are lost), from the stationary law and one step of the chain."""
    bad = loss.to_bad / (loss.to_bad + loss.to_good)
    law = np.array([1 - bad, bad])
    step = np.array([[1 - loss.to_bad, loss.to_bad], [loss.to_good, 1 - loss.to_good]])
    lost = np.array([loss.loss_good, loss.loss_bad])
    return float(law @ lost), float((law * lost) @ step @ lost)


@together
@pytest.mark.parametrize("loss", examples(GilbertElliott), ids=str)
def test_the_share_is_that_of_the_stationary_chain(loss):
    assert loss.shares(2) == pytest.approx((of_chain(loss)[0],) * 2)


@EACH_LOSS
def test_shares_and_pairs_are_those_that_are_declared(spec):
    """z-tests, |z| < 4.5 (fixed seed), over 3,000 independent owners, early and late.

    Standard errors √(p(1 − p)/3000). A chain that starts in the good state fails at the first
    message; one that takes no step fails at the pairs.
    """
    shares = spec.shares(3)
    for owner in range(1 if spec in ALIKE else 3):
        found, share = table(spec, owner), shares[owner]
        for at in (0, 1, LENGTH - 1):
            assert abs(found[:, at].mean() - share) <= 4.5 * sqrt(share * (1 - share) / CHAINS)
        pair = pair_lost(spec, share)
        for at in (0, LENGTH - 2) if pair is not None else ():
            both = (found[:, at] & found[:, at + 1]).mean()
            assert abs(both - pair) <= 4.5 * sqrt(pair * (1 - pair) / CHAINS) + 1e-12


def test_never_is_no_iterator_and_nothing_is_drawn():
    def no_stream() -> np.random.Generator:
        raise AssertionError("nothing to draw")

    quiet = GilbertElliott(to_bad=0.5, to_good=0.5, loss_bad=0.0)
    for loss in (0.0, (0.0, 1.0), quiet):
        assert Ideal(loss=loss).packet_loss().draws(no_stream, 0) is None
    some = Ideal(loss=(0.0, 1.0)).packet_loss()
    assert some.draws(Streams(1).within("x").generator, 1) is not None


def traced(n_owners: int = 3, **fields: Any) -> Trace:
    network = Network(
        answers_allowed=(10**6,) * n_owners,
        updates=10**6,
        until=30.0,
        clock=PoissonClock(rate=4.0),
        channel=Ideal(**fields),
        protocol=Push(),
    )
    return simulate(network, Streams(3).within("replicate", 1), events=True)


def lost(trace: Trace, owner: int) -> list[int]:
    """For each answer of an owner in turn, whether it was lost."""
    ends = (EventKind.answer_lost, EventKind.answer_delivered)
    mine = trace.events[trace.events["owner"] == owner]
    return (mine["kind"][np.isin(mine["kind"], ends)] == EventKind.answer_lost).tolist()


@pytest.mark.parametrize("spec", ALIKE, ids=str)
def test_an_owners_losses_are_its_own(spec):
    """Neither more owners, nor losses of other messages, nor retransmissions change them."""
    loss = spec.written
    few = traced(loss=loss)
    more = traced(5, loss=loss)
    others = traced(loss=loss, loss_query=0.3, retransmissions=2)
    for owner in (1, 2, 3):
        own = lost(few, owner)
        assert len(own) > 50
        assert lost(more, owner) == own
        again = lost(others, owner)
        both = min(len(own), len(again))
        assert again[:both] == own[:both]
    assert lost(few, 1)[:50] != lost(few, 2)[:50]


def test_each_owner_has_its_own_probability():
    trace = traced(loss=(0.0, 0.5, 1.0))
    shares = [np.mean(lost(trace, owner)) for owner in (1, 2, 3)]
    assert shares[0] == 0
    assert 0.3 < shares[1] < 0.7
    assert shares[2] == 1
