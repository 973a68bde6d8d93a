"""Traces and JSON files of results: they are read as they were written."""

import json
import math
import re
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
from asyncdp_sim.results.write import Writer, all_on_disk, write_into
from asyncdp_sim.scenario import Participants, jsonable
from asyncdp_sim.sweeps.folder import read_traces, write_traces
from asyncdp_sim.trace import ExchangeOutcome, Trace

# Traces come back from the sweep's folder as they were.

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


# JSON files of results: infinities as text, NaN as null, keys of several kinds.

VALUES = (
    {"a": 1, "b": None, "c": [True, 0.1, "ε\n\"'"], "d": {}},
    {"deep": {"er": {"still": [{"x": [1, [2, {"y": "z"}]]}, []]}}, "none": {"of": {}}},
    {"inf": math.inf, "in": {"nan": math.nan, "list": [1.0, -math.inf]}, "tuple": (1, 2)},
    {"far": {"in": {"side": {"of": {"it": [{}, [], {"empty": {}, "list": []}]}}}}},
    {"3": {"4": 5e-324}, "ä": {"ö": [0.1 + 0.2, 10**30]}},
    {True: {None: 1, 2: False}, 0.5: {"b": {ExchangeOutcome.applied: {False: 3}}}},
)


def test_a_json_file_says_what_it_was_given(tmp_path):
    for number, value in enumerate(VALUES):
        write_into(tmp_path, f"{number}.json", value)
        wanted = json.dumps(jsonable(value), indent=2, ensure_ascii=False) + "\n"
        assert (tmp_path / f"{number}.json").read_text(encoding="utf-8") == wanted
    write_into(tmp_path, "small.json", {"step": 1e-05, "least": 1.5e-7})
    small = json.loads((tmp_path / "small.json").read_text(encoding="utf-8"))
    assert small == {"step": 1e-05, "least": 1.5e-7}  # however their digits are written
    read = json.loads((tmp_path / "2.json").read_text(encoding="utf-8"))
    assert read["inf"] == "inf"
    assert read["in"] == {"nan": None, "list": [1.0, "-inf"]}


def test_of_directories_that_are_not_on_disk_the_first_is_named(tmp_path):
    built = [Writer(tmp_path / name) for name in ("one", "two", "three")]
    for writer in built:
        writer.put("words.txt", "words")
    built[1].files[0].unlink()
    with pytest.raises(ResultError, match=re.escape(f"{tmp_path / 'one'}: --out: given No such")):
        all_on_disk(built)
    for writer in built:
        writer.discard()
    assert list(tmp_path.iterdir()) == []
