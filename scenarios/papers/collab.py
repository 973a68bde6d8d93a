"""Collab's figures 2 to 6 (interest rates) and 7 to 11 (card frauds), all by Algorithm 2.

The authors' code is not published: ``as-published`` is what the text says of its figures, with Ξ,
c_1 and the start, of which it says nothing, declared in the catalogue. Of the number of updates the
text says two things: captions have T = 100 of them, and so has ``as-published``; Algorithm 2 loops
over k = 1 … T − 1, while its owners pay for T answers, and so does ``as-written``. (Its 1/√T in the
average is then 1/√99, which changes no weight by more than a thousandth of itself.) ``sound``
enforces its bound: it clips record gradients (lending) or scales rows down (frauds).
"""

from collections.abc import Sequence
from math import exp, log
from pathlib import Path

import numpy as np

from analysis.papers.boxes import by_iteration
from analysis.studies import four_cases
from analysis.studies.psi import markers
from analysis.studies.psi_lines import Reference, surface
from asyncdp_sim.core.words import number
from asyncdp_sim.figures.convergence import CurveLine
from asyncdp_sim.figures.picture import Picture
from asyncdp_sim.figures.sweep_figure import mean_psi_at_end
from asyncdp_sim.results import Cell, Sweep
from scenarios.papers import collab_readings
from scenarios.papers.claims import SENTENCES, private
from scenarios.papers.collab_readings import BOUNDED, EPSILON, RECORDS
from scenarios.papers.figure import (
    AS_PUBLISHED,
    AS_WRITTEN,
    EVERY,
    SOUND,
    TEXT,
    Settings,
    read_figures,
)
from scenarios.papers.noise import scale_claims
from scenarios.papers.replayed import feature_claims, replay_claims

DECLARED, CLIP_BOUND = 700.0, 5.0
"""Ξ of figures 2 to 6: chosen for what section I reports; and enforced."""
CLIPPED = f'privacy.sensitivity={{ kind = "clip", bound = {CLIP_BOUND} }}'
ROWS = 'privacy.sensitivity={ kind = "domain", row_norm = 30.0, target_max = 1.0 }'
LOOP = ('privacy.budget={ kind = "per-owner-cap", answers = 100 }', "run.updates=99")
AS_SAID: dict[str, Settings] = {AS_PUBLISHED: (), AS_WRITTEN: LOOP}
LENDING = {**AS_SAID, SOUND: (CLIPPED, "run.replicates=20")}
FRAUD = {**AS_SAID, SOUND: (ROWS,)}
LARGEST, DOMAIN_BOUND = 417.0, 31.0
"""Ξ of figures 7 to 11: the twin's largest record gradient, and that of rows scaled down to 30."""
FRAUD_CURVED = {**FRAUD, BOUNDED: (f"privacy.sensitivity.bound={DOMAIN_BOUND}",)}
FOUR_LENDING = {**AS_SAID, SOUND: (CLIPPED, "run.replicates=8")}
"""Clipped gradients go through every record and not through moments: fewer replicates of them."""


def boxes(sweep: Sweep) -> Sequence[Picture]:
    """Draw figures 2 and 7."""
    lines = [CurveLine(cell.result, cell.label([EPSILON])) for cell in sweep.cells]
    return [by_iteration(lines)]


def theorem_2(sweep: Sweep) -> Reference:
    """Return ψ = C/(ε n_i)², C the geometric mean of ψ (ε n_i)² over all cells."""

    def factor(cell: Cell) -> float:
        return (float(cell.values[RECORDS]) * float(cell.values[EPSILON])) ** 2

    logs = [log(mean_psi_at_end(cell.result).value * factor(cell)) for cell in sweep.cells]
    constant = exp(float(np.mean(logs)))
    rounded = float(f"{constant:.3g}")
    name = f"Theorem 2: {number(rounded)}/(ε n_i)², fitted"
    return Reference(name, "theorem_2", lambda cell: constant / factor(cell))


def surfaces(sweep: Sweep) -> Sequence[Picture]:
    """Draw figures 3 and 8."""
    return [surface(sweep, RECORDS, EPSILON, references=[theorem_2(sweep)])]


def against_epsilon(sweep: Sweep) -> Sequence[Picture]:
    """Draw figures 4 and 9."""
    return [markers(sweep, EPSILON, RECORDS, references=[theorem_2(sweep)])]


def against_records(sweep: Sweep) -> Sequence[Picture]:
    """Draw figures 5 and 10."""
    return [markers(sweep, RECORDS, EPSILON, references=[theorem_2(sweep)])]


def panels(sweep: Sweep) -> Sequence[Picture]:
    """Draw figures 6 and 11."""
    return [four_cases.FIGURE.picture(sweep)]


BY_THE_BOUND = (0.1, 0.1 * (LARGEST / DOMAIN_BOUND) ** 2)
SCALE = SENTENCES["COLLAB_SCALE"]
BOUNDS = {
    "LENDING": dict.fromkeys(TEXT, DECLARED) | {SOUND: CLIP_BOUND},
    "FRAUD": dict.fromkeys(TEXT, LARGEST) | {SOUND: DOMAIN_BOUND},
    "CURVED": dict.fromkeys(TEXT, LARGEST) | dict.fromkeys((SOUND, BOUNDED), DOMAIN_BOUND),
}
SCALES = {f"{name}_SCALE": scale_claims(xi, SCALE) for name, xi in BOUNDS.items()}
RUNS = {f"{name}_RUN": replay_claims(xi) for name, xi in BOUNDS.items()}
RUNS["LENDING_RUN"] += feature_claims(EVERY)
"""Their equations, and of banks their features; every owner answers in every round."""
FIGURES = read_figures(
    Path(__file__).with_suffix(".toml"),
    {**globals(), **vars(collab_readings), **SCALES, **RUNS, "private": private},
)
"""In the paper's order."""
