"""The catalogue's POLAR entry, held against a second reading of the paper."""

from scenarios import entry
from scenarios.papers.polar import FIGURES, WIDE, WINDOWS
from tests.transcription import polar_paper as paper


def test_the_polar_entry_is_as_published_where_the_paper_says_anything():
    base = entry("polar-convergence").scenario()
    cells = [base.cell(chosen) for chosen in base.grid()]
    hidden = [cell for cell in cells if cell.algorithm.kind == "polar"]
    assert len(hidden) < len(cells)  # beside the one server that hides nothing
    assert {cell.protocol.window for cell in hidden} == paper.WINDOWS
    for cell in cells:
        assert cell.owners.count == paper.CLIENTS
        assert cell.owners.count * cell.owners.records == paper.POINTS
        assert cell.model.kind == paper.LOSS
        assert cell.algorithm.batch == paper.BATCH
    for cell in hidden:
        algorithm, protocol = cell.algorithm, cell.protocol
        weights = (algorithm.weight_total, algorithm.weight_bound)
        assert weights == (paper.WEIGHT_TOTAL, paper.WEIGHT_BOUND)
        assert protocol.count == paper.SERVERS
        assert protocol.reach == "all" or protocol.reach >= paper.LEAST_REACH


def test_every_sentence_on_the_figure_is_a_claim():
    [figure] = FIGURES
    of_it = [claim for claim in figure.claims if {"as-published", WIDE} & {*claim.variants}]
    assert {claim.quantity.rpartition(": ")[2] for claim in of_it} == paper.SENTENCES
    assert {int(name.partition(" = ")[2]) for name in WINDOWS} == paper.WINDOWS
