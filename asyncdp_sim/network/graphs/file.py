"""A graph of owners read from a file."""

from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal

from typing_extensions import override

from asyncdp_sim.errors import Fault, SpecError
from asyncdp_sim.network.contents import FromFile, rows_of, shortened, text_of
from asyncdp_sim.network.graphml import graphml_of
from asyncdp_sim.network.graphs.connected import Edge, GraphKind
from asyncdp_sim.spec import about

COLUMNS = ("source", "target")
KINDS = (
    f"allowed is GraphML (.graphml), or a CSV with the columns {','.join(COLUMNS)}, a row an edge"
)


class EdgeFile(FromFile, GraphKind):
    """The edges of a file between owners, which are numbered from 1 to N; it is read once.

    GraphML (``.graphml``), in which owners' numbers are the ids of nodes, or a CSV with the columns
    ``source`` and ``target``. Whatever else is said there is passed over.
    """

    learner = False

    kind: Literal["file"] = "file"
    path: Annotated[
        str,
        about(
            "A GraphML file (.graphml) whose node ids are owners' numbers, or a CSV with the "
            "columns source and target",
            example="edges.csv",
        ),
    ]

    @override
    def links(self, n_owners: int) -> Iterable[tuple[int, int]]:
        """Return the edges.

        Raises
        ------
        SpecError
            If the file does not hold any.
        """
        rows, _, wrong = self._content
        if len(wrong) > 0:
            raise SpecError(wrong)
        return (edge for _, edge in rows)

    @override
    def content_digest(self) -> str:
        _, sha256, wrong = self._content
        if sha256 == "":
            raise SpecError(wrong)
        return sha256

    @override
    def misfits(self, n_owners: int) -> list[Fault]:
        """Return what is wrong with the file: the first ten faults, and how many more."""
        rows, _, wrong = self._content
        name, found = Path(self.path).name, list(wrong)
        seen: set[Edge] = set()
        for place, (a, b) in rows:
            edge, where = (min(a, b), max(a, b)), f"the edge {a} to {b} ({name}, {place})"
            if a == b or edge[0] < 1 or edge[1] > n_owners:
                allowed = f"allowed are two different owners from 1 to {n_owners}"
                found.append(Fault("graph.path", where, allowed))
            elif edge in seen:
                allowed = "allowed is one edge between two"
                found.append(Fault("graph.path", f"again {where}", allowed))
            seen.add(edge)
        return shortened(found, name)

    @cached_property
    def _content(self) -> tuple[list[tuple[str, Edge]], str, list[Fault]]:
        """Edges by where they stand, the digest (empty where there is none to read), and faults."""
        name = Path(self.path).name
        try:
            text, sha256 = text_of(self.path, "graph.path", KINDS)
        except SpecError as error:
            return [], "", list(error.faults)
        try:
            rows, wrong = _rows(text, name)
        except SpecError as error:
            return [], sha256, list(error.faults)
        edges = []
        for place, (source, target) in rows:
            if source.isascii() and source.isdigit() and target.isascii() and target.isdigit():
                edges.append((place, (int(source), int(target))))
            else:
                given = f"the edge {source!r} to {target!r} ({name}, {place})"
                wrong.append(Fault("graph.path", given, "allowed are numbers of owners"))
        return edges, sha256, wrong


def _rows(text: str, name: str) -> tuple[list[tuple[str, tuple[str, ...]]], list[Fault]]:
    """Return edges, each with where it stands, and faults."""
    if name.lower().endswith(".graphml"):
        _, told = graphml_of(text, name, "graph.path")
        return [(f"edge {place}", (a, b)) for place, (a, b, *_) in enumerate(told, start=1)], []
    rows, by_line = rows_of(text, COLUMNS, name, "graph.path")
    return [(f"line {line}", cells) for line, cells in rows], [fault for _, fault in by_line]
