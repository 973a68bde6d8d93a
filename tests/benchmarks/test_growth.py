"""The growth page has what its script measures; nothing is timed here."""

import pytest

from tests.benchmarks.growth import AXES, GROWTH, measured, table
from tests.benchmarks.page import PAGE


def test_the_page_has_a_row_for_each_size():
    text = PAGE.read_text(encoding="utf-8")
    rows = text.partition(GROWTH[0])[2].partition(GROWTH[1])[0].splitlines()
    for axis in AXES:
        sizes = ", ".join(f"{size:,}" for size in axis.sizes)
        assert sum(row.startswith(f"| {axis.name} | {sizes} | ") for row in rows) == 1


def test_exponents_are_of_the_two_largest_sizes():
    quadratic = {axis.name: [size**2 / 100 for size in axis.sizes] for axis in AXES}
    rows = [line for line in table(quadratic, (18.2, 690)).splitlines() if "2.00, " in line]
    assert len(rows) == len(AXES)


@pytest.mark.long
def test_a_size_is_run_with_cells_and_without():
    for sizes in ({"owners": 3, "updates": 10}, {"cells": 2, "updates": 10}):
        seconds, peak = measured(sizes)
        assert seconds > 0
        assert peak > 10
