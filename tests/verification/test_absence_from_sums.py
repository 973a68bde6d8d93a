"""Owners that are absent from steps of a sum: messages, sums that open, and wider observers."""

from functools import cache
from math import sqrt
from typing import Any, ClassVar

import numpy as np
import pytest

from asyncdp_sim.core.streams import Streams
from asyncdp_sim.network import simulate
from asyncdp_sim.network.sums import Sums
from asyncdp_sim.privacy.accountants.pairs import epsilon_of
from asyncdp_sim.privacy.mechanisms import GaussianShares
from asyncdp_sim.runs.problem import build_dataset, prepare
from asyncdp_sim.sentences.scenario import describe
from asyncdp_sim.theory.formulas.exchanges import sum_opens
from scenarios.beyond.observers.secure_sums import asked_by_step
from tests.tables import table

from .test_aggregation import DELTA, EQUAL, scenario
from .zscores import LIMIT, require, score, seen

pytestmark = pytest.mark.oracle("sums that open, and owners that their steps ask")

N, D, ROUNDS, RUNS = 7, 2, 60, 40
PRESENT, QUERY, ANSWER = 0.97, 0.01, 0.02
SIZES = {"few": (ROUNDS, RUNS), "many": (4 * ROUNDS, 2 * RUNS)}
PARTS: dict[str, Any] = table(__file__, "absence_from_sums.toml")
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
        for r in range(runs):
            patch.setattr(Watched, "rounds", [])
            simulate(network, Streams(5).within("replicate", r))
            found.append(Watched.rounds[:most])
    return tuple(found)


def scores(absent_at: str, size: str, least: int = N - D):
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


@pytest.mark.parametrize(
    ("size", "error"), [("few", 0.012), pytest.param("many", 0.004, marks=pytest.mark.long)]
)
@pytest.mark.parametrize("absent_at", THROUGH)
def test_sums_open_and_ask_as_the_binomial_says(absent_at, size, error):
    require(scores(absent_at, size), error=error)


def test_one_share_more_or_less_would_be_seen():
    """Planted fault: the tail begins one too late, or one too early."""
    for least in (N - D - 1, N - D + 1):
        assert seen(scores("every-step", "few", least)) > LIMIT + 1


def test_without_absence_steps_ask_everybody():
    assert sum_opens(5, 3, 1.0) == 1
    assert sum_opens(5, 3, 0.0) == 0
    assert asked_by_step(5, 3, 1.0) == 5
    by_hand = sum(k * c * 0.8**k * 0.2 ** (5 - k) for k, c in ((3, 10), (4, 5), (5, 1)))
    assert asked_by_step(5, 3, 0.8) == pytest.approx(by_hand, rel=1e-12)
    assert asked_by_step(5, 1, 0.8) == pytest.approx(4, rel=1e-12)


def test_check_says_which_share_of_sums_opens_and_what_more_observers_would_cost():
    """ε of t + 1 colluders and of late answers alone: shares as drawn, fewer of them, hide less."""
    observer = {"dropouts": 2, "colluders": 1, "absent_at": "every-step"}
    asked = scenario(observer, run={"seed": 8, "updates": 6}, **{
        name: PARTS[name] for name in ("availability", "channel")
    })  # fmt: skip
    problem = prepare(asked, build_dataset(asked))
    noise, n = problem.noise, EQUAL["owners"]["count"]
    assert isinstance(noise, GaussianShares)
    rng, runs = np.random.default_rng(3), 20_000
    moved = (2 * float(problem.xi or 0) + noise.grid * sqrt(3)) * sqrt(6)
    told = " ".join(describe(asked))
    for shares, sentence in ((n - 4, "with 2 colluding, ε {:.3g} instead of 1"),
                             (1, "unmasked singly, {:.3g}")):  # fmt: skip
        drawn = np.zeros((runs, 3))
        for owner in range(shares):
            rows = noise.rows(rng, runs, 3)
            owners = np.full(runs, owner)
            found = noise.add_noise(owners, np.zeros((runs, 3)), rows)
            drawn += found * noise.records[owner]
        deviation = (noise.scale * noise.records)[0] * sqrt(shares)
        require([score("variance", (drawn**2).mean(axis=1), deviation**2)], error=0.007)
        assert sentence.format(epsilon_of(moved / deviation, DELTA)) in told
    assert f"{100 * sum_opens(n, n - 2, TRIP**3 * SENT):.3g} % are opened" in told
