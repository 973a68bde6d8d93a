"""GraphML: the nodes of a document, its edges and their latencies."""

from collections.abc import Iterator
from xml.etree import ElementTree

from asyncdp_sim.errors import Fault, SpecError

UNDIRECTED = 'allowed is an undirected one: edgedefault="undirected", no directed="true"'
CONVERT = "for a topology, convert it: asyncdp import topology {name} -o NEW.graphml"

Edge = tuple[str, str, str | None, str]
"""Two nodes, the text of the latency between them, and where that stands in the file."""


def graphml_of(text: str, name: str, key: str) -> tuple[list[str], list[Edge]]:
    """Return the nodes and edges of a GraphML document.

    Whatever else it says of them, of the graph or of its picture is passed over.

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
    root, graph = graph_of(text, name, key)
    found = list(within(graph, "edge"))
    directed = graph.get("edgedefault") == "directed"
    if any(edge.get("directed", str(directed).lower()) == "true" for edge in found):
        allowed = f"{UNDIRECTED}; {CONVERT.format(name=name)}"
        raise SpecError([Fault(key, f"a directed graph ({name})", allowed)])
    keys: dict[str | None, str | None] = {}
    for told in within(root, "key"):
        if told.get("attr.name") == "latency" and told.get("for", "all") in ("edge", "all"):
            keys[told.get("id")] = next((text_in(part) for part in within(told, "default")), None)
    default = next((text for text in keys.values() if text is not None), None)
    nodes = [node.get("id", "") for node in within(graph, "node")]
    edges: list[Edge] = []
    for edge in found:
        said = [text_in(data) for data in within(edge, "data") if data.get("key") in keys]
        ends = edge.get("source", ""), edge.get("target", "")
        edges.append((*ends, next((text for text in said if text is not None), default), name))
    return nodes, edges


def graph_of(
    document: str | bytes, name: str, key: str
) -> tuple[ElementTree.Element, ElementTree.Element]:
    """Return the root of a GraphML document and its first graph.

    Parameters
    ----------
    document : str or bytes
        Bytes are decoded as the document declares.
    name, key : str
        The file's name, and what a fault is reported at.

    Raises
    ------
    SpecError
        If it holds no graph.
    """
    try:
        root = ElementTree.fromstring(document)
    except (ElementTree.ParseError, LookupError, ValueError) as error:
        given = f"text that is not XML: {error} ({name})"
        raise SpecError([Fault(key, given, "allowed is GraphML")]) from None
    graph = next(within(root, "graph"), None)
    if _local(root) != "graphml" or graph is None:
        given = f"XML without a graph ({name})"
        raise SpecError([Fault(key, given, "allowed is GraphML: <graphml> with a <graph>")])
    return root, graph


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
