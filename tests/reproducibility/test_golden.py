"""The network's integers, pinned: the same on every processor.

``python -m tests.regenerate`` writes the text anew; review the difference like
code. A change of ``time`` alone says that durations changed, of ``order`` that decisions did.
"""

from pathlib import Path

import pytest

from asyncdp_sim.runs.run import run
from tests.reproducibility.runs import scenario
from tests.tables import table

CASES = table(__file__, "layers.toml")["cases"]
GOLDEN = Path(__file__).parent / "golden" / "network.txt"
STABLE = ("order", "time")
"""Layers made of integers only; the others hold sums of floats."""


def test_fingerprints_of_the_network(file_regression):
    outcome = run(scenario())
    lines = [f"{layer:<6} {outcome.fingerprints[layer]}" for layer in STABLE]
    for number, trace in zip(outcome.numbers, outcome.traces, strict=True):
        lines += ["", f"replicate {number}, ends at tick {trace.end_tick}"]
        lines += [f"{'k':>4} {'tick':>14} {'read at':>14} {'owner':>6} {'message':>8}"]
        lines += [
            f"{k:>4} {row['tick']:>14} {row['read_tick']:>14} {row['owner']:>6} {row['message']:>8}"
            for k, row in enumerate(trace.updates, start=1)
        ]
    file_regression.check("\n".join(lines) + "\n", encoding="utf-8", fullpath=GOLDEN)


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["changes"]))
def test_fingerprints_tell_layers_apart(case):
    before, after = run(scenario()).fingerprints, run(scenario(**case["changes"])).fingerprints
    differ = {layer for layer in before if before[layer] != after[layer]}
    assert differ.issuperset(case["differ"])
    assert differ.isdisjoint(case["same"])
