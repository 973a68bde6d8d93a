import gzip
import hashlib
from pathlib import Path

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


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a\0b.csv", None, "there is no such file"),
        ("", None, "this is a directory"),
        (
            "c.csv.gz",
            gzip.compress(b"a,b\n1,2\n" * 1000, mtime=0)[:-20],
            "the gzipped file is damaged or cut off; allowed is",
        ),
        ("n.parquet", pd.DataFrame(index=[0, 1]).to_parquet(), "the file has no columns"),
    ],
)
def test_every_failure_is_one_line_on_data_path(tmp_path, name, content, reason):
    path = f"{tmp_path}/{name}" if name != "" else str(tmp_path)
    if content is not None:
        Path(path).write_bytes(content)
    with pytest.raises(DataError) as caught:
        read_table(path)
    (line,) = caught.value.lines()
    assert line.startswith(f"data.path: given {path!r}; {reason}")
    assert "\n" not in line
    assert "allowed is a CSV" in line
