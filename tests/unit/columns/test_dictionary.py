"""The dictionary of columns, and columns as Arrow and files have them."""

import json
import math
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from asyncdp_sim.core.streams import Streams
from asyncdp_sim.decision import Judging
from asyncdp_sim.network import Network, simulate
from asyncdp_sim.results.columns import (
    Column,
    arrow_array,
    arrow_table,
    arrow_texts,
    column,
    event_groups,
    flat,
    from_arrow,
    summary,
    summary_column,
    swept_column,
    tables,
)
from asyncdp_sim.results.write import PLAIN, write_into
from asyncdp_sim.runs.run import run, write
from asyncdp_sim.sweeps.sweep import sweep
from asyncdp_sim.trace import Detail, Ending, EventKind, ExchangeOutcome
from tests.cli.scenes import SMALL
from tests.reproducibility.runs import scenario
from tests.tables import table
from tests.together import together

# The dictionary of columns: all that runs write is in it, and what it says of values is so.

SHORT = {"run__updates": 8, "run__replicates": 2}
RUNS: dict[str, dict[str, Any]] = table(__file__, "runs_of_columns.toml")


CATEGORY = "dictionary<values=string, indices=int8, ordered=0>"


class Found(defaultdict[tuple[str, str], list[Any]]):
    """Values by table and column, and the directories that they are from."""

    directories: Sequence[Path] = ()
    types: dict[tuple[str, str], set[str]]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Found:
    """Return every value of every column and key that these runs and a sweep have written."""
    root = tmp_path_factory.mktemp("dictionary")
    values = Found(list)
    values.types = defaultdict(set)
    for place, changes in enumerate(RUNS.values()):
        directory = root / str(place)
        write(run(scenario(**SHORT | changes), events=True, gains=Judging()), directory)
        gather(directory, "", values)
    swept = {"algorithm.rho": [1.0, 1e200], "privacy.epsilon": [1.0, 2.0]}
    sweep(scenario(**SHORT, sweep=swept, **RUNS["energy"]), root / "sweep")
    sweep(
        scenario(**SHORT, **RUNS["averaging"], sweep={"algorithm.step": [0.1, 0.2]}),
        root / "averages",
    )
    for name in ("sweep", "averages"):
        gather(root / name, "", values)
        for directory in (*(root / name / "traces").iterdir(), *(root / name).glob("cell-*")):
            gather(directory, "traces/" if directory.parent.name == "traces" else "", values)
    values.directories = [page.parent for page in root.rglob("README.md")]
    assert len(values.directories) == len(RUNS) + 8
    return values


def gather(directory: Path, folder: str, values: Found) -> None:
    for file in directory.glob("*.parquet"):
        table = f"{folder}{file.stem}"
        table = "updates" if table == "traces/updates" else table
        read = pq.read_table(file)
        for name, cells in read.to_pydict().items():
            values[table, name] += cells
            values.types[table, name].add(str(read.schema.field(name).type))
    if (directory / "cells.parquet").exists():
        return
    if (directory / "manifest.json").exists():
        for name, value in json.loads((directory / "manifest.json").read_text())["summary"].items():
            if name == "intervals":
                for ratio, ends in value.items():
                    for end, number in zip(("low", "high"), ends or (None, None), strict=True):
                        values["summary", f"{ratio}_{end}"].append(number)
            elif isinstance(value, dict):
                for inner, number in value.items():
                    values["summary", f"{name}.{inner}"].append(number)
            else:
                values["summary", name].append(value)


@pytest.mark.long
def test_every_column_is_in_the_dictionary_and_its_values_in_the_domain(found):
    assert [key for key in found if column(*key) is None] == []
    wrong = {}
    for key, values in found.items():
        entry = column(*key)
        if entry is not None and entry.domain != "as in the scenario":
            outside = [value for value in values if not fits(value, entry)]
            if outside:
                wrong[key] = (entry.domain, entry.null, outside[:3])
    assert wrong == {}


def test_every_column_has_the_type_that_its_entry_states(found):
    wrong = {}
    for key, types in found.types.items():
        entry = column(*key)
        stated = {"null", CATEGORY if entry.type == "category" else entry.type}
        if entry.domain != "as in the scenario" and not types <= stated:
            wrong[key] = (entry.type, types)
    assert wrong == {}, 'whole numbers with NaN for null are "double": state it in columns.toml'


def test_every_entry_is_written_by_some_run(found):
    entries = {(name, each.name) for name, table in tables().items() for each in table.columns}
    entries |= {("summary", name) for name in summary()}
    assert entries - set(found) == {("cells", "error")}  # see tests/unit/sweeps/test_failures


def test_figures_without_a_value_have_the_names_of_those_with_one():
    names = [f"held_out_r_squared.{part}" for part in ("mean", "median", "q25", "q75")]
    nothing = {"held_out_r_squared": None, "offered_load": None}
    assert flat(nothing) == dict.fromkeys([*names, "offered_load"])


def test_domains_of_names_are_those_of_the_trace():
    details = [each.name.replace("_", "-") for each in Detail if each is not Detail.none]
    names = {"kind": [each.name for each in EventKind], "detail": details}
    domains = {each.name: each.domain for each in tables()["events"].columns}
    assert {key: domains[key] for key in names} == {
        key: f"one of {', '.join(each)}" for key, each in names.items()
    }
    ending, outcome = column("traces/runs", "ending"), column("traces/exchanges", "outcome")
    assert ending.domain == f"one of {', '.join(each.name for each in Ending)}"
    outcomes = ", ".join(f"{each.value} {each.name}" for each in ExchangeOutcome)
    assert outcome.meaning == f"Outcome of the exchange: {outcomes}"
    assert outcome.domain == f"whole numbers 0 to {max(ExchangeOutcome)}"


def test_fields_of_files_and_pages_say_the_same(found):
    for directory in found.directories:
        page = (directory / "README.md").read_text(encoding="utf-8")
        for file in directory.glob("*.parquet"):
            for field in pq.read_schema(file):
                said = {key.decode(): text.decode() for key, text in field.metadata.items()}
                entry = column(file.stem, field.name)
                assert entry is not None
                assert said == {"unit": entry.unit, "meaning": entry.meaning}
                unit = "" if entry.unit == "none" else entry.unit
                assert f"| `{field.name}` | {entry.meaning} | {unit} |" in page


def test_every_entry_says_all_of_it():
    every = [each for table in tables().values() for each in table.columns]
    for entry in (*every, *summary().values()):
        said = (entry.meaning, entry.unit, entry.domain, entry.null)
        assert all(text.strip() != "" and not text.endswith(".") for text in said), entry


def fits(value: Any, entry: Column) -> bool:
    """Tell whether a value is one that an entry's own words allow."""
    if value is None:
        return entry.null != "never null"
    domain = entry.domain.removesuffix(" or ∞")
    if value in (math.inf, "inf"):
        return domain != entry.domain
    lists, domain = domain.startswith("lists of "), domain.removeprefix("lists of ")
    if lists:
        return all(within(each, domain) for each in value)
    return within(value, domain)


def within(value: Any, domain: str) -> bool:
    if domain == "text":
        return isinstance(value, str) and value != ""
    if domain == "true or false":
        return isinstance(value, bool)
    if domain.startswith("one of "):
        return value in domain.removeprefix("one of ").split(", ")
    whole, domain = domain.startswith("whole numbers "), domain.removeprefix("whole numbers ")
    assert isinstance(value, int | float)
    if whole and value != int(value):
        return False
    if domain == "any number":
        return math.isfinite(value)
    if (above := re.fullmatch(r"≥ (\d+)", domain)) is not None:
        return value >= float(above[1])
    between = re.fullmatch(r"(\d+) to (\d+)", domain)
    assert between is not None, f"a domain that no test reads: {domain!r}"
    slack = 0 if whole else 1e-12
    return float(between[1]) - slack <= value <= float(between[2]) + slack


# Columns as Arrow has them: what PyArrow makes of them by itself, but without pandas.

ROWS = np.zeros(3, dtype=[("a", np.int32), ("b", np.float64)])
NUMBERS = {
    "whole": np.arange(9, dtype=np.int8),
    "strided": np.arange(20, dtype=np.int64)[::3],
    "of rows": ROWS["a"],
    "unsigned": np.array([2**64 - 1], dtype=np.uint64),
    "absent": np.array([0.5, np.nan, -np.inf, np.nan, 1, 2, 3, 4, 5, np.nan]),
    "known": np.array([0.1, 0.2], dtype=np.float32),
    "truths": np.arange(11) % 3 == 0,
    "texts": np.array(["é", "", "abc"]),
    "none": np.zeros(0),
    "no truths": np.zeros(0, dtype=bool),
}


@together
@pytest.mark.parametrize("values", NUMBERS.values(), ids=NUMBERS)
def test_arrays_are_those_of_pyarrow(values):
    made, expected = arrow_array(values), pa.array(values, from_pandas=True)
    made.validate(full=True)
    assert made.type == expected.type
    assert made.equals(expected)
    assert made.null_count == expected.null_count
    absent = np.arange(len(values)) % 2 == 0
    whole = np.nan_to_num(values) if values.dtype.kind == "f" else values  # NaN equals nothing
    assert arrow_array(whole, absent).equals(pa.array(whole, mask=absent))


def test_a_number_that_is_none_is_a_value_where_it_is_said_what_is_absent():
    made = arrow_array(np.array([np.nan, 1.0, 2.0]), np.array([False, True, False]))
    assert made.null_count == 1
    assert np.isnan(made[0].as_py())
    assert made[1:].to_pylist() == [None, 2.0]


def test_numbers_come_back():
    read = pa.table({"a": pa.chunked_array([[1, 2], [3]]), "b": [0.5, None, 2.0]})
    assert from_arrow(read["a"]).tolist() == [1, 2, 3]
    np.testing.assert_array_equal(from_arrow(read["b"]), [0.5, np.nan, 2.0])
    assert from_arrow(read["a"].slice(1, 0)).tolist() == []


@together
@pytest.mark.parametrize("texts", [[], ["a"], ["é", None, "", "漢字"], [None]])
def test_texts(texts):
    made = arrow_texts(texts)
    made.validate(full=True)
    assert made.equals(pa.array(texts, pa.string()))


@together
@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (lambda: swept_column([1, 2]), pa.array([1, 2])),
        (lambda: swept_column([1, 2.5, np.inf]), pa.array([1.0, 2.5, np.inf])),
        (lambda: swept_column([True, False]), pa.array([True, False])),
        (lambda: swept_column(["a", "b"]), pa.array(["a", "b"])),
        (lambda: swept_column([1, "b"]), pa.array(["1", '"b"'])),
        (lambda: summary_column("updates", [3, None]), pa.array([3, None])),
        (lambda: summary_column("throughput", [0.5, None]), pa.array([0.5, None])),
        (lambda: summary_column("private", [True, None, False]), pa.array([True, None, False])),
    ],
)
def test_columns_of_a_sweep(made, expected):
    column = made()
    assert column.type == expected.type
    assert column.equals(expected)


def test_a_table_says_what_its_columns_mean():
    table = arrow_table("models", {"theta_L": np.ones(2), "other": ["a", None]}, {"why": "so"})
    assert table.schema.metadata == {b"why": b"so"}
    assert b"meaning" in table.schema.field("theta_L").metadata
    assert table.schema.field("other").metadata is None
    assert table.to_pydict() == {"theta_L": [1.0, 1.0], "other": ["a", None]}


def test_what_is_no_plain_number_is_read_too():
    kinds = pa.array(["up", None, "up"]).dictionary_encode()
    table = pa.table({"n": [1, None, 3], "kind": kinds, "true": [True, False, True]})
    assert np.array_equal(from_arrow(table["n"]), [1.0, np.nan, 3.0], equal_nan=True)
    assert from_arrow(table["kind"]).tolist() == ["up", None, "up"]
    assert from_arrow(table["true"]).dtype == np.bool_


@pytest.mark.long
def test_a_run_and_its_page_are_written_without_pandas(tmp_path):
    """It takes half a second and 50 MiB, in every process."""
    (tmp_path / "s.toml").write_text(SMALL, encoding="utf-8")
    code = (
        "import sys; from asyncdp_sim.cli import app\n"
        "app(['run', 's.toml', '--out', 'result'], standalone_mode=False)\n"
        "app(['report', 'result', '--out', 'page.html'], standalone_mode=False)\n"
        "sys.exit('pandas' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "result" / "curve.parquet").exists()
    assert (tmp_path / "page.html").exists()


# Events are written a row group at a time, and the file is that of all of them at once.

NETWORK = Network(answers_allowed=(9, 9), updates=12, compute={"kind": "constant", "value": 0.1})
OF_ROWS = (1, 2, 5)


@pytest.fixture(scope="module")
def traces():
    streams = Streams(3)
    return [simulate(NETWORK, streams.within("replicate", n), events=True) for n in OF_ROWS]


def table(columns):
    return arrow_table("events", columns, {})


@pytest.mark.parametrize("rows", [1, 7, 64, 10**6])
def test_groups_one_after_another_are_the_whole_table(rows, traces):
    groups = [table(each) for each in event_groups(traces, OF_ROWS, rows)]
    whole = table(next(event_groups(traces, OF_ROWS)))
    assert [len(each) for each in groups[:-1]] == [rows] * (len(groups) - 1)
    assert sum(map(len, groups)) == len(whole) > 100
    first = 0
    for each in groups:
        assert each.equals(whole.slice(first, len(each)))
        first += len(each)


def test_a_run_without_events_has_one_group_without_rows(traces):
    for each in traces:
        assert each.events is not None
    empty = simulate(
        NETWORK.model_copy(update={"until": 1e-9}), Streams(3).within("replicate", 1), events=True
    )
    [only] = event_groups([empty], [1])
    assert len(only["tick"]) == 0


def test_a_file_of_groups_has_the_bytes_of_the_whole(traces, tmp_path):
    many = traces * 20
    numbers = range(1, 1 + len(many))
    for rows in (1000, 10**6):
        write_into(tmp_path, "events.parquet", event_groups(many, numbers, rows), {})
        whole = tmp_path / "whole.parquet"
        pq.write_table(
            table(next(event_groups(many, numbers))), whole, compression="zstd", row_group_size=rows
        )
        assert (tmp_path / "events.parquet").read_bytes() == whole.read_bytes()


@pytest.mark.parametrize(("rows", "how"), [(3, "none"), (PLAIN // 8, "zstd")])
def test_a_table_that_is_at_hand_has_the_same_bytes(rows, how, tmp_path):
    columns = {"coordinate": np.arange(rows, dtype=np.int32), "theta": np.array([np.nan] * rows)}
    write_into(tmp_path, "optimum.parquet", columns, {"a": "b"})
    table = arrow_table("optimum", columns, {"a": "b"})
    pq.write_table(table, tmp_path / "x.parquet", compression=how)
    assert (tmp_path / "optimum.parquet").read_bytes() == (tmp_path / "x.parquet").read_bytes()
    assert pq.read_table(tmp_path / "optimum.parquet").equals(table)


def test_a_small_table_is_little_larger_than_compressed(traces, tmp_path):
    columns = next(event_groups(traces, OF_ROWS))
    write_into(tmp_path, "events.parquet", columns, {})
    pq.write_table(table(columns), tmp_path / "packed.parquet", compression="zstd")
    sizes = [(tmp_path / f"{name}.parquet").stat().st_size for name in ("events", "packed")]
    assert sizes[0] < 1.2 * sizes[1], sizes
