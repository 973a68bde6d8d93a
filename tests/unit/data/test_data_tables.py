import gzip
import hashlib

import pandas as pd
import pytest

from asyncdp_sim.core.errors import DataError
from asyncdp_sim.data.tables.read import read_table, source_of

TABLE = pd.DataFrame({"a": [1, 2], "b": ["x", None]})


def test_the_three_formats_hold_the_same_table(tmp_path):
    TABLE.to_csv(tmp_path / "t.csv", index=False)
    TABLE.to_csv(tmp_path / "t.csv.gz", index=False)
    TABLE.to_parquet(tmp_path / "t.parquet")
    for name in ("t.csv", "t.csv.gz", "t.parquet"):
        read = read_table(str(tmp_path / name))
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


def missing(folder):
    return folder / "no.csv"


def directory(folder):
    return folder


def empty(folder):
    (folder / "e.csv").touch()
    return folder / "e.csv"


def latin(folder):
    (folder / "l.csv").write_bytes("a\ncafé\n".encode("latin-1"))
    return folder / "l.csv"


def no_parquet(folder):
    (folder / "p.parquet").write_text("a,b\n1,2\n")
    return folder / "p.parquet"


def no_gzip(folder):
    (folder / "g.csv.gz").write_text("a,b\n1,2\n")
    return folder / "g.csv.gz"


def cut_gzip(folder):
    (folder / "c.csv.gz").write_bytes(gzip.compress(b"a,b\n1,2\n" * 1000)[:-20])
    return folder / "c.csv.gz"


def no_rows(folder):
    (folder / "h.csv").write_text("a,b\n")
    return folder / "h.csv"


def blank(folder):
    (folder / "b.csv").write_text("\n\n")
    return folder / "b.csv"


def wide_row(folder):
    (folder / "w.csv").write_text("a,b\n1,2,3\n4,5,6\n")
    return folder / "w.csv"


def no_columns(folder):
    pd.DataFrame(index=[0, 1]).to_parquet(folder / "n.parquet")
    return folder / "n.parquet"


def null_character(folder):
    return f"{folder}/a\0b.csv"


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (missing, "there is no such file"),
        (directory, "this is a directory"),
        (empty, "the file is empty"),
        (latin, "row 1, column 1, is not UTF-8 text"),
        (no_parquet, "the file cannot be read ("),
        (no_gzip, "the file cannot be read ("),
        (cut_gzip, "the file cannot be read ("),
        (no_rows, "the file has no rows"),
        (blank, "the file cannot be read ("),
        (wide_row, "row 1 has 3 cells and the header 2: something stands behind the last column"),
        (no_columns, "the file has no columns"),
        (null_character, "there is no such file"),
    ],
)
def test_every_failure_is_one_line_on_data_path(tmp_path, make, reason):
    path = str(make(tmp_path))
    with pytest.raises(DataError) as caught:
        read_table(path)
    (line,) = caught.value.lines()
    assert line.startswith(f"data.path: given {path!r}; {reason}")
    assert "\n" not in line
    assert "allowed is a CSV" in line
