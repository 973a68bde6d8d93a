"""Space–time diagram of a page: a window of bounded size, wide enough to move about in."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from asyncdp_sim.figures.kit.source import Result
from asyncdp_sim.figures.spacetime.diagram import diagram
from asyncdp_sim.network import Network, simulate
from asyncdp_sim.reports.drawn import DrawnFigure, drawn
from asyncdp_sim.streams import Streams
from asyncdp_sim.theory.prediction import Unknown

MESSAGES = 240
"""Drawn at most."""
INCHES = 0.16
"""Of width for each."""
UPDATES = 240
"""Simulated at most where a run kept no events: a message each, or more."""
LARGEST_NETWORK = 2_000
"""Owners beyond which a run that kept no events is not simulated again."""
LARGEST = 1_200_000
"""Characters of the diagram."""
LONG = 1e9


@dataclass(frozen=True)
class SpaceTime:
    """The diagram, or why there is none; and where its events are from."""

    figure: DrawnFigure | None
    note: str


def spacetime(result: Result, which: str = "") -> SpaceTime:
    """Return the diagram of a result's first replicate.

    Parameters
    ----------
    result : Result
    which : str
        Which cell of a sweep it is, in words.
    """
    if result.summary["simulated_time"] == 0:
        return SpaceTime(None, "nothing takes time")
    happened, origin = None, "as the run kept them"
    if not result.has("events"):
        found = _again(result)
        if isinstance(found, Unknown):
            return SpaceTime(None, found.reason)
        happened, origin = found, "simulated again from the seed, as the run kept none"
    picture = diagram(
        result, happened=happened, window=LONG, most=MESSAGES, inches=INCHES, name="space-time"
    )
    picture.figure.axes[0].yaxis.set_gid("rows")
    note = f"{which}At most {MESSAGES} messages from the start of the run, {origin}."
    return SpaceTime(drawn((picture, [result]), 1, LARGEST, "spacetime"), note)


def _again(result: Result) -> npt.NDArray[np.void] | Unknown:
    """Return the first events of a result's first replicate, simulated again, or why not."""
    network = result.network
    if isinstance(network, Unknown):
        return network
    if network.withholds or network.stops:
        return Unknown("no events were kept, and when things happen depends on the model")
    if network.n_owners > LARGEST_NETWORK:
        return Unknown(f"no events were kept of {network.n_owners:,} owners")
    scope = Streams(int(result.manifest["seed"])).within("replicate", result.replicates[0])
    events = simulate(_first_of(network), scope, events=True).events
    if events is None or len(events) == 0:
        return Unknown("nothing happened")
    return events


def _first_of(network: Network) -> Network:
    """Return the same network for as long as the window may be."""
    return network.model_copy(update={"updates": min(network.updates, UPDATES)})
