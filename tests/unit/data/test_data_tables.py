"""Tables are read whole or in pieces, from every format, to the last digit."""

import csv
import gzip
import hashlib
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from discharges import many as discharges
from loans import many
from of_frames import of_frame

from asyncdp_sim.core.errors import DataError
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.data import GaussianData, HospitalData, LendingData, Swap
from asyncdp_sim.data.tables import read, rows
from asyncdp_sim.data.tables.file_form import PLAIN, FileForm
from asyncdp_sim.data.tables.read import read_csv, read_table, source_of
from tests.one_in import one_in
from tests.tables import table


def test_rows_behind_the_last_are_none_and_no_row_counts_from_the_end():
    places = rows.FileRows((("a.csv", range(3)), ("b.csv", range(5, 7))))
    assert places.count == 5
    assert places.after(4).name_of(0) == "row 7 of b.csv"
    assert places.after(5).count == 0
    for row in (-1, 5):
        with pytest.raises(IndexError, match=f"row {row} of 5"):
            places.place(row)


def test_public_rows_beside_stated_sizes_are_named_as_their_file_counts_them(tmp_path):
    """The last 2 of 4 public rows were named rows 1 and 2."""
    frame = pd.DataFrame({"owner": ["A", "A", "B", "B"], "x": [1, 2, 3, 4], "y": [1, 2, 3, "?"]})
    public, sizes = str(tmp_path / "public.csv"), {"A": 3, "B": 4}
    asked = {"public_path": public, "public_records": 2, "owner_column": "owner", "sizes": sizes}
    data = of_frame(tmp_path, frame, "public.csv", **asked)
    with pytest.raises(DataError, match=r"row 4 of public\.csv"):
        data.twin().build(2, (3, 4), Streams(1))


@pytest.mark.parametrize("seed", range(5))
def test_public_rows_that_a_seed_draws_are_named_as_their_file_counts_them(tmp_path, seed):
    rows = pd.DataFrame({"x": range(8), "y": [f"row {row} of t.csv" for row in range(1, 9)]})
    rows.to_csv(tmp_path / "t.csv", index=False)
    frame, places = read.with_public_rows(str(tmp_path / "t.csv"), None, 4, PLAIN, seed=seed)
    assert [places.name_of(row) for row in range(8)] == frame["y"].tolist()


# Formats, and what cannot be read.

TABLE = pd.DataFrame({"a": [1, 2], "b": ["x", None]})


def test_the_three_formats_hold_the_same_table(tmp_path):
    for name in ("t.csv", "t.csv.gz", "t.parquet"):
        read = read_table(of_frame(tmp_path, TABLE, name, public_records=0).path)
        assert [float(cell) for cell in read["a"]] == [1, 2]
        assert read["b"].isna().tolist() == [False, True]


def test_types_that_change_within_a_file_give_no_warning(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("a\n" + "1\n" * 300_000 + "x\n" * 300_000)
    assert len(read_table(str(file))) == 600_000


def test_source_is_name_and_digest(tmp_path):
    file = tmp_path / "t.csv"
    file.write_bytes(b"a\n1\n")
    source = source_of(str(file))
    assert (source.name, source.sha256) == ("t.csv", hashlib.sha256(b"a\n1\n").hexdigest())


CUT_OFF = gzip.compress(b"a,b\n1,2\n" * 1000, mtime=0)[:-20]
WITHOUT_COLUMNS = pd.DataFrame(index=[0, 1]).to_parquet()


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a\0b.csv", None, "there is no such file"),
        ("", None, "this is a directory"),
        ("c.csv.gz", CUT_OFF, "the gzipped file is damaged or cut off; allowed is"),
        ("n.parquet", WITHOUT_COLUMNS, "the file has no columns"),
    ],
)
def test_every_failure_is_one_line_on_data_path(tmp_path, name, content, reason):
    path = f"{tmp_path}/{name}".rstrip("/")
    if content is not None:
        Path(path).write_bytes(content)
    with pytest.raises(DataError) as caught:
        read_table(path)
    (line,) = caught.value.lines()
    assert line.startswith(f"data.path: given {path!r}; {reason}")
    assert "\n" not in line
    assert "allowed is a CSV" in line


# A file read piece by piece is the file read whole, and a table encoded so the table.

TEXTS = table(__file__, "data_tables.toml")
GAPS = {"long": {2, 6}, "quoted": {3, 6}, "nothing": set(range(7))}


@pytest.fixture
def path(tmp_path):
    with (tmp_path / "t.csv").open("w", newline="") as file:
        csv.writer(file).writerows([TEXTS.keys(), *zip(*TEXTS.values(), strict=True)])
    return str(tmp_path / "t.csv")


@pytest.mark.parametrize("block", [64, read.BLOCK])
def test_cells_are_texts_as_written(path, monkeypatch, block):
    monkeypatch.setattr(read, "BLOCK", block)
    made = read_csv(path, form=PLAIN)
    assert list(made.columns) == list(TEXTS)
    for name, texts in TEXTS.items():
        assert made[name].dtype in ("category", "str")
        gaps = GAPS.get(name, set())
        assert [None if x is np.nan else x for x in made[name].astype(object)] == [
            None if row in gaps else text for row, text in enumerate(texts)
        ]


def test_words_of_an_owner_are_names_and_only_wanted_columns_are_kept(path):
    made = read_csv(path, form=PLAIN, wanted={"long", "nothing"}.__contains__, owner="nothing")
    assert list(made.columns) == ["long", "nothing"]
    assert made["nothing"].dropna().tolist() == ["NA", "n/a", "NaN", "NULL", "null"]
    declared = read_csv(path, form=PLAIN, missing=["X", "true"])["spelled"]
    assert np.flatnonzero(declared.isna()).tolist() == [5, 6]


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_a_number_for_a_gap_is_one_with_zeros_as_its_fraction_too(tmp_path, name):
    """In files and in rows that a model is asked for: -999,00 was a number, -999.0 there too."""
    texts = pd.DataFrame({"x": ["-999", "-999.0", "-999,00", "5"], "y": ["1", "2", "3", "4"]})
    asked = {"public_records": 4, "missing": ["-999"], "columns": {"x": {"kind": "number"}}}
    data = of_frame(tmp_path, texts, name, **asked)
    assert data.encoder().columns(texts)[:, 0].tolist() == [5, 5, 5, 5]
    assert data.encoder().public["x"].isna().tolist() == [True, True, True, False]


def test_short_rows_keep_their_places(tmp_path, monkeypatch):
    monkeypatch.setattr(read, "BLOCK", 16)
    (tmp_path / "t.csv").write_text('sep=;\na;b\n1;2\n\n3\n4;5\n"6"\n7;\n8\n')
    made = read_csv(str(tmp_path / "t.csv"), form=FileForm(separator=";", skip=1))
    assert made["a"].tolist() == ["1", "3", "4", "6", "7", "8"]
    assert made["b"].isna().tolist() == [False, True, False, True, True, True]


def built(tmp_path, swap=None):
    """Return the data of each kind that is encoded on demand, from files of 40 rows."""
    specs = []
    for kind, frame in ((LendingData, many(40)), (HospitalData, discharges(40))):
        path = tmp_path / f"{kind.__name__}.csv"
        frame.to_csv(path, index=False)
        for encoding, split in product(("plain", "as-published"), ("in-order", "shuffled")):
            how = {"encoding": encoding, "split": split}
            specs.append(kind(path=str(path), features=2, public_records=20, **how))
    return [spec.build(1, (20,), Streams(1), swap) for spec in specs]


@pytest.mark.parametrize("swap", [None, Swap(row=9, by=12, factor=3.0)])
@pytest.mark.long
def test_tables_encoded_in_pieces_are_the_same(tmp_path, monkeypatch, swap):
    whole = built(tmp_path, swap)
    monkeypatch.setattr(rows, "PIECE_ROWS", 7)
    for one, other in zip(whole, built(tmp_path, swap), strict=True):
        assert np.allclose(one.features[0], other.features[0], rtol=1e-9, atol=1e-12)
        assert other.features[0].flags.f_contiguous
        assert np.array_equal(one.targets[0], other.targets[0])
        assert one.notes == other.notes


# Columns of more rows than any piece, and than 40,000: numbers keep all their digits.

ROWS = 70_001
VALUES = 1 / (3.0 + np.arange(ROWS))
"""Of which single precision holds one in a million."""


NUMBERS = pd.DataFrame({"x": VALUES, "y": -VALUES})


@one_in(2, "form", ["csv", "parquet"])
def test_a_table_is_read_to_the_last_digit(form, tmp_path):
    found = read_table(of_frame(tmp_path, NUMBERS, f"t.{form}", public_records=0).path)
    assert np.array_equal(found["x"].to_numpy(dtype=np.float64), VALUES)


@pytest.mark.long
@pytest.mark.parametrize("form", ["csv", "csv with commas", "parquet"])
def test_records_are_the_tables_numbers(form, tmp_path):
    spec = of_frame(tmp_path, NUMBERS, f"t.{form.split()[0]}", public_records=1)
    if form == "csv with commas":
        NUMBERS.to_csv(spec.path, index=False, sep=";", decimal=",")
        spec = spec.model_copy(update={"separator": ";", "decimal": ","})
    data = spec.build(1, (ROWS - 1,), Streams(1))
    assert data.features[0].dtype == data.targets[0].dtype == np.float64
    assert np.array_equal(data.features[0][:, 0], VALUES[:-1])
    assert np.array_equal(data.targets[0], -VALUES[:-1])


def test_records_that_are_drawn_have_all_digits():
    data = GaussianData(features=2).build(1, (ROWS,), Streams(1))
    for numbers in (data.features[0], data.targets[0]):
        assert numbers.dtype == np.float64
        assert np.mean(numbers.astype(np.float32) == numbers) < 0.01
