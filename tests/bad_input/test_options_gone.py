"""Options of 0.1.0 that are gone: each is refused by one line that says so."""

from typing import Any

import pytest

from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.network.channels import Channel
from asyncdp_sim.network.protocols import Protocol
from asyncdp_sim.spec.base import parse

ALOHA = {"kind": "aloha", "airtime": 0.1}
CSMA = {"kind": "csma", "airtime": 0.1, "propagation_delay": 0.01}
TDMA = {"kind": "tdma", "airtime": 0.1, "slot": 0.1}
GONE: list[tuple[Any, dict[str, Any], str, str]] = [
    (Channel, ALOHA | {"capture_ratio": 2.0}, "capture_ratio", "2.0"),
    (Channel, ALOHA | {"request_airtime": 0.1}, "request_airtime", "0.1"),
    (Channel, CSMA | {"collision_detection": True}, "collision_detection", "true"),
    (Channel, ALOHA | {"backoff_cap": 3}, "backoff_cap", "3"),
    (Channel, TDMA | {"frame": 9}, "frame", "9"),
    (
        Channel,
        {"kind": "parallel", "channels": 2, "each": ALOHA, "choice": "by-owner"},
        "choice",
        "'by-owner'",
    ),
    (Protocol, {"kind": "dispatch", "tasks": 2, "queue": "shared"}, "queue", "'shared'"),
]


@pytest.mark.parametrize(
    ("family", "fields", "key", "value"), GONE, ids=lambda part: str(part)[:30]
)
def test_an_option_that_is_gone_is_refused_by_one_line(
    family: Any, fields: dict[str, Any], key: str, value: str
) -> None:
    with pytest.raises(SpecError) as caught:
        parse(family, fields)
    [line] = caught.value.lines()
    assert line.startswith(f"{key}: given {value}; this option is gone: ")
