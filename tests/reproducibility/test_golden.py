"""The network's integers, pinned: the same on every processor.

``python -m tests.regenerate`` writes the text anew; review the difference like
code. A change of ``time`` alone says that durations changed, of ``order`` that decisions did.
"""

from pathlib import Path

from asyncdp_sim.runs.run import run
from tests.reproducibility.runs import scenario

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


def test_fingerprints_tell_layers_apart():
    def differ(**changes: object) -> set[str]:
        before, after = run(scenario()).fingerprints, run(scenario(**changes)).fingerprints
        return {layer for layer in before if before[layer] != after[layer]}

    assert differ() == set()
    assert differ(privacy__epsilon=1.0) == {"models", "curve"}
    assert differ(privacy__mechanism="none") == {"models", "curve"}
    other = {"kind": "fedasync", "step": 0.1, "mixing": 0.9}
    assert differ(algorithm=other) == {"models", "curve"}
    assert differ(run__record_every=2) == {"curve"}
    assert differ(latency__answer={"kind": "constant", "value": 1e-9}) >= {"time", "curve"}
    assert "order" not in differ(latency__answer={"kind": "constant", "value": 0.0})
    assert differ(run__seed=12) >= {"order", "time", "models", "curve"}
