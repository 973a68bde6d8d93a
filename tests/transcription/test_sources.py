"""No entry of the catalogue cites a paper without a second reading."""

from asyncdp_sim.scenario.catalogue import catalogue

READ_AGAIN = {
    "Async": {
        "async-02",
        "async-05",
        "async-06",
        "async-07",
        "async-08",
        "async-10",
        "async-11",
        "lending-convergence",
        "lending-timing",
    },
    "Collab": {
        "collab-02",
        "collab-03",
        "collab-06",
        "collab-07",
        "collab-08",
        "collab-11",
        "collab-optimum",
        "fraud-svm",
    },
    "POLAR": {"polar-convergence"},
}


def test_every_entry_that_cites_a_paper_is_transcribed():
    citing = {}
    for found in catalogue():
        source = found.scenario().source
        if source != "synthetic":
            citing.setdefault(source.partition(",")[0], set()).add(found.name)
    assert citing == READ_AGAIN
