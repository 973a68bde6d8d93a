"""Numbers of records that are drawn from a law of the scenario's."""

import numpy as np
import pytest

from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.core.specification import parse
from asyncdp_sim.scenario.owners import LognormalCounts, Owners

LAW = {"mean": 500.0, "cv": 1.0}


def test_counts_have_their_mean_and_variation():
    """The mean of 20,000 has a standard error of 0.7 %, their cv one of about 3 %."""
    counts = np.array(LognormalCounts(**LAW).drawn(20_000, 1))
    assert counts.min() >= 1
    assert abs(counts.mean() / 500 - 1) < 4 * 0.007
    assert abs(counts.std() / counts.mean() - 1) < 4 * 0.03


def test_more_owners_leave_the_others_as_they_are_and_seeds_differ():
    law = LognormalCounts(**LAW)
    assert law.drawn(40, 1)[:3] == law.drawn(3, 1) == Owners(count=3, records=law).records_of(9 - 8)
    assert law.drawn(3, 2) != law.drawn(3, 1)


@pytest.mark.parametrize(
    ("records", "line"),
    [
        ({"mean": 0.5, "cv": 1.0}, "records.mean: given 0.5; allowed is a number ≥ 1"),
        ({"mean": 5.0}, "records.cv: given nothing; this field is required"),
        ({"mean": 5.0, "cv": 0.0}, "records.cv: given 0.0; allowed is a number > 0"),
        ({"mean": 5.0, "cv": 1.0, "least": 3}, "records.least: given an unknown key 'least'"),
        ("many", "records: given 'many'; allowed is a whole number"),
    ],
)
def test_wrong_laws_are_one_line(records, line):
    with pytest.raises(SpecError) as refused:
        parse(Owners, {"count": 3, "records": records})
    [said] = refused.value.lines()
    assert said.startswith(line)
