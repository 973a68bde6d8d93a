"""Answers that take longer than anybody waits for them: refused, whatever takes the time."""

from typing import Any

import pytest

from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.scenario import Scenario, parse
from tests.together import together
from tests.unit.scenario.test_taking_part import naming

WAITS: dict[str, tuple[str, dict[str, Any]]] = {
    "a deadline": ("protocol.deadline", {"kind": "rounds", "deadline": 1.0}),
    "a timeout": ("protocol.timeout", {"kind": "request", "timeout": 1.0}),
    "newer queries": (
        "protocol.interval",
        {"kind": "broadcast", "interval": 1.0, "superseded": "discard"},
    ),
}
FEDASYNC = {"kind": "fedasync", "step": 0.1, "mixing": 0.5}
P = 2
BYTES = 2 * (8 * P + 40)
"""Those of a query and an answer."""


def constant(value: float) -> dict[str, Any]:
    return {"kind": "constant", "value": value}


def taking(time: float) -> dict[str, dict[str, Any]]:
    """Return parts by which an answer takes so long at least."""
    return {
        "computing": {"compute": constant(time)},
        "messages": {"latency": {"query": constant(time / 4), "answer": constant(3 * time / 4)}},
        "bytes": {"latency": {"rate_bytes": BYTES / time}},
        "distance": {"topology": {"kind": "star", "latency": time / 2}},
        "all": {
            "compute": constant(time / 2),
            "latency": {"query": constant(time / 4), "rate_bytes": 4 * BYTES / time},
        },
    }


def read(protocol: dict[str, Any], part: dict[str, Any]) -> Scenario:
    in_rounds = {"kind": "collab-2", "step": 0.1}
    algorithm = in_rounds if protocol["kind"] == "rounds" else FEDASYNC
    return parse(Scenario, naming(3, {"algorithm": algorithm, "protocol": protocol}, part))


@together
@pytest.mark.parametrize(("key", "protocol"), WAITS.values(), ids=WAITS)
@pytest.mark.parametrize("what", taking(1.0))
def test_it_is_refused_where_no_answer_can_be_in_time(what, key, protocol):
    with pytest.raises(SpecError) as refused:
        read(protocol, taking(1.01)[what])
    [fault] = refused.value.faults
    assert (fault.key, fault.given) == (key, "1")
    assert fault.allowed == "an answer takes at least 1.01, so no update can ever happen"
    read(protocol, taking(1.0)[what])


def test_local_steps_take_as_long_as_their_gradients():
    impatient, steps = WAITS["a timeout"][1], {**FEDASYNC, "local_steps": 4}
    parts = {"algorithm": steps, "protocol": impatient, "compute": constant(0.3)}
    with pytest.raises(SpecError, match=r"given 1; an answer takes at least 1\.2, so no"):
        parse(Scenario, naming(3, parts))


def test_a_delay_is_part_of_it():
    late = {"answer_at": "after-delay", "delay": constant(1.01)}
    with pytest.raises(SpecError, match=r"given 1; an answer takes at least 1\.01, so no"):
        read(WAITS["newer queries"][1] | late, {})
