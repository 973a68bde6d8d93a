"""Files of results are read as they were written; what is edited in them, replay notices."""

import json
import math
import re
import shutil
import tomllib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tomli_w

from asyncdp_sim.comparisons.differences import leaves_in_lists
from asyncdp_sim.core.errors import AsyncDPError, ReplayError, ResultError
from asyncdp_sim.network import Network
from asyncdp_sim.results.columns import README
from asyncdp_sim.results.manifest import CIRCUMSTANCES, LATER, blas_kernel
from asyncdp_sim.results.write import Writer, all_on_disk, write_into
from asyncdp_sim.runs.replay import made_again, require_same
from asyncdp_sim.runs.run import run, write
from asyncdp_sim.scenario import Participants, jsonable, load
from asyncdp_sim.sweeps.folder import read_traces, write_traces
from asyncdp_sim.sweeps.sweep import sweep
from asyncdp_sim.trace import ExchangeOutcome, Trace
from tests import tables
from tests.cli.scenes import ON_A_TABLE, rates
from tests.one_in import one_in
from tests.traces import traced

# Traces and JSON files of results: they are read as they were written.

# Traces come back from the sweep's folder as they were.

NETWORKS = {name: Network(**f) for name, f in tables.table(__file__, "traces.toml").items()}


@pytest.mark.parametrize("name", NETWORKS)
def test_there_and_back(name, tmp_path):
    before = [traced(NETWORKS[name], seed, events=False) for seed in (1, 2, 3)]
    numbers = tuple(range(1, 2 * NETWORKS[name].n_owners, 2))
    write_traces(before, tmp_path / "kept", {}, Participants(numbers), whole=True)
    after = read_traces(tmp_path / "kept", Participants(numbers))
    for table in ("exchanges", "owners", "updates"):
        told = pq.read_table(tmp_path / "kept" / f"{table}.parquet")["owner"].to_pylist()
        assert {*told} <= {*numbers}
    assert len(after) == 3
    for one, other in zip(before, after, strict=True):
        for field in fields(Trace):
            kept, found = getattr(one, field.name), getattr(other, field.name)
            assert type(kept) is type(found)
            if isinstance(kept, np.ndarray):
                assert (kept.dtype, kept.tobytes()) == (found.dtype, found.tobytes())
            else:
                assert kept == found


def test_damaged_ones_are_told_with_what_to_do(tmp_path):
    traces, owners = [traced(NETWORKS["plain"], events=False)], Participants((1, 2, 3))
    for damaged in ("runs", "exchanges", "owners"):
        place = tmp_path / damaged
        write_traces(traces, place, {}, owners, whole=True)
        (place / f"{damaged}.parquet").write_bytes(b"PAR1")
        with pytest.raises(ResultError, match="damaged traces; delete this folder"):
            read_traces(place, owners)


# JSON files of results: infinities as text, NaN as null, keys of several kinds.

VALUES = (
    {"a": 1, "b": None, "c": [True, 0.1, "ε\n\"'"], "d": {}},
    {"deep": {"er": {"still": [{"x": [1, [2, {"y": "z"}]]}, []]}}, "none": {"of": {}}},
    {"inf": math.inf, "in": {"nan": math.nan, "list": [1.0, -math.inf]}, "tuple": (1, 2)},
    {"far": {"in": {"side": {"of": {"it": [{}, [], {"empty": {}, "list": []}]}}}}},
    {"3": {"4": 5e-324}, "ä": {"ö": [0.1 + 0.2, 10**30]}},
    {True: {None: 1, 2: False}, 0.5: {"b": {ExchangeOutcome.applied: {False: 3}}}},
)


def test_a_json_file_says_what_it_was_given(tmp_path):
    for number, value in enumerate(VALUES):
        write_into(tmp_path, f"{number}.json", value)
        wanted = json.dumps(jsonable(value), indent=2, ensure_ascii=False) + "\n"
        assert (tmp_path / f"{number}.json").read_text(encoding="utf-8") == wanted
    write_into(tmp_path, "small.json", {"step": 1e-05, "least": 1.5e-7})
    small = json.loads((tmp_path / "small.json").read_text(encoding="utf-8"))
    assert small == {"step": 1e-05, "least": 1.5e-7}  # however their digits are written
    read = json.loads((tmp_path / "2.json").read_text(encoding="utf-8"))
    assert read["inf"] == "inf"
    assert read["in"] == {"nan": None, "list": [1.0, "-inf"]}


def test_of_directories_that_are_not_on_disk_the_first_is_named(tmp_path):
    built = [Writer(tmp_path / name) for name in ("one", "two", "three")]
    for writer in built:
        writer.put("words.txt", "words")
    built[1].files[0].unlink()
    with pytest.raises(ResultError, match=re.escape(f"{tmp_path / 'one'}: --out: given No such")):
        all_on_disk(built)
    for writer in built:
        writer.discard()
    assert list(tmp_path.iterdir()) == []


# Whatever is edited in a result or a sweep, replay notices: each leaf, each column, each file.

RICH = ON_A_TABLE.replace("updates = 12", "updates = 12\nalone = true\nsplit = true")
SWEPT = RICH + '\n[sweep]\n"privacy.epsilon" = [1.0, inf]\n'


MANY_CELLS = pytest.param("sweep", marks=pytest.mark.nightly)
EACH = pytest.mark.parametrize("two", ["run", MANY_CELLS], indirect=True)
"""What takes seconds of a sweep, whose files are compared as those of a run."""


@pytest.fixture(scope="module", params=["run", "sweep"])
def two(request, tmp_path_factory):
    """Give a folder with a result ``kept``, and the same made ``again``."""
    folder: Path = tmp_path_factory.mktemp(request.param)
    rates(folder / "rates.csv")
    text = RICH if request.param == "run" else SWEPT
    (folder / "small.toml").write_text(text, encoding="utf-8")
    scenario, _ = load(folder / "small.toml")
    for name in ("kept", "again"):
        if request.param == "run":
            write(run(scenario, events=True), folder / name)
        else:
            sweep(scenario, folder / name)
    return folder


def noticed(folder: Path) -> tuple[str, list[str]]:
    """Return why replay says no, and its notes, without making the result again each time."""
    try:
        with made_again(folder / "kept", []):
            pass
    except AsyncDPError as error:
        return str(error), []
    return compared(folder)


def compared(folder: Path) -> tuple[str, list[str]]:
    """Return the same of the comparison alone, after the result was made again."""
    try:
        return "", require_same(folder / "kept", folder / "again")
    except AsyncDPError as error:
        return str(error), []


@contextmanager
def edited(file: Path, content: bytes | None) -> Iterator[None]:
    before = file.read_bytes()
    file.unlink()
    if content is not None:
        file.write_bytes(content)
    try:
        yield
    finally:
        file.write_bytes(before)


def keyed(file: Path, **values: Any) -> AbstractContextManager[None]:
    """Edit values of a JSON file by their keys."""
    return edited(file, json.dumps(json.loads(file.read_bytes()) | values).encode())


def stored(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    return sink.getvalue().to_pybytes()


def other(value: Any) -> Any:
    """Return another value of the same kind, as near as can be."""
    if value is None or isinstance(value, dict | list):
        return 0
    if isinstance(value, bool):
        return not value
    if isinstance(value, float):
        return math.nextafter(value, 0.0) if value != 0.0 else 1.0
    return value + ("x" if isinstance(value, str) else 1)


def replaced(value: Any, path: list[str], change: Callable[[Any], Any]) -> Any:
    if path == []:
        return change(value)
    key: Any = int(path[0]) if isinstance(value, list) else path[0]
    if isinstance(value, dict) and key not in value:  # a key with a dot of its own
        key, path = f"{path[0]}.{path[1]}", path[1:]
    copy = value.copy()
    copy[key] = replaced(value[key], path[1:], change)
    return copy


@pytest.mark.long
@EACH
def test_every_leaf_of_every_manifest(two):
    for file in (two / "kept").rglob("manifest.json"):
        manifest = json.loads(file.read_bytes())
        found = leaves_in_lists(manifest)
        assert len(found) > 50
        for place in found:
            changed = json.dumps(replaced(manifest, place.split("."), other))
            with edited(file, changed.encode()):
                of_scenario = file.parent == two / "kept" and place.startswith("scenario.")
                said, notes = noticed(two) if of_scenario else compared(two)
            assert said != "" or (place.split(".")[0] in CIRCUMSTANCES and len(notes) > 0), place
            assert "\n" not in said
    assert noticed(two) == ("", [])


@EACH
def test_every_leaf_of_every_scenario(two):
    """The result is of the manifest's scenario, and ``scenario.toml`` must say the same."""
    for file in (two / "kept").rglob("scenario.toml"):
        raw = tomllib.loads(file.read_text(encoding="utf-8"))
        for place, leaf in leaves_in_lists(raw).items():
            if place == "data.path":
                continue  # the table may lie anywhere: it is known by its digest
            changed = tomli_w.dumps(replaced(raw, place.split("."), other))
            with edited(file, changed.encode()):
                assert noticed(two)[0] != "", (place, leaf)


@EACH
def test_every_column_of_every_table(two):
    tables = list((two / "kept").rglob("*.parquet"))
    if (two / "kept" / "traces").exists():  # a cell's own tables are those of a run
        tables = [path for path in tables if not path.parent.name.startswith("cell-")]
    assert len(tables) >= 5
    for file in tables:
        table = pq.read_table(file)
        for place, field in enumerate(table.schema):
            values = table[field.name].to_pylist()
            row = len(values) // 2
            kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
            values[row] = [1] if pa.types.is_list(kind) else other(values[row])
            if pa.types.is_boolean(kind):
                values[row] = bool(values[row])
            elif pa.types.is_string(kind):
                values[row] = f"{values[row]}"
            again = table.set_column(place, field, pa.array(values, kind).cast(field.type))
            with edited(file, stored(again)):
                said, _ = compared(two)
            name = file.relative_to(two / "kept")
            assert f"{name} {field.name}, row {row} (" in said, (name, field.name, said)


@EACH
def test_every_label_of_every_table(two):
    for file in (two / "kept").rglob("*.parquet"):
        table = pq.read_table(file)
        for key in table.schema.metadata or {}:
            changed = table.replace_schema_metadata(table.schema.metadata | {key: b"otherwise"})
            with edited(file, stored(changed)):
                assert f"{key.decode()} (otherwise, again " in compared(two)[0]


DAMAGES: dict[str, Callable[[bytes], bytes | None]] = {
    "gone": lambda content: None,  # noqa: ARG005
    "empty": lambda content: b"",  # noqa: ARG005
    "cut off": lambda content: content[: len(content) // 2],
    "zeros": lambda content: bytes(len(content)),
    "not text": lambda content: b"\xff\xfe" + content,
}


@one_in(5, "damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_file_is_one_line(damage, two):
    for file in list((two / "kept").rglob("*")):
        if file.is_file() and file.name != README:
            with edited(file, damage(file.read_bytes())):
                said, notes = noticed(two)
            if file.name == "versions.json" and said == "":
                assert len(notes) == 1
                continue
            assert said != "", file
            assert "\n" not in said, (file, said)


def test_a_table_too_many(two):
    shutil.copyfile(next((two / "kept").rglob("owners.parquet")), two / "kept" / "more.parquet")
    assert "more.parquet (a table, again nothing) differ" in noticed(two)[0]
    (two / "kept" / "more.parquet").unlink()


NEW = {
    "owners.parquet": ("column", "attempts"),
    "curve.parquet": ("column", "fitness"),
    "manifest.json": ("figure", "summary.psi_split"),
}
"""What a version may come to write, by file."""


def lacking(file: Path, place: str) -> bytes:
    """Return a table without a column, or a manifest without a key and with other digests."""
    if file.suffix == ".parquet":
        return stored(pq.read_table(file).drop_columns([place]))
    manifest = json.loads(file.read_bytes())
    if place.startswith("summary.") and "summary" in manifest:
        del manifest["summary"][place.removeprefix("summary.")]
    for digests in (manifest["fingerprints"], *manifest["fingerprints"].values()):
        if place == "fitness" and "curve" in digests:
            digests["curve"] = "0" * 64
    return json.dumps(manifest).encode()


@pytest.mark.parametrize("name", NEW)
def test_what_only_the_new_result_has_is_a_note(name, two):
    """An earlier result has no column or figure that came since; it lacks none of those it had."""
    what, place = NEW[name]
    edit = {name, "manifest.json"} if name == "curve.parquet" else {name}
    for side in ("kept", "again"):
        with ExitStack() as edits:
            for file in [path for path in (two / side).rglob("*") if path.name in edit]:
                edits.enter_context(edited(file, lacking(file, place)))
            said, notes = compared(two)
        if side == "kept":
            assert said == ""
            assert notes == [f"{name} has a {what} now that the earlier result lacks: {place}"]
        else:
            assert f"{place}{'.bias' if what == 'figure' else ''} (" in said
            assert "again nothing)" in said
            assert notes == []


def test_pictures_and_words_are_no_part_of_it(two):
    for page in list((two / "kept").rglob(README)):
        for words in (None, b"other words"):
            with edited(page, words):
                assert noticed(two) == ("", [])
    (two / "kept" / "figures").mkdir()
    (two / "kept" / "figures" / "data.parquet").write_bytes(b"")
    assert noticed(two) == ("", [])
    shutil.rmtree(two / "kept" / "figures")


def test_another_processor_or_commit_is_a_note(two):
    elsewhere = {"cpu_features": ["ABACUS"], "git_commit": "f00", "blas_kernel": "Abacus"}
    with keyed(two / "kept" / "manifest.json", **elsewhere):
        said, notes = noticed(two)
    assert said == ""
    assert len(notes) == 3
    assert notes[0].startswith(f"{two / 'kept'} was made at commit f00, here ")
    assert notes[1] == f"{two / 'kept'} was made on a processor with other features"
    assert notes[2] == f"{two / 'kept'} was made with BLAS kernel Abacus, here {blas_kernel()}"


PASSED_OVER = {
    "the event loop that older versions name": {"loop": "compiled"},
    "what older versions say of their tests": {
        "rests_on": {"kinds": [{"at": "clock", "basis": "exact"}], "together": []}
    },
}


@pytest.mark.parametrize("older", PASSED_OVER.values(), ids=PASSED_OVER)
def test_what_older_versions_wrote_is_passed_over(older, two):
    """In the manifest of a result and of cells, and in what a sweep keeps with traces."""
    names = ["manifest.json", *(["versions.json"] if "loop" in older else [])]
    for file in [file for name in names for file in (two / "kept").rglob(name)]:
        with keyed(file, **older):
            assert noticed(two) == ("", [])


@pytest.mark.parametrize(("before", "after"), [("true", "1"), ("1", "1.0")])
def test_what_only_looks_alike_differs(before, after, two):
    """In Python ``True == 1 == 1.0``; in a manifest they are three values."""
    file = two / "kept" / "manifest.json"
    kept = dict(leaves_in_lists(json.loads(file.read_bytes())))
    place = next(k for k, leaf in kept.items() if json.dumps(leaf) == before)
    changed = replaced(json.loads(file.read_bytes()), place.split("."), lambda _: json.loads(after))
    with edited(file, json.dumps(changed).encode()):
        said, notes = compared(two)
    assert said != "" or len(notes) > 0


def test_many_differences_are_counted(two):
    many = [f"warning {number}" for number in range(20)]
    changed = keyed(two / "kept" / "manifest.json", warnings=many)
    with changed, pytest.raises(ReplayError) as error:
        require_same(two / "kept", two / "again")
    assert str(error.value).endswith(" more differ")


@pytest.mark.parametrize("key", LATER)
def test_manifests_from_before_a_key_are_reproduced(two, key):
    file = two / "kept" / "manifest.json"
    older = json.loads(file.read_bytes())
    older.pop(key, None)  # a sweep says in its cells what they rest on
    with edited(file, json.dumps(older).encode()):
        assert compared(two) == ("", [])
