"""``asyncdp replay --diff``: the first event or number in which two results differ."""

import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.command import Command
from tests.cli.scenes import SMALL, SWEEP
from tests.directories import move_number

FILES = {"small.toml": SMALL}
pytestmark = pytest.mark.usefixtures("here")


@pytest.fixture
def here(here: Path, command: Command) -> Path:
    command.done("run", "small.toml", "--out", "one", "--events")
    return here


def told(command: Command, *results: object) -> list[str]:
    said = command("replay", "--diff", *results)
    assert said.code == 3
    lines = said.out.splitlines()
    assert lines[0] == f"{results[0]} and {results[1]} differ"
    return lines[1:]


def test_equal_ones(command):
    shutil.copytree("one", "other")
    for name in ("one", "other"):  # with pictures in either of them
        said = command.done("replay", "--diff", "one", "other")
        assert said.out == "one and other are equal (manifest, scenario and every table agree)\n"
        folder = Path(name, "figures")
        folder.mkdir()
        (folder / "psi.png").write_bytes(b"drawn")


@pytest.mark.parametrize(
    ("table", "column", "row", "what"),
    [
        ("events", "tick", 40, "event replicate 1, seq 40 (events.parquet), in tick"),
        ("updates", "staleness", 13, "update replicate 2, k 2 (updates.parquet), in staleness"),
        ("models", "theta_L", 3, "number replicate 2, coordinate 1 (models.parquet), in theta_L"),
        ("owners", "updates", 2, "number replicate 1, owner 3 (owners.parquet), in updates"),
    ],
)
def test_a_planted_number_is_found(table, column, row, what, command):
    shutil.copytree("one", "other")
    move_number(f"other/{table}.parquet", column, row, 1)
    assert told(command, "one", "other")[0] == f"first: {what}"


def test_what_one_of_them_lacks(command):
    shutil.copytree("one", "other")
    for name in ("events", "updates", "curve"):
        table = pq.read_table(f"one/{name}.parquet")
        pq.write_table(table.slice(0, len(table) - 2), f"other/{name}.parquet")
    lines = told(command, "one", "other")
    last = np.max(pq.read_table("one/events.parquet")["seq"].to_numpy())
    assert lines[0].endswith("(events.parquet), which one of them lacks")
    assert f"seq {last - 1}" in lines[0] or "seq" in lines[0]
    assert lines[-1] == "  second  nothing"
    assert told(command, "other", "one")[-2] == "  first   nothing"


@pytest.mark.parametrize("given", [("one", "other"), ("other", "one")])
def test_of_rows_in_one_place_the_one_that_is_lacking_is_named(given, command):
    """Replicate 2 begins where the last update of replicate 1 is in the other result."""
    shutil.copytree("one", "other")
    table = pq.read_table("one/curve.parquet")
    last = np.count_nonzero(table["replicate"].to_numpy() == 1) - 1
    kept = pa.concat_tables([table.slice(0, last), table.slice(last + 1)])
    pq.write_table(kept, "other/curve.parquet")
    lines = told(command, *given)
    k = table["k"][last]
    assert lines[0] == f"first: number replicate 1, k {k} (curve.parquet), which one of them lacks"


def test_of_two_files_the_damaged_one_is_named(command):
    shutil.copytree("one", "other")
    Path("other/scenario.toml").write_text("= no TOML", encoding="utf-8")
    assert told(command, "one", "other") == ["first: scenario.toml (readable, second unreadable)"]
    assert told(command, "other", "one") == ["first: scenario.toml (unreadable, second readable)"]
    Path("one/scenario.toml").write_text("= none", encoding="utf-8")
    assert told(command, "one", "other") == ["first: scenario.toml (unreadable, second unreadable)"]


def test_long_texts_are_cut_where_they_part(command):
    """Found by attack: two labels that begin alike were printed as one and the same."""
    shutil.copytree("one", "other")
    table = pq.read_table("other/models.parquet")
    metadata = table.schema.metadata
    label = metadata[b"asyncdp.label"]
    metadata[b"asyncdp.label"] = label[:60] + b"!" + label[60:]
    pq.write_table(table.replace_schema_metadata(metadata), "other/models.parquet")
    [line] = told(command, "one", "other")
    first, second = line.partition("asyncdp.label (")[2].removesuffix(")").split(", second ")
    assert "!" in second
    assert "!" not in first
    assert max(len(first), len(second)) <= 40


def test_a_cell_of_a_sweep(command):
    Path("sweep.toml").write_text(SWEEP, encoding="utf-8")
    command.done("sweep", "sweep.toml", "--out", "many")
    shutil.copytree("many", "others")
    assert command("replay", "--diff", "many", "others").code == 0
    move_number("others/cell-0002/curve.parquet", "fitness", 5, 0.5)
    lines = told(command, "many", "others")
    assert lines[0] == "first: number replicate 1, k 5 (curve.parquet), in fitness of cell-0002"
