"""Async, figures 3 to 7: banks that learn what interest their loans bear."""

from collections.abc import Mapping
from pathlib import Path

from analysis.studies.psi import markers
from analysis.studies.psi_lines import LENDING, Reference, surface
from asyncdp_sim.figures import convergence, traces
from asyncdp_sim.figures.convergence import CurveLine
from asyncdp_sim.figures.picture import Picture
from asyncdp_sim.results import Sweep
from scenarios.papers import claims, replayed
from scenarios.papers.claims import OURS, SENTENCES, Claim
from scenarios.papers.exact import exactly
from scenarios.papers.figure import (
    AS_PUBLISHED,
    AS_WRITTEN,
    EVERY,
    SOUND,
    Settings,
    enforced,
    read_figures,
)
from scenarios.papers.lending import readings, reasons
from scenarios.papers.lending.readings import ALONE, RECORDS
from scenarios.papers.lending.reasons import ANSWERS, AT_SIZE, BANKS, BUDGET, ENDS, XI
from scenarios.papers.noise import scale_claims

WRITTEN: Settings = (
    "privacy.noise=vector",
    "privacy.sensitivity.norm=l2-as-published",
    "algorithm.initial=zeros",
    "algorithm.central_step=text",
    "model.regulariser=square",
    "data.public_records=10000",
)
"""The text: iid noise, Ξ in L2, start at 0, θ_L's own step, 10⁻⁵θᵀθ and 10,000 public rows.

It names neither ρ nor Ξ nor θ_max; the code's stand.
"""


VARIANTS: Mapping[str, Settings] = {
    AS_PUBLISHED: (),
    AS_WRITTEN: WRITTEN,
    SOUND: enforced(ANSWERS),
}
"""Of three banks: ANSWERS is five standard deviations above T/N."""
VARIANTS_OF_MANY = {**VARIANTS, SOUND: enforced(580)}
"""Of two banks and more."""


def figure_3(sweep: Sweep) -> list[Picture]:
    """Draw the curves, and their ends beside both things that were published of them."""
    same = sweep.cells[0].result.scenario["owners"]["records"] == AT_SIZE
    lines = [
        CurveLine(
            cell.result, cell.label(sweep.paths), ENDS.get(cell.values[BUDGET]) if same else None
        )
        for cell in sweep.cells
    ]
    scaled = "published end of figure 3" + ("" if same else ", by n_i⁻²")
    ends = Reference(scaled, "published_end", readings.published_end)
    return [
        convergence.by_update(lines),
        markers(sweep, BUDGET, references=(LENDING, ends), name="ends"),
    ]


def figure_4(sweep: Sweep) -> list[Picture]:
    """Draw i_k over k."""
    return [traces.BY_UPDATE.of(sweep.cells[0].result)]


def figure_5(sweep: Sweep) -> list[Picture]:
    """Draw the surface as lines, with the published law."""
    return [surface(sweep, RECORDS, BUDGET, references=(LENDING, exactly(sweep)))]


def figure_6(sweep: Sweep) -> list[Picture]:
    """Draw some lines of the surface along either axis."""
    beside = (LENDING, exactly(sweep))
    return [
        markers(sweep, BUDGET, RECORDS, references=beside, name="by-budget"),
        markers(sweep, RECORDS, BUDGET, references=beside, name="by-records"),
    ]


def figure_7(sweep: Sweep) -> list[Picture]:
    """Draw the surface as lines, with what bank 1 learns alone, and two cuts through both."""
    cuts = (reasons.PAYS_AT_TOO, reasons.PAYS_AT)
    beside = (ALONE, exactly(sweep))
    return [
        surface(sweep, BANKS, BUDGET, references=beside),
        markers(sweep, BANKS, BUDGET, chosen=cuts, references=beside, name="by-banks"),
    ]


_PROMISE = "share of cells that are private as claimed"
PROMISE = (
    Claim(_PROMISE, claims.private, 1, 1, 1.0, reasons.ONE_DRAW, judges=SENTENCES["PRIVATE"]),
    Claim(
        _PROMISE,
        claims.private,
        1,
        1,
        1.0,
        reasons.L2_IN_L1,
        (AS_WRITTEN,),
        judges=SENTENCES["PRIVATE"],
    ),
    Claim(_PROMISE, claims.private, 1, 1, 1.0, variants=(SOUND,), judges=SENTENCES["PRIVATE"]),
)
THE_SCALE = scale_claims(dict.fromkeys(EVERY, XI), SENTENCES["SCALE"])
THE_ORDER = replayed.order_claims(EVERY)
THE_RUN = (
    *replayed.replay_claims(dict.fromkeys(EVERY, XI)),
    *THE_ORDER,
    *replayed.feature_claims(EVERY),
)
"""What a run is besides its noise: its equations, its order of owners, and its features."""
BY_CHANCE = Claim(
    "mean ψ of the runs over its exact expectation, geometric mean over cells",
    readings.run_over_exact, published=1.0, variants=(AS_PUBLISHED, AS_WRITTEN),
    window=readings.by_chance, judges=OURS,
)  # fmt: skip
C_OF_LAW = (
    "c of c/(ε n_i)², cells inside the box: as drawn (by equation (6) with n = Σ n_i the printed "
    "c̄'₂ = 2.1·10⁹ is c = 0.7·10⁹, a third)"
)
FIGURES = read_figures(
    Path(__file__).with_suffix(".toml"),
    {**vars(claims), **vars(readings), **vars(reasons), **globals(), "BY_CHANCE": (BY_CHANCE,)},
)
"""In the paper's order."""
