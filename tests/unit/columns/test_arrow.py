"""Columns as Arrow has them: what PyArrow makes of them by itself, but without pandas."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from asyncdp_sim.results.columns import (
    arrow_array,
    arrow_table,
    arrow_texts,
    from_arrow,
    summary_column,
    swept_column,
)
from tests.cli.scenes import SMALL
from tests.together import together

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
def test_arrays_are_those_of_pyarrow(values: np.ndarray) -> None:
    made, expected = arrow_array(values), pa.array(values, from_pandas=True)
    made.validate(full=True)
    assert made.type == expected.type
    assert made.equals(expected)
    assert made.null_count == expected.null_count
    absent = np.arange(len(values)) % 2 == 0
    whole = np.nan_to_num(values) if values.dtype.kind == "f" else values  # NaN equals nothing
    assert arrow_array(whole, absent).equals(pa.array(whole, mask=absent))


def test_a_number_that_is_none_is_a_value_where_it_is_said_what_is_absent() -> None:
    made = arrow_array(np.array([np.nan, 1.0, 2.0]), np.array([False, True, False]))
    assert made.null_count == 1
    assert np.isnan(made[0].as_py())
    assert made[1:].to_pylist() == [None, 2.0]


def test_numbers_come_back() -> None:
    read = pa.table({"a": pa.chunked_array([[1, 2], [3]]), "b": [0.5, None, 2.0]})
    assert from_arrow(read["a"]).tolist() == [1, 2, 3]
    np.testing.assert_array_equal(from_arrow(read["b"]), [0.5, np.nan, 2.0])
    assert from_arrow(read["a"].slice(1, 0)).tolist() == []


@together
@pytest.mark.parametrize("texts", [[], ["a"], ["é", None, "", "漢字"], [None]])
def test_texts(texts: list[str | None]) -> None:
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
def test_columns_of_a_sweep(made, expected: pa.Array) -> None:
    column = made()
    assert column.type == expected.type
    assert column.equals(expected)


def test_a_table_says_what_its_columns_mean() -> None:
    table = arrow_table("models", {"theta_L": np.ones(2), "other": ["a", None]}, {"why": "so"})
    assert table.schema.metadata == {b"why": b"so"}
    assert b"meaning" in table.schema.field("theta_L").metadata
    assert table.schema.field("other").metadata is None
    assert table.to_pydict() == {"theta_L": [1.0, 1.0], "other": ["a", None]}


def test_what_is_no_plain_number_is_read_too() -> None:
    kinds = pa.array(["up", None, "up"]).dictionary_encode()
    table = pa.table({"n": [1, None, 3], "kind": kinds, "true": [True, False, True]})
    assert np.array_equal(from_arrow(table["n"]), [1.0, np.nan, 3.0], equal_nan=True)
    assert from_arrow(table["kind"]).tolist() == ["up", None, "up"]
    assert from_arrow(table["true"]).dtype == np.bool_


@pytest.mark.long
def test_a_run_is_written_without_pandas(tmp_path: Path) -> None:
    """It takes half a second and 50 MiB, in every process."""
    (tmp_path / "s.toml").write_text(SMALL, encoding="utf-8")
    code = (
        "import sys; from asyncdp_sim.cli import app\n"
        "app(['run', 's.toml', '--out', 'result'], standalone_mode=False)\n"
        "sys.exit('pandas' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "result" / "curve.parquet").exists()
