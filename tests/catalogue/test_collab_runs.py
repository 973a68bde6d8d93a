"""Collab's figures and POLAR's run small, are drawn, and hold what must hold."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import gammaln

from scenarios.command import main
from scenarios.papers import FIGURES, collab, collab_optimum, polar
from scenarios.papers.collab import psi
from scenarios.papers.collab_optimum import SMOOTH
from scenarios.papers.figure import AS_PUBLISHED, AS_WRITTEN, EVERY, SOUND
from scenarios.papers.verify import ALIKE, verify
from tests.catalogue.verdicts import once, verdicts

pytestmark = pytest.mark.long

NAMED = {figure.name: figure for figure in (*collab.FIGURES, *polar.FIGURES)}
SMALLEST = (
    'sweep."owners.records"=[[1000, 1000, 1000], [5000, 1000, 1000], '
    "[1000, 5000, 5000], [5000, 5000, 5000]]"
)
QUICK = {
    "collab-02": ("run.replicates=6", "owners.records=3000"),
    "collab-05": ("run.replicates=6", 'sweep."owners.records"=[500, 1000, 2000]'),
    "collab-06": ("run.replicates=4", SMALLEST),
    "collab-07": ("run.replicates=4", "owners.records=1000"),
}
"""Figures of each kind, and what makes them quicker still."""
BOTH = ("collab-07",)
"""Those whose sound variant is run too; clipping the loans takes longer than all the rest."""
ALWAYS = ("collab-07",)
"""Those that are run every time; the others at night."""


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in ALWAYS else pytest.mark.nightly) for name in QUICK],
)
def test_nothing_that_must_hold_fails(name, tmp_path):
    figure = NAMED[name]
    if name not in BOTH:
        figure = replace(figure, variants=collab.AS_SAID)
    found = verdicts(figure, tmp_path, *QUICK[name])
    assert {each.variant for each in found} == set(figure.variants)
    assert [each for each in found if each.verdict == "fails"] == []
    for variant in figure.variants:
        drawn = sorted((tmp_path / name / variant / "figures").iterdir())
        assert {path.suffix for path in drawn} >= {".csv", ".png"}
    rows = (tmp_path / name / "variants.csv").read_text(encoding="utf-8").splitlines()
    assert len(rows) > 2 * len(figure.variants)


def test_noise_for_another_budget_is_seen(tmp_path):
    wrong = (*QUICK["collab-07"], 'sweep."privacy.epsilon"=[1.0, 2.0]')
    claim = replace(
        NAMED["collab-02"].claims[0], measure=lambda swept: psi(swept, 1) / psi(swept, 2)
    )
    alone = replace(NAMED["collab-07"], claims=(claim,), variants={AS_PUBLISHED: ()})
    [judged] = verdicts(alone, tmp_path, *wrong)
    assert judged.verdict == "fails"
    assert abs(judged.ours / 4 - 1) < 0.05


def test_noise_for_fewer_answers_than_are_paid_for_is_seen(tmp_path):
    """Algorithm 2 loops over k = 1 … T − 1; its noise is for T answers."""
    more = ("run.replicates=4", 'sweep."owners.records"=[500]', 'sweep."privacy.epsilon"=[1.0]')
    [looped] = [each for each in NAMED["collab-03"].claims if each.beside == (AS_PUBLISHED,)]
    for answers, verdict in ((100, "agrees"), (99, "fails"), (102, "fails")):
        text = (*collab.LOOP, f"privacy.budget.answers={answers}")
        figure = replace(
            NAMED["collab-03"],
            claims=(looped,),
            pictures=lambda _: (),
            variants={AS_PUBLISHED: (), AS_WRITTEN: text},
        )
        [judged] = verdicts(figure, tmp_path / str(answers), *more)
        assert judged.verdict == verdict, judged.ours


LITTLE = ("owners.count=4", "owners.records=50", "run.updates=20", "run.replicates=1")


def test_polar_s_variants(tmp_path):
    """The text's is as published, run once and said so; the sound one has noise and an ε."""
    [figure] = polar.FIGURES
    lines = []
    found = verify(
        [figure], tmp_path, full=False, workers=1, variants=EVERY, more=LITTLE, say=lines.append
    )
    assert [line.endswith(" s, the runs of polar-03 as-published") for line in lines] == [
        False, True, False
    ]  # fmt: skip
    ours = {v: [each.ours for each in found if each.variant == v] for v in EVERY}
    np.testing.assert_array_equal(ours[AS_WRITTEN], [*ours[AS_PUBLISHED], 0])
    [said] = [each for each in found if each.quantity == ALIKE]
    assert (said.variant, said.verdict, said.because) == (AS_WRITTEN, "agrees", figure.alike)
    assert all(each.judges for each in found)
    [kept] = [each for each in found if each.variant == SOUND and "as claimed" in each.quantity]
    assert kept.ours == 1
    rows = (tmp_path / "polar-03" / "variants.csv").read_text(encoding="utf-8").splitlines()
    assert [row.split(",")[:2] for row in rows[4:7]] == [
        ["Δ = 10", AS_PUBLISHED], ["Δ = 10", AS_WRITTEN], ["ε = 0.1", SOUND]
    ]  # fmt: skip
    text = (tmp_path / "variants.md").read_text(encoding="utf-8").splitlines()
    assert [line.split(" | ")[1] for line in text[2:]] == list(EVERY)
    assert [line.split(" | ")[9] for line in text[2:]] == ["0", "0", "3"]
    header, *lines = [line.strip("| ").split(" | ") for line in (text[0], *text[2:])]
    sizes = [dict(zip(header, line, strict=True)) for line in lines]
    assert {(size["R"], size["N"], size["n_i"]) for size in sizes} == {("1", "4", "50")}
    verdicts = (tmp_path / "verdicts.csv").read_text(encoding="utf-8").splitlines()
    assert verdicts[0].split(",")[4:6] == ["ours", "error"]


def test_arrival_waits_until_the_median_stays_low(monkeypatch):
    curves = {
        "a": np.array([1.0, 0.005, 0.02, 0.009, 0.001]),
        "b": np.array([1.0, 0.5, 0.3, 0.2, 0.1]),
        "c": np.array([1.0, 3.0, 0.009, 0.008, 0.007]),
    }
    monkeypatch.setattr(polar, "median", lambda _, name: (10 * np.arange(5), curves[name]))
    sweep = object()
    assert [polar.arrival(sweep, name) for name in curves] == [30, np.inf, 20]
    assert polar.arrival(sweep, "a") / polar.arrival(sweep, "c") == 1.5
    assert [polar.peak(sweep, name) for name in curves] == [1, 1, 3]


def test_an_unknown_variant_is_refused_in_one_line(capsys):
    assert main(["verify", "collab-02", "--variant", "wide"]) == 2  # which polar-03 alone has
    [line] = capsys.readouterr().err.splitlines()
    said = "--variant: given 'wide'; allowed are as-published, as-written, sound"
    assert line == f"scenarios: {said}"


# Algorithm 1 without noise: the verdicts on it, and the closed form of what it leaves.


STRONG, CONSTANT = "ρ/T² = 1/(2L)", "constant 1/λ"

[OPTIMUM] = collab_optimum.FIGURES


optimum = once(OPTIMUM)


def test_theta_star_is_not_found_at_the_smooth_step_alone(optimum):
    assert optimum.differ == {f"{SMOOTH}: ψ after T updates: θ* is found": "differs"}
    assert optimum.drawn == ["convergence-by-update"]


def test_it_is_one_of_the_verdicts():
    assert OPTIMUM in FIGURES


@pytest.mark.parametrize("name", [SMOOTH, STRONG])
def test_what_is_left_of_the_start_is_a_quotient_of_gammas(optimum, name):
    """Π_{j≤k} (1 − rc/j) = Γ(k + 1 − rc)/(Γ(1 − rc) k!), to the least curvature's digits."""
    found = collab_optimum.result(optimum.sweep, name)
    scenario, objective = collab_optimum.problem(found)
    values, vectors = np.linalg.eigh(objective.hessian)
    reach = scenario.algorithm.rho / scenario.run.updates**2 * 2 * values
    k, psi = collab_optimum.psi(found)
    logs = (gammaln(np.subtract.outer(k + 1, reach)) - gammaln(k + 1.0)[:, None]) - gammaln(
        1 - reach
    )
    first = vectors.T @ objective.optimum
    expected = (first**2 * np.exp(2 * logs)) @ values / objective.fitness(objective.optimum)
    assert psi == pytest.approx(expected, rel=1e-6)


def test_theta_star_is_the_solver_s(optimum):
    far, near = (collab_optimum.result(optimum.sweep, name) for name in (SMOOTH, CONSTANT))
    assert collab_optimum.distance(near) < 1e-9
    assert collab_optimum.distance(far) > 0.1
