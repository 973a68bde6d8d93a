"""Whatever is edited in a result or a sweep, replay notices: each leaf, each column, each file."""

import json
import math
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from asyncdp_sim.comparisons.differences import leaves
from asyncdp_sim.core.errors import AsyncDPError, ReplayError
from asyncdp_sim.results.columns import README
from asyncdp_sim.results.manifest import CIRCUMSTANCES, LATER, blas_kernel
from asyncdp_sim.runs import made_again, require_same, run, write
from asyncdp_sim.scenario import load
from asyncdp_sim.sweeps import sweep
from tests.cli.scenes import ON_A_TABLE, rates
from tests.one_in import one_in

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
    manifests = list((two / "kept").rglob("manifest.json"))
    for file in manifests:
        manifest = json.loads(file.read_bytes())
        found = leaves(manifest)
        assert len(found) > 50
        for place in found:
            changed = json.dumps(replaced(manifest, place.split("."), other))
            with edited(file, changed.encode()):
                of_scenario = file.parent == two / "kept" and place.startswith("scenario.")
                said, notes = noticed(two) if of_scenario else compared(two)
            if place.split(".")[0] in CIRCUMSTANCES:
                assert said != "" or len(notes) > 0, place
            else:
                assert said != "", place
                assert "\n" not in said
    assert noticed(two) == ("", [])


@EACH
def test_every_leaf_of_every_scenario(two):
    """The result is of the manifest's scenario, and ``scenario.toml`` must say the same."""
    import tomllib

    import tomli_w

    for file in (two / "kept").rglob("scenario.toml"):
        raw = tomllib.loads(file.read_text(encoding="utf-8"))
        for place, leaf in leaves(raw).items():
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
            if pa.types.is_boolean(kind) or pa.types.is_string(kind):
                values[row] = bool(values[row]) if pa.types.is_boolean(kind) else f"{values[row]}"
            again = table.set_column(place, field, pa.array(values, kind).cast(field.type))
            sink = pa.BufferOutputStream()
            pq.write_table(again, sink, compression="zstd")
            with edited(file, sink.getvalue().to_pybytes()):
                said, _ = compared(two)
            name = file.relative_to(two / "kept")
            assert f"{name} {field.name}, row {row} (" in said, (name, field.name, said)


@EACH
def test_every_label_of_every_table(two):
    for file in (two / "kept").rglob("*.parquet"):
        table = pq.read_table(file)
        for key in table.schema.metadata or {}:
            changed = table.replace_schema_metadata(table.schema.metadata | {key: b"otherwise"})
            sink = pa.BufferOutputStream()
            pq.write_table(changed, sink)
            with edited(file, sink.getvalue().to_pybytes()):
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


def test_pictures_and_words_are_no_part_of_it(two):
    for page in list((two / "kept").rglob(README)):
        with edited(page, None):
            assert noticed(two) == ("", [])
        with edited(page, b"other words"):
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


def test_the_event_loop_that_older_versions_name_is_passed_over(two):
    """In the manifest of a result, and in what a sweep keeps with the traces of a network."""
    for name in ("manifest.json", "versions.json"):
        for file in (two / "kept").rglob(name):
            with keyed(file, loop="compiled"):
                assert noticed(two) == ("", [])


def test_what_older_versions_say_of_their_tests_is_passed_over(two):
    """In the manifest of a result, and of the cells of a sweep."""
    older = {"kinds": [{"at": "clock", "basis": "exact"}], "together": []}
    for file in (two / "kept").rglob("manifest.json"):
        with keyed(file, rests_on=older):
            assert noticed(two) == ("", [])


@pytest.mark.parametrize(("before", "after"), [("true", "1"), ("1", "1.0")])
def test_what_only_looks_alike_differs(before, after, two):
    """In Python ``True == 1 == 1.0``; in a manifest they are three values."""
    file = two / "kept" / "manifest.json"
    kept = dict(leaves(json.loads(file.read_bytes())))
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
