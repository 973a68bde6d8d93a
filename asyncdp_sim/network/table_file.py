"""Contents of a network's file: read once, checked row by row, named by its digest."""

import csv
import hashlib
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from pydantic import SerializationInfo, SerializerFunctionWrapHandler, model_serializer

from asyncdp_sim.core.errors import Fault, SpecError
from asyncdp_sim.core.files import file_bytes, not_parquet, unreadable
from asyncdp_sim.core.specification import LONGEST, CachedSpec
from asyncdp_sim.core.validation import show

EXAMPLES = Path(__file__).parent / "examples"
"""Small files, one of each kind that is read, for three owners."""
MOST_FAULTS = 10
"""A long file repeats its faults; this many are enough to tell."""

Row = tuple[int, tuple[str, ...]]
"""The number of a line in its file, and the cells asked for."""


BY_CONTENT = "by content"
"""Asks a dump (as its context) to name files by what they say, and not by where they lie."""


class FromFile(CachedSpec):
    """A spec that reads a file, which its field ``path`` names, once."""

    @cached_property
    @abstractmethod
    def _content(self) -> "Columns | LinkFile":
        """What the file holds."""

    def content_digest(self) -> str:
        """Return the SHA-256 digest of the file's bytes as they were read (64 hex digits).

        Raises
        ------
        SpecError
            If the file could not be read.
        """
        if self._content.sha256 is None:
            raise SpecError([fault for _, fault in self._content.wrong])
        return self._content.sha256

    @model_serializer(mode="wrap")
    def _named(
        self, table: SerializerFunctionWrapHandler, how: SerializationInfo
    ) -> dict[str, Any]:
        fields: dict[str, Any] = table(self)
        if how.context == BY_CONTENT and fields.get("path") is not None:
            fields["path"] = self.content_digest()
        return fields


@dataclass(frozen=True)
class Columns:
    """Columns of a table, and what is wrong with its shape.

    Attributes
    ----------
    sha256 : str, optional
        Digest of the file's bytes; None where they could not be read.
    cells : dict
        By column, the texts of its rows in the order of the file.
    lines : sequence of int
        Where each row stands.
    place : str
        What that number counts: "line" of a CSV, "row" of a Parquet file.
    wrong : list of (int, Fault)
        By line.
    """

    sha256: str | None
    cells: dict[str, list[str]]
    lines: Sequence[int] = ()
    place: str = "line"
    wrong: Sequence[tuple[int, Fault]] = ()


def columns_of(path: str, columns: Sequence[str], key: str, allowed: str) -> Columns:
    """Return columns of a CSV or, where its name ends in ``.parquet``, of a Parquet file.

    Parameters
    ----------
    path : str
        The file.
    columns : sequence of str
        What to read.
    key, allowed : str
        What a fault is reported at, and what it says may stand there.
    """
    try:
        if path.endswith(".parquet"):
            return _of_parquet(path, columns, key, allowed)
        text, sha256 = text_of(path, key, allowed)
    except SpecError as error:
        faults = [(1, fault) for fault in error.faults]
        return Columns(None, {column: [] for column in columns}, wrong=faults)
    rows, wrong = rows_of(text, columns, Path(path).name, key)
    cells = {column: [row[place] for _, row in rows] for place, column in enumerate(columns)}
    return Columns(sha256, cells, [line for line, _ in rows], "line", wrong)


def _of_parquet(path: str, columns: Sequence[str], key: str, allowed: str) -> Columns:
    import pyarrow as pa
    import pyarrow.parquet as pq

    data, name = bytes_of(path, key, allowed), Path(path).name
    try:
        names = pq.read_schema(BytesIO(data)).names
        if any(names.count(column) != 1 for column in columns):
            shown = f"the columns {show(','.join(names))} ({name})"
            expected = f"allowed are columns {','.join(columns)}, once each"
            raise SpecError([Fault(key, shown, expected)])
        table = pq.read_table(BytesIO(data), columns=list(columns))
    except (OSError, pa.ArrowException):
        raise SpecError([Fault(key, repr(path), f"{not_parquet(data)}; {allowed}")]) from None
    if len(table) == 0:
        raise SpecError([Fault(key, f"no rows ({name})", f"allowed is one {','.join(columns)}")])
    cells = {column: _cells(table[column]) for column in columns}
    return Columns(hashlib.sha256(data).hexdigest(), cells, range(1, len(table) + 1), "row")


def _cells(column: Any) -> list[str]:
    """Return the texts of a Parquet column: numbers, and ISO times to the microsecond."""
    import pyarrow as pa
    from pyarrow.compute import CastOptions

    if pa.types.is_timestamp(column.type):
        finest = pa.timestamp("us", column.type.tz and "UTC")  # nobody may know the zone's name
        column = column.cast(options=CastOptions(finest, allow_time_truncate=True)).cast("string")
    integers = (
        pa.types.is_integer(column.type) and column.null_count == 0
    )  # else NumPy makes floats
    numbers = integers or pa.types.is_floating(column.type)
    cells = column.to_numpy(zero_copy_only=False).tolist() if numbers else column.to_pylist()
    same: dict[str, str] = {}  # a long log repeats its owners and times: each text is kept once
    return [same.setdefault(text, text) for text in ("" if c is None else str(c) for c in cells)]


def bytes_of(path: str, key: str, allowed: str) -> bytes:
    """Return what a file holds.

    Raises
    ------
    SpecError
        If the file is missing, a directory, unreadable or empty.
    """
    try:
        data = file_bytes(Path(path))
    except (OSError, ValueError) as error:  # a folder that may not be entered; a null character
        reason = unreadable(error)
    else:
        if len(data) > 0:
            return data
        reason = "the file is empty"
    raise SpecError([Fault(key, repr(path), f"{reason}; {allowed}")])


def text_of(path: str, key: str, allowed: str) -> tuple[str, str]:
    """Return a file's text and the SHA-256 digest of its bytes (64 hex digits).

    Parameters
    ----------
    path : str
        The file; UTF-8, with or without a byte order mark.
    key, allowed : str
        What a fault is reported at, and what it says may stand there.

    Raises
    ------
    SpecError
        If the file is missing, a directory, unreadable, empty or not UTF-8.
    """
    data = bytes_of(path, key, allowed)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        reason = unreadable(error)
    else:
        if text.strip() != "":
            return text, hashlib.sha256(data).hexdigest()
        reason = "the file is empty"
    raise SpecError([Fault(key, repr(path), f"{reason}; {allowed}")])


def rows_of(
    text: str, columns: Sequence[str], name: str, key: str
) -> tuple[list[Row], list[tuple[int, Fault]]]:
    """Return the rows of a CSV, and what is wrong with its shape.

    Blank lines are passed over, and so are columns that nobody asked for.

    Parameters
    ----------
    text : str
        The CSV; its first line is the header.
    columns : sequence of str
        What to read from each row, wherever the column stands.
    name, key : str
        The file's name, and what a fault is reported at.

    Returns
    -------
    list of Row, list of (int, Fault)
        The rows that have as many cells as the header, and the faults by line.
    """
    reader = csv.reader(StringIO(text, newline=""))
    rows: list[Row] = []
    wrong: list[tuple[int, Fault]] = []
    try:
        header = [cell.strip() for cell in next(reader, [])]
        if any(header.count(column) != 1 for column in columns):
            shown = f"the header {show(','.join(header))} ({name}, line 1)"
            rule = f"allowed is a header with the columns {','.join(columns)}, once each"
            return [], [(1, Fault(key, shown, rule))]
        places = [header.index(column) for column in columns]
        for cells in reader:
            if all(cell.strip() == "" for cell in cells):
                continue
            if len(cells) != len(header):
                shown = f"{len(cells)} values ({name}, line {reader.line_num})"
                rule = f"allowed are {len(header)}, one per column"
                wrong.append((reader.line_num, Fault(key, shown, rule)))
            else:
                rows.append((reader.line_num, tuple(cells[place].strip() for place in places)))
    except csv.Error:
        shown = f"a line that is not CSV ({name}, line {reader.line_num})"
        wrong.append((reader.line_num, Fault(key, shown, "allowed is CSV text")))
    if len(rows) == 0 and len(wrong) == 0:
        shown = f"no rows below the header ({name})"
        wrong.append((1, Fault(key, shown, f"allowed is at least one row {','.join(columns)}")))
    return rows, wrong


def time_of(cell: str) -> float | None:
    """Return a time from 0 to 10⁹ (time units), or None where a cell holds no such number."""
    try:
        value = float(cell)
    except ValueError:
        return None
    return value if 0 <= value <= LONGEST and "_" not in cell else None


def is_number(cell: str) -> bool:
    """Return whether a cell holds a whole number ≥ 0, as owners have, of at most nine digits."""
    return cell.isascii() and cell.isdigit() and len(cell) < 10


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def moment_of(cell: str) -> tuple[int, bool] | None:
    """Return an ISO 8601 time in µs since 1970, and whether it names its distance from UTC.

    One that names none is taken for UTC. None where a cell holds no such time.
    """
    if not cell[:4].isdigit() or "-" not in cell[4:8]:  # 20200102 is a number too
        return None
    try:
        moment = datetime.fromisoformat(cell)
    except ValueError:
        return None
    aware = moment.tzinfo is not None
    moment = moment if aware else moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) // timedelta(microseconds=1), aware


def shortened(found: Sequence[Fault], name: str) -> list[Fault]:
    """Return the first faults of a file, and how many more there are."""
    more = len(found) - MOST_FAULTS
    if more <= 0:
        return list(found)
    rest = Fault(found[0].key, f"{more} more faults ({name})", f"the first {MOST_FAULTS} are shown")
    return [*found[:MOST_FAULTS], rest]


def by_line(found: Sequence[tuple[int, Fault]], name: str) -> list[Fault]:
    """Return faults in the order of their lines, cut short."""
    return shortened([fault for _, fault in sorted(found, key=lambda pair: pair[0])], name)


UNDIRECTED = 'allowed is an undirected one: edgedefault="undirected", no directed="true"'
CONVERT = "for a topology, convert it with NetworkX: asyncdp docs own-network"

Edge = tuple[str, str, str | None, str]
"""Two nodes, the text of the latency between them, and where that stands in the file."""


def graphml_of(text: str, name: str, key: str) -> tuple[list[str], list[Edge]]:
    """Return the nodes and edges of a GraphML document.

    Other data of them, of the graph and of its picture are ignored.

    Parameters
    ----------
    text : str
        The document.
    name, key : str
        The file's name, and what a fault is reported at.

    Raises
    ------
    SpecError
        If it holds no graph, or a directed one.
    """
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        shown = f"text that is not well-formed XML ({name}, line {error.position[0]})"
        raise SpecError([Fault(key, shown, "allowed is GraphML")]) from None
    except (LookupError, ValueError):
        shown = f"XML in an unknown encoding ({name})"
        raise SpecError([Fault(key, shown, "allowed is GraphML in UTF-8")]) from None
    graph = next(within(root, "graph"), None)
    if _local(root) != "graphml" or graph is None:
        shown = f"XML without a graph ({name})"
        raise SpecError([Fault(key, shown, "allowed is GraphML: <graphml> with a <graph>")])
    edge_elements = list(within(graph, "edge"))
    directed = graph.get("edgedefault") == "directed"
    if any(edge.get("directed", str(directed).lower()) == "true" for edge in edge_elements):
        rule = f"{UNDIRECTED}; {CONVERT}"
        raise SpecError([Fault(key, f"a directed graph ({name})", rule)])
    keys: dict[str | None, str | None] = {}
    for declared in within(root, "key"):
        if declared.get("attr.name") == "latency" and declared.get("for", "all") in ("edge", "all"):
            keys[declared.get("id")] = next(
                (text_in(part) for part in within(declared, "default")), None
            )
    default = next((text for text in keys.values() if text is not None), None)
    nodes = [node.get("id", "") for node in within(graph, "node")]
    edges: list[Edge] = []
    for place, edge in enumerate(edge_elements, start=1):
        latencies = [text_in(data) for data in within(edge, "data") if data.get("key") in keys]
        ends = edge.get("source", ""), edge.get("target", "")
        latency = next((text for text in latencies if text is not None), default)
        edges.append((*ends, latency, f"{name}, edge {place}"))
    return nodes, edges


@dataclass(frozen=True)
class LinkFile:
    """The nodes and edges of a file.

    Attributes
    ----------
    sha256 : str, optional
        Of its bytes; None where it could not be read.
    nodes : sequence of str
        Those that it names beside its edges.
    edges : sequence of Edge
        In the order of the file.
    wrong : sequence of (int, Fault)
        What is wrong with its form, by line.
    """

    sha256: str | None
    nodes: Sequence[str] = ()
    edges: Sequence[Edge] = ()
    wrong: Sequence[tuple[int, Fault]] = ()


def links_of(path: str, columns: Sequence[str], key: str, allowed: str) -> LinkFile:
    """Return the links of a GraphML file, or of a CSV with these columns.

    Parameters
    ----------
    path : str
        GraphML where its name ends in ``.graphml``.
    columns : sequence of str
        Of a CSV: two nodes, and perhaps a latency.
    key, allowed : str
        What a fault is reported at, and what it says may stand there.
    """
    name, sha256 = Path(path).name, None
    try:
        text, sha256 = text_of(path, key, allowed)
        if name.lower().endswith(".graphml"):
            return LinkFile(sha256, *graphml_of(text, name, key))
        rows, wrong = rows_of(text, columns, name, key)
    except SpecError as error:
        return LinkFile(sha256, wrong=[(1, fault) for fault in error.faults])
    edges = [(a, b, "".join(rest) or None, f"{name}, line {line}") for line, (a, b, *rest) in rows]
    return LinkFile(sha256, (), edges, wrong)


def within(root: ElementTree.Element, tag: str) -> Iterator[ElementTree.Element]:
    """Return the elements with this tag, in any namespace, at any depth."""
    return (element for element in root.iter() if _local(element) == tag)


def _local(element: ElementTree.Element) -> str:
    """Return an element's tag without its namespace."""
    return str(element.tag).rpartition("}")[2]


def text_in(element: ElementTree.Element) -> str | None:
    """Return an element's text; None where there is none."""
    text = (element.text or "").strip()
    return text if text != "" else None
