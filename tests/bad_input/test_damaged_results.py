"""Results and sweeps with bytes changed or impossible keys, and manifests with other values."""

import random
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import asyncdp_sim as ad
from asyncdp_sim.core.errors import ResultError
from asyncdp_sim.results import open_directory, read_columns, read_table
from asyncdp_sim.results.columns import COUNT, NUMBER, tables
from asyncdp_sim.results.read import UNIQUE
from tests import tables as data
from tests.bad_input.damage import escapes
from tests.cli.command import Command
from tests.cli.scenes import SMALL
from tests.fresh import fresh_seed, none_escapes

# Results and sweeps with bytes changed, cut or inserted, and manifests with other values.

RUNS = (
    "replay damaged|plot damaged|report damaged|compare damaged whole|replay --diff damaged whole"
)
SWEEPS = "sweep damaged|sweep damaged|sweep damaged --status|sweep many.toml --out damaged"
OF_RUNS = [tuple(words.split()) for words in RUNS.split("|")]
OF_SWEEPS = [*OF_RUNS, *(tuple(words.split()) for words in SWEEPS.split("|"))]
SWEPT = SMALL + '\n[sweep]\n"privacy.epsilon" = [1, inf]\n"run.seed" = [3, 4]\n'


def of_runs(command: Command, here: Path, count: int, seed: int) -> list[str]:
    (here / "small.toml").write_text(SMALL, encoding="utf-8")
    command.done("run", "small.toml", "--out", "whole", "--events")
    return escapes(command, OF_RUNS, count, seed)


def of_sweeps(command: Command, here: Path, count: int, seed: int) -> list[str]:
    """Damage sweeps, half of which have lost a cell besides, and hold a leftover."""
    (here / "many.toml").write_text(SWEPT, encoding="utf-8")
    command.done("sweep", "many.toml", "--out", "whole")
    (here / "whole" / "failed").mkdir()
    (here / "whole" / "failed" / "cell-0003.json.tmp").write_text('{"cell": 3', encoding="utf-8")
    return escapes(command, OF_SWEEPS, count, seed, _lose_a_cell)


def _lose_a_cell(draw: random.Random) -> None:
    if draw.random() < 0.5:
        shutil.rmtree(f"damaged/cell-000{draw.randrange(4)}", ignore_errors=True)


@pytest.mark.long
@pytest.mark.parametrize("tried", [of_runs, of_sweeps])
def test_twenty(tried, command, here):
    assert tried(command, here, 20, 1) == []


@pytest.mark.nightly
@pytest.mark.parametrize("tried", [of_runs, of_sweeps])
def test_two_thousand(tried, command, here, record_property):
    none_escapes(record_property, 2000, tried(command, here, 2000, fresh_seed()))


@pytest.fixture
def ran(command: Command, here: Path) -> Path:
    (here / "small.toml").write_text(SMALL, encoding="utf-8")
    command.done("run", "small.toml", "--out", "r")
    return here


def test_another_version_of_the_format_is_named(command, ran):
    manifest = ran / "r" / "manifest.json"
    text = manifest.read_text(encoding="utf-8")
    manifest.write_text(text.replace('"schema": 1', '"schema": 99', 1), encoding="utf-8")
    for verb in ("replay", "plot", "report"):
        assert command.refused(verb, "r") == "r: given a result of schema 99; allowed is one of 1"


def test_a_link_in_the_place_of_figures_is_not_followed(command, ran):
    (ran / "elsewhere").mkdir()
    (ran / "r" / "figures").symlink_to(ran / "elsewhere")
    assert command.refused("plot", "r") == (
        f"r: given a link to {ran / 'elsewhere'} in the place of figures; "
        "allowed is a folder, or none yet"
    )
    assert list((ran / "elsewhere").iterdir()) == []


def test_what_is_left_half_written_is_no_part_of_a_comparison(command, ran):
    shutil.copytree("r", "other")
    (ran / "other" / "manifest.json.tmp").write_text('{"cell"', encoding="utf-8")
    command.done("replay", "--diff", "r", "other")


def test_a_text_that_is_none_is_a_damaged_table(tmp_path):
    """Found at night: a byte of a text changed, so that it is no UTF-8."""
    wrong = pa.StringArray.from_buffers(
        1, pa.py_buffer(np.array([0, 3], dtype=np.int32)), pa.py_buffer(b"se\xaa")
    )
    pq.write_table(pa.table({"kind": wrong}), tmp_path / "events.parquet")
    with pytest.raises(ResultError, match=r"no readable events\.parquet"):
        read_columns(tmp_path, "events", ["kind"])
    with pytest.raises(ResultError, match=r"no readable events\.parquet"):
        read_table(tmp_path, "events")


# A result whose tables have impossible keys is refused before anything is counted by them.

FILES = {"small.toml": SMALL}


@pytest.fixture
def with_events(command: Command, here: Path) -> Path:
    command.done("run", "small.toml", "--out", "r", "--events", "--set", "run.alone=true")
    return here / "r"


def altered(with_events: Path, table: str, column: str, value: int) -> Path:
    """Return a copy with another value in the last row of a column."""
    other = with_events.parent / "altered"
    shutil.rmtree(other, ignore_errors=True)
    shutil.copytree(with_events, other)
    file = other / f"{table}.parquet"
    read = pq.read_table(file)
    values = read[column].to_pylist()
    values[-1] = value
    place = read.column_names.index(column)
    made = pa.array(values, read.schema.field(column).type)
    pq.write_table(read.set_column(place, read.schema.field(column), made), file)
    return other


TABLE = data.table(__file__, "refused_pictures.toml")


@pytest.mark.parametrize(("table", "column", "value", "said"), TABLE["pictures"])
def test_a_picture_of_one_is_refused(table, column, value, said, with_events, command):
    altered(with_events, table, column, value)
    ended = command("plot", "altered")
    assert ended.code == 2
    assert ended.lines[-1] == f"altered: given {said.format(f'{table}.parquet')}"


def test_every_whole_number_of_every_table_has_its_ends(with_events):
    """No reader counts by a number that the dictionary of columns does not allow."""
    tried = 0
    for name, table in tables().items():
        if not (with_events / f"{name}.parquet").exists():
            continue
        there = pq.read_schema(with_events / f"{name}.parquet").names
        for column in table.columns:
            if column.domain not in (COUNT, NUMBER) or column.name not in there:
                continue
            result = open_directory(altered(with_events, name, column.name, -1))
            with pytest.raises(ad.ResultError, match=f"{column.name} -1 in {name}.parquet"):
                result.columns(name, column.name)
            with pytest.raises(ad.ResultError, match=f"{column.name} -1 in {name}.parquet"):
                result.frame(name)
            tried += 1
    assert tried >= 30


def test_no_table_has_a_key_twice(with_events):
    for name, keys in UNIQUE.items():
        if name == "cells":
            continue
        file = with_events / f"{name}.parquet"
        read = pq.read_table(file)
        other = shutil.copytree(with_events, with_events.parent / f"twice-{name}")
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
