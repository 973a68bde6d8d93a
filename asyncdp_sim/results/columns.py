"""The columns of tables: described in one dictionary, made from runs, and typed for Arrow.

They are in ``columns.toml`` beside this module.
"""

import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from importlib.resources import files
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from asyncdp_sim.core.arrays import Array, Bools
from asyncdp_sim.core.units import to_units
from asyncdp_sim.measures.energy import ENERGY_RATIOS
from asyncdp_sim.measures.scores import SCORES
from asyncdp_sim.measures.summary import RATIOS
from asyncdp_sim.scenario import jsonable
from asyncdp_sim.scenario.fields import field_at
from asyncdp_sim.scenario.paths import VARIANT
from asyncdp_sim.trace import Detail, EventKind, Trace

SUMMARY_NAME = "summary"
"""What the figures of a manifest are called where tables are."""
NEVER = "never null"
UNITLESS = "none"
ANY = "any number"
COUNT = "whole numbers ≥ 0"
NUMBER = "whole numbers ≥ 1"
TEXT = "text"
YES = "true or false"
OR_INFINITE = " or ∞"
SPREAD = {
    "mean": "mean over replicates",
    "median": "median over replicates",
    "q25": "lower quartile over replicates",
    "q75": "upper quartile over replicates",
}
"""The four figures of what each replicate has one of."""


@dataclass(frozen=True)
class Column:
    """The meaning of a column of a table, or of a key of a summary.

    Attributes
    ----------
    name : str
    meaning : str
    unit : str
        "none" of names, numbers of things, shares and whatever else has no unit.
    domain : str
        Which values it may have; "or ∞" where infinity is one.
    null : str
        When it is null.
    type : str
        Of its values in a Parquet file, as Arrow names it, or "category"; by domain and unit where
        its entry names none.
    """

    name: str
    meaning: str
    unit: str = UNITLESS
    domain: str = ANY
    null: str = NEVER
    type: str = ""

    def __post_init__(self) -> None:
        if self.type == "":
            object.__setattr__(self, "type", _type_of(self.domain, self.unit))

    @property
    def metadata(self) -> dict[str, str]:
        """The metadata of its field in a Parquet file."""
        return {"unit": self.unit, "meaning": self.meaning}


def _type_of(domain: str, unit: str) -> str:
    """Return the type of a column's values where its entry names none."""
    if domain.startswith("lists of "):
        return f"list<element: {_type_of(domain.removeprefix('lists of '), unit)}>"
    if domain == TEXT or domain.startswith("one of "):
        return "string"
    integer = "int64" if unit.startswith("ticks") else "int32"
    return "bool" if domain == YES else integer if domain.startswith("whole numbers") else "double"


@dataclass(frozen=True)
class Table:
    """A table of a directory, and its columns.

    Attributes
    ----------
    name : str
        Of its file, without ``.parquet``; with the folder before it where that is another.
    meaning : str
        What a row is, and in which order rows are.
    columns : tuple of Column
        All that it may have.
    """

    name: str
    meaning: str
    columns: tuple[Column, ...]


@cache
def tables() -> Mapping[str, Table]:
    """Return every table by its name: ``updates``, ``cells``, ``traces/exchanges``."""
    return {name: Table(name, rows, _columns(name)) for name, rows in _entries()["rows"].items()}


@cache
def summary() -> Mapping[str, Column]:
    """Return every figure of a summary by its name, with the ends of the intervals."""
    figures = {column.name: column for column in _columns(SUMMARY_NAME)}
    for name in (*RATIOS, *ENERGY_RATIOS):
        for end, word in (("low", "Lower"), ("high", "Upper")):
            meaning = f"{word} end of the 95 % confidence interval of {name}, over replicates"
            null = f"there is one replicate, or {name} is null"
            key = f"{name}_{end}"
            figures[key] = replace(figures[name], name=key, meaning=meaning, null=null)
    return figures


@cache
def _entries() -> Mapping[str, Any]:
    return tomllib.loads(files(__package__).joinpath("columns.toml").read_text("utf-8"))


def _columns(table: str) -> tuple[Column, ...]:
    shared = _entries()["shared"]
    result = list[Column]()
    for name, entry in _entries()[table].items():
        if isinstance(entry, dict):
            result += _of_scores(name, **entry)
        else:
            result.append(Column(name, *(entry or shared[name])))
    return tuple(column for entry in result for column in _spread(entry))


def _of_scores(name: str, rows: str, models: Mapping[str, str]) -> Iterator[Column]:
    """Yield a column for each score of held-out rows, by each model; the first may diverge."""
    alike = {"auc": ", or all their labels are alike", "r_squared": ", or all targets are alike"}
    for score, (suffix, model) in product(SCORES, models.items()):
        domain = "0 to 1" if score.worst == 0 else ANY if score.worst < 0 else "≥ 0"
        yield Column(
            name.format(score=f"{score.name}{suffix}"),
            f"{score.words} of {model} on {rows}: {score.meaning}",
            "of the target" if score.in_units else UNITLESS,
            domain + (OR_INFINITE if suffix == "" and score.worst != 0 else ""),
            f"none of these rows has a target{alike.get(score.name, '')}",
        )


def _spread(column: Column) -> Iterator[Column]:
    """Yield a column, or its mean, median and quartiles."""
    if not column.name.endswith(".*"):
        yield column
        return
    for part, words in SPREAD.items():
        name = column.name.removesuffix("*") + part
        yield replace(column, name=name, meaning=f"{column.meaning}: {words}")


def is_exact(name: str) -> bool:
    """Return whether a column is computed from the owners' records without noise: no ε covers it.

    ψ, losses, scores and gains on held-out rows, and optima; the private models are ``theta_L``.
    """
    return name in ("theta", "fitness", "relative_fitness", "own", "joint_gain") or name.startswith(
        ("psi_", "held_out_")
    )


def column(table: str, name: str) -> Column | None:
    """Return the entry of a table's column; None where it has none of this name.

    Parameters
    ----------
    table : str
        "summary" is that of a manifest; ``cells`` has its figures as columns.
    name : str
    """
    if table == SUMMARY_NAME:
        return summary().get(name)
    value = tables().get(table) or tables().get(table.rpartition("/")[2])
    own = {} if value is None else {item.name: item for item in value.columns}
    return own.get(name) or (_in_cells(name) if table == "cells" else None)


def _in_cells(name: str) -> Column | None:
    """Return a figure of the cells' summaries, which a failed cell does not have, or a swept path.

    What is swept may be a field of a kind from outside, of which nothing is known.
    """
    result = summary().get(name)
    if result is None:
        return _swept(name) if "." in name or name == VARIANT or field_at(name) else None
    either = "" if result.null == NEVER else f"{result.null}; or "
    return replace(result, null=f"{either}the cell has failed")


def _swept(path: str) -> Column:
    """Return the column of a swept path; tables, and values of several types, are JSON texts."""
    if path == VARIANT:
        return Column(path, "Swept: the variant, a table of paths that go together", domain=TEXT)
    text = list(dict.fromkeys(item.meaning for item in field_at(path)))
    units = {item.unit for item in field_at(path)}
    meaning = f"Swept: {'; or: '.join(text)}" if len(text) > 0 else "Swept"
    return Column(path, meaning, units.pop() if len(units) == 1 else UNITLESS, "as in the scenario")


def flat(figures: Mapping[str, Any]) -> dict[str, Any]:
    """Return a summary's figures by one name each, such as ``psi_final.mean``."""
    by_name: dict[str, Any] = {}
    for name, value in figures.items():
        if value is None and f"{name}.mean" in summary():
            value = dict.fromkeys(SPREAD)
        if name == "intervals":
            for inner, ends in value.items():
                low, high = (None, None) if ends is None else ends
                by_name |= {f"{inner}_low": low, f"{inner}_high": high}
        elif isinstance(value, Mapping):
            by_name |= {f"{name}.{inner}": number for inner, number in value.items()}
        else:
            by_name[name] = value
    return by_name


README = "README.md"
"""Its name; it explains a result and is no part of it."""
_OTHERS = {
    "manifest.json": "what made this, its summary and its warnings",
    "scenario.toml": "the scenario, which loads again",
}


def readme(manifest: Mapping[str, Any], written: Mapping[str, Iterable[str]]) -> str:
    """Return the page of a directory.

    Parameters
    ----------
    manifest : mapping
        Of the result, or of the sweep.
    written : mapping
        From the tables of the directory to the names of their columns.
    """
    scenario = manifest["scenario"]
    name = " ".join(str(scenario.get("title") or scenario["id"]).split())
    figures = {k: v for k, v in manifest.get(SUMMARY_NAME, {}).items() if k != "intervals"}
    chosen = tuple((table, tuple(names)) for table, names in written.items())
    listed = [f"- `{other}`: {text}" for other, text in _OTHERS.items()]
    label = [f"Privacy: {manifest['label']}", ""] if "label" in manifest else []
    head = [f"# {name}", "", f"Scenario `{scenario['id']}`, seed {manifest['seed']}.", "", *label]
    return "\n".join([*head, *listed, _body(chosen, tuple(flat(figures)))]) + "\n"


def rows(columns: Iterable[Column]) -> Iterator[str]:
    """Yield a Markdown table of columns."""
    yield "| name | meaning | unit | values | null if |"
    yield "|---|---|---|---|---|"
    for item in columns:
        unit = "" if item.unit == UNITLESS else item.unit
        null = "" if item.null == NEVER else item.null
        cells = (f"`{item.name}`", item.meaning, unit, item.domain, null)
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


@lru_cache(maxsize=64)
def _body(chosen: tuple[tuple[str, tuple[str, ...]], ...], summary: tuple[str, ...]) -> str:
    lines = list[str]()
    for table, names in chosen:
        value = tables().get(table)
        text = "" if value is None else f"{value.meaning}."
        lines += ["", f"## {table}.parquet", "", text, "", *rows(_named(table, names))]
    if len(summary) > 0:
        about = "Figures of the result, all replicates together."
        lines += ["", "## summary in manifest.json", "", about, ""]
        lines += rows(_named(SUMMARY_NAME, summary))
    return "\n".join(lines)


def _named(table: str, names: Iterable[str]) -> list[Column]:
    return [result for name in names if (result := column(table, name)) is not None]


def arrow_table(
    name: str, columns: Mapping[str, Any], metadata: Mapping[str, str] | None = None
) -> Any:
    """Return NumPy or Arrow columns as a table; NaN becomes null.

    Parameters
    ----------
    name : str
        Of the table in the dictionary of columns.
    columns : mapping
    metadata : mapping of text, optional
        Of the whole table.
    """
    import pyarrow as pa

    arrays = {key: arrow_array(value) for key, value in columns.items()}
    schema = arrow_schema(name, tuple((key, array.type) for key, array in arrays.items()))
    return pa.Table.from_arrays([*arrays.values()], schema=schema.with_metadata(metadata))


@lru_cache(maxsize=32)  # results of a sweep have the same tables
def arrow_schema(name: str, types: tuple[tuple[str, Any], ...]) -> Any:
    """Return the schema of a table whose columns have these names and types."""
    import pyarrow as pa

    entries = {key: column(name, key) for key, _ in types}
    return pa.schema(
        pa.field(key, kind, metadata=None if entry is None else entry.metadata)
        for (key, kind), entry in zip(types, entries.values(), strict=True)
    )


def arrow_array(values: Any, absent: Bools | None = None) -> Any:
    """Return NumPy numbers as Arrow's, without the pandas that PyArrow loads to look at them.

    Parameters
    ----------
    values : NDArray, Arrow array or sequence
        What are not NumPy's numbers or truth values become what PyArrow makes of them.
    absent : NDArray, optional
        Which are null; by default NaN.
    """
    import pyarrow as pa

    kind = values.dtype.kind if isinstance(values, np.ndarray) else None
    if kind is None and isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    if kind is None or kind not in "biuf":
        return pa.array(values, from_pandas=True, mask=absent)
    if absent is None and kind == "f":
        absent = np.isnan(values)
    value = None if absent is None or not absent.any() else _bits(~absent)
    data = _bits(values) if kind == "b" else pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [value, data])


def arrow_texts(texts: Sequence[str | None]) -> Any:
    """Return texts as an Arrow array, None as null, as :func:`arrow_array` does."""
    import pyarrow as pa

    letters = [b"" if text is None else text.encode() for text in texts]
    value = np.array([text is not None for text in texts], dtype=bool)
    ends = np.cumsum([0, *map(len, letters)], dtype=np.int32)
    bits = None if value.all() else _bits(value)
    written = [bits, pa.py_buffer(ends), pa.py_buffer(b"".join(letters))]
    return pa.Array.from_buffers(pa.string(), len(letters), written)


def from_arrow(column: Any) -> npt.NDArray[Any]:
    """Return an Arrow table's column as NumPy's, without pandas.

    Of numbers null is NaN; texts and truth values with nulls are objects. Arrow's own ways to fill
    in NaN import pandas, which takes a quarter of a second.
    """
    import pyarrow as pa

    kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        plain = pa.types.is_boolean(kind) and column.null_count == 0
        return np.array(column.to_pylist(), dtype=np.bool_ if plain else object)
    complete = column.combine_chunks()
    if complete.null_count == 0:
        return np.from_dlpack(complete)
    numbers = complete.cast(pa.float64())
    valid = np.from_dlpack(numbers.is_valid().cast(pa.uint8())) == 1
    buffers = [None, numbers.buffers()[1]]
    data = pa.Array.from_buffers(numbers.type, len(numbers), buffers, offset=numbers.offset)
    return np.where(valid, np.from_dlpack(data), np.nan)


def _bits(values: Bools) -> Any:
    import pyarrow as pa

    return pa.py_buffer(np.packbits(values, bitorder="little"))


Columns = Mapping[str, Any]
ROW_GROUP = 2**20
"""Rows that a Parquet file has together, and that are in memory at a time of a long table."""


def update_columns(traces: Sequence[Trace], numbers: Sequence[int]) -> Columns:
    """Return ``updates``: one row per answer used, sorted by replicate and k.

    ``peer`` is there where models were read from others than the one learner.
    """
    tables = [trace.updates for trace in traces]
    names = tables[0].dtype.names or ()  # of all at once there would be two copies
    joined = {name: np.concatenate([table[name] for table in tables]) for name in names}
    joined |= {"replicate": _repeat(numbers, tables), "time": to_units(joined["tick"])}
    listed = ["replicate", "k", "tick", "time", "owner", "read_tick", "staleness", "message"]
    listed += ["peer"] * bool(np.any(joined["peer"] != 0))
    return {name: joined[name] for name in listed}


def event_groups(
    traces: Sequence[Trace], numbers: Sequence[int], rows: int = ROW_GROUP
) -> Iterator[Columns]:
    """Yield ``events``, a row per event by replicate and seq, so many rows at a time.

    A long run takes no more room than that.
    """
    tables = [trace.events for trace in traces if trace.events is not None]
    begin = np.cumsum([0, *map(len, tables)])
    for first in range(0, max(1, int(begin[-1])), rows):
        low = np.clip(first - begin[:-1], 0, None).tolist()
        stop = np.clip(first + rows - begin[:-1], 0, None).tolist()
        part = [table[a:b] for table, a, b in zip(tables, low, stop, strict=True)]
        yield _of_events(part, numbers, low)


def _of_events(
    tables: Sequence[npt.NDArray[np.void]], numbers: Sequence[int], seqs: Sequence[int]
) -> Columns:
    """Return columns of events of several replicates, each from a place in its order on."""
    import pyarrow as pa

    joined = np.concatenate(tables)
    message, attempt = joined["message"], joined["attempt"]
    kinds = arrow_texts([kind.name for kind in EventKind])
    return {
        "replicate": _repeat(numbers, tables),
        "seq": np.concatenate(
            [seq + np.arange(len(t), dtype=np.int64) for seq, t in zip(seqs, tables, strict=True)]
        ),
        "tick": joined["tick"],
        "time": to_units(joined["tick"]),
        "kind": pa.DictionaryArray.from_arrays(arrow_array(joined["kind"]), kinds),
        "owner": joined["owner"],
        "message": arrow_array(message, message == 0),
        "attempt": arrow_array(attempt, attempt == 0),
        "detail": pa.DictionaryArray.from_arrays(
            arrow_array(joined["detail"], joined["detail"] == 0),
            arrow_texts([detail.name.replace("_", "-") for detail in Detail]),
        ),
    }


def model_columns(models: Array, numbers: Sequence[int]) -> Columns:
    """Return ``models``: the final central model of every replicate, shape (R, p)."""
    return _by_coordinate("replicate", numbers, "theta_L", models)


def optimum_columns(theta: Array) -> Columns:
    """Return ``optimum``: θ*, shape (p,)."""
    return {"coordinate": np.arange(len(theta), dtype=np.int32), "theta": theta}


def alone_columns(theta: Array) -> Columns:
    """Return ``alone``: each owner's own optimum θ_i*, shape (N, p), sorted by owner."""
    return _by_coordinate("owner", range(1, len(theta) + 1), "theta", theta)


def _by_coordinate(key: str, numbers: Sequence[int], name: str, models: Array) -> Columns:
    """Return numbered models, shape (M, p), a row for each coordinate."""
    n_features = models.shape[1]
    return {
        key: np.repeat(np.array(numbers, dtype=np.int32), n_features),
        "coordinate": np.tile(np.arange(n_features, dtype=np.int32), len(models)),
        name: models.reshape(-1),
    }


def summary_column(name: str, values: Sequence[Any]) -> Any:
    """Return a column of the sweep's ``cells`` from a figure of the cells' summaries."""
    entry = summary().get(name)  # none of what another version wrote under another name
    domain = None if entry is None else entry.domain
    if domain == TEXT:
        return arrow_texts(values)
    absent = np.array([value is None for value in values], dtype=bool)
    entries = [0 if value is None else value for value in values]
    if domain == YES:
        return arrow_array(np.array(entries, dtype=bool), absent)
    complete = domain in (COUNT, NUMBER) and name != "largest_staleness"  # a float, as it ever was
    result = np.array(entries, dtype=float)
    return arrow_array(result.astype(np.int64) if complete else result, absent)


def swept_column(values: Sequence[Any]) -> Any:
    """Return a column of swept values: as they are where all are alike, else as JSON texts."""
    if all(isinstance(value, str) for value in values):
        return arrow_texts(values)
    if all(type(value) is bool for value in values):
        return arrow_array(np.array(values, dtype=bool))
    if all(type(value) is int and abs(value) < 2**63 for value in values):
        return arrow_array(np.array(values, dtype=np.int64))
    if all(type(value) in (int, float) for value in values):
        result = np.array([float(value) for value in values])
        return arrow_array(result, np.zeros(len(result), dtype=bool))
    return arrow_texts([json.dumps(jsonable(value)) for value in values])


def _repeat(numbers: Sequence[int], tables: Sequence[npt.NDArray[np.void]]) -> Any:
    lengths = [len(table) for table in tables]
    return np.repeat(np.array(numbers, dtype=np.int32), lengths)
