"""The catalogue's POLAR entry, held against a second reading of the paper."""

from scenarios import entry
from scenarios.papers.polar import FIGURES, WIDE, WINDOWS
from tests.transcription.stated import otherwise, read_again

paper = read_again("polar")


def test_the_polar_entry_is_as_published_where_the_paper_says_anything():
    base = entry("polar-convergence").scenario()
    cells = [base.cell(chosen) for chosen in base.grid()]
    hidden = [cell for cell in cells if cell.algorithm.kind == "polar"]
    assert len(hidden) < len(cells)  # beside the one server that hides nothing
    assert {cell.protocol.window for cell in hidden} == {*paper.windows}
    for cell in cells:
        assert otherwise(cell, paper.all_cells) == {}
        assert cell.owners.count * cell.owners.records == paper.points
    for cell in hidden:
        assert otherwise(cell, paper.hidden_cells) == {}
        assert cell.protocol.reach == "all" or cell.protocol.reach >= paper.least_reach


def test_every_sentence_on_the_figure_is_a_claim():
    [figure] = FIGURES
    of_it = [claim for claim in figure.claims if {"as-published", WIDE} & {*claim.variants}]
    assert {claim.quantity.rpartition(": ")[2] for claim in of_it} == {*paper.sentences}
    assert {int(name.partition(" = ")[2]) for name in WINDOWS} == {*paper.windows}
