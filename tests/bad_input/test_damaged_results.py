"""Results and sweeps with bytes changed, impossible keys, or manifests with other values.

The lines of some of them are a session of ``tests/cli/screens``: ``damaged-results``.
"""

import copy
import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import asyncdp_sim as ad
from asyncdp_sim.core.errors import AsyncDPError, ResultError
from asyncdp_sim.results import open_directory, read_columns, read_manifest, read_table
from asyncdp_sim.results.columns import COUNT, NUMBER, tables
from asyncdp_sim.results.read import UNIQUE
from asyncdp_sim.sentences.result import notes, result_lines
from tests.bad_input import damage
from tests.cli.command import Command
from tests.cli.scenes import ON_A_TABLE, SMALL, TABLE, rates
from tests.directories import move_number
from tests.fresh import fresh_seed, none_escapes
from tests.one_in import one_in

FILES = {"small.toml": SMALL}

# Results and sweeps with bytes changed, cut or inserted, and manifests with other values.

RUNS = (
    "replay damaged|plot damaged|report damaged|compare damaged whole|replay --diff damaged whole"
)
SWEEPS = "sweep damaged|sweep damaged|sweep damaged --status|sweep many.toml --out damaged"
READ_RUNS = [tuple(words.split()) for words in RUNS.split("|")]
READ_SWEEPS = [*READ_RUNS, *(tuple(words.split()) for words in SWEEPS.split("|"))]
FOUR_CELLS = SMALL + '\n[sweep]\n"privacy.epsilon" = [1, inf]\n"run.seed" = [3, 4]\n'


def of_runs(command: Command, _: Path, count: int, seed: int) -> list[str]:
    command.done("run", "small.toml", "--out", "whole", "--events")
    return damage.escapes(command, READ_RUNS, count, seed)


def of_sweeps(command: Command, here: Path, count: int, seed: int) -> list[str]:
    """Damage sweeps, half of which have lost a cell besides, and hold a leftover."""
    (here / "many.toml").write_text(FOUR_CELLS, encoding="utf-8")
    command.done("sweep", "many.toml", "--out", "whole")
    (here / "whole" / "failed").mkdir()
    (here / "whole" / "failed" / "cell-0003.json.tmp").write_text('{"cell": 3', encoding="utf-8")
    return damage.escapes(command, READ_SWEEPS, count, seed, _lose_a_cell)


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


@pytest.fixture
def with_events(command: Command, here: Path) -> Path:
    command.done("run", "small.toml", "--out", "r", "--events", "--set", "run.alone=true")
    return here / "r"


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
            other = shutil.copytree(with_events, with_events.parent / f"{name}-{column.name}")
            values = pq.read_table(other / f"{name}.parquet")[column.name].to_pylist()
            row = next(at for at, value in enumerate(values) if value is not None)
            move_number(other / f"{name}.parquet", column.name, row, -1 - values[row])
            result = open_directory(other)
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


# Manifests with each of their values gone, or another in its place, one after the other.

OTHER = (None, [], {}, "x", -1, True, [None], {"x": None})
GONE = type("Gone", (), {"__repr__": lambda _: "gone"})()
Way = tuple[str | int, ...]
Reader = tuple[str, ...]

ENERGY = """
[energy]
idle = 0.25
listening = 0.5
computing = 5.0
sending = 2.0
receiving = 1.0
byte_sent = 1e-3
learner = { idle = 50.0, busy = 80.0 }
"""
RICH = ENERGY.join((
    ON_A_TABLE.replace(TABLE, f'{TABLE}\nheld_out = 0.25\nunit = "percent"').replace(
        "updates = 12", "updates = 12\nalone = true\nsplit = true"
    ),
    "",
))  # fmt: skip
"""Everything that a summary may have is asked for."""
SWEPT = '\n[sweep]\n"privacy.epsilon" = [1, inf]\n'
SAID = "report damaged|plot damaged|compare damaged whole|compare whole damaged|replay damaged|"
SAID += "replay --diff damaged whole|python damaged"
READERS: list[Reader] = [tuple(words.split()) for words in SAID.split("|")]
OF_RUNS: list[Reader] = [*READERS, ("run", "one.toml", "--out", "damaged")]
RESUMED = ("sweep", "many.toml", "--out", "damaged")
OF_SWEEPS: list[Reader] = [*READERS, ("sweep", "damaged", "--status"), RESUMED]
CODES = {"replay": {0, 2, 3}}
"""Exit codes of commands that have others than 0 and 2."""


def ways(value: Any, way: Way = ()) -> Iterator[Way]:
    """Yield the places of all values within one; of a list only its first."""
    inside = value.items() if isinstance(value, dict) else ()
    for key, each in enumerate(value[:1]) if isinstance(value, list) else inside:
        yield (*way, key)
        yield from ways(each, (*way, key))


def others(manifest: Any, every: int = 1) -> Iterator[tuple[str, Any]]:
    """Yield a manifest damaged in one place, of one in so many ways, and what was done to it.

    It is one object, and whole again at the end.
    """
    number = 0
    for way in list(ways(manifest)):
        at: Any = manifest
        for key in way[:-1]:
            at = at[key]
        last, kept = way[-1], at[way[-1]]
        for value in (*OTHER, GONE):
            number += 1
            if number % every != 0:
                continue
            if value is GONE:
                del at[last]
            else:
                at[last] = copy.copy(value)
            yield f"{'.'.join(map(str, way))}: {value!r}", manifest
            if value is GONE and isinstance(at, list):
                at.insert(0, kept)
            at[last] = kept


class Scene:
    """A whole result in the working directory, and a copy of it that is damaged.

    Parameters
    ----------
    made : str
        "run", "sweep", or "cell": whose manifest is damaged.
    text : str
        The scenario, without a sweep.
    """

    def __init__(self, made: str, text: str, command: Command) -> None:
        self.command = command
        self.readers = OF_RUNS if made == "run" else OF_SWEEPS
        self._place = Path("damaged", "cell-0000" if made == "cell" else "")
        rates(Path("rates.csv"))
        Path("one.toml").write_text(text, encoding="utf-8")
        Path("many.toml").write_text(text + SWEPT, encoding="utf-8")
        what = ("run", "one.toml") if made == "run" else ("sweep", "many.toml")
        command.done(*what, "--out", "whole")
        shutil.copytree("whole", "damaged")
        self.manifest = json.loads((self._place / "manifest.json").read_bytes())

    def damage(self, changed: Any) -> Path:
        """Write a manifest into the damaged copy; return its directory."""
        (self._place / "manifest.json").write_text(json.dumps(changed), encoding="utf-8")
        return self._place

    def escape(self, reader: Reader) -> str | None:
        """Return how a reader ended, where that is neither well nor with one line."""
        try:
            return self._python() if reader[0] == "python" else self._command(reader)
        except AsyncDPError as error:
            return None if reader[0] == "python" else repr(error)
        except Exception as error:
            return repr(error)

    def _command(self, words: Reader) -> str | None:
        resumes = words[:2] == ("sweep", "many.toml")
        if resumes:  # it reads its cells where their table is gone, and writes it anew
            Path("damaged", "cells.parquet").unlink()
        said = self.command(*words)
        if resumes:
            shutil.rmtree("damaged")
            shutil.copytree("whole", "damaged")
        codes = CODES.get(words[0], {0, 2})
        lines = len(said.lines) if said.code == 2 else 1
        wrong = said.code not in codes or "Traceback" in said.err or lines != 1
        return f"exit {said.code}, {said.err}" if wrong else None

    def _python(self) -> None:
        """Read all that the Python API has of it."""
        found = ad.open("damaged")
        results = [found] if isinstance(found, ad.Result) else list(found)
        for each in results:
            tables = [each.curve, each.owners, each.models, each.optimum, each.summary]
            assert len([each.label, each.warnings, repr(each), each._repr_html_(), *tables]) == 9
        assert len([repr(found), found._repr_html_(), found.warnings]) == 3
        if isinstance(found, ad.Sweep):
            found.to_frame()
        else:
            repr(ad.compare("damaged", "whole"))


def escapes(scene: Scene, every: int, each: int) -> tuple[int, list[str]]:
    """Return how many manifests were read, and how readers ended otherwise than they should.

    Parameters
    ----------
    scene : Scene
    every : int
        One in so many manifests is tried,
    each : int
        by one in so many readers, which take turns.
    """
    tried, found = 0, []
    for number, (done, changed) in enumerate(others(scene.manifest, every)):
        for reader in scene.readers[number % each :: each]:
            tried += 1
            scene.damage(changed)
            said = scene.escape(reader)
            if said is not None:
                found.append(f"{' '.join(reader)} with {done}: {said}")
    return tried, found


@one_in(3, "made", ["run", "sweep", "cell"])
@pytest.mark.usefixtures("here")
def test_places_are_refused_by_name_or_read(made, command):
    """One in seven, by what reads no table: the manifest itself, and its figures on screen."""
    scene = Scene(made, SMALL, command)
    tried = 0
    for done, changed in others(scene.manifest, 7):
        place = scene.damage(changed)
        tried += 1
        try:
            read_manifest(place)
        except ResultError as error:
            [line] = error.lines()
            assert line.startswith(f"{place}: given a"), done
            assert done.split(":")[0].split(".")[0] in line, f"{done}: {line}"
        else:
            assert len([*result_lines(place), *notes(place)]) > 0
    assert tried > 150


@pytest.mark.long
@pytest.mark.parametrize("made", ["run", "sweep", "cell"])
@pytest.mark.usefixtures("here")
def test_some_places_by_readers_in_turn(made, command):
    scene = Scene(made, SMALL, command)
    tried, found = escapes(scene, 27, len(scene.readers))
    assert found == []
    assert tried > 35


@pytest.mark.nightly
@pytest.mark.parametrize("made", ["run", "sweep", "cell"])
@pytest.mark.usefixtures("here")
def test_every_place_by_every_reader(made, command, record_property):
    tried, found = escapes(Scene(made, RICH, command), 1, 1)
    none_escapes(record_property, tried, found)


@pytest.mark.usefixtures("here")
def test_a_sweep_is_no_run_and_the_other_way_round(command):
    Scene("sweep", SMALL, command)
    with pytest.raises(ResultError, match=r"^whole: given a manifest\.json without summary; "):
        read_manifest(Path("whole"), "summary")
    with pytest.raises(ResultError, match=r"^whole/cell-0001: given a .* without cells; "):
        read_manifest(Path("whole", "cell-0001"), "cells")
