"""A file read piece by piece is the file read whole, and a table encoded so the table."""

import numpy as np
import pandas as pd
import pytest
from discharges import many as discharges
from loans import many

from asyncdp_sim.data import HospitalData, LendingData, Swap, dataset
from asyncdp_sim.data.splits import Shuffled
from asyncdp_sim.data.tables import csv_chunks
from asyncdp_sim.data.tables.csv_chunks import read_csv
from asyncdp_sim.streams import Streams

COLUMNS = {
    "whole": "1 2 3 4 5 6 7",
    "large": "1 2 3 4 5 6 70000000000",
    "gap": "1 2 3 . 5 6 7",
    "late gap": "1 2 3 4 5 6 .",
    "short": "0.5 0.25 1.5 2.5 3.5 4.5 5.5",
    "long": "0.5 0.25 1.5 2.5 3.5 4.5 0.1",
    "text": "a b a . c d a",
    "mixed": "01 02 03 4 5 6 x",
    "mixed first": "x 02 03 4 5 6 .",
    "nothing": ". . . . . . .",
    "late number": ". . . 4 5 . 0.1",
    "late text": ". . . . . . z",
    "truth": "True False True True False False True",
    "truth or not": "True False True . . . True",
    "late truth": ". . . True False False True",
}


@pytest.fixture
def path(tmp_path):
    rows = zip(*(values.split() for values in COLUMNS.values()), strict=True)
    lines = [",".join("" if cell == "." else cell for cell in row) for row in rows]
    (tmp_path / "t.csv").write_text("\n".join([",".join(COLUMNS), *lines]) + "\n")
    return str(tmp_path / "t.csv")


@pytest.fixture
def small_pieces(monkeypatch):
    monkeypatch.setattr(csv_chunks, "PIECE_ROWS", 3)
    monkeypatch.setattr(dataset, "PIECE_ROWS", 7)


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("lines", [None, 2])
def test_pieces_make_the_whole(path, monkeypatch, lines):
    if lines is not None:  # a file may have more rows than counted lines
        monkeypatch.setattr(csv_chunks, "_lines", lambda _: lines)
    made = read_csv(path, skip_first_lines=0, wanted=None)
    whole = pd.read_csv(path, low_memory=False)
    assert list(made.columns) == list(whole.columns)
    for name in whole.columns:
        gaps = whole[name].isna()
        assert made[name].isna().tolist() == gaps.tolist(), name
        texts = [column[~gaps].astype(object) for column in (made[name], whole[name])]
        if whole[name].dtype.kind in "if":
            assert texts[0].tolist() == texts[1].tolist(), name
            assert pd.api.types.is_numeric_dtype(made[name]), name
        else:
            assert list(map(str, texts[0])) == list(map(str, texts[1])), name
            assert made[name].dtype == "category", name


@pytest.mark.usefixtures("small_pieces")
def test_types_are_the_smallest_that_change_nothing(path):
    made = read_csv(path, skip_first_lines=0, wanted=None).dtypes
    assert (made["whole"], made["large"]) == (np.int8, np.int64)
    assert (made["short"], made["long"], made["gap"]) == (np.float32, np.float64, np.float32)
    assert made["truth"] == "category"  # TRUE and true are texts until a column is understood


@pytest.mark.usefixtures("small_pieces")
def test_only_wanted_columns_are_kept(path):
    made = read_csv(path, skip_first_lines=0, wanted={"mixed", "whole"}.__contains__)
    assert list(made.columns) == ["whole", "mixed"]


def built(tmp_path, swap=None):
    """Return the data of each kind that is encoded on demand, from files of 40 rows."""
    many(40).to_csv(tmp_path / "loan.csv", index=False)
    discharges(40).to_csv(tmp_path / "sparcs.csv", index=False)
    specs = [
        kind(path=str(tmp_path / name), encoding=encoding, features=2, public_records=20)
        for kind, name in ((LendingData, "loan.csv"), (HospitalData, "sparcs.csv"))
        for encoding in ("plain", "as-published")
    ]
    specs += [spec.model_copy(update={"split": Shuffled()}) for spec in specs]
    return [spec.build(1, (20,), Streams(1), swap) for spec in specs]


@pytest.mark.parametrize("swap", [None, Swap(row=9, by=12, factor=3.0)])
@pytest.mark.long
def test_tables_encoded_in_pieces_are_the_same(tmp_path, monkeypatch, swap):
    whole = built(tmp_path, swap)
    monkeypatch.setattr(dataset, "PIECE_ROWS", 7)
    for one, other in zip(whole, built(tmp_path, swap), strict=True):
        assert np.allclose(one.features[0], other.features[0], rtol=1e-9, atol=1e-12)
        assert other.features[0].flags.f_contiguous
        assert np.array_equal(one.targets[0], other.targets[0])
        assert one.notes == other.notes
