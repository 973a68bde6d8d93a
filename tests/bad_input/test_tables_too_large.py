"""Tables and scenario files that are too large: one line, little memory, soon."""

import gzip
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from asyncdp_sim.core.errors import DataError, InputError
from asyncdp_sim.core.files import from_toml
from asyncdp_sim.data.tables import file_form
from asyncdp_sim.data.tables.read import read_table
from asyncdp_sim.runs.replicates import processes
from tests.cli.scenes import ON_A_TABLE, SMALL

# Small files that unpack to more than a machine has: one line, little memory, soon.

MEMORY = 2_000_000
"""KiB that a command may take at most."""


def zeros(file: Path) -> None:
    """Write a line of zeros that takes little of itself."""
    with gzip.open(file, "wb", compresslevel=1) as packed:
        packed.write(b"income,age,rate\n")
        for _ in range(24):
            packed.write(bytes(2**20))


def short_rows(file: Path, count: int) -> None:
    with gzip.open(file, "wb", compresslevel=1) as packed:
        packed.write(b"income,age,rate\n" + b"1,2,3\n" * count)


def many_rows(file: Path, count: int) -> None:
    """Write a Parquet of one value, in row groups that are one and the same few bytes."""
    column = pa.array(np.zeros(2**20, dtype=np.int8)).dictionary_encode()
    table = pa.table({name: column for name in ("income", "age", "rate")})
    with pq.ParquetWriter(file, table.schema, compression="zstd") as writer:
        for _ in range(count // 2**20):
            writer.write_table(table)


def long_texts(file: Path) -> None:
    """Write a long text many times, as Parquet does: once, and then its number."""
    places = pa.array(np.zeros(2**17, dtype=np.int32))
    texts = pa.DictionaryArray.from_arrays(places, ["x" * 2**16])
    numbers = pa.array(np.zeros(2**17))
    table = pa.table({"income": texts, "age": numbers, "rate": numbers})
    pq.write_table(table, file, store_schema=False)  # which would say that it may stay so


def said_of(file: Path) -> str:
    with pytest.raises(DataError) as caught:
        read_table(str(file))
    [line] = caught.value.lines()
    assert line.startswith(f"data.path: given '{file}'; ")
    return line.partition("; ")[2]


def test_a_line_without_end(tmp_path):
    zeros(tmp_path / "t.csv.gz")
    assert (
        said_of(tmp_path / "t.csv.gz") == "a line of more than 16,777,216 bytes: this is no table"
    )


def test_a_line_without_end_that_is_read_piece_by_piece(tmp_path):
    zeros(tmp_path / "t.csv.gz")
    with file_form.opened(str(tmp_path / "t.csv.gz")) as file:
        pieces = iter(lambda: file.read(2**20), b"")
        with pytest.raises(file_form.TooMuch, match="a line of more than"):
            list(pieces)


def test_lines_end_in_carriage_returns_too(tmp_path, monkeypatch):
    """A file of which no line is long is not taken for one line."""
    monkeypatch.setattr(file_form, "LONGEST_LINE", 64)
    (tmp_path / "t.csv").write_bytes(b"income,age,rate\r" + b"1,2,3\r" * 100)
    assert len(read_table(str(tmp_path / "t.csv"))) == 100


@pytest.mark.parametrize(
    ("limit", "most", "rows", "said"),
    [
        (file_form.ROWS, 60_000, 60_001, "more than 60,000 rows; --most-rows raises this limit"),
        (file_form.BYTES, 6015, 1000, "more than 6,015 bytes; --most-bytes raises this limit"),
    ],
)
def test_rows_and_bytes_of_a_csv(limit, most, rows, said, tmp_path, monkeypatch):
    short_rows(tmp_path / "t.csv.gz", rows)
    monkeypatch.setenv(limit, str(most))
    assert said_of(tmp_path / "t.csv.gz") == said
    monkeypatch.setenv(limit, str(most + 1))
    assert len(read_table(str(tmp_path / "t.csv.gz"))) == rows


def test_cells_that_are_not_written_count(tmp_path, monkeypatch):
    """Of a header of 1,000 names, and 4,000 rows of one cell each."""
    monkeypatch.setenv(file_form.BYTES, "3999999")
    names = ",".join(f"c{number}" for number in range(1000))
    (tmp_path / "t.csv").write_text(names + "\n" + "1\n" * 4000, encoding="utf-8")
    assert said_of(tmp_path / "t.csv").startswith("more than 3,999,999 bytes")


@pytest.mark.long
def test_rows_of_a_parquet(tmp_path):
    many_rows(tmp_path / "t.parquet", 20 * 2**20)
    assert (tmp_path / "t.parquet").stat().st_size < 300_000
    said = said_of(tmp_path / "t.parquet")
    assert said == "more than 20,000,000 rows; --most-rows raises this limit"


def test_cells_of_a_parquet(tmp_path, monkeypatch):
    """Of 20 columns of bits, which take less than a byte each; of those that are wanted alone."""
    column = pa.array([True, False] * 50)
    pq.write_table(pa.table({f"c{number}": column for number in range(20)}), tmp_path / "t.parquet")
    monkeypatch.setenv(file_form.BYTES, "1999")
    assert said_of(tmp_path / "t.parquet").startswith("more than 1,999 bytes")
    assert read_table(str(tmp_path / "t.parquet"), wanted="c7".__eq__).shape == (100, 1)
    monkeypatch.setenv(file_form.BYTES, "2000")
    assert read_table(str(tmp_path / "t.parquet")).shape == (100, 20)


def test_texts_of_a_parquet(tmp_path, monkeypatch):
    """Of 8 GiB in 100 kB."""
    long_texts(tmp_path / "t.parquet")
    assert (tmp_path / "t.parquet").stat().st_size < 200_000
    monkeypatch.setenv(file_form.BYTES, str(2**28))
    assert said_of(tmp_path / "t.parquet").startswith("more than 268,435,456 bytes")
    assert len(read_table(str(tmp_path / "t.parquet"), wanted="age".__eq__)) == 2**17


def test_what_the_environment_says_is_checked(monkeypatch):
    for given in ("0", "-1", "many", "1e6", ""):
        monkeypatch.setenv(file_form.ROWS, given)
        with pytest.raises(InputError, match="allowed is a whole number ≥ 1"):
            file_form.most(file_form.ROWS)


def test_options_raise_the_limits(command, here, monkeypatch):
    monkeypatch.setenv(file_form.ROWS, "1")
    monkeypatch.setenv(file_form.BYTES, "1")
    (here / "t.toml").write_text(ON_A_TABLE.replace("rates", "t"), encoding="utf-8")
    rows = "".join(f"{1 + row % 7},{20 + row % 9},{row % 5}\n" for row in range(40))
    (here / "t.csv").write_text(f"income,age,rate\n{rows}", encoding="utf-8")
    for few in (["--most-rows", "39"], ["--most-rows", "40", "--most-bytes", "99"]):
        command.refused(*few, "check", "t.toml")
    command.done("--most-rows", "40", "--most-bytes", "9999", "check", "t.toml")
    assert command("--most-rows", "0", "check", "t.toml").code == 2
    assert file_form.most(file_form.ROWS) == 1


@pytest.mark.long
def test_workers_have_the_limits_of_the_command():
    with file_form.raised({file_form.ROWS: 5}), processes(2) as two:
        assert two.map(file_form.most, [file_form.ROWS, file_form.BYTES]) == [
            5,
            file_form.DEFAULTS[file_form.BYTES],
        ]


@pytest.mark.long
@pytest.mark.parametrize("make", [zeros, long_texts])
def test_little_memory_is_taken(make, tmp_path):
    assert callable(make)
    file = tmp_path / ("t.csv.gz" if make is zeros else "t.parquet")
    make(file)
    words = [sys.executable, "-m", "asyncdp_sim", "data", str(file)]
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    assert ended.returncode == 2, ended.stderr
    assert len(ended.stderr.splitlines()) == 1
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < MEMORY


# A scenario that could not be read in seconds is refused before it is.

FEW = "allowed are 500,000: one value for all owners, or fewer owners"
SOON = 2.0
"""Processor seconds; without a limit each of them takes from 5 to 60."""
PARTS = ".".join("a" * 20_000)
SPACED = ' . "a"' * 20_000
DEEP = "text that is not TOML (tables or lists nested more than 100 deep); "
DEEP += "allowed is TOML 1.0, as in asyncdp new"


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (f"rate = [{'1.0,' * 1_000_000}]", f"1,000,042 values and lines; {FEW}"),
        (f"{PARTS} = 1", DEEP),
        (f"[{PARTS}]", DEEP),
        (f"a{SPACED} = 1", DEEP),
        (f"x = {{ y = 1, {PARTS} = 1 }}", DEEP),
    ],
    ids=["a list", "a key", "a table", "a quoted key", "an inline table"],
)
def test_it_is_refused_at_once(more, said, here, command):
    (here / "large.toml").write_text(f"{SMALL}\n{more}\n", encoding="utf-8")
    command.refused("check", "small.toml")  # imports are paid for
    ended = command("check", "large.toml")
    assert (ended.code, ended.lines) == (2, [f"large.toml: given {said}"])
    assert ended.seconds < SOON


def test_a_list_of_a_hundred_thousand_rates_is_read():
    assert len(from_toml(f"rate = [{'1.0,' * 100_000}]")["rate"]) == 100_000


def test_of_very_many_mistakes_the_first_are_said(here, command):
    keys = "\n".join(f"k{number} = 1" for number in range(3000))
    (here / "keys.toml").write_text(f"{keys}\n{SMALL}", encoding="utf-8")
    ended = command("check", "keys.toml")
    assert ended.code == 2
    assert len(ended.lines) == 1001
    assert ended.lines[-1] == "keys.toml: given 2,000 more mistakes; mend those above first"
