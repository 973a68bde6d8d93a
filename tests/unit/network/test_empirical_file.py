"""A law of measured durations: read from a column of a file, and what is said of a wrong one."""

import pandas as pd
import pytest

from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.network.laws import Empirical

PINGS = "host,ms\ncity,12.5\nrural,80\n\ncity,\nrural,110\n"


@pytest.fixture
def pings(tmp_path):
    def write(text, name="pings.csv"):
        (tmp_path / name).write_text(text)
        return str(tmp_path / name)

    return write


def test_a_column_in_its_unit_is_the_list_of_its_values(pings):
    law = Empirical(path=pings(PINGS), column="ms", unit=0.001)
    listed = Empirical(values=(0.0125, 0.08, 0.11))
    assert law.durations_measured == pytest.approx(listed.values)
    for moment in ("mean", "variance", "third", "least"):
        assert getattr(law, moment) == pytest.approx(getattr(listed, moment), rel=1e-12)


def test_parquet_says_the_same_as_csv(pings, tmp_path):
    frame = pd.read_csv(pings(PINGS))
    frame.to_parquet(tmp_path / "pings.parquet")
    law = Empirical(path=str(tmp_path / "pings.parquet"), column="ms")
    assert law.durations_measured == (12.5, 80.0, 110.0)


@pytest.mark.parametrize(
    ("text", "column", "expected"),
    [
        (PINGS, "s", "the header 'host,ms' (pings.csv, line 1); allowed is a header with the"),
        (PINGS, "host", "'city' (pings.csv, line 2); allowed is a number from 0 to 1e+12 in"),
        ("ms\n1\n-2\n", "ms", "'-2' (pings.csv, line 3); allowed is a number from 0 to 1e+12"),
        ("ms\n1e300\n", "ms", "'1e300' (pings.csv, line 2); allowed is a number from 0 to 1e+12"),
        ("a,ms\n1,\n", "ms", "no number in 'ms' (pings.csv); allowed is a CSV"),
        ("", "ms", "; the file is empty"),
    ],
)
def test_a_wrong_file_is_told_in_a_line(pings, text, column, expected):
    path = pings(text)
    with pytest.raises(SpecError) as refused:
        Empirical(path=path, column=column, unit=0.001)
    fault = refused.value.faults[0]
    assert fault.key == "path"
    assert expected in str(fault)
