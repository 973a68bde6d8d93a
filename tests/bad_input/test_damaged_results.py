"""Results and sweeps with bytes changed, cut or inserted, and manifests with other values."""

import random
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from asyncdp_sim.core.errors import ResultError
from asyncdp_sim.results import read_columns, read_table
from tests.bad_input.damage import escapes
from tests.cli.command import Command
from tests.cli.scenes import SMALL
from tests.fresh import fresh_seed, none_escapes

OF_RUNS = (
    ("replay", "damaged"),
    ("plot", "damaged"),
    ("report", "damaged"),
    ("compare", "damaged", "whole"),
    ("replay", "--diff", "damaged", "whole"),
)
OF_SWEEPS = (
    *OF_RUNS,
    ("sweep", "damaged"),
    ("sweep", "damaged"),
    ("sweep", "damaged", "--status"),
    ("sweep", "many.toml", "--out", "damaged"),
)
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
