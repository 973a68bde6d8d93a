"""Secure aggregation: what sums cost, what their noise is, and how long it takes to open them.

And owners that are absent from steps of a sum: messages, sums that open, and wider observers.
"""

from dataclasses import replace
from functools import cache
from itertools import product
from math import sqrt
from typing import ClassVar

import numpy as np
import pytest
from scipy.special import chdtrc, ndtri

from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.core.specification import parse
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.core.units import TICKS_PER_UNIT
from asyncdp_sim.forecasts.forecast import forecast
from asyncdp_sim.learning.replay import replay
from asyncdp_sim.network import simulate
from asyncdp_sim.network.sums import Sums
from asyncdp_sim.privacy.accountants import UPWARDS
from asyncdp_sim.privacy.mechanisms import RecordSensitivity
from asyncdp_sim.privacy.mechanisms import shared as in_shares
from asyncdp_sim.privacy.pairs import epsilon_of, mu_of
from asyncdp_sim.runs.problem import build_dataset, prepare
from asyncdp_sim.runs.run import run
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.sentences.scenario import describe
from asyncdp_sim.theory.formulas.exchanges import mean_round, sum_opens
from asyncdp_sim.trace import ExchangeOutcome
from scenarios.beyond.observers.secure_sums import asked_by_step
from tests.tables import table

from .networks import replicates
from .zscores import LIMIT, Score, require, score, seen, shared

pytestmark = pytest.mark.oracle("ε of sums of answers, and noise of the sums")

ABSENT = pytest.mark.oracle("sums that open, and owners that their steps ask")

DELTA = 1e-5
TABLE = table(__file__, "aggregation.toml")
EQUAL = TABLE["equal"]
BUFFERED, MISSED = TABLE["buffered"], TABLE["missed"]
UNEQUAL = [0.5, 1.0, 1.0, 2.0, 2.0, 3.0]


def scenario(observer, *, epsilon=1.0, **parts):
    privacy = {**EQUAL["privacy"], "epsilon": epsilon, **parts.pop("privacy", {})}
    if observer is not None:
        privacy["observer"] = {"kind": "aggregate", **observer}
    return parse(Scenario, {**EQUAL, **parts, "privacy": privacy})


def noise_part(observer, seed, runs):
    """Return ψ at the end less ψ without noise, run by run."""
    problem = prepared(scenario(observer))
    trace, ends = simulate(problem.scenario.network, Streams(8).within("replicate", 1)), []
    for task, count in ((problem.task, runs), (problem.task.without_noise(), 1)):
        scopes = replicates(seed, count, 0)
        found = replay([trace] * count, task.steps, task.reply, scopes, 10**6, task.asks)
        ends.append(task.objective.relative_fitness(found.final))
    return ends[0] - ends[1]


@shared
def falls(runs, owners=8.0):
    """Return the fall of the noise part of E ψ, ``owners``-fold; its error by the delta method."""
    apart, summed = noise_part(None, 1, runs), noise_part({}, 2, runs)
    left, right = apart.mean(), owners * summed.mean()
    error = sqrt((apart.var(ddof=1) + owners**2 * summed.var(ddof=1)) / len(apart))
    return Score("N", left / summed.mean(), owners, (left - right) / error, error / right)


def prepared(asked):
    return prepare(asked, build_dataset(asked))


@pytest.mark.parametrize(
    ("runs", "error"), [(1_000, 0.06), pytest.param(20_000, 0.012, marks=pytest.mark.long)]
)
def test_the_noise_part_of_psi_falls_n_fold(runs, error):
    require([falls(runs)], error=error)


@pytest.mark.long
def test_a_fall_of_one_less_would_be_seen():
    """Planted fault: noise as if one owner's share were not needed."""
    assert seen([falls(20_000, 7.0)]) > LIMIT


@pytest.mark.long
def test_a_forecast_says_how_far_it_falls():
    apart, summed = (forecast(scenario(observer)) for observer in (None, {}))
    assert apart.noise_free == pytest.approx(summed.noise_free, rel=1e-12)
    parts = [found.psi - found.noise_free for found in (apart, summed)]
    assert parts[0] / parts[1] == pytest.approx(8, rel=4e-6)  # rounding is paid for
    assert parts[0] / parts[1] < 8
    some = forecast(scenario({"dropouts": 2, "colluders": 1}))
    assert parts[0] / (some.psi - some.noise_free) == pytest.approx(5, rel=4e-6)


@cache
def missed(d=2, t=1):
    asked = scenario({"dropouts": d, "colluders": t}, epsilon=UNEQUAL, **MISSED)
    return run(asked), prepared(asked)


def in_sums(result):
    """Return how many answers each opened sum has, of all replicates."""
    return np.concatenate(
        [np.bincount(trace.updates["k"])[1:] for trace in result.traces if trace.n_updates > 0]
    )


def test_with_as_many_drop_outs_as_are_tolerated_epsilon_is_its_closed_form():
    """μ² = m (2Ξ + γ√p)²/((n − d − t) σ²), σ² being the variance of a share that is drawn."""
    (result, problem), d, t, n = missed(), 2, 1, 6
    noise = problem.noise
    assert in_sums(result).min() == n - d  # some sums do lack as many as may be lacking
    sigma = noise.scale * noise.records
    assert np.ptp(sigma) <= 1e-12 * sigma[0]
    moved = 2 * float(problem.xi or 0) + noise.grid * sqrt(3)
    each = moved / (sqrt(n - d - t) * sigma[0])
    released = result.ledger.released
    assert np.array_equal(released, np.stack([trace.released for trace in result.traces]))
    truth = np.vectorize(lambda m: epsilon_of(each * sqrt(m), DELTA))(released)
    assert result.ledger.spent / UPWARDS == pytest.approx(truth, rel=1e-9, abs=1e-9)
    assert result.ledger.zcdp == pytest.approx(released * each**2 / 2, rel=1e-9)
    strictest = mu_of(UNEQUAL[0], DELTA) / sqrt(25)
    assert each == pytest.approx(strictest, rel=3e-6)  # UPWARDS, and a root that is not below


def test_no_budget_is_exceeded_and_sums_that_are_not_opened_are_charged():
    result, _ = missed()
    assert np.all(result.ledger.spent <= np.array(UNEQUAL))
    used = sum(len(trace.updates) for trace in result.traces)
    unopened = sum(trace.came_to(ExchangeOutcome.discarded).sum() for trace in result.traces)
    assert unopened > 20
    assert result.ledger.released.sum() - used == unopened
    assert in_sums(result).min() >= 4
    assert result.summary["private"] is True


@pytest.mark.parametrize(
    "parts", [MISSED, {**BUFFERED, "owners": MISSED["owners"]}], ids=["rounds", "fedbuff"]
)
def test_live_learning_is_its_replay(parts):
    observer = {"dropouts": 1, "colluders": 1}
    one, other = (
        run(scenario(observer, **{**parts, "run": {**parts["run"], "learning": how}}))
        for how in ("replay", "live")
    )
    assert one.fingerprints == other.fingerprints
    assert all(trace.n_updates > 0 for trace in one.traces)


def test_an_owner_is_in_a_buffers_sum_once():
    result = run(scenario({"dropouts": 3}, **BUFFERED))
    for trace in result.traces:
        owners = trace.updates["owner"].reshape(trace.n_updates, 5)
        assert all(len(set(row)) == 5 for row in owners.tolist())
    assert result.summary["mean_staleness"] > 0
    apart = run(scenario(None, **BUFFERED))
    twice = [len(set(row)) < 5 for t in apart.traces for row in t.updates["owner"].reshape(-1, 5)]
    assert any(twice)  # where answers are read one by one, some are


def share_of(noise, rng, owner, gradients):
    """Return what an owner adds to sums, with these gradients of it."""
    rows = noise.rows(rng, len(gradients), 3)
    owners = np.full(len(gradients), owner)
    return noise.add_noise(owners, gradients, rows) * noise.records[owner]


def test_sums_have_the_variance_that_is_accounted_and_modulo_they_are_the_same():
    _, problem = missed()
    noise, rng = problem.noise, np.random.default_rng(5)
    runs, shares = 20_000, 3
    gradients = rng.uniform(-0.5, 0.5, (6, 3))
    total, steps = np.zeros((runs, 3)), np.zeros((runs, 3), dtype=np.uint64)
    for owner in range(shares):
        found = share_of(noise, rng, owner, np.tile(gradients[owner], (runs, 1)))
        total += found
        whole = np.rint(found / noise.grid)
        assert np.abs(found / noise.grid - whole).max() < 1e-3  # on the grid, to rounding
        steps += whole.astype(np.int64).astype(np.uint64)  # modulo 2⁶⁴
    centred = steps.astype(np.int64) * noise.grid
    assert centred == pytest.approx(total, rel=1e-9, abs=noise.grid * 1e-2)
    mean = (noise.records[:shares, None] * gradients[:shares]).sum(axis=0)
    variance = shares * (noise.scale * noise.records)[0] ** 2
    spread = np.square(total - mean).sum() / variance
    assert abs(ndtri(chdtrc(3 * runs, spread))) <= LIMIT
    require([score("sum", total[:, 0] - mean[0], 0.0, sqrt(variance))], error=0.01)


def test_a_sum_that_could_wrap_is_refused():
    (_, problem), influence = missed(), RecordSensitivity(1.0, np.full(6, 1e14), 3)
    with pytest.raises(SpecError, match="could wrap"):
        in_shares(problem.noise, influence, 3)
    assert in_shares(problem.noise, replace(influence, records=np.full(6, 1e3)), 3).grid == 2.0**-20
    thin = replace(problem.noise, scale=np.full(6, 1e-13))  # only the sum of all records may wrap
    in_shares(thin, replace(influence, records=np.full(6, 2.0**42 / 3 * 0.999)), 3)
    with pytest.raises(SpecError, match="could wrap"):
        in_shares(thin, replace(influence, records=np.full(6, 2.0**42 / 3 * 1.001)), 3)


def test_shares_of_which_nothing_is_proven_are_refused():
    """And the proof's sum over whole numbers is as small as the page says where it begins."""
    (_, problem), influence = missed(), RecordSensitivity(1.0, np.full(6, 1e3), 3)
    least = np.full(6, 104 * sqrt(3) * 2.0**-20 / 1e3)  # of three shares, on a grid of 2⁻²⁰
    in_shares(replace(problem.noise, scale=least * 1.001), influence, 3)
    with pytest.raises(SpecError, match="a proof is known of 104 steps or more"):
        in_shares(replace(problem.noise, scale=least * 0.999), influence, 3)
    many = RecordSensitivity(1.0, np.full(10_001, 1e3), 3)
    noise = replace(problem.noise, scale=np.full(10_001, 1.0))
    with pytest.raises(SpecError, match="of 10001 owners"):
        in_shares(noise, many, 10_001)
    for m in (2, 3, 100, 10_000):  # q(k) is at least the mean of both its bounds
        rate = 2 * np.pi**2 * 104.0**2
        one = 1 + 2 * sum(np.exp(-rate / (2 * m) * k**2) for k in range(1, 20))
        assert (m - 1) * np.log(one) - rate * (1 - 1 / m) / 2 < -50_000


def test_whole_numbers_are_as_far_from_equal_as_the_proof_says():
    for m in (2, 3, 4, 5):
        for k in product(range(-3, 4), repeat=m - 1):
            if any(k):
                squares = sum(x * x for x in k)
                assert squares - sum(k) ** 2 / m >= max(1 - 1 / m, squares / m) - 1e-12


@shared
def trips(d):
    """Return the time of rounds whose answers take Exp(1), and of their trips, which do too."""
    answer = {"latency": {"answer": {"kind": "exponential", "mean": 1.0}}}
    asked = scenario({"dropouts": d}, run={"seed": 8, "updates": 400, "replicates": 40}, **answer)
    ends = [simulate(asked.network, scope).end_tick for scope in replicates(8, 40, 0)]
    n = asked.owners.count  # the last of n answers, and then the (n − d)-th to come back
    exact = mean_round(n, 1.0) + sum(1 / j for j in range(d + 1, n + 1))
    return score(f"{d}", np.array(ends) / TICKS_PER_UNIT / 400, exact)


@pytest.mark.long
def test_a_sum_takes_the_trip_that_opens_it():
    require([trips(0), trips(3)], error=0.01)


def test_messages_take_time_by_what_they_hold():
    """A query, the answer, and the trip, each over 1,000 bytes a time unit."""
    rate = {"latency": {"rate_bytes": 1000.0}}
    sizes = {"key_bytes": 10, "share_bytes": 5}
    trace = run(scenario(sizes, **rate)).traces[0]
    query, answer = 40 + 3 * 8 + 7 * 15, 40 + 3 * 8 + 10 + 7 * 5
    trip = 40 + 1 + 40 + 7 * 5
    assert trace.end_tick / TICKS_PER_UNIT == pytest.approx(6 * (query + answer + trip) / 1000)
    assert scenario(sizes, **rate).network.opening_bytes == (41, 75)


def test_a_forecast_sets_sums_beside_answers_and_models():
    rows = {each.name: each for each in forecast(scenario(None)).observers}
    assert rows["transcript"].quieter == pytest.approx(1, rel=1e-6)
    assert rows["aggregate"].quieter == pytest.approx(8**-0.5, rel=1e-5)
    assert rows["aggregate"].epsilon == pytest.approx(1, rel=1e-5)
    assert rows["aggregate"].psi == pytest.approx(rows["all models"].psi, rel=1e-4)


# Owners that are absent from steps of a sum

N, D, ROUNDS, RUNS = 7, 2, 60, 40
PRESENT, QUERY, ANSWER = 0.97, 0.01, 0.02
SIZES = {"few": (ROUNDS, RUNS), "many": (4 * ROUNDS, 2 * RUNS)}
PARTS = table(__file__, "absence_from_sums.toml")
TRIP = PRESENT * (1 - QUERY) * (1 - ANSWER)
SENT = PRESENT * (1 - QUERY) * (1 - ANSWER**2)  # an answer is sent twice if need be
THROUGH = {
    "every-step": {"keys": 1, "shares": TRIP, "query": TRIP**2, "opening": TRIP**2 * SENT},
    "opening": {"query": 1, "opening": SENT},
}
"""The chance that an owner stays through all steps before the named one."""


class Watched(Sums):
    """Sums that note, round by round, how many owners each step asks and whether a sum opens."""

    rounds: ClassVar[list[dict[str, int]]] = []
    most = 0

    def prepare(self, numbers):
        if len(self.rounds) == self.most:
            self._learner.kernel.stop()
        self.rounds.append({})
        left = yield from super().prepare(numbers)
        self.rounds[-1]["query"] = len(left)
        return left

    def _trip(self, step, numbers, enough=0):
        self.rounds[-1][step] = len(numbers)
        return (yield from super()._trip(step, numbers, enough))

    def open(self):
        before = self._learner.collected
        yield from super().open()
        self.rounds[-1]["opened"] = int(self._learner.collected > before)


@cache
def watched(absent_at: str, size: str) -> tuple[list[dict[str, int]], ...]:
    """Return what each step of each round asked, run by run."""
    network = scenario({"dropouts": D, "absent_at": absent_at}, **PARTS).network
    most, runs = SIZES[size]
    found = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("asyncdp_sim.network.learner.Sums", Watched)
        patch.setattr(Watched, "most", most)
        for scope in replicates(5, runs, 0):
            patch.setattr(Watched, "rounds", [])
            simulate(network, scope)
            found.append(Watched.rounds[:most])
    return tuple(found)


def opened(absent_at: str, size: str, least: int = N - D):
    """Compare the share of sums that open, and the owners asked at each step, with the binomial."""
    found, through = watched(absent_at, size), THROUGH[absent_at]
    shares = [np.mean([each.get("opened", 0) for each in rounds]) for rounds in found]
    opens = sum_opens(N, least, through["opening"] * TRIP)
    named = [score("opened", shares, opens)]
    for step, stays in through.items():
        asked = [np.mean([each.get(step, 0) for each in rounds]) for rounds in found]
        exact = N if stays == 1 else asked_by_step(N, least, stays)
        named.append(score(step, asked, exact))
    return named


@ABSENT
@pytest.mark.parametrize(
    ("size", "error"), [("few", 0.012), pytest.param("many", 0.004, marks=pytest.mark.long)]
)
@pytest.mark.parametrize("absent_at", THROUGH)
def test_sums_open_and_ask_as_the_binomial_says(absent_at, size, error):
    require(opened(absent_at, size), error=error)


@ABSENT
def test_one_share_more_or_less_would_be_seen():
    """Planted fault: the tail begins one too late, or one too early."""
    for least in (N - D - 1, N - D + 1):
        assert seen(opened("every-step", "few", least)) > LIMIT + 1


@ABSENT
def test_without_absence_steps_ask_everybody():
    assert sum_opens(5, 3, 1.0) == 1
    assert sum_opens(5, 3, 0.0) == 0
    assert asked_by_step(5, 3, 1.0) == 5
    by_hand = sum(k * c * 0.8**k * 0.2 ** (5 - k) for k, c in ((3, 10), (4, 5), (5, 1)))
    assert asked_by_step(5, 3, 0.8) == pytest.approx(by_hand, rel=1e-12)
    assert asked_by_step(5, 1, 0.8) == pytest.approx(4, rel=1e-12)


@ABSENT
def test_check_says_which_share_of_sums_opens_and_what_more_observers_would_cost():
    """ε of t + 1 colluders and of late answers alone: shares as drawn, fewer of them, hide less."""
    observer = {"dropouts": 2, "colluders": 1, "absent_at": "every-step"}
    asked = scenario(observer, run={"seed": 8, "updates": 6}, **{
        name: PARTS[name] for name in ("availability", "channel")
    })  # fmt: skip
    problem = prepared(asked)
    noise, n = problem.noise, EQUAL["owners"]["count"]
    rng, runs = np.random.default_rng(3), 20_000
    moved = (2 * float(problem.xi or 0) + noise.grid * sqrt(3)) * sqrt(6)
    told = " ".join(describe(asked))
    for shares, sentence in ((n - 4, "with 2 colluding, ε {:.3g} instead of 1"),
                             (1, "unmasked singly, {:.3g}")):  # fmt: skip
        drawn = np.zeros((runs, 3))
        for owner in range(shares):
            drawn += share_of(noise, rng, owner, np.zeros((runs, 3)))
        deviation = (noise.scale * noise.records)[0] * sqrt(shares)
        require([score("variance", (drawn**2).mean(axis=1), deviation**2)], error=0.007)
        assert sentence.format(epsilon_of(moved / deviation, DELTA)) in told
    assert f"{100 * sum_opens(n, n - 2, TRIP**3 * SENT):.3g} % are opened" in told
