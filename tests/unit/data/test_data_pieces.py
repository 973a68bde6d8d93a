"""A file read piece by piece is the file read whole, and a table encoded so the table."""

import csv

import numpy as np
import pytest
from discharges import many as discharges
from loans import many

from asyncdp_sim.core.streams import Streams
from asyncdp_sim.data import HospitalData, LendingData, Swap
from asyncdp_sim.data.splits import Shuffled
from asyncdp_sim.data.tables import file_form, rows
from asyncdp_sim.data.tables.file_form import PLAIN, FileForm, read_csv

TEXTS = {
    "whole": ["1", "2", "3", "4", "5", "6", "7"],
    "spelled": ["01", "1", "1.0", " 1", "1e0", "x", "True"],
    "long": ["9007199254740993", "9007199254740992", "", "1" * 30, "0.1", "-7", "NA"],
    "quoted": ["a,b", 'say "a"', "two\nlines", "", "a", "a", "N/A"],
    "nothing": ["", "NA", "n/a", "NaN", "NULL", "null", ""],
}
GAPS = {"long": {2, 6}, "quoted": {3, 6}, "nothing": set(range(7))}


@pytest.fixture
def path(tmp_path):
    with (tmp_path / "t.csv").open("w", newline="") as file:
        csv.writer(file).writerows([TEXTS.keys(), *zip(*TEXTS.values(), strict=True)])
    return str(tmp_path / "t.csv")


@pytest.mark.parametrize("block", [64, file_form.BLOCK])
def test_cells_are_texts_as_written(path, monkeypatch, block):
    monkeypatch.setattr(file_form, "BLOCK", block)
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


def test_short_rows_keep_their_places(tmp_path, monkeypatch):
    monkeypatch.setattr(file_form, "BLOCK", 16)
    (tmp_path / "t.csv").write_text('sep=;\na;b\n1;2\n\n3\n4;5\n"6"\n7;\n8\n')
    made = read_csv(str(tmp_path / "t.csv"), form=FileForm(separator=";", skip=1))
    assert made["a"].tolist() == ["1", "3", "4", "6", "7", "8"]
    assert made["b"].isna().tolist() == [False, True, False, True, True, True]


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
    monkeypatch.setattr(rows, "PIECE_ROWS", 7)
    for one, other in zip(whole, built(tmp_path, swap), strict=True):
        assert np.allclose(one.features[0], other.features[0], rtol=1e-9, atol=1e-12)
        assert other.features[0].flags.f_contiguous
        assert np.array_equal(one.targets[0], other.targets[0])
        assert one.notes == other.notes
