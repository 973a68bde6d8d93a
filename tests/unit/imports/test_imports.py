"""Devices of FedScale and FLASH: small made files, shares to 1e-9, hostile pickles and bad rows."""

import io
import json
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from asyncdp_sim.core.errors import DataError
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.imports.fedscale import PlainReader, import_fedscale, read_plain
from asyncdp_sim.imports.flash import import_flash
from asyncdp_sim.network import Network, simulate
from asyncdp_sim.network.availability import Intervals
from asyncdp_sim.scenario import load

DAY = 86400.0


def fedscale(n: int, seed: int = 1) -> dict[int, dict[str, object]]:
    """Devices as FedScale writes them: seconds online in turn, over and over every six days."""
    draws, found = np.random.default_rng(seed), {}
    for device in range(n):
        times = np.sort(draws.choice(int(6 * DAY), 2 * draws.integers(1, 9), replace=False))
        active, inactive = times[::2].tolist(), times[1::2].tolist()
        found[device * 37 + 4] = {
            "duration": sum(inactive) - sum(active),
            "inactive": inactive,
            "finish_time": int(6 * DAY),
            "active": active,
            "model": f"CPH{device}",
        }
    return found


def pickled(value: object, folder: Path, protocol: int = 4) -> Path:
    (folder / "devices.pkl").write_bytes(pickle.dumps(value, protocol))
    return folder / "devices.pkl"


def online_fractions(table: Path, n: int, until: float, **more: object) -> np.ndarray:
    network = Network(
        answers_allowed=(10**6,) * n,
        updates=10**6,
        until=until / 3600,
        availability=Intervals(path=str(table), unit=1 / 3600, **more),
    )
    trace = simulate(network, Streams(1).within("replicate", 1))
    return trace.owners["online"]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("protocol", range(6))
def test_the_share_online_is_that_of_the_file(tmp_path, suffix, protocol):
    devices = fedscale(6)
    out = tmp_path / f"online{suffix}"
    told = import_fedscale(pickled(devices, tmp_path, protocol), out, 100)
    shares = [said["duration"] / said["finish_time"] for said in devices.values()]
    assert told[1] == f"online {100 * np.mean(shares):.3g} % of the time"
    assert "period = 518400.0" in told[2]
    frame = pd.read_csv(out) if suffix == ".csv" else pd.read_parquet(out)
    assert frame.device.astype(str).unique().tolist() == [str(name) for name in devices]
    for turns in (1, 2):
        simulated = online_fractions(out, 6, turns * 6 * DAY, period=6 * DAY / 3600)
        assert np.abs(simulated - shares).max() < 1e-9


def test_a_device_online_to_the_end_and_one_with_another_period(tmp_path):
    devices = {
        "a": {"active": [10, 90], "inactive": [20], "finish_time": 100},
        "b": {"active": [5, 60], "inactive": [5, 70], "finish_time": 200},
    }
    told = import_fedscale(pickled(devices, tmp_path), tmp_path / "online.csv", 1)
    assert told == [
        "2 devices, 3 intervals (seconds)",
        "online 10 % of the time",
        "2 different values of finish_time: no common period",
        'availability = { kind = "intervals", path = "online.csv" }  # for a scenario with '
        "owners.count = 2",
    ]


def test_capacity_becomes_a_scenario_that_loads(tmp_path):
    devices = {1: {"computation": 162.0, "communication": 5648.0}, 7: {"computation": 20.0,
               "communication": 100.0}}  # fmt: skip
    out = tmp_path / "fast.toml"
    import_fedscale(pickled(devices, tmp_path), out, 50)
    scenario, _ = load(out)
    assert [law.mean for law in scenario.compute] == pytest.approx([24.3, 3.0])  # 3·50·ms
    assert scenario.latency.rate_bytes == (5648.0 * 128, 12800.0)
    assert scenario.owners.count == 2


class Calls:
    """Asks whoever unpickles it to run a command."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, (f"touch {self.file}",)


def hostile(file: Path) -> dict[str, bytes]:
    deep = b"\x80\x04" + b"]" * 200_000 + b"a" * 199_999 + b"."
    return {
        "calls": pickle.dumps({1: Calls(file)}, 4),
        "calls, of old": pickle.dumps({1: Calls(file)}, 0),
        "class": pickle.dumps({1: Path}, 4),
        "global": b"cos\nsystem\n(S'touch x'\ntR.",
        "tuple as a key": pickle.dumps({(1, 2): 3}, 4),
        "extension": b"\x80\x02\x82\x01.",
        "persistent": b"Px\n.",
        "memory": b"\x80\x04}r\xff\xff\xff\x7f.",
        "text longer than the file": b"\x80\x04X\xff\xff\xff\x7fx.",
        "bytes longer than the file": b"\x80\x05\x96\xff\xff\xff\xff\xff\xff\xff\x00.",
        "nothing on the stack": b"\x80\x04s.",
        "no end": b"\x80\x04}",
        "empty": b"",
        "deep": deep,
        "a list of all": b"\x80\x04"
        + b"}("
        + b"K\x01"
        + b"}(X\x06\x00\x00\x00active]"
        + b"us"
        + b".",
    }


CLASSES = ("calls", "calls, of old", "class", "global")
EXECUTED = (*CLASSES, "tuple as a key", "extension", "persistent")
"""Of which the first opcode that builds no plain value is named."""


@pytest.mark.parametrize("name", hostile(Path("x")))
def test_a_hostile_pickle_is_refused_in_one_line(name, tmp_path):
    file = tmp_path / "devices.pkl"
    file.write_bytes(hostile(tmp_path / "called")[name])
    with pytest.raises(DataError) as refused:
        import_fedscale(file, tmp_path / "online.csv", 1)
    [line] = refused.value.lines()
    if name in EXECUTED:
        assert re.search(r"a pickle with the opcode [A-Z0-9_]+ at byte \d+, which", line)
    assert not (tmp_path / "called").exists()
    assert not (tmp_path / "online.csv").exists()


@pytest.mark.parametrize("name", CLASSES)
def test_the_reader_itself_knows_no_class(name, tmp_path):
    """Behind the scan, in case that lets something pass."""
    data = hostile(tmp_path / "called")[name]
    with pytest.raises(pickle.UnpicklingError, match="it asks for"):
        PlainReader(io.BytesIO(data)).load()
    assert not (tmp_path / "called").exists()


def test_one_list_for_many_devices_is_read_once_only(tmp_path):
    shared = list(range(0, 200, 2)), list(range(1, 201, 2))
    devices = {
        n: {"active": shared[0], "inactive": shared[1], "finish_time": 300} for n in range(99)
    }
    with pytest.raises(DataError, match="one list that many devices share"):
        import_fedscale(pickled(devices, tmp_path), tmp_path / "online.csv", 1)


def test_the_reader_of_plain_pickles_reads_what_was_written(tmp_path):
    value = {1: [1.5, -3, 2**40, True, None, "Zürich"], "b": {"c": []}}
    for protocol in range(6):
        assert read_plain(pickled(value, tmp_path, protocol))[0] == value


HUGE = 10**400
DEVICE = {"active": [0, 50], "inactive": [40, 60], "finish_time": 100}


@pytest.mark.parametrize(
    ("devices", "expected"),
    [
        ([1, 2], "given a pickle of a list"),
        ({}, "given no devices"),
        ({1: {"speed": 1}}, "given devices with ['speed']"),
        ({1: {"active": [1], "inactive": [2, 3], "finish_time": 9}}, "1 times active and 2 inac"),
        ({1: {"active": [3], "inactive": [2], "finish_time": 9}}, "active from 3 to 2 (device 1)"),
        ({1: {"active": [1, 2], "inactive": [4, 5], "finish_time": 9}}, "active from 2 to 5"),
        ({1: {"active": [1], "inactive": [10], "finish_time": 9}}, "active from 1 to 10"),
        ({1: {"active": [1], "inactive": [2], "finish_time": 0}}, "finish_time 0"),
        ({1: {"active": [1], "inactive": [2]}}, "no 'finish_time' (device 1)"),
        ({1: {"active": ["x"], "inactive": [2], "finish_time": 9}}, "active 'x' (device 1)"),
        (DEVICE | {"finish_time": HUGE}, "finish_time 1000"),
        (DEVICE | {"active": [0, HUGE]}, "active 1000"),
        (DEVICE | {"active": {0: 1, 50: 2}}, "active {0 = 1, 50 = 2} (device 1)"),
        (DEVICE | {"active": "05"}, "active '05' (device 1)"),
        ({"x" * 999: DEVICE | {"finish_time": -1}}, "finish_time -1 (device 'xxxx"),
        ({1: {"k" * 999: 1}}, "devices with ['kkkk"),
        ({1: {"computation": HUGE, "communication": 3}}, "computation 1000"),
        ({1: {"computation": 1e308, "communication": 3}}, "given 1e+308 and 3 (device 1)"),
        ({1: {"computation": 1, "communication": 1e307}}, "given 1 and 1e+307 (device 1)"),
        ({1: {"computation": 1.0}}, "'communication' (device 1)"),
        ({1: {"computation": -1.0, "communication": 3.0}}, "given -1 and 3 (device 1)"),
        ({1: {"computation": 1.0, "communication": float("nan")}}, "given 1 and nan (device 1)"),
    ],
)
def test_wrong_devices_are_one_line_each(tmp_path, devices, expected):
    if isinstance(devices, dict) and "finish_time" in devices:
        devices = {1: devices}
    with pytest.raises(DataError) as refused:
        import_fedscale(pickled(devices, tmp_path), tmp_path / "online.csv", 1)
    [line] = refused.value.lines()
    assert expected in line
    assert len(line) < 400
    assert not (tmp_path / "online.csv").exists()


LOG = """2020-01-28 10:00:00\tbattery_charged_on
2020-01-28 10:00:10\twifi
2020-01-28 10:00:10\t83.0%
2020-01-28 10:01:00\tscreen_lock
2020-01-28 10:05:00\tscreen_unlock
2020-01-28 10:06:00\tScreen_Lock

2020-01-28 10:10:00\t4G
2020-01-28 10:20:00\twifi
2020-01-28 10:30:00\tbattery_low
"""


def flash(folder: Path, devices: object) -> Path:
    (folder / "states.json").write_text(json.dumps(devices), encoding="utf-8")
    return folder / "states.json"


def test_a_device_is_online_while_it_is_all_that_is_needed(tmp_path):
    late = "2020-01-28 09:59:00\tunknown\n2020-01-28 12:59:00\tunknown"
    file = flash(tmp_path, {"0": {"messages": LOG, "model": "x"}, "é": {"messages": late}})
    told = import_flash(file, tmp_path / "online.csv", ["charging", "wifi", "locked"])
    frame = pd.read_csv(tmp_path / "online.csv")
    assert frame[["owner", "start", "end"]].to_numpy().tolist() == [
        [1, 120.0, 360.0],
        [1, 420.0, 660.0],
        [1, 1260.0, 1860.0],
    ]
    share = (240 + 240 + 600) / (1800 + 3 * 3600)
    assert told[:3] == [
        "2 devices, 3 intervals (seconds)",
        f"online {100 * share:.3g} % of the time",
        "1 device never online",
    ]
    import_flash(file, tmp_path / "online.csv", ["charging"])
    assert pd.read_csv(tmp_path / "online.csv")[["start", "end"]].to_numpy().tolist() == [
        [60.0, 1860.0]
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[]", "text that is no JSON table"),
        ("", "text that is no JSON table"),
        ('{"a": {"messages": ""}', "text that is not JSON at the device after 'a'"),
        ('{"a": ' + "[" * 100_000, "text that is not JSON at its first device"),
        ("{}", "no devices"),
        ('{"a": {"messages": ""}} and more', "text behind the JSON table"),
        ('{"\\ud800": {"messages": "yesterday"}}', "message 1, 'yesterday' (device '?')"),
        ('{"a": {"states": ""}}', "no messages (device 'a')"),
        ('{"a": 3}', "no messages (device 'a')"),
        ('{"a": {"messages": "yesterday\\twifi"}}', "message 1, 'yesterday\\twifi' (device 'a')"),
        ('{"a": {"messages": "2020-01-28 10:00:00\\tsideways"}}', "message 1, '2020-01-28 10:00"),
    ],
)
def test_wrong_logs_are_one_line(tmp_path, text, expected):
    (tmp_path / "states.json").write_text(text, encoding="utf-8")
    with pytest.raises(DataError) as refused:
        import_flash(tmp_path / "states.json", tmp_path / "online.csv", ["wifi"])
    [line] = refused.value.lines()
    assert expected in line


def logs(n: int, seed: int = 1) -> tuple[dict[str, dict[str, str]], float, int]:
    """Devices as FLASH writes them, sixty messages each; their share online; seconds watched."""
    draws, found, online, known = np.random.default_rng(seed), {}, 0, 0
    epoch = np.datetime64("2020-01-01T00:00:00")
    for device in range(n):
        steps = draws.integers(1, 4000, size=60)
        times = np.cumsum(steps)
        told = ["wifi", "screen_lock", *["battery_charged_on", "battery_charged_off"] * 29]
        texts = (epoch + times.astype("timedelta64[s]")).astype(str)
        lines = (f"{t.replace('T', ' ')}\t{s}" for t, s in zip(texts, told, strict=True))
        found[str(device)] = {"messages": "\n".join(lines)}
        online += int(steps[3::2].sum())  # from each charging to the message behind it
        known += int(times[-1] - times[0])
    return found, online / known, known


WORK = """
import json, pathlib, resource, sys
from asyncdp_sim.imports.fedscale import PlainReader, import_fedscale, read_plain
from asyncdp_sim.imports.flash import import_flash
from asyncdp_sim.network.availability import Intervals

file, out, period = pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]), float(sys.argv[5])
asked = 100 if sys.argv[1] == "fedscale" else ["charging", "wifi", "locked"]
told = globals()[f"import_{sys.argv[1]}"](file, out, asked)
looped = {"period": period} if period > 0 else {}
assert Intervals(path=str(out), **looped).faults(int(sys.argv[4])) == []
used = resource.getrusage(resource.RUSAGE_SELF)
cpu = used.ru_utime + used.ru_stime
# VmHWM: ru_maxrss has that of the process from which this one was started in it, too
status = pathlib.Path("/proc/self/status").read_text().split()
peak = int(status[status.index("VmHWM:") + 1])
print(json.dumps({"told": told, "kilobytes": peak, "seconds": cpu}))
"""


@pytest.mark.benchmark
@pytest.mark.parametrize("kind", ["fedscale", "flash"])
def test_a_hundred_thousand_devices_take_less_than_a_minute_and_a_gigabyte(kind, tmp_path):
    """CPU time; and the share online of all devices is that of the file to 1e-9."""
    n, out = 100_000, tmp_path / "on.parquet"
    if kind == "fedscale":
        devices = fedscale(n)
        file, period = pickled(devices, tmp_path), 6 * DAY
        spans = [(sum(d["inactive"]) - sum(d["active"])) / period for d in devices.values()]
        share, watched = float(np.mean(spans)), n * period
    else:
        states, share, watched = logs(n)
        file, period = flash(tmp_path, states), 0.0
    command = [sys.executable, "-c", WORK, kind, str(file), str(out), str(n), str(period)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert f"online {100 * share:.3g} % of the time" in found["told"]
    frame = pd.read_parquet(out)
    length = float((frame["end"] - frame["start"]).sum())
    assert abs(length / watched - share) < 1e-9
    print(f"{kind}: {found['seconds']:.1f} s CPU, {found['kilobytes'] / 1e6:.2f} GB")
    assert found["seconds"] < 60
    assert found["kilobytes"] < 10**6
