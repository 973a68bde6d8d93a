"""Columns of more rows than any piece, and than 40,000: numbers keep all their digits."""

import numpy as np
import pandas as pd
import pytest

from asyncdp_sim.core.streams import Streams
from asyncdp_sim.data import GaussianData, TableData
from asyncdp_sim.data.tables.read import read_table
from tests.one_in import one_in

ROWS = 70_001
VALUES = 1 / (3.0 + np.arange(ROWS))
"""Of which single precision holds one in a million."""


def written(folder, form):
    """Write a table of two columns in some form; return its place and the form, as declared."""
    frame = pd.DataFrame({"x": VALUES, "y": -VALUES})
    place = str(folder / f"t.{form.partition(' ')[0]}")
    if form == "parquet":
        frame.to_parquet(place)
        return place, {}
    if form == "csv with commas":
        frame.to_csv(place, index=False, sep=";", decimal=",")
        return place, {"separator": ";", "decimal": ","}
    frame.to_csv(place, index=False)
    return place, {}


FORMS = ["csv", "csv with commas", "parquet"]


@one_in(2, "form", ["csv", "parquet"])
def test_a_table_is_read_to_the_last_digit(form, tmp_path):
    place, _ = written(tmp_path, form)
    found = read_table(place)
    assert np.array_equal(found["x"].to_numpy(dtype=np.float64), VALUES)


@pytest.mark.long
@pytest.mark.parametrize("form", FORMS)
def test_records_are_the_tables_numbers(form, tmp_path):
    place, declared = written(tmp_path, form)
    spec = TableData(
        path=place, target="y", features=1, preprocessing="none", public_records=1, **declared
    )
    data = spec.build(1, (ROWS - 1,), Streams(1))
    assert data.features[0].dtype == data.targets[0].dtype == np.float64
    assert np.array_equal(data.features[0][:, 0], VALUES[:-1])
    assert np.array_equal(data.targets[0], -VALUES[:-1])


def test_records_that_are_drawn_have_all_digits():
    data = GaussianData(features=2).build(1, (ROWS,), Streams(1))
    for numbers in (data.features[0], data.targets[0]):
        assert numbers.dtype == np.float64
        assert np.mean(numbers.astype(np.float32) == numbers) < 0.01
