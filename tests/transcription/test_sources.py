"""No entry of the catalogue cites a paper without a second reading."""

from asyncdp_sim.scenario.catalogue import catalogue
from tests.transcription.stated import read_again

READ_AGAIN = {"Async": ("async", "async_hospital"), "Collab": ("collab",), "POLAR": ("polar",)}
"""Second readings of each paper."""


def test_every_entry_that_cites_a_paper_is_transcribed():
    citing = {}
    for found in catalogue():
        source = found.scenario().source
        if source != "synthetic":
            citing.setdefault(source.partition(",")[0], set()).add(found.name)
    assert citing == {
        paper: {entry for name in names for entry in read_again(name).entries}
        for paper, names in READ_AGAIN.items()
    }
