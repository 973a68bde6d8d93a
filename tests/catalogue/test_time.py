"""Entries beyond the papers are done within a minute of one processor, pictures included."""

import time

import pytest

from asyncdp_sim.scenario.catalogue import entry
from scenarios.beyond import RESULTS
from scenarios.command import produce

ALSO = {"joules-against-accuracy", "steps-against-staleness", "wifi-contention"}
ENTRIES = {figure.entry: figure.origin for figure in RESULTS} | {name: entry(name) for name in ALSO}


@pytest.mark.nightly
@pytest.mark.parametrize("name", sorted(ENTRIES))
def test_a_minute_will_do(name, tmp_path):
    began = time.process_time()
    produce(ENTRIES[name].scenario(), tmp_path / "result", 1)
    assert time.process_time() - began < 60
