"""The study of privacy over distance: its numbers, its picture, and what its entry says of them."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from analysis.studies import studies
from analysis.studies.over_distance import Pairs, pairs
from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.core.words import number
from asyncdp_sim.figures.draw import draw_all
from asyncdp_sim.sweeps import sweep
from scenarios import entry

NAME = "privacy-over-distance"


@cache
def whole(place: int) -> Pairs:
    """Every pair of one cell of the entry, as it stands."""
    scenario = entry(NAME).scenario()
    chosen = list(scenario.grid())[place]
    return pairs(scenario.cell(chosen), str(place))


def median(graph: Pairs, hops: int) -> float:
    steps, (_, middle, _) = graph.quartiles()
    return float(middle[list(steps).index(hops)])


@pytest.mark.long
def test_the_entry_says_what_its_networks_give():
    said = " ".join(entry(NAME).scenario().description.split())
    ring, grid, near, complete = (whole(place) for place in range(4))
    assert max(graph.epsilon for graph in (ring, grid, near, complete)) == 2
    five, nine, eleven = (median(ring, hops) for hops in (5, 9, 11))
    assert f"the median of ε is {five:.2g} five hops away, {nine:.2g} after nine, and" in said
    assert eleven == 0
    falls = f"it falls from {median(grid, 1):.2g} to {median(grid, 10):.2g} at ten hops"
    assert falls in said
    assert f"square from {median(near, 1):.2g} to {median(near, 7):.2g} at seven" in said
    assert f"Where all may meet it is {median(complete, 1):.2g} against" in said
    told = "on the complete graph ε is two thirds of that against an observer of all answers"
    assert told in Path("docs/catalogue.md").read_text(encoding="utf-8")
    assert median(complete, 1) / 2 == pytest.approx(2 / 3, abs=0.02)


@pytest.mark.long
def test_a_median_falls_with_distance_and_nobody_exceeds_who_hears_all():
    for place in range(4):
        graph = whole(place)
        _, found = graph.quartiles()
        assert np.all(np.diff(found[1]) <= 0)
        assert found.max() <= graph.epsilon


@pytest.mark.long
def test_the_study_draws_a_line_for_each_graph(tmp_path):
    small = (
        "owners.count=4",
        "owners.records=50",
        "run.updates=12",
        "run.replicates=2",
        'sweep.variant=[{ name = "ring" }, '
        '{ name = "complete", "protocol.graph" = { kind = "complete" } }]',
    )
    sweep(entry(NAME).scenario(small), tmp_path / "s")
    drawn = draw_all(tmp_path / "s", studies=studies(NAME)).pictures
    assert "over-distance.png" in [picture.name for picture in drawn]
    captions = (tmp_path / "s" / "figures" / "captions.md").read_text("utf-8")
    assert "against another node of the graph that sees its own meetings" in captions
    assert "Each of 4 owners contributes one noisy vector" in captions
    assert f"they are averaged in {number(12)} meetings" in captions


def test_another_observer_is_refused():
    scenario = entry(NAME).scenario(('privacy.observer={ kind = "transcript" }',))
    with pytest.raises(SpecError, match="allowed is node"):
        pairs(scenario.base(), "ring")
