"""A result whose tables have impossible keys is refused before anything is counted by them."""

import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import asyncdp_sim as ad
from asyncdp_sim.results import open_directory
from asyncdp_sim.results.columns import COUNT, NUMBER, tables
from asyncdp_sim.results.read import UNIQUE
from tests.cli.command import Command
from tests.cli.scenes import SMALL

FILES = {"small.toml": SMALL}
HUGE = 10**9


@pytest.fixture
def ran(command: Command, here: Path) -> Path:
    command.done("run", "small.toml", "--out", "r", "--events", "--set", "run.alone=true")
    return here / "r"


def altered(ran: Path, table: str, column: str, value: int) -> Path:
    """Return a copy with another value in the last row of a column."""
    other = ran.parent / "altered"
    shutil.rmtree(other, ignore_errors=True)
    shutil.copytree(ran, other)
    file = other / f"{table}.parquet"
    read = pq.read_table(file)
    values = read[column].to_pylist()
    values[-1] = value
    place = read.column_names.index(column)
    made = pa.array(values, read.schema.field(column).type)
    pq.write_table(read.set_column(place, read.schema.field(column), made), file)
    return other


@pytest.mark.parametrize(
    ("table", "column", "value", "said"),
    [
        ("updates", "owner", HUGE, "owner 1000000000 in {}; allowed is 1 to 3"),
        ("updates", "owner", 0, "owner 0 in {}; allowed is 1 to 3"),
        ("updates", "replicate", HUGE, "replicate 1000000000 in {}; allowed is 1 to 2"),
        ("updates", "k", HUGE, "k 1000000000 in {}; allowed is 1 to 12"),
        ("curve", "tick", -1, "tick -1 in {}; allowed is at least 0"),
        ("curve", "k", 3, "replicate 2, k 3 twice in {}; allowed is one row"),
        ("owners", "owner", 2, "replicate 2, owner 2 twice in {}; allowed is one row"),
    ],
)  # fmt: skip
def test_a_picture_of_one_is_refused(table, column, value, said, ran, command):
    altered(ran, table, column, value)
    ended = command("plot", "altered")
    assert ended.code == 2
    assert ended.lines[-1] == f"altered: given {said.format(f'{table}.parquet')}"


def test_every_whole_number_of_every_table_has_its_ends(ran):
    """No reader counts by a number that the dictionary of columns does not allow."""
    tried = 0
    for name, table in tables().items():
        if not (ran / f"{name}.parquet").exists():
            continue
        there = pq.read_schema(ran / f"{name}.parquet").names
        for column in table.columns:
            if column.domain not in (COUNT, NUMBER) or column.name not in there:
                continue
            result = open_directory(altered(ran, name, column.name, -1))
            with pytest.raises(ad.ResultError, match=f"{column.name} -1 in {name}.parquet"):
                result.columns(name, column.name)
            with pytest.raises(ad.ResultError, match=f"{column.name} -1 in {name}.parquet"):
                result.frame(name)
            tried += 1
    assert tried >= 30


def test_no_table_has_a_key_twice(ran):
    for name, keys in UNIQUE.items():
        if name == "cells":
            continue
        file = ran / f"{name}.parquet"
        read = pq.read_table(file)
        other = shutil.copytree(ran, ran.parent / f"twice-{name}")
        pq.write_table(pa.concat_tables([read, read.slice(0, 1)]), other / file.name)
        with pytest.raises(ad.ResultError, match=f"{keys[0]} .* twice in {name}.parquet"):
            open_directory(other).columns(name, read.column_names[-1])


def test_a_sweep_whose_cells_are_listed_twice_is_refused(command, here):
    swept = SMALL + '\n[sweep]\n"privacy.epsilon" = [1, 2]\n'
    (here / "many.toml").write_text(swept, encoding="utf-8")
    command.done("sweep", "many.toml", "--out", "s")
    read = pq.read_table("s/cells.parquet")
    first = pc.if_else(pc.equal(read["cell"], 1), pa.scalar(0, read["cell"].type), read["cell"])
    pq.write_table(read.set_column(0, read.schema.field("cell"), first), "s/cells.parquet")
    assert command.refused("plot", "s") == (
        "s: given cell 0 twice in cells.parquet; allowed is one row"
    )
