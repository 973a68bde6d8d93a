"""Muffliato's privacy over distance, its published sum over messages held against the exact loss.

The sum is that of the authors' code: what every message that a node is sent tells by itself, the
messages added up, and no more than what the owner's own noise leaves to whoever hears all. Ours is
h, of all messages that the node is sent at once (``docs/privacy/gossip-averaging.md``). Both are in
units of 1/z², what an owner's record costs against whoever hears every answer.

The networks are simulated again, as they were run; the messages are pairwise means.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from analysis.beyond.message_sums import MessageSums, message_sums
from asyncdp_sim.figures.kit.picture import Picture
from asyncdp_sim.network import simulate
from asyncdp_sim.privacy.observers.node import Round, leverages, meetings
from asyncdp_sim.results import Cell, Sweep
from asyncdp_sim.scenario import Scenario, load
from asyncdp_sim.scenario.paths import VARIANT
from asyncdp_sim.streams import Streams
from scenarios.beyond.messages import counts, first_alone, new_messages, sums
from scenarios.over_distance import distances
from scenarios.papers.claims import Claim, Measure, Printed, Range, Reason
from scenarios.papers.figure import AS_PUBLISHED, PaperFigure
from scenarios.papers.resampled import places

Array = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
AnyArray = npt.NDArray[Any]
GRAPHS = ("ring", "grid", "geometric", "complete")
CLOSE = 1e-9
"""What roundings may amount to, of a loss: the accountant adds no more to stay above it."""
ADDED_UP = 36 * CLOSE
"""The same of a node's losses about all owners together."""


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
    messages: Numbers
    new: Numbers
    hops: Numbers

    @property
    def apart(self) -> Flags:
        """Pairs of an owner and another, (N, N)."""
        return self.hops > 0

    @property
    def totals(self) -> Array:
        """Each node's loss, summed over the other owners, (R, N)."""
        return np.asarray(np.where(self.apart, self.exact, 0.0).sum(axis=1))

    @property
    def told(self) -> Flags:
        """Nodes whose losses are exact, (R, N): of the others the observer states too much."""
        return np.asarray(np.abs(self.totals - self.new) < 0.5)

    @property
    def capped(self) -> Array:
        """The sum, no more than 1: as the authors' figures show it."""
        return np.minimum(self.summed, 1.0)

    def pairs(self, values: AnyArray) -> AnyArray:
        """Return values of all pairs of an owner and another whose losses are exact."""
        return values[self.apart & self.told[:, None, :]]

    def distances(self) -> Numbers:
        """Return the hops of those pairs."""
        return self.pairs(np.broadcast_to(self.hops, self.exact.shape))

    def only(self, places: Sequence[int]) -> Self:
        """Return what these replicates make."""
        every = {name: getattr(self, name) for name in self.__annotations__ if name != "hops"}
        return replace(self, **{name: values[list(places)] for name, values in every.items()})


def losses(scenario: Scenario) -> Losses:
    """Return what nodes learn in all replicates of a scenario."""
    n_owners, streams = scenario.owners.count, Streams(scenario.run.seed)
    traces = (
        simulate(scenario.network, streams.within("replicate", r + 1))
        for r in range(scenario.run.replicates)
    )
    every = [meetings(trace) for trace in traces]
    firsts = [first_alone(rounds) for rounds in every]
    return Losses(
        np.stack([_exact(rounds, n_owners) for rounds in every]),
        np.stack([_exact(rounds, n_owners) for rounds in firsts]),
        np.stack([sums(rounds, n_owners) for rounds in every]),
        np.stack([sums(rounds, n_owners) for rounds in firsts]),
        np.stack([counts(rounds, n_owners) for rounds in every]),
        np.stack([new_messages(rounds, n_owners) for rounds in every]),
        distances(scenario),
    )


def _exact(rounds: list[Round], n_owners: int) -> Array:
    return leverages(rounds, np.ones(n_owners), np.eye(n_owners, dtype=np.bool_)).T


@lru_cache(maxsize=len(GRAPHS))
def _known(directory: Path, _: str) -> Losses:
    return losses(load(directory / "scenario.toml")[0])


def of_cell(cell: Cell) -> Losses:
    """Return what nodes learn in a cell's replicates, calculated once."""
    known = _known(cell.result.directory, str(cell.result.manifest["digest"]))
    return known.only(places(cell.result))


def of(graph: str, measure: Callable[[Losses], float]) -> Measure:
    """Return a measure of one graph."""

    def measured(sweep: Sweep) -> float:
        [cell] = [cell for cell in sweep.cells if cell.values[VARIANT] == graph]
        return measure(of_cell(cell))

    return measured


def largest_rise(found: Losses) -> float:
    """Return how much the median loss rises from one distance to the next, at most."""
    exact, hops = found.pairs(found.exact), found.distances()
    median = [np.median(exact[hops == each]) for each in np.unique(hops)]
    return float(max(np.diff(median), default=0.0))


def above(found: Losses) -> float:
    """Return the share of pairs whose loss is above the sum."""
    return float(np.mean(found.pairs(found.exact) > (1 + CLOSE) * found.pairs(found.capped)))


def off_alone(found: Losses) -> float:
    """Return by how much loss and sum differ at most where every node hears one message alone."""
    return float(np.abs(found.alone - found.summed_alone)[:, found.apart].max())


def mean_over_capped(found: Losses) -> float:
    """Return the mean loss over the mean of the sum that is capped pair by pair."""
    return float(found.pairs(found.exact).mean() / found.pairs(found.capped).mean())


def total_over_messages(found: Losses) -> float:
    """Return the loss summed over all owners and nodes, over the messages that were sent."""
    return float(found.totals[found.told].sum() / found.messages[found.told].sum())


def off_new(found: Losses) -> float:
    """Return by how much a node's loss, summed over owners, is off its new messages at most."""
    return float(np.abs(found.totals - found.new)[found.told].max())


def left_out(found: Losses) -> float:
    """Return the share of nodes of which the observer states more than their losses."""
    return float(np.mean(~found.told))


def over_curator(found: Losses) -> float:
    """Return the mean loss over that of a curator that shows the mean with as much noise, 1/N."""
    return float(found.pairs(found.exact).mean() * found.hops.shape[0])


def heard_twice(graph: str) -> Callable[[Sweep], Range]:
    """Return up to the share of nodes that are sent two messages or more."""
    share = of(graph, lambda found: float(np.mean(found.messages > 1)))
    return lambda sweep: (0.0, share(sweep))


def as_far(graph: str) -> Callable[[Sweep], Range]:
    """Return up to a mean loss of 1, over the mean of the capped sum."""
    most = of(graph, lambda found: 1 / float(found.pairs(found.capped).mean()))
    return lambda sweep: (1.0, most(sweep))


SHARED = (
    "noise is put in once: messages share it, and two of them tell more together than each alone; "
    "of a first message alone the sum is the loss"
)


def claims(graph: str) -> tuple[Claim, ...]:
    """Return what is held against runs on one graph."""
    twice = "calculated: the share of nodes that hear twice, at most"
    most = "calculated: no loss is above 1, what an owner's own noise leaves"
    quantities = (
        Claim("share of pairs whose loss is above the sum", above, high=0, published=0.0,
              reason=Reason(SHARED, heard_twice(graph), twice)),
        Claim("first message alone: loss and sum, largest difference", off_alone, 0, CLOSE, 0.0),
        Claim("mean loss over the mean of the sum, capped", mean_over_capped, high=1,
              published=1.0, reason=Reason(SHARED, as_far(graph), most)),
        Claim("mean loss over the mean of the sum, as it is", total_over_messages, high=1,
              published=1.0),
        Claim("a node's loss summed over owners, less its new messages", off_new, 0, ADDED_UP, 0.0),
        Claim("mean loss over a trusted curator's: a factor of the graph", over_curator, 1),
        Claim("share of nodes left out: more than their loss is stated", left_out, high=0.0),
    )  # fmt: skip
    falls = Claim("largest rise of the median loss from a distance to the next", largest_rise,
                  high=CLOSE, published=0.0)  # fmt: skip
    several = quantities if graph == "complete" else (falls, *quantities)
    return tuple(
        replace(each, quantity=f"{graph}: {each.quantity}", measure=of(graph, each.measure))
        for each in several
    )


def pictures(sweep: Sweep) -> Sequence[Picture]:
    """Draw the loss over the sum against hops, a line for each graph."""
    found = []
    for cell in sweep.cells:
        known = of_cell(cell)
        exact, summed = known.pairs(known.exact), known.pairs(known.capped)
        found.append(MessageSums(cell.label([VARIANT]), known.distances(), exact, summed))
    return [message_sums(found, [cell.result for cell in sweep.cells])]


PRINTED = (
    Printed(
        "Our results show that our algorithms amplify privacy guarantees as a function of the "
        "distance between nodes in the graph, matching the privacy-utility trade-off of the "
        "trusted curator, up to factors that explicitly depend on the graph topology.",
        "Cyffers, Even, Bellet and Massoulié 2022, arXiv 2206.05091, abstract",
    ),
    Printed(
        "Computes the sensibility toward u's input in the messages transmitted per w according to "
        "Wt",
        "the authors' code, totilas/muffliato at b72cc1a, graphutils.py, contrib: "
        "(Wt[w][u]/‖Wt[w]‖)², added up over steps and neighbours in muffliato.py and clipped at "
        "the local ε in its figures",
    ),
)
RESULTS: tuple[PaperFigure, ...] = (
    PaperFigure(
        "muffliato", "Muffliato", "privacy-over-distance",
        tuple(claim for graph in GRAPHS for claim in claims(graph)), pictures, {AS_PUBLISHED: ()},
        printed=PRINTED,
    ),
)  # fmt: skip
