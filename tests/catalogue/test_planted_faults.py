"""Faults planted into the runs of each figure turn a row of it red, wherever they enter."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from asyncdp_sim.data.tables.preprocessing import EigenUncentred, Projection
from asyncdp_sim.learning.algorithms import gathered, gossip
from asyncdp_sim.network import clocks
from asyncdp_sim.privacy import mechanisms as laplace
from asyncdp_sim.results import Cell, Result, Sweep
from asyncdp_sim.runs import problem
from asyncdp_sim.runs.run import run, write
from scenarios.papers import FIGURES, collab_optimum, exact
from scenarios.papers.claims import SENTENCES, Judged, judge
from scenarios.papers.figure import AS_PUBLISHED, SOUND
from scenarios.papers.lending import CONSTANT, LAW_WITHIN
from scenarios.papers.replayed import DRAWS, scale_claims
from tests.one_in import one_in
from tests.tables import table
from tests.together import together

# Ten faults that somebody might build into the runs of a paper's figures.

Plant = Callable[[pytest.MonkeyPatch], None]
KINDS = (gossip.AsyncGossip, gathered.Collab1, gathered.Collab2, gathered.ParameterServer)


def noise(factor: float) -> Plant:
    """Draw so many times the noise."""

    def plant(patch: pytest.MonkeyPatch) -> None:
        right = laplace.LaplaceNoise.add_noise

        def other(self: Any, owners: Any, gradients: Any, rows: Any) -> Any:
            return right(self, owners, gradients, factor * np.asarray(rows))

        patch.setattr(laplace.LaplaceNoise, "add_noise", other)

    return plant


def step(factor: float) -> Plant:
    """Take steps so many times as long, in the runs alone."""
    return _steps(lambda steps, _: _longer(steps, factor))


def _longer(steps: Any, factor: float) -> Any:
    if isinstance(steps, gossip.GossipSteps):
        return replace(
            steps, step=factor * steps.step, shrink_copy=1 - factor * (1 - steps.shrink_copy)
        )
    return replace(steps, rate=factor * steps.rate)


def _steps(change: Callable[[Any, Any], Any]) -> Plant:
    def plant(patch: pytest.MonkeyPatch) -> None:
        for kind in KINDS:
            right = kind.steps
            patch.setattr(kind, "steps", lambda self, setting, right=right: change(
                right(self, setting), setting
            ))  # fmt: skip

    return plant


def horizon(patch: pytest.MonkeyPatch) -> None:
    """Take steps for half as many updates."""
    right = problem._setting

    def other(*given: Any) -> Any:
        found = right(*given)
        return replace(found, horizon=found.horizon // 2)

    patch.setattr(problem, "_setting", other)


def split(patch: pytest.MonkeyPatch) -> None:
    """Split a budget over an owner's share of the answers, where it is over all of them."""
    right = laplace.scale_of

    def other(influence: Any, allowance: Any) -> Any:
        fewer = np.maximum(1, allowance.answers // len(allowance.answers))
        return right(influence, replace(allowance, answers=fewer))

    patch.setattr(laplace, "scale_of", other)


def order(patch: pytest.MonkeyPatch) -> None:
    """Let every second clock, from the first, tick half as often again."""
    right = clocks.PoissonClock.ticks

    def other(self: Any, owner: int, source: Any, block: int) -> Iterator[int]:
        ticks = right(self, owner, source, block)
        return (int(tick / 1.5) for tick in ticks) if owner % 2 == 1 else ticks

    patch.setattr(clocks.PoissonClock, "ticks", other)


def unscaled(patch: pytest.MonkeyPatch) -> None:
    """Leave out D^(-1/2) of the features X V D^(-1/2)."""
    right = EigenUncentred.fit

    def other(self: Any, rows: Any, target: Any, features: int) -> Any:
        found = right(self, rows, target, features)
        return Projection(None, found.matrix / np.linalg.norm(found.matrix, axis=0), 0.0)

    patch.setattr(EigenUncentred, "fit", other)


unprojected = _steps(lambda steps, _: replace(steps, theta_max=None))


def stale(patch: pytest.MonkeyPatch) -> None:
    """Ask at the learner's model of an update ago."""
    asked = gossip.GossipSteps.query

    def one_on_one(self: Any, state: Any, turn: Any) -> Any:
        _note(state, state.central)
        points = asked(self, state, turn)
        points += 0.5 * (state.before - state.central)[turn.index]
        return points

    def in_round(self: Any, state: Any, turn: Any) -> Any:  # noqa: ARG001
        _note(state, state.model)
        return state.before[turn.replicates]

    patch.setattr(gossip.GossipSteps, "query", one_on_one)
    patch.setattr(gathered.GatheredSteps, "query", in_round)


def _note(state: Any, model: Any) -> None:
    """Keep the model that was there before the one that is."""
    now = getattr(state, "now", model)
    if not np.array_equal(now, model):
        state.before = now
    elif not hasattr(state, "before"):
        state.before = model.copy()
    state.now = model.copy()


FAULTS: Mapping[str, Plant] = {
    "noise half": noise(0.5),
    "noise twice": noise(2.0),
    "step × 0.8": step(0.8),
    "step × 1.3": step(1.3),
    "T of the steps": horizon,
    "budget split": split,
    "i_k by another law": order,
    "unscaled features": unscaled,
    "missing projection": unprojected,
    "a stale read": stale,
}


def forget() -> None:
    """Drop what is kept of records and forecasts, which a fault may have changed."""
    problem.few_records.cache_clear()
    problem.drawn_records.cache_clear()
    exact._FORECASTS.clear()
    exact._SHARED = exact.Recursions()


# Ten faults planted into the runs of each figure turn a row of it red, wherever they enter.

NAMED = {figure.name: figure for figure in FIGURES}
TABLE = table(__file__, "planted_faults.toml")
ROWS = TABLE["rows"]
"""What the rows that judge a run begin with; further rows of a figure need runs of its size."""
FEW = ("owners.count=3", "run.updates=400", "run.replicates=2", "owners.records=60")
ROUNDS = ("owners.count=3", "run.updates=10", "run.replicates=2", "owners.records=60")
BANKS = (*FEW, "data.public_records=300", "algorithm.rho=50.0", "model.theta_max=2000.0")
HOSPITALS = (*BANKS, 'data.split="in-order"')
FIGURE = {
    **dict.fromkeys(("async-03", "async-05", "async-06", "async-07"), BANKS),
    **dict.fromkeys(("async-08", "async-10", "async-11"), HOSPITALS),
    **{f"collab-{n:02d}": (*ROUNDS, "data.public_records=300") for n in range(2, 7)},
    **{f"collab-{n:02d}": ROUNDS for n in range(7, 12)},
    "polar-03": (*ROUNDS, "model.theta_max=1.0", 'sweep.variant=[{ name = "ε = 1" }]'),
}
"""Figures with runs that learn from noisy answers, and what makes a run of a second of them."""
IN_ORDER = {name: {"model"} for name in FAULTS} | {
    "noise half": {"noise", "model"},
    "noise twice": {"noise", "model"},
    "budget split": {"noise", "model"},
    "i_k by another law": {"shares"},
    "unscaled features": {"features"},
}
"""Rows that turn red by fault, of the figures with Algorithm 1 of Async."""
IN_ROUNDS = IN_ORDER | {"i_k by another law": set(), "missing projection": set()}
"""Of the figures in rounds: each asks every owner, and Θ is the whole space."""
NO_FEATURES = IN_ROUNDS | {"unscaled features": set()}
"""Of the frauds, whose features are as the table has them."""
POLAR = NO_FEATURES | {"T of the steps": set(), "missing projection": {"model"}}
"""Of POLAR's private server: its steps do not know T, and it has a box."""


def expected(name: str) -> dict[str, set[str]]:
    """Return the rows of a figure that each fault turns red."""
    if name == "polar-03":
        return POLAR
    if name.startswith("async"):
        return IN_ORDER
    return IN_ROUNDS if int(name[-2:]) <= 6 else NO_FEATURES


def judged(
    name: str, variant: str, folder: Path, more: Sequence[str], *begins: str
) -> list[Judged]:
    """Run a few updates of a figure's first cell; judge its rows that begin so."""
    figure = NAMED[name]
    forget()
    write(run(figure.scenario(variant, full=True, more=tuple(more)).base()), folder)
    swept = {variant: Sweep(folder, (), (Cell(0, {}, Result.read(folder)),), ())}
    claims = [claim for claim in figure.claims if claim.quantity.startswith(begins)]
    found = judge("", variant, claims, swept)
    forget()
    return found


def red(name: str, folder: Path) -> set[str]:
    """Return which rows of a figure are not as they must be."""
    variant = SOUND if name == "polar-03" else AS_PUBLISHED
    found = judged(name, variant, folder, FIGURE[name], *ROWS.values())
    wrong = [each.quantity for each in found if each.verdict != "agrees"]
    return {row for row, begins in ROWS.items() if any(q.startswith(begins) for q in wrong)}


def planted() -> Iterator[str]:
    """Yield each fault while it is planted."""
    for fault, plant in FAULTS.items():
        with pytest.MonkeyPatch.context() as patch:
            plant(patch)
            yield fault


def test_every_figure_that_learns_is_here():
    without = {"async-01", *ORDER_ALONE, "collab-optimum"}  # the first draws who is connected
    assert {figure.name for figure in FIGURES} - without == set(FIGURE)


@one_in(4, "name", FIGURE)
def test_rows_that_faults_turn_red(name, tmp_path):
    assert red(name, tmp_path / "sound") == set()
    assert {fault: red(name, tmp_path / fault) for fault in planted()} == expected(name)


ORDER_ALONE = {"async-02": (), "async-04": BANKS, "async-09": HOSPITALS}
"""Figures of who talks to the learner: of the ten faults only another law of i_k enters them."""


@pytest.mark.parametrize("name", ORDER_ALONE)
def test_figures_of_the_order_see_another_law(name, tmp_path, monkeypatch):
    def verdicts(folder):
        found = judged(name, AS_PUBLISHED, folder, ORDER_ALONE[name], "shares of")
        return [each.verdict for each in found]

    assert verdicts(tmp_path / "sound") == ["agrees"]
    FAULTS["i_k by another law"](monkeypatch)
    assert verdicts(tmp_path / "planted") == ["fails"]


OPTIMUM = TABLE["optimum"]


def test_the_optimum_sees_other_steps(tmp_path):
    """Nothing is noised in it, all owners are asked, and Θ is the whole space."""
    asked = NAMED["collab-optimum"].scenario(AS_PUBLISHED, full=True, more=OPTIMUM)

    def is_off(folder):
        forget()
        write(run(asked.base()), folder / "cell-0000")
        return collab_optimum.off(Result.read(folder / "cell-0000")) > collab_optimum.CLOSE

    assert not is_off(tmp_path / "sound")
    off = {fault for fault in planted() if is_off(tmp_path / fault)}
    assert off == {"step × 0.8", "step × 1.3", "T of the steps", "a stale read"}


# Twice the noise, or half of it, turns a row of each figure red, wherever it comes from.

WITHOUT = {"async-01", "async-02", "async-04", "async-09", "collab-optimum"}
"""Figures of who talks when, and of no noise at all."""
FEW_RUNS = ("owners.count=3", "run.updates=5", "run.replicates=1", "owners.records=60")
TABLES = TABLE["tables"]
"""A figure of each table, and what makes its records few."""


def scale(name: str, variant: str, folder: Path, *more: str) -> Judged:
    """Run one cell, and judge its noise."""
    [row] = judged(name, variant, folder, (*TABLES[name], *FEW_RUNS, *more), "mean |w|")
    return row


@together
@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.name)
def test_every_figure_with_noise_judges_its_scale(figure):
    of_noise = [claim for claim in figure.claims if claim.quantity.startswith("mean |w|")]
    judged = sorted(variant for claim in of_noise for variant in claim.variants)
    hidden = [SOUND] if figure.name == "polar-03" else sorted(figure.variants)
    assert judged == ([] if figure.name in WITHOUT else hidden)


def test_windows_are_narrower_than_the_noise_squared():
    """Wherever ours is inside of the law's, it is outside with twice the noise: ψ is 4 times it."""
    low, high = LAW_WITHIN
    assert low < CONSTANT < high < 4 * low
    [claim] = scale_claims({"any": 1.0}, SENTENCES["SCALE"])
    assert claim.high - 1 == pytest.approx(4 / sqrt(DRAWS))
    assert claim.high < 2 * claim.low


@pytest.mark.parametrize("name", TABLES)
def test_noise_is_the_theorems(name, tmp_path):
    for variant in NAMED[name].variants:
        row = scale(name, variant, tmp_path / variant)
        assert (row.verdict, row.published) == ("agrees", 1.0), row


@one_in(2, "factor", [0.5, 2.0])
@pytest.mark.parametrize("name", TABLES)
def test_other_noise_is_red(name, factor, tmp_path, monkeypatch):
    """In what is declared, and in the scale that is worked out of it."""
    right = laplace.scale_of
    sensitivity: Any = NAMED[name].scenario(AS_PUBLISHED, full=True).privacy.sensitivity
    setting = f"privacy.sensitivity.bound={factor * sensitivity.bound}"
    declared = scale(name, AS_PUBLISHED, tmp_path / "declared", setting)
    monkeypatch.setattr(laplace, "scale_of", lambda *given: factor * right(*given))
    for found in (declared, scale(name, AS_PUBLISHED, tmp_path / "scale")):
        assert found.verdict == "fails"
        assert found.ours == pytest.approx(factor, rel=0.05)
