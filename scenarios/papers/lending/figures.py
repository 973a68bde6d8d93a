"""Async, figures 3 to 7: banks that learn what interest their loans bear."""

from collections.abc import Mapping

from asyncdp_sim.figures.kit.picture import Picture
from asyncdp_sim.figures.runs import convergence, timing
from asyncdp_sim.figures.runs.convergence import CurveLine
from asyncdp_sim.figures.sweeps.psi_lines import markers
from asyncdp_sim.figures.sweeps.psi_surface import Reference, surface
from asyncdp_sim.results import Sweep
from scenarios.papers.claims import SENTENCES
from scenarios.papers.exact import exactly
from scenarios.papers.figure import (
    AS_PUBLISHED,
    AS_WRITTEN,
    SOUND,
    PaperFigure,
    Settings,
    enforced,
)
from scenarios.papers.lending.claims import CLAIMS_3, CLAIMS_4, CLAIMS_5, CLAIMS_6, CLAIMS_7
from scenarios.papers.lending.readings import ALONE, LAW, RECORDS, published_end
from scenarios.papers.lending.reasons import (
    ANSWERS,
    AT_SIZE,
    BANKS,
    BUDGET,
    ENDS,
    PAYS_AT,
    PAYS_AT_TOO,
)

TEXT: Settings = (
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
    AS_WRITTEN: TEXT,
    SOUND: enforced(ANSWERS),
}
"""Of three banks: ANSWERS is five standard deviations above T/N."""
VARIANTS_OF_MANY = {**VARIANTS, SOUND: enforced(580)}
"""Of two banks and more."""

ONE_RUN = ('sweep."run.seed"=[1]', "run.replicates=1")
FEW_CELLS = ('sweep."owners.records"=[1000, 3163, 10000]', f'sweep."{BUDGET}"=[0.1, 1.0, 10.0]')


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
    ends = Reference(scaled, "published_end", published_end)
    return [
        convergence.by_update(lines),
        markers(sweep, BUDGET, references=(LAW, ends), name="ends"),
    ]


def figure_4(sweep: Sweep) -> list[Picture]:
    """Draw i_k over k."""
    return [timing.BY_UPDATE.of(sweep.cells[0].result)]


def figure_5(sweep: Sweep) -> list[Picture]:
    """Draw the surface, with the published law as a mesh."""
    return [surface(sweep, RECORDS, BUDGET, references=(LAW, exactly(sweep)))]


def figure_6(sweep: Sweep) -> list[Picture]:
    """Draw some lines of the surface along either axis."""
    beside = (LAW, exactly(sweep))
    return [
        markers(sweep, BUDGET, RECORDS, references=beside, name="by-budget"),
        markers(sweep, RECORDS, BUDGET, references=beside, name="by-records"),
    ]


def figure_7(sweep: Sweep) -> list[Picture]:
    """Draw the surface, with what bank 1 learns alone as another, and two cuts through both."""
    cuts = (PAYS_AT_TOO, PAYS_AT)
    beside = (ALONE, exactly(sweep))
    return [
        surface(sweep, BANKS, BUDGET, references=beside),
        markers(sweep, BANKS, BUDGET, chosen=cuts, references=beside, name="by-banks"),
    ]


FIGURES: tuple[PaperFigure, ...] = (
    PaperFigure(
        "async-03", "Async, figure 3", "lending-convergence",
        CLAIMS_3,
        figure_3, VARIANTS, small_of={SOUND: ("owners.records=10000",)},
        printed=(SENTENCES["FIGURE_3"],),
    ),
    PaperFigure(
        "async-04", "Async, figure 4", "lending-timing",
        CLAIMS_4,
        figure_4, VARIANTS,
        small=(*ONE_RUN, "owners.records=1000"), full=ONE_RUN, printed=(SENTENCES["FIGURE_4"],),
    ),
    PaperFigure(
        "async-05", "Async, figure 5", "async-05",
        CLAIMS_5,
        figure_5, VARIANTS,
        small=FEW_CELLS, printed=(SENTENCES["LAW_5"],),
    ),
    PaperFigure(
        "async-06", "Async, figure 6", "async-05",
        CLAIMS_6,
        figure_6, VARIANTS,
        small=FEW_CELLS, printed=(SENTENCES["LAW_6"], SENTENCES["TIGHT"]),
    ),
    PaperFigure(
        "async-07", "Async, figure 7", "async-07",
        CLAIMS_7,
        figure_7, VARIANTS_OF_MANY,
        small=('sweep."owners.count"=[2, 4, 8, 16]', f'sweep."{BUDGET}"=[1.0, 2.5, 10.0]'),
        printed=(SENTENCES["FIGURE_7"], SENTENCES["BANKS_GAIN"]),
    ),
)  # fmt: skip
"""In the paper's order."""
