"""Steps, lengths and caps that are tuned, and the choices among which runs decide."""

from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from analysis.exact.learning import Expected, exact
from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.core.words import plus_minus
from asyncdp_sim.forecasts import contest
from asyncdp_sim.forecasts import tune as module
from asyncdp_sim.forecasts.contest import CHOOSING, Played, along, ends, winner
from asyncdp_sim.forecasts.forecast import forecast
from asyncdp_sim.forecasts.population import CHOSEN, affordable, choosing, population
from asyncdp_sim.forecasts.step import step_lines
from asyncdp_sim.forecasts.tune import StepLengthCap, tune
from asyncdp_sim.privacy.budgets import enough
from asyncdp_sim.runs.problem import build_dataset
from asyncdp_sim.runs.replicates import processes
from asyncdp_sim.runs.run import run
from asyncdp_sim.scenario import Scenario, load
from asyncdp_sim.sentences.forecast import lines
from asyncdp_sim.theory.formulas.convergence import contraction
from tests.one_in import one_in
from tests.tables import table
from tests.unit.forecasts.banks import banks

CASES = table(__file__, "scenes.toml")

# The step of an update in place of ρ: one number everywhere, and how far it takes the model.

RHO, T, N, SIGMA = 30.0, 60, 3, 0.1
STEP = N * RHO / (T**2 * SIGMA)


def stepping(step=STEP, *, updates=T):
    raw = banks((400, 400, 400), (1.0, 2.0, 0.5), updates, RHO)
    if step is not None:
        raw["algorithm"] = {"kind": "async-gossip", "step": step}
    return Scenario.model_validate(raw)


BY_RHO = stepping(None)


@pytest.mark.parametrize("learning", ["replay", "live"])
def test_runs_by_the_step_are_those_by_its_rho(learning):
    by_step, by_rho = (
        run(each.replace(run={"learning": learning}), numbers=range(1, 5)).summary["psi_final"]
        for each in (stepping(), BY_RHO)
    )
    assert by_step["mean"] == pytest.approx(by_rho["mean"], rel=1e-9)


def test_forecasts_by_the_step_are_those_by_its_rho():
    one, other = (forecast(each) for each in (stepping(), BY_RHO))
    assert one.psi == pytest.approx(other.psi, rel=1e-9)


def test_a_shorter_run_keeps_the_step_and_goes_not_so_far():
    short = stepping(updates=T // 5)
    assert short.algorithm.step_of(N, T // 5, SIGMA) == STEP
    by_rho = stepping(None, updates=T // 5)
    assert by_rho.algorithm.step_of(N, T // 5, SIGMA) == pytest.approx(25 * STEP)


def test_tuning_writes_the_step():
    found = tune(BY_RHO)
    assert found.scenario.algorithm.rho is None
    assert found.scenario.algorithm.step == found.best.setting.step
    assert found.lines()[0].startswith(f"best      step = {found.best.setting.step:.3g}, T = ")


@pytest.mark.parametrize("central_step", ["proof", "text"])
@pytest.mark.parametrize("curvature", [0.1, 2.0, 40.0, 400.0])
def test_the_contraction_is_that_of_the_mean_path(curvature, central_step):
    owners, step, updates = 4, 0.3, 50
    models, after = np.eye(owners + 1), np.zeros((owners + 1, owners + 1))
    beta = step / (2 * owners) if central_step == "proof" else step * (owners - 1) / owners**2
    for owner in range(1, owners + 1):  # every owner's update, each with probability 1/N
        moved, middle = models.copy(), (models[0] + models[owner]) / 2
        gradient = (curvature - SIGMA) * middle / owners
        moved[owner] = middle - step * (SIGMA * middle / (2 * owners) + gradient)
        moved[0] = middle - beta * SIGMA * middle
        after += moved / owners
    slowest = np.abs(np.linalg.eigvals(after)).max()
    how = {"step": step, "sigma": SIGMA, "updates": updates, "central_step": central_step}
    left = contraction(curvature, owners, **how)
    assert left == pytest.approx(slowest**updates, rel=1e-6)


@pytest.mark.parametrize("algorithm", CASES["one_owner"], ids=lambda algorithm: algorithm["kind"])
def test_a_check_says_what_other_steps_leave_of_the_distance(algorithm):
    raw = banks((400,), (np.inf,), T, RHO) | {"algorithm": algorithm}
    raw["data"]["features"] = 1
    answers = algorithm["kind"].startswith("fed")
    raw["protocol"] = {"kind": "request" if answers else "rounds"}
    alone = Scenario.model_validate(raw)
    psi = run(alone, numbers=[1]).learned.curve["relative_fitness"]
    (said, *_) = step_lines(alone)
    left = float(said.split("after T updates, ")[1].split()[0])
    assert left == pytest.approx(np.sqrt(psi[-1] / psi[0]), rel=0.05)
    assert 0.001 < left < 0.9
    assert ("for staleness 0" in said) == answers


@pytest.mark.parametrize(("rho", "diverges"), [(40.0, False), (40_000.0, True)])
def test_steps_that_are_too_long_are_named(rho, diverges):
    told = lines(forecast(Scenario.model_validate(banks(updates=200, rho=rho))))
    said = [line for line in told if line.startswith("diverges")]
    assert len(said) == diverges
    assert all("take shorter steps" in line for line in said)


# Steps, lengths and caps that are tuned.

CAPPED = CASES["capped"]
"""Half of all record gradients are longer than the bound at the optimum."""


def scenario(**changes):
    raw = banks((2000, 2000, 2000), (2.0, 2.0, 2.0), 60, 3.0)
    for part, values in changes.items():
        raw[part] |= values
    return Scenario.model_validate(raw)


@pytest.mark.parametrize(("psi", "reach", "said"), CASES["refuted"])
def test_an_exact_psi_that_rounding_has_made_is_refused(psi, reach, said):
    moments = SimpleNamespace(expected_excess=lambda *_: np.array([1.0, psi]))
    judge = SimpleNamespace(hessian=None, optimum=None, least=1.0, theta_max=5.0)
    found = Expected.of(SimpleNamespace(judge=None), judge, (moments, moments), reach)
    assert found.refuted == said


def exactly(setting, asked):
    """Return E ψ of a choice by exact moments; infinite where it has none."""
    found = exact(population(setting.into(asked), private=False))
    return np.inf if isinstance(found, tuple) else float(found.psi[-1])


@one_in(3, ("rho", "updates"), [(3.0, 60), (1e-9, 4), (1e4, 300)])
def test_no_step_and_length_nearby_are_much_better(rho, updates):
    asked = scenario(algorithm={"rho": rho}, run={"updates": updates})
    best = tune(asked, replicates=40).best.setting
    psi = exactly(best, asked)
    assert psi < 0.05  # of 1.4 at the start
    for step in (0.3, 0.8, 1.0, 1.25, 3.0):
        for length in (0.4, 0.8, 1.0, 1.25, 2.5):
            longer = max(1, round(length * best.updates))
            other = step * best.step * (best.updates / longer) ** 2
            assert exactly(StepLengthCap(other, longer, longer), asked) > 0.8 * psi


@pytest.mark.long
@pytest.mark.parametrize("answers", [4, 45, 300])
def test_the_cap_is_tuned_too_and_bears_all_updates(answers):
    budget = {"kind": "per-owner-cap", "answers": answers}
    asked = scenario(privacy=CAPPED | {"budget": budget})
    found = tune(asked)
    best = found.best.setting
    assert best.updates / 3 <= best.answers < enough(1 / 3, 3, best.updates)
    dataset, numbers = build_dataset(asked), range(5001, 5201)
    summary = run(best.into(asked), numbers=range(1, 5)).summary
    assert summary["updates"] == 4 * best.updates
    psi = ends(best.into(asked), numbers, dataset=dataset).mean()
    for factor in (1.3, enough(1 / 3, 3, best.updates) / best.answers):
        looser = StepLengthCap(best.step, best.updates, round(factor * best.answers))
        assert ends(looser.into(asked), numbers, dataset=dataset).mean() > psi


@pytest.mark.long
@pytest.mark.parametrize("privacy", [{}, CAPPED], ids=["declared", "capped"])
def test_the_headline_is_what_a_run_of_the_scenario_gives(privacy):
    asked = scenario(privacy=privacy)
    found = tune(asked)
    for shown, told in ((found.best, found.scenario), (found.given, asked)):
        played = shown.simulated
        summary = run(told, numbers=range(1, len(played.final) + 1)).summary["psi_final"]
        assert played.psi == pytest.approx(summary["mean"], rel=1e-12)
    ratio, half = found.ratio
    assert ratio == pytest.approx(found.given.simulated.psi / found.best.simulated.psi)
    assert ratio - half > 2
    better = next(line for line in found.lines() if line.startswith("better"))
    assert better.startswith(f"better    {plus_minus(ratio, half)} times")
    assert "not shown" not in better


@pytest.mark.long
def test_without_noise_the_longest_run_that_is_tried_is_the_best(monkeypatch):
    monkeypatch.setattr(contest, "longest", lambda *_: 12)
    quiet = tune(scenario(privacy={"mechanism": "none"}), replicates=2)
    assert quiet.best.setting.updates == 12
    assert "limit     T is the longest that is tried: a longer run may be better" in quiet.lines()


@pytest.mark.long
def test_a_choice_that_cannot_be_bettered_is_kept_and_the_advice_says_so():
    found = tune(scenario())
    while found.best is not found.given:  # a search from elsewhere may find more
        better = found.best.simulated.final.mean()
        assert better < found.given.simulated.final.mean()
        own = found.best.setting.into(scenario())
        found = tune(own)
    assert found.scenario == own
    assert found.lines()[0].startswith(f"best      as given, {found.best.setting}: ψ ")
    assert found.lines()[1] == "better    none: no better choice was found"


def test_where_noise_drowns_all_that_is_learned_no_step_is_long():
    """One update leaves the model at its start, whatever the step: all of them were alike."""
    asked = scenario(privacy=CAPPED | {"epsilon": 1e-9})
    known = population(asked, private=False)
    with processes(1) as alone:
        best = module.Search(known, 2, alone).best(StepLengthCap(1.0, 12, 8))
    assert best.step <= 1


def test_what_has_no_such_steps_or_diverges_whatever_they_are_is_refused(monkeypatch):
    raw = banks()
    raw["algorithm"] = {"kind": "fedasync", "step": 0.1, "mixing": 0.5}
    with pytest.raises(SpecError, match="sought for async-gossip alone"):
        tune(Scenario.model_validate(raw))
    diverges = [np.full((2, 1), np.inf)]

    def lost(cells, *_, **__):
        return np.ones(1), diverges * len(cells)

    monkeypatch.setattr(contest, "along", lost)
    with pytest.raises(SpecError, match="no step with which learning converges"):
        tune(scenario())


@pytest.mark.long
def test_the_published_choice_on_lending_is_beaten_tenfold():
    root = Path(__file__).parents[3] / "asyncdp_sim" / "catalogue"
    settings = ["owners.records=10000", "run.record_every=1000"]
    published = load(root / "lending-convergence.toml", settings)[0].base()
    found = tune(published, replicates=60)
    assert published.privacy.epsilon == 1.0
    assert found.given.setting.step == pytest.approx(900.0)  # Nρ/(T²σ), ρ = 3000
    ratio, half = found.ratio
    assert ratio - half > 10


@pytest.fixture
def played(monkeypatch):
    """Return scenarios that are run along their steps, and the numbers of their runs."""
    calls = []

    def seen(scenarios, numbers, *rest, **how):
        calls.append((scenarios, numbers))
        return along(scenarios, numbers, *rest, **how)

    monkeypatch.setattr(contest, "along", seen)
    return calls


def test_runs_that_chose_are_none_of_those_reported(played, monkeypatch):
    """The best and the given one are compared by runs that found neither."""
    monkeypatch.setattr(contest, "longest", lambda *_: 60)
    tune(scenario(privacy=CAPPED), replicates=4)
    starts = 1, CHOOSING, CHOOSING + 4
    expected = {start + number for start in starts for number in range(4)}
    assert {number for _, numbers in played for number in numbers} == expected


@pytest.mark.parametrize(("capped", "answers", "updates"), CASES["lengths"])
def test_a_network_is_as_long_as_its_cap_allows(capped, answers, updates):
    choices = module.Choices(owners=3, capped=capped, longest=1000)
    assert choices.longest_with(answers, 1.0) == StepLengthCap(1.0, updates, answers)
    assert choices.nearest(0.4) == 1
    assert choices.nearest(1e9) == (334 if capped else 1000)


@pytest.mark.parametrize(("before", "after", "least"), [(4, 4, 0), (2, 8, -0.25), (1, 2, 0)])
def test_the_least_value_lies_between_three_that_are_known(before, after, least):
    """Of a parabola through logarithms; no place is better where the middle is not the least."""
    assert module._vertex(before, 1.0, after) == pytest.approx(least)


def test_settings_of_private_records_are_said_to_be():
    known = population(scenario(), private=False)
    asked = scenario().replace(description="Of three banks.")
    assert choosing(asked, known) == asked
    object.__setattr__(known, "private", True)
    told = choosing(asked, known)
    assert told.chosen_from == "private rows"
    assert told.description == f"Of three banks.\n{CHOSEN}\n"
    assert choosing(scenario().replace(description=""), known).description == f"{CHOSEN}\n"


@pytest.mark.parametrize("privacy", [CAPPED, CAPPED | {"mechanism": "gaussian", "delta": 1e-6}])
def test_a_curve_has_what_shorter_runs_end_at_to_the_bit(privacy):
    """Shorter runs are the beginning of longer ones; an owner's budget may end before T."""
    asked = scenario(privacy=privacy | {"budget": {"kind": "per-owner-cap", "answers": 14}})
    cells = [StepLengthCap(step, 40, 14) for step in (1.0, 4.0, 9.0)]
    dataset, numbers = build_dataset(asked), range(1, 8)
    lengths, curves = along([cell.into(asked) for cell in cells], numbers, 15, dataset)
    assert lengths.tolist() == [15, 30, 40]
    for cell, curve in zip(cells, curves, strict=True):
        for length, psi in zip(lengths.tolist(), curve.T, strict=True):
            alone = StepLengthCap(cell.step, length, 14).into(asked)
            np.testing.assert_array_equal(psi, ends(alone, numbers, dataset=dataset))
    assert len({curve.tobytes() for curve in curves}) == len(cells)


def test_a_run_that_ends_early_stays_where_it_ended():
    """Three owners with 14 answers each make 42 updates, whatever T is."""
    asked = scenario(privacy=CAPPED | {"budget": {"kind": "per-owner-cap", "answers": 14}})
    longer = StepLengthCap(1.0, 60, 14).into(asked)
    lengths, [curve] = along([longer], range(1, 4), 21, build_dataset(asked))
    assert lengths.tolist() == [21, 42, 60]
    np.testing.assert_array_equal(curve[:, 1], curve[:, 2])
    assert (curve[:, 0] != curve[:, 1]).all()


def test_steps_with_one_cap_are_one_fold(played):
    """As many as fill the products of gradients up; K is doubled and halved, and then between."""
    found = tune(scenario(privacy=CAPPED), replicates=4)
    calls = []
    for cells, _ in played:
        caps = {each.privacy.budget.answers for each in cells}
        steps = [each.algorithm.step for each in cells]
        calls.append((caps, steps, {each.run.updates for each in cells}))
    *searched, best, given, _, _ = calls
    for caps, steps, lengths in searched:
        assert (len(caps), len(lengths), len(steps)) == (1, 1, 8)
        assert np.ptp(np.diff(np.log(steps))) < 1e-9
    assert found.tried == 1 + len({(*caps, step) for caps, steps, _ in searched for step in steps})
    assert (best[0], given[0]) == ({found.best.setting.answers}, {45})
    doubled = [*dict.fromkeys(cap for caps, *_ in searched[:-1] for cap in caps)]
    assert all(round(np.log2(cap / doubled[0]), 1) % 1 < 0.11 for cap in doubled)


# Choices compared by runs: who wins, what is told of the winner, and how sure that is.


def drawn(seed, mean, numbers):
    """Return made-up ψ of some replicates: a part that all choices share, and one of their own."""
    shared = [np.random.default_rng([number]).gamma(4.0) / 4 for number in numbers]
    own = [np.random.default_rng([number, seed]).gamma(4.0) / 4 for number in numbers]
    return mean * (np.array(shared) + np.array(own)) / 2


def test_the_best_wins_and_the_worst_is_last():
    means = (5.0, 1.0, 9.0, 3.0, 2.0, np.inf)
    plays = {mean: partial(drawn, 1, mean) for mean in means}
    told = []
    order = winner(plays, 40, lambda *said: told.append(said))
    assert order[:2] == [1.0, 2.0]
    assert order[-1] == np.inf
    assert sorted(order) == sorted(means)
    assert {(doing, total) for doing, _, total in told} == {
        ("comparing 6 choices: runs", told[-1][1])
    }
    assert told[-1][1] == told[-1][2] > 6 * 8  # all that is to do is done in the end


def test_a_choice_is_never_run_twice_in_the_same_replicate():
    seen = {0: [], 1: [], 2: []}

    def play(at, numbers):
        seen[at] += numbers
        return np.full(len(numbers), float(at))

    assert winner({at: partial(play, at) for at in seen}, 30) == [0, 1, 2]
    assert seen[0] == list(range(CHOOSING, CHOOSING + 30))
    assert seen[2] == list(range(CHOOSING, CHOOSING + 8))


def test_what_diverges_is_told_as_such():
    lost = Played(np.array([1.0, np.inf, 2.0]))
    fine = Played(np.array([1.0, 1.5, 2.0]))
    assert str(lost) == "ψ not finite in 1 of 3 runs"
    assert str(fine).startswith("ψ 1.5 ± 1.2")
    assert lost.half_width == np.inf
    assert lost.over(fine)[0] == np.inf
    said = lost.against(fine, "as given", "of the best")
    assert said == "not a number: ψ as given is not finite"
    assert lost.times(fine) == "not comparable with ψ of the best"


@pytest.mark.parametrize(("updates", "runs"), [(10, 100), (10_000, 25), (10**9, 10)])
def test_long_work_has_fewer_runs(updates, runs):
    scenario = Scenario.model_validate(banks())
    found = affordable(scenario, build_dataset(scenario), updates)
    assert found == pytest.approx(runs, rel=0.05)
    assert affordable(scenario, build_dataset(scenario), updates, 4) == 4
