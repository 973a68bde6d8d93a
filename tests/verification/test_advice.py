"""Advice held to independent simulations: pooled coverage of its 95 % intervals, and no lean.

A headline is a mean of runs, a gain a ratio of two in the same runs. Lean is of the mean alone, its
error over a standard deviation to which the headline's own runs add little: one of these alone
is too small whenever their mean is too low, as ψ is skewed, and an honest headline would seem low.

Each headline is of the choice that won, in runs that had no part in the choosing. Were it of the
runs that chose, the best of many would look better than it is, and the coverage would tell.
"""

from functools import partial

import numpy as np
import pytest
from scipy.stats import binom

from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.forecasts import contest
from asyncdp_sim.forecasts.contest import CHOOSING, Played, ends
from asyncdp_sim.forecasts.invite import invite
from asyncdp_sim.forecasts.market import buy
from asyncdp_sim.forecasts.population import population
from asyncdp_sim.forecasts.tune import tune
from asyncdp_sim.runs.problem import build_dataset
from asyncdp_sim.scenario import Scenario
from tests.fresh import fresh_seed
from tests.unit.forecasts.banks import banks, trial

pytestmark = pytest.mark.no_evidence

REFEREES = 400
"""Runs that a headline, of as many as users get, is compared with; other ones."""


def scenario(seed, owners=(2, 6)):
    """Return a small scenario, of random owners, step, budget and bound; half of them clipped."""
    g = np.random.default_rng(seed)
    n = int(g.integers(*owners))
    records = tuple(g.integers(150, 1500, n).tolist())
    epsilon = tuple(np.round(10 ** g.uniform(-0.3, 0.7, n), 3).tolist())
    raw = banks(records, epsilon, int(g.integers(20, 90)), float(10 ** g.uniform(0.7, 2)))
    raw["run"]["seed"] = int(seed) + 1
    if seed % 2 == 1:
        bound = float(10 ** g.uniform(-0.3, 0.7))
        raw["privacy"]["sensitivity"] = {"kind": "clip", "bound": bound}
    if g.random() < 0.5:
        raw["privacy"]["budget"] = {"kind": "per-owner-cap", "answers": raw["run"]["updates"]}
    return Scenario.model_validate(raw)


def tuned(asked):
    """Return the best and the given choice, each with how to simulate it anew."""
    found = tune(asked)
    play = partial(ends, dataset=build_dataset(asked))
    best, given = found.best.simulated, found.given.simulated
    return (best, partial(play, found.scenario)), (given, partial(play, asked))


def invited(asked):
    found, known = invite(asked), population(asked, private=False)
    given = partial(ends, asked, dataset=known.dataset)
    same = found.best.coalition == found.given.coalition
    best = given if same else partial(trial, known, found.best.coalition)
    return (found.best.simulated, best), (found.given.simulated, given)


def bought(asked):
    dataset, owners = build_dataset(asked), asked.owners.count

    def with_budgets(epsilon):
        privacy = asked.privacy.model_copy(update={"epsilon": tuple(epsilon)})
        return partial(ends, asked.model_copy(update={"privacy": privacy}), dataset=dataset)

    target = 1.5 * float(with_budgets([np.inf] * owners)(range(1, 41)).mean())
    found = buy(asked, [1.0] * owners, target)
    best = with_budgets(found.purchase.epsilon.tolist())
    return (found.simulated, best), (found.with_equal, with_budgets([found.equal] * owners))


def covered(advise, seeds, owners=(2, 6)):
    """Return of each headline its lean, whether it covers, its width; and whether gains cover."""
    rows, gains = [], []
    for seed in seeds:
        try:
            (headline, play), (other, play_other) = advise(scenario(seed, owners))
        except SpecError:  # of the market alone: noise that may reach the bound, or no target
            continue
        referee = Played(play(range(7001, 7001 + REFEREES)))
        both = float(np.hypot(headline.half_width, referee.half_width))
        apart = headline.psi - referee.psi
        spread = np.concatenate([headline.final, referee.final]).std(ddof=1)
        lean = apart / spread / np.sqrt(1 / len(headline.final) + 1 / REFEREES)
        rows.append((lean, abs(apart) <= both, headline.half_width / referee.psi))
        ratio, half = other.over(headline)
        if half > 0:  # two choices, both of which converge
            again, more = Played(play_other(range(7001, 7001 + REFEREES))).over(referee)
            gains.append(abs(ratio - again) <= np.hypot(half, more))
    return np.array(rows), np.array(gains)


@pytest.mark.nightly
def test_headlines_cover_what_independent_runs_give():
    seed = fresh_seed()
    starts = {tuned: seed, invited: seed + 1000, bought: seed + 2000}  # one headline a scenario
    each = {advise: covered(advise, range(at, at + 104)) for advise, at in starts.items()}
    for advise, (rows, gains) in each.items():
        print(f"{advise.__name__}: {int(rows[:, 1].sum())} of {len(rows)}, mean z "
              f"{rows[:, 0].mean():.2f}, half width {np.median(rows[:, 2]):.1%}; gains "
              f"{int(gains.sum())} of {len(gains)}")  # fmt: skip
    rows, gains = map(np.concatenate, zip(*each.values(), strict=True))
    assert len(rows) >= 300
    assert binom.cdf(int(rows[:, 1].sum()), len(rows), 0.95) > 0.01
    assert len(gains) >= 200
    assert binom.cdf(int(gains.sum()), len(gains), 0.95) > 0.01
    assert np.median(rows[:, 2]) < 0.25
    assert abs(rows[:, 0].mean()) < 4 / np.sqrt(len(rows))  # neither optimism nor pessimism


@pytest.mark.nightly
def test_headlines_of_the_runs_that_chose_would_be_seen(monkeypatch):
    """Planted bug: what is told of the winner is of the runs that made it win.

    Among seven to ten owners there are more coalitions to be lucky than among few.
    """
    monkeypatch.setattr(
        contest, "afresh", lambda plays, *_: {c: Played(by_eight(p)) for c, p in plays.items()}
    )
    monkeypatch.setattr(contest, "winner", most_lucky)
    rows, _ = covered(invited, range(240), (7, 11))
    assert rows[:, 0].mean() * np.sqrt(len(rows)) < -4


def by_eight(play):
    return play(range(CHOOSING, CHOOSING + 8))


def most_lucky(plays, *_):
    """Return choices by eight runs each."""
    return sorted(plays, key=lambda choice: by_eight(plays[choice]).mean())
