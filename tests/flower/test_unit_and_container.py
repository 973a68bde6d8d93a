"""The unit file and the container file of the page on deployment, as far as they run anywhere.

systemd checks the unit. Its command, and the steps of the container file one by one in a new
environment, start a node that connects by TLS to a link on 127.0.0.1. No image is built.
"""

import json
import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.flower.loopback import free_port

pytestmark = [pytest.mark.flower, pytest.mark.nightly]  # needs systemd-analyze, openssl, registries
PAGE = Path(__file__).parents[2] / "docs/from-decision-to-deployment.md"
LINK = "link.example.org:9092"
PATIENCE = 300.0
CERTIFICATE = """
    openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=localhost
    -addext subjectAltName=IP:127.0.0.1 -keyout link.key -out ca.crt
"""
SUPERLINK = """
    --ssl-ca-certfile ca.crt --ssl-certfile ca.crt --ssl-keyfile link.key --database state.db
    --host 127.0.0.1 --disable-runtime-dependency-installation
"""


def _text(language: str) -> str:
    """Return the page's one text in a language, with continued lines joined."""
    [text] = re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text("utf-8"), re.M | re.S)
    return text.replace("\\\n", "")


def test_systemd_takes_the_unit_file(tmp_path: Path) -> None:
    program = tmp_path / "learning/flower/bin/flower-supernode"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n", encoding="utf-8")
    program.chmod(0o755)
    unit, text = tmp_path / "node.service", _text("ini").replace("/safe", str(tmp_path))
    for changed, code in ((text, 0), (text.replace(str(program), "flower-supernode-1"), 1)):
        unit.write_text(changed, encoding="utf-8")
        verify = ["systemd-analyze", "verify", "--recursive-errors=no", str(unit)]
        done = subprocess.run(verify, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr == "") == (code, code == 0)


def test_the_command_of_the_unit_starts_a_node(tmp_path: Path) -> None:
    settings = dict(line.split("=", 1) for line in _text("ini").splitlines() if "=" in line)
    command = settings["ExecStart"].replace("/safe/learning/flower/bin", str(_here()))
    environment = dict(each.split("=", 1) for each in settings["Environment"].split())
    for name, value in environment.items():
        environment[name] = value.replace("/safe/learning", str(tmp_path))
    _starts(shlex.split(command.replace("/safe/learning", str(tmp_path))), environment, tmp_path)


def test_the_steps_of_the_container_file_start_a_node(tmp_path: Path) -> None:
    steps = [line.split(" ", 1) for line in _text("dockerfile").splitlines()]
    assert [name for name, _ in steps] == ["FROM", "RUN", "ENV", "VOLUME", "ENTRYPOINT", "CMD"]
    (_, image), (_, install), (_, variables), (_, volume), (_, entry), (_, arguments) = steps
    assert image == "python:3.11-slim"
    assert sys.version_info[:2] == (3, 11)  # of this test's Python, from which it makes the next
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "image")], check=True)
    environment = {
        "PATH": f"{tmp_path}/image/bin:{os.environ['PATH']}",
        "FLWR_HOME": str(tmp_path / "home"),
        **dict(each.split("=", 1) for each in variables.split()),
    }
    subprocess.run(install, shell=True, check=True, env=os.environ | environment)
    command = [each.replace(volume, str(tmp_path)) for each in json.loads(entry + "\n")]
    command += [each.replace(volume, str(tmp_path)) for each in json.loads(arguments)]
    command[0] = str(tmp_path / "image/bin" / command[0])
    _starts(command, environment, tmp_path)


def _here() -> Path:
    return Path(sys.executable).parent


def _starts(command: list[str], environment: dict[str, str], folder: Path) -> None:
    """Start a link and a node that trusts it; return once the node has connected."""
    subprocess.run(shlex.split(CERTIFICATE), cwd=folder, check=True, capture_output=True)
    port = free_port()
    link = [str(_here() / "flower-superlink"), *shlex.split(SUPERLINK), "--port", str(port)]
    assert LINK in command
    command = [f"127.0.0.1:{port}" if each == LINK else each for each in command]
    command += ["--host", "127.0.0.1", "--port", str(free_port())]
    quiet = {"FLWR_TELEMETRY_ENABLED": "0", "FLWR_DISABLE_UPDATE_CHECK": "1"}
    with (
        _running(link, quiet | {"FLWR_HOME": str(folder / "home-link")}, folder) as printed,
        _until(printed, "Uvicorn running"),
        _running(command, environment, folder) as printed,
        _until(printed, "SuperNode ID"),
    ):
        pass


@contextmanager
def _running(command, environment, folder) -> Iterator[Callable[[], str]]:
    """Run a command, and give what returns its output so far; at the end it is killed."""
    log = folder / f"{Path(command[0]).name}.log"
    path = {"PATH": f"{Path(command[0]).parent}:{os.environ['PATH']}"}
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=folder, env=os.environ | path | environment, stdin=subprocess.DEVNULL,
            stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
    try:
        yield lambda: log.read_text("utf-8") if process.poll() is None else f"ended: {log}"
    finally:
        os.killpg(process.pid, 9)
        process.wait()


@contextmanager
def _until(printed: Callable[[], str], words: str) -> Iterator[None]:
    """Wait until a command has printed words."""
    end = time.monotonic() + PATIENCE
    while words not in printed():
        assert time.monotonic() < end, printed()
        assert not printed().startswith("ended"), printed()
        time.sleep(0.5)
    yield
