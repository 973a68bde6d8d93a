"""Manifests with each of their values gone, or another in its place, one after the other."""

import copy
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import asyncdp_sim as ad
from asyncdp_sim.core.errors import AsyncDPError, ResultError
from asyncdp_sim.results import read_manifest
from asyncdp_sim.sentences.result import notes, result_lines
from tests.cli.command import Command
from tests.cli.scenes import ON_A_TABLE, SMALL, TABLE, rates
from tests.fresh import none_escapes
from tests.one_in import one_in

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


pytestmark = pytest.mark.usefixtures("here")


@one_in(3, "made", ["run", "sweep", "cell"])
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
def test_some_places_by_readers_in_turn(made, command):
    scene = Scene(made, SMALL, command)
    tried, found = escapes(scene, 27, len(scene.readers))
    assert found == []
    assert tried > 35


@pytest.mark.nightly
@pytest.mark.parametrize("made", ["run", "sweep", "cell"])
def test_every_place_by_every_reader(made, command, record_property):
    tried, found = escapes(Scene(made, RICH, command), 1, 1)
    none_escapes(record_property, tried, found)


DAMAGE: dict[str, tuple[Callable[[Any], Any], str]] = {
    "a figure": (
        lambda m: m["summary"]["psi_final"].update(mean="x"),
        'summary.psi_final.mean = "x"',
    ),
    "no figure": (lambda m: m["summary"].pop("throughput"), "summary.throughput is missing"),
    "a row": (lambda m: m["predictions"][1].pop("formula"), "predictions[1].formula is missing"),
    "a long value": (
        lambda m: m.update(cpu_features={"x": "y" * 99}),
        f'cpu_features = {{"x": "{"y" * 32}…',
    ),
    "replicates": (lambda m: m.update(replicates=[2, 1]), "replicates = [2, 1]"),
    "the scenario": (
        lambda m: m["scenario"]["run"].update(updates=13),
        "scenario and digest do not belong together",
    ),
    "no text": (
        lambda m: m["scenario"].update(title="\ud800"),
        "scenario and digest do not belong together",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGE)
def test_the_line_says_what_is_damaged_and_what_to_do(name, command):
    scene, (spoil, place) = Scene("run", SMALL, command), DAMAGE[name]
    spoil(scene.manifest)
    scene.damage(scene.manifest)
    assert command.refused("report", "damaged") == (
        f"damaged: given a damaged manifest.json ({place}); "
        "allowed is a result directory, whose scenario.toml makes it again"
    )


def test_cells_that_are_not_those_of_the_grid_are_named(command):
    scene = Scene("sweep", SMALL, command)
    for key, value, said in (
        ("cells", 3, "(cells = 3)"),
        ("fingerprints", {}, "(fingerprints and failed are not of all cells)"),
    ):
        place = scene.damage(scene.manifest | {key: value})
        with pytest.raises(ResultError) as error:
            read_manifest(place)
        assert said in str(error.value)


def test_a_sweep_is_no_run_and_the_other_way_round(command):
    Scene("sweep", SMALL, command)
    with pytest.raises(ResultError, match=r"^whole: given a manifest\.json without summary; "):
        read_manifest(Path("whole"), "summary")
    with pytest.raises(ResultError, match=r"^whole/cell-0001: given a .* without cells; "):
        read_manifest(Path("whole", "cell-0001"), "cells")


def test_a_sweep_whose_manifest_is_damaged_writes_it_anew(command):
    scene = Scene("sweep", SMALL, command)
    scene.damage(scene.manifest | {"fingerprints": {}})
    command.done("sweep", "many.toml", "--out", "damaged")
    assert read_manifest(Path("damaged")) == scene.manifest


def test_a_sweeps_damaged_manifest_is_told_before_anything_is_drawn(command):
    scene = Scene("sweep", SMALL, command)
    scene.damage(scene.manifest | {"seed": None})
    assert "(seed = null)" in command.refused("plot", "damaged")
    assert not Path("damaged", "figures").exists()
