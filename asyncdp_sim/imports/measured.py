"""A measured trace as laws and a scenario: its first half is held against its second."""

from pathlib import Path

import numpy as np

from asyncdp_sim.errors import DataError, Fault
from asyncdp_sim.imports.fitted import ENOUGH
from asyncdp_sim.imports.fitted_network import fit
from asyncdp_sim.imports.online_table import counted
from asyncdp_sim.imports.read_exchanges import read_trace
from asyncdp_sim.imports.second_half import compared
from asyncdp_sim.imports.written_trace import write_scenario
from asyncdp_sim.network import simulate
from asyncdp_sim.streams import Streams
from asyncdp_sim.words import number

REPLICATES = 20
"""Simulations of the second half."""


def import_trace(file: Path, out: Path, seed: int) -> list[str]:
    """Fit a measured trace, hold the fit of its first half against the second, write a scenario.

    Parameters
    ----------
    file : Path
        A CSV or Parquet file with a row per request: the owner, and when it asked, when the model
        was read for it, when its answer left and when that was heard (time units); empty from
        where an exchange did not come to its end.
    out : Path
        The scenario, .toml; durations that no law fits are written beside it.
    seed : int
        Of the simulations.

    Returns
    -------
    list of str
        The laws with intervals, and the prediction, in words.

    Raises
    ------
    DataError
        If the file is no such table, or too short.
    """
    trace = read_trace(file)
    if not trace.heard.any():
        allowed = f"allowed are {ENOUGH} answers in each half"
        raise DataError([Fault("", "no request with an answer", allowed)], str(file))
    began, ended = float(trace.request.min()), float(np.nanmax(trace.end))
    middle = (began + ended) / 2
    first, second = trace.only(trace.request < middle), trace.only(trace.request >= middle)
    for part, which in ((first, "first"), (second, "second")):
        few = [name for i, name in enumerate(trace.names) if (part.owner == i).sum() < 3]
        if len(few) > 0 or part.heard.sum() < ENOUGH:
            given = f"a {which} half with {part.heard.sum()} answers, and {counted(len(few), 'owner')} with fewer than 3 requests"  # noqa: E501
            allowed = f"allowed are {ENOUGH} answers in each half, and 3 requests of every owner"
            raise DataError([Fault("", given, allowed)], str(file))
    half = fit(first, second)
    simulated = [
        simulate(half.network(ended - middle), Streams(seed).within("replicate", replicate))
        for replicate in range(1, REPLICATES + 1)
    ]
    whole = fit(trace, second).judged(half)
    write_scenario(whole, trace, file, out, ended - began)
    return [
        f"{counted(len(trace.owner), 'request')} of {counted(len(trace.names), 'owner')}, "
        f"{trace.heard.sum():,} answers in {number(ended - began)} units",
        *whole.lines(),
        *compared(simulated, trace, second, middle, ended),
    ]
