"""Async's figures 8 to 11: hospitals learn how long patients stay."""

from collections.abc import Sequence
from pathlib import Path

from analysis.papers import alone_against_size
from analysis.studies.psi import HOSPITAL, markers
from asyncdp_sim.figures import convergence, traces
from asyncdp_sim.figures.picture import Picture
from asyncdp_sim.results import Sweep
from asyncdp_sim.runs.problem import build_dataset
from scenarios.papers import claims, replayed
from scenarios.papers.claims import SENTENCES, Range
from scenarios.papers.exact import exactly, quiet
from scenarios.papers.figure import (
    AS_PUBLISHED,
    AS_WRITTEN,
    EVERY,
    SOUND,
    Settings,
    enforced,
    read_figures,
)
from scenarios.papers.hospital import readings
from scenarios.papers.hospital.readings import EPSILON, gaining, line
from scenarios.papers.lending.figures import BY_CHANCE, PROMISE
from scenarios.papers.noise import scale_claims
from scenarios.papers.problem import scenario

READ_OFF = 1.5
"""Ours agrees with what is read off a plot within this factor."""
LEFT_THERE = 0.12
"""Figure 10's marker at ε = 10, which is at least what the published runs left without noise."""

WRITTEN: Settings = (
    'model.regulariser="square"',
    'algorithm.central_step="text"',
    'algorithm.initial="zeros"',
    'privacy.noise="vector"',
    'privacy.sensitivity={ kind = "declared", bound = 4.5, norm = "l2-as-published" }',
    "data.public_records=50000",
    'data.score_on="participants"',
)
ANSWERS = 30
"""Of a hospital that is private: of 1000 updates 12 ± 3 are its own."""
VARIANTS = {AS_PUBLISHED: (), AS_WRITTEN: WRITTEN, SOUND: enforced(ANSWERS)}
XI = 4.5
"""As of the banks: p/2, of 9 features."""


def left_unlearned(sweep: Sweep, published: float) -> Range:
    """Return what agrees with a published ψ, and by what is not learned without noise above it."""
    more = max(0.0, quiet(sweep).at(sweep.cells[0]) - LEFT_THERE)
    return published / READ_OFF, published * READ_OFF + more


def names(sweep: Sweep) -> Sequence[str]:
    """Return the hospitals' names in a real table, in the order of owners; none of the twin."""
    said = scenario(sweep.cells[0].result)
    real = getattr(said.data, "path", None) is not None
    return build_dataset(said).owner_names if real else ()


def curves(sweep: Sweep) -> Sequence[Picture]:
    """Draw figure 8."""
    return [convergence.by_update([line(cell) for cell in sweep.cells])]


def order(sweep: Sweep) -> Sequence[Picture]:
    """Draw figure 9."""
    return [traces.BY_UPDATE.of(sweep.cells[0].result)]


def by_budget(sweep: Sweep) -> Sequence[Picture]:
    """Draw figure 10."""
    return [markers(sweep, EPSILON, references=(HOSPITAL, exactly(sweep)))]


def against_size(sweep: Sweep) -> Sequence[Picture]:
    """Draw figure 11."""
    exact, lines = exactly(sweep), [line(cell) for cell in sweep.cells]
    expected = [exact.at(cell) for cell in sweep.cells]
    return [alone_against_size.by_size(lines, names(sweep), expected, exact.name)]


PUBLISHED_LINE = 0.13
"""ψ of figure 11's line at ε = 10."""


def above_the_line(sweep: Sweep) -> Range:
    """Return up to how many hospitals' own models are above the published line."""
    return 0.0, gaining(sweep, PUBLISHED_LINE)


SCALE = scale_claims(dict.fromkeys(EVERY, XI), SENTENCES["SCALE"])
THE_RUN = (
    *replayed.replay_claims(dict.fromkeys(EVERY, XI)), *replayed.order_claims(EVERY),
    *replayed.feature_claims(EVERY),
)  # fmt: skip
FIGURES = read_figures(
    Path(__file__).with_suffix(".toml"),
    {
        **vars(claims),
        **vars(replayed),
        **vars(readings),
        **globals(),
        "BY_CHANCE": (BY_CHANCE,),
        "PROMISE": PROMISE,
    },
)
"""Figures 8 to 11, in their order."""
