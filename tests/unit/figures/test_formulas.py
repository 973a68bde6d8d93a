"""No cell of a figure's table is a formula to a spreadsheet."""

import csv
import io

import numpy as np
import pytest

from asyncdp_sim.figures.picture import as_csv

NAMES = ["=1+1", "+2", "-3 beds", "@here", "\tx", "plain", "a=b", ""]


@pytest.mark.parametrize("kind", [object, np.str_])
def test_names_that_begin_like_one_stand_behind_an_apostrophe(kind):
    text = as_csv({"owner": np.array(NAMES, dtype=kind), "-x": np.arange(-4.0, 4.0)})
    header, *rows = csv.reader(io.StringIO(text))
    assert header == ["owner", "'-x"]
    assert not any(row[0].startswith(("=", "+", "-", "@", "\t")) for row in rows)
    assert [row[0].removeprefix("'") for row in rows] == NAMES
    assert [float(row[1]) for row in rows] == list(range(-4, 4))
