"""The page of the documentation that says more of a table of scenarios."""

_SEMANTICS = "docs/semantics.md"
_PAGES = {
    "": "docs/reference/scenario.md",
    "run": f"{_SEMANTICS}#time-and-order",
    "owners": f"{_SEMANTICS}#names-of-owners-and-who-takes-part",
    "data": f"{_SEMANTICS}#learning",
    "model": f"{_SEMANTICS}#learning",
    "clock": f"{_SEMANTICS}#clocks",
    "availability": f"{_SEMANTICS}#availability",
    "availability.intervals": "docs/own-network.md#laws-and-presence-from-files",
    "channel": f"{_SEMANTICS}#channels-losses-retransmissions",
    "latency": f"{_SEMANTICS}#distances-and-sizes",
    "payload": f"{_SEMANTICS}#distances-and-sizes",
    "topology": "docs/topology.md#topology",
    "compute": "docs/own-network.md#laws-and-presence-from-files",
    "protocol.request": f"{_SEMANTICS}#the-request-protocol",
    "protocol.push": f"{_SEMANTICS}#the-push-protocol",
    "protocol.broadcast": f"{_SEMANTICS}#the-broadcast-protocol",
    "protocol.rounds": f"{_SEMANTICS}#rounds-and-synchronous-algorithms",
    "protocol.gossip": f"{_SEMANTICS}#gossip-on-a-graph",
    "protocol.servers": f"{_SEMANTICS}#several-servers-and-polar",
    "protocol": f"{_SEMANTICS}#the-request-protocol",
    "protocol.policy": "docs/parts/protocol/dispatch.md",
    "protocol.graph": f"{_SEMANTICS}#gossip-on-a-graph",
    "algorithm.gossip-graph": f"{_SEMANTICS}#gossip-on-a-graph",
    "algorithm.polar": f"{_SEMANTICS}#several-servers-and-polar",
    "algorithm.collab-1": f"{_SEMANTICS}#rounds-and-synchronous-algorithms",
    "algorithm.collab-2": f"{_SEMANTICS}#rounds-and-synchronous-algorithms",
    "algorithm.parameter-server": f"{_SEMANTICS}#rounds-and-synchronous-algorithms",
    "algorithm": f"{_SEMANTICS}#learning",
    "adversary": f"{_SEMANTICS}#owners-that-lie-parties-that-collude",
    "acceptance": f"{_SEMANTICS}#owners-that-lie-parties-that-collude",
    "trigger": f"{_SEMANTICS}#timing-that-depends-on-the-model",
    "privacy": f"{_SEMANTICS}#privacy",
    "privacy.budget": "docs/privacy/budget.md",
    "privacy.budget.scheduled": "docs/privacy/spending.md",
    "privacy.sensitivity": "docs/privacy/sensitivity.md",
    "privacy.mechanism.gaussian": "docs/privacy/gaussian.md",
    "privacy.mechanism.discrete-laplace": "docs/privacy/discrete-laplace.md",
    "energy": "docs/parts/energy.md",
    "sweep": "docs/sweeps.md",
}
"""By the path of a table, or of a kind; what is not here has the page of what it stands in."""


def page(table: str, kind: str | None = None) -> str:
    """Return the page that says more of a table, or of one of its kinds."""
    path = table if kind is None else f"{table}.{kind}"
    while path not in _PAGES:
        path = path.rpartition(".")[0]
    return _PAGES[path]


def pages() -> tuple[str, ...]:
    """Return all pages that are named."""
    return tuple(dict.fromkeys(_PAGES.values()))
