"""Muffliato's privacy over distance, its published sum over messages held against the exact loss.

The sum is that of the authors' code: what every message that a node is sent tells by itself, the
messages added up, and no more than what the owner's own noise leaves to whoever hears all. Ours is
h, of all messages that the node is sent at once (``docs/privacy/gossip-averaging.md``). Both are in
units of 1/z², what an owner's record costs against whoever hears every answer.

The networks are simulated again, as they were run; the messages are pairwise means.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from analysis.again import traces_of
from analysis.one_panel import TRUTH, captioned, written
from analysis.studies.over_distance import LEVELS, distances, rows
from asyncdp_sim.core.arrays import Array, Bools, Columns, Ints
from asyncdp_sim.core.words import number
from asyncdp_sim.figures.drawer import Layer
from asyncdp_sim.figures.picture import Picture
from asyncdp_sim.figures.style import looks
from asyncdp_sim.privacy.observers.knowledge import PRIME
from asyncdp_sim.privacy.observers.node import Round, leverages, meetings
from asyncdp_sim.results import Cell, Result, Sweep
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.scenario.paths import VARIANT
from scenarios.papers.claims import Range, result
from scenarios.papers.figure import read_figures
from scenarios.papers.problem import once, scenario
from scenarios.papers.resampled import places

AnyArray = npt.NDArray[Any]
GRAPHS = ("ring", "grid", "geometric", "complete")
FEW = 30
"""Pairs that a median is of at least."""
CLOSE = 1e-9
"""What roundings may amount to, in the unit of losses, of which none is above 1."""


def sums(rounds: Sequence[Round], n_nodes: int) -> Array:
    """Return Σ a_u²/‖a‖² over the messages Σ_j a_j y_j that each node is sent, (M, M).

    Owners u in rows, listeners in columns; in units of 1/z², z being the multiplier of all nodes'
    noise. For synchronous steps of a matrix W it is the sum of Muffliato's published code,
    Σ_{t<T} Σ_{w ∈ N(v)} (Wᵗ)²_{wu}/‖(Wᵗ)_w‖². Messages share the noise that was added once, so that
    it bounds nothing: the exact figure, h_u of :mod:`asyncdp_sim.privacy.observers.node`, may be
    above it by any factor, as ``docs/privacy/gossip-averaging.md`` shows.

    Parameters
    ----------
    rounds : sequence of Round
        Who is sent what, in order.
    n_nodes : int
        M.
    """
    vectors, found = np.eye(n_nodes), np.zeros((n_nodes, n_nodes))
    for each in rounds:
        shares = np.square(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
        for listener, speaker in each.heard.tolist():
            found[:, listener] += shares[speaker]
        vectors[each.nodes] = each.weights / each.parts @ vectors[each.sources]
    return found


def counts(rounds: Sequence[Round], n_nodes: int) -> Ints:
    """Return how many messages every node is sent, (M,)."""
    listeners = [each.heard[:, 0] for each in rounds]
    return np.bincount(np.concatenate(listeners), minlength=n_nodes)


def new_messages(rounds: Sequence[Round], n_nodes: int) -> Ints:
    """Return how many of the messages that every node is sent are no sum of earlier ones, (M,).

    What the node itself put in is known to it. Exact but for one chance in millions: weights are
    fractions, and are taken modulo the prime 2³¹ − 1.
    """
    vectors, known = np.eye(n_nodes, dtype=np.int64), [_Span(node) for node in range(n_nodes)]
    for each in rounds:
        for listener, speaker in each.heard.tolist():
            known[listener].take(vectors[speaker])
        weights = each.weights * pow(each.parts, -1, PRIME) % PRIME
        products = weights[:, :, None] * vectors[each.sources] % PRIME  # of two, which still fit
        vectors[each.nodes] = products.sum(axis=1) % PRIME
    return np.array([len(span.rows) for span in known], dtype=np.int64)


class _Span:
    """The space of the messages that a node was sent, modulo the prime, without its own part."""

    def __init__(self, node: int) -> None:
        self.node = node
        self.rows: dict[int, Ints] = {}
        """By the place of their first number, which is 1."""

    def take(self, message: Ints) -> None:
        """Add what a message has that no sum of earlier ones has."""
        left = message.copy()
        left[self.node] = 0
        for place, row in sorted(self.rows.items()):
            left = (left - left[place] * row) % PRIME
        if left.any():
            first = int(np.flatnonzero(left)[0])
            self.rows[first] = left * pow(int(left[first]), -1, PRIME) % PRIME


def first_alone(rounds: Sequence[Round]) -> list[Round]:
    """Return the same rounds, in which every node hears its first message and no other."""
    heard: set[int] = set()
    found = []
    for each in rounds:
        new = [pair for pair in each.heard.tolist() if pair[0] not in heard]
        heard |= {listener for listener, _ in new}
        found.append(replace(each, heard=np.array(new, dtype=np.int64).reshape(-1, 2)))
    return found


@dataclass(frozen=True, eq=False)
class Losses:
    """What nodes learn of owners on one graph, in R replicates.

    Attributes
    ----------
    exact, alone, summed, summed_alone : array (R, N, N)
        h of owners (rows) against nodes (columns), and the sum over messages: of all that each node
        is sent, and of its first message alone.
    messages, new : array of int (R, N)
        Sent to each node, and those of them that are no sum of earlier ones.
    hops : array of int (N, N)
    """

    exact: Array
    alone: Array
    summed: Array
    summed_alone: Array
    messages: Ints
    new: Ints
    hops: Ints

    @property
    def apart(self) -> Bools:
        """Pairs of an owner and another, (N, N)."""
        return self.hops > 0

    @property
    def totals(self) -> Array:
        """Each node's loss, summed over the other owners, (R, N)."""
        return np.asarray(np.where(self.apart, self.exact, 0.0).sum(axis=1))

    @property
    def told(self) -> Bools:
        """Nodes whose losses are exact, (R, N): of the others the observer states too much."""
        return np.asarray(np.abs(self.totals - self.new) < 0.5)

    @cached_property
    def pairs(self) -> tuple[Array, Array, Ints]:
        """Of all pairs of an owner and another whose losses are exact: loss, sum, and hops.

        The sum is no more than 1, as the authors' figures show it.
        """
        chosen = self.apart & self.told[:, None, :]
        hops = np.broadcast_to(self.hops, self.exact.shape)
        return self.exact[chosen], np.minimum(self.summed, 1.0)[chosen], hops[chosen]

    def only(self, places: Sequence[int]) -> Self:
        """Return what these replicates make."""
        every = {name: getattr(self, name) for name in Losses.__annotations__ if name != "hops"}
        return replace(self, **{name: values[list(places)] for name, values in every.items()})


def losses(scenario: Scenario) -> Losses:
    """Return what nodes learn in all replicates of a scenario."""
    n_owners, every = scenario.owners.count, list(map(meetings, traces_of(scenario)))
    firsts = list(map(first_alone, every))

    def of(what: Callable[[list[Round], int], AnyArray], each: list[list[Round]]) -> AnyArray:
        return np.stack([what(rounds, n_owners) for rounds in each])

    return Losses(
        of(_exact, every), of(_exact, firsts), of(sums, every), of(sums, firsts),
        of(counts, every), of(new_messages, every), distances(scenario),
    )  # fmt: skip


def _exact(rounds: list[Round], n_owners: int) -> Array:
    return leverages(rounds, np.ones(n_owners), np.eye(n_owners, dtype=np.bool_)).T


@once(len(GRAPHS))
def _known(result: Result) -> Losses:
    return losses(scenario(result))


def of_result(found: Result) -> Losses:
    """Return what nodes learn in a result's replicates, calculated once."""
    return _known(found).only(places(found))


def of(sweep: Sweep, graph: str) -> Losses:
    """Return what nodes learn on one graph."""
    return of_result(result(sweep, graph))


def largest_rise(sweep: Sweep, graph: str) -> float:
    """Return how much the median loss rises from one distance to the next, at most."""
    exact, _, hops = of(sweep, graph).pairs
    median = [np.median(exact[hops == each]) for each in np.unique(hops)]
    return float(max(np.diff(median), default=0.0))


def above(sweep: Sweep, graph: str) -> float:
    """Return the share of pairs whose loss is above the sum."""
    exact, capped, _ = of(sweep, graph).pairs
    return float(np.mean(exact > capped + CLOSE))


def off_alone(sweep: Sweep, graph: str) -> float:
    """Return by how much loss and sum differ at most where every node hears one message alone."""
    found = of(sweep, graph)
    return float(np.abs(found.alone - found.summed_alone)[:, found.apart].max())


def mean_over_capped(sweep: Sweep, graph: str) -> float:
    """Return the mean loss over the mean of the sum that is capped pair by pair."""
    exact, capped, _ = of(sweep, graph).pairs
    return float(exact.mean() / capped.mean())


def total_over_messages(sweep: Sweep, graph: str) -> float:
    """Return the loss summed over all owners and nodes, over the messages that were sent."""
    found = of(sweep, graph)
    return float(found.totals[found.told].sum() / found.messages[found.told].sum())


def off_new(sweep: Sweep, graph: str) -> float:
    """Return by how much a node's loss, summed over owners, is off its new messages at most."""
    found = of(sweep, graph)
    return float(np.abs(found.totals - found.new)[found.told].max())


def left_out(sweep: Sweep, graph: str) -> float:
    """Return the share of nodes of which the observer states more than their losses."""
    found = of(sweep, graph)
    return float(np.mean(~found.told))


def over_curator(sweep: Sweep, graph: str) -> float:
    """Return the mean loss over that of a curator that shows the mean with as much noise, 1/N."""
    found = of(sweep, graph)
    return float(found.pairs[0].mean() * found.hops.shape[0])


def heard_twice(sweep: Sweep, graph: str) -> Range:
    """Return up to the share of nodes that are sent two messages."""
    return 0.0, float(np.mean(of(sweep, graph).messages > 1))


def as_far(sweep: Sweep, graph: str) -> Range:
    """Return up to a mean loss of 1, over that of the capped sum."""
    return 1.0, 1 / float(of(sweep, graph).pairs[1].mean())


def quartiles(cell: Cell) -> Columns:
    """Return quartiles of exact loss over sum by hops, with the median loss, where enough heard."""
    exact, summed, hops = of_result(cell.result).pairs
    count = np.bincount(hops[summed > 0])
    steps = np.flatnonzero(count >= FEW)
    at = [(summed > 0) & (hops == step) for step in steps]
    ratios = [np.quantile(exact[each] / summed[each], LEVELS) for each in at]
    found = np.array(ratios).reshape(-1, len(LEVELS)).T
    return rows(cell.label([VARIANT]), steps, found) | {
        "loss": np.array([np.median(exact[each]) for each in at]),
        "pairs": count[steps],
    }


def pictures(sweep: Sweep) -> Sequence[Picture]:
    """Draw the loss over the sum against hops, a line for each graph, and where they are equal."""
    every, marks = map(quartiles, sweep.cells), list[Layer]()
    tables = [one for one in every if len(one["hops"]) > 0]
    if len(tables) == 0:
        return ()
    for one, look in zip(tables, looks(len(tables), markersize=4.5), strict=True):
        hops, name = one["hops"], str(one["graph"][0])
        color = {"color": look["color"]}
        band = color | {"alpha": 0.2}
        marks += [
            Layer("band", hops, None, one["low"], one["high"], look=band),
            Layer("line", hops, one["median"], look=look),
            written(hops[-1], one["median"][-1], name, "right", **color)
            if len(hops) > 1
            else written(hops[-1], 2 * one["median"][-1], name, "over", **color),
        ]
    most = max(float(one["hops"][-1]) for one in tables)
    marks.append(Layer("level", y=1.0, look=TRUTH))
    marks.append(written(most + 2, 1.0, "below: the sum is a bound", "inside"))
    x = {"limits": (-0.8, most + 2), "ticks": range(1, int(most) + 1, 3)}
    table = {name: np.concatenate([one[name] for one in tables]) for name in tables[0]}
    results, title = [cell.result for cell in sweep.cells], no_bound(tables)
    return [captioned("message-sums", title, marks, table, results, x=x, few=FEW)]


def no_bound(tables: Sequence[Columns]) -> str:
    """Return from which distance on every graph's median loss is above the sum, and how far."""
    hops, median, loss = (
        np.concatenate([one[name] for one in tables]) for name in ("hops", "median", "loss")
    )
    below = max(hops[median <= 1], default=0)
    if below >= hops.max():
        return "At the largest distance the median exact loss is not above the published sum"
    most, graph = int(np.argmax(median)), np.concatenate([one["graph"] for one in tables])
    return (
        f"From {below + 1:g} hops on, the published sum understates the median privacy loss, up to "
        f"{number(median[most])} times ({graph[most]}, {hops[most]:g} hops), where the loss is "
        f"{100 * loss[most]:.2g} % of an observer's of every answer"
    )


RESULTS = read_figures(Path(__file__).with_suffix(".toml"), globals())
