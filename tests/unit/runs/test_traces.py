"""Traces come back from the sweep's folder as they were."""

from dataclasses import fields

import numpy as np
import pyarrow.parquet as pq
import pytest

from asyncdp_sim.core.errors import ResultError
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.network import Network, simulate
from asyncdp_sim.network.availability import Bernoulli
from asyncdp_sim.network.channels import Aloha
from asyncdp_sim.network.protocols import Push
from asyncdp_sim.scenario import Participants
from asyncdp_sim.sweeps.folder import read_traces, write_traces
from asyncdp_sim.trace import Trace

NETWORKS = {
    "plain": Network(answers_allowed=(9,) * 3, updates=20),
    "collisions": Network(
        answers_allowed=(50,) * 4,
        updates=30,
        until=40.0,
        channel=Aloha(airtime=0.2),
        protocol=Push(),
    ),
    "never online": Network(
        answers_allowed=(5, 5), updates=5, until=3.0, availability=Bernoulli(probability=0.01)
    ),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_there_and_back(name, tmp_path):
    streams = Streams(1)
    before = [simulate(NETWORKS[name], streams.within("replicate", r)) for r in (1, 2, 3)]
    numbers = range(1, 2 * NETWORKS[name].n_owners, 2)
    write_traces(before, tmp_path / "kept", {}, Participants(tuple(numbers)), whole=True)
    after = read_traces(tmp_path / "kept", Participants(tuple(numbers)))
    for table in ("exchanges", "owners", "updates"):
        told = pq.read_table(tmp_path / "kept" / f"{table}.parquet")["owner"].to_pylist()
        assert {*told} <= {*numbers}
    assert len(after) == 3
    for one, other in zip(before, after, strict=True):
        for field in fields(Trace):
            kept, found = getattr(one, field.name), getattr(other, field.name)
            if isinstance(kept, np.ndarray):
                assert kept.dtype == found.dtype
                assert kept.tobytes() == found.tobytes()
            else:
                assert kept == found
                assert type(kept) is type(found)


def test_damaged_ones_are_told_with_what_to_do(tmp_path):
    traces = [simulate(NETWORKS["plain"], Streams(1).within("replicate", 1))]
    owners = Participants((1, 2, 3))
    for damaged in ("runs", "exchanges", "owners"):
        place = tmp_path / damaged
        write_traces(traces, place, {}, owners, whole=True)
        (place / f"{damaged}.parquet").write_bytes(b"PAR1")
        with pytest.raises(ResultError, match="damaged traces; delete this folder"):
            read_traces(place, owners)
