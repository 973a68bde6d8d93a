"""Exported apps on 127.0.0.1: a link, a node for each bank, and runs, by Flower's commands.

Every party has a FLWR_HOME of its own. Its processes are found by that, as Flower starts some of
them in sessions of their own, and are killed (``kill -9``) when the network is closed.
"""

import csv
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from asyncdp_sim.exports import export_flower
from asyncdp_sim.scenario import Scenario
from tests.unit.exports.banks import BANKS

_BIN = Path(sys.executable).parent
_SERVES = "Uvicorn running"
SECOND = ("second",)
"""Parties beside those that each test starts."""
_PATIENCE = 1200.0
"""Seconds in which whatever is waited for must come, also on a busy machine."""


class Loopback:
    """A link, nodes and the runs of one app after the other, whose files are all in one folder.

    Parameters
    ----------
    folder : Path
        It holds the banks' tables.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self._app, self._server = folder, folder / "app", folder / "server"
        self._port = free_port()
        self._allowed: dict[str, int] = {}
        self._commands: list[subprocess.Popen[bytes]] = []
        self._nodes: dict[str, subprocess.Popen[bytes]] = {}
        self._silent = dict.fromkeys(BANKS, 0)

    def start(self) -> None:
        """Start the link and the nodes."""
        self.start_link()
        for bank in BANKS:
            self.start_node(bank)

    def close(self) -> None:
        """Kill all that was started."""
        for party in ("run", "link", *BANKS, *SECOND):
            while self.kill(party):  # until none is left that one of them has started meanwhile
                time.sleep(0.1)
        for command in self._commands:
            command.wait()

    def carry_out(self, scenario: Scenario) -> None:
        """Export a scenario's app, make its ledgers, and forget the app before."""
        shutil.rmtree(self._app, ignore_errors=True)
        shutil.rmtree(self._server, ignore_errors=True)
        export_flower(scenario, self._app)
        plan = json.loads((self._app / "private_learning/plan.json").read_text(encoding="utf-8"))
        self._allowed = {owner["name"]: owner["answers"] for owner in plan["owners"]}
        for bank in BANKS:
            self._create(self.ledger(bank), bank)

    def start_link(self) -> None:
        """Start the link, and wait until it serves."""
        before = self.printed("link").count(_SERVES)
        self._start("link", "flower-superlink", "--insecure", "--database", "state.db",
                    "--disable-runtime-dependency-installation", *_at(self._port))  # fmt: skip
        self.wait(lambda: self.printed("link").count(_SERVES) > before)

    def start_node(self, bank: str) -> None:
        """Start a bank's node."""
        self._nodes[bank] = self._node(bank, bank, self.ledger(bank))

    def start_second_node(self, bank: str, party: str) -> None:
        """Start one more node of a bank, with a ledger of its own."""
        second = self.folder / f"{party}.ledger"
        self._create(second, bank)
        self._node(party, bank, second)

    def _node(self, party: str, bank: str, ledger: Path) -> subprocess.Popen[bytes]:
        settings = {"owner": bank, "table": self.folder / f"{bank}.csv", "ledger": ledger}
        config = " ".join(f'{key}="{value}"' for key, value in settings.items())
        link = f"127.0.0.1:{self._port}"
        return self._start(
            party, "flower-supernode", "--insecure", *_at(free_port()),
            "--superlink", link, "--node-config", config,
        )  # fmt: skip

    def _create(self, ledger: Path, bank: str) -> None:
        ledger.unlink(missing_ok=True)
        make = ["-m", "private_learning.ledger", str(ledger), bank]
        subprocess.run([sys.executable, *make], cwd=self._app, check=True)

    def start_run(self, wait: float = 600.0) -> subprocess.Popen[bytes]:
        """Start a run of the app, which continues an earlier one."""
        home = self._home("run")
        home.mkdir(exist_ok=True)
        address = f'[superlink.here]\naddress = "127.0.0.1:{self._port}"\ninsecure = true\n'
        (home / "config.toml").write_text(address, encoding="utf-8")
        config = f'folder="{self._server}" wait={wait}'
        return self._start("run", "flwr", "run", str(self._app), "here", "--stream", "-c", config)

    def finished_run(self, wait: float = 600.0) -> str:
        """Carry out a run to its end, and return what it printed."""
        for _ in range(3):
            begun = len(self.printed("run"))
            run = self.start_run(wait)
            self.wait(lambda run=run: run.poll() is not None)
            printed = self.printed("run")[begun:]
            if "SuperLink is unavailable" not in printed:  # so it says of one that is slow, too
                break
        assert run.returncode == 0, printed
        return printed

    def kill(self, party: str, name: str = "") -> int:
        """Kill a party's processes whose command has a name in it; return how many they were."""
        mark, killed = f"FLWR_HOME={self._home(party)}\0".encode(), 0
        for process in Path("/proc").glob("[0-9]*"):
            try:
                environment = (process / "environ").read_bytes() + b"\0"
                if mark in environment and name.encode() in (process / "cmdline").read_bytes():
                    os.kill(int(process.name), signal.SIGKILL)
                    killed += 1
            except (OSError, ValueError):  # ended meanwhile, or somebody else's
                continue
        return killed

    def wait(self, until: Callable[[], Any]) -> Any:
        """Wait for something, and return it.

        At all times, each bank's answers used ≤ its charges on disk ≤ K_i.
        """
        end = time.monotonic() + _PATIENCE
        while not (found := until()):
            parties = ("run", "link", *BANKS)
            assert time.monotonic() < end, [self.printed(party)[-2000:] for party in parties]
            used = self.answers()  # read before the ledgers: charges can only be later
            for bank, most in self._allowed.items():
                assert used[bank] <= self.charges(bank) <= most
            for bank, node in self._nodes.items():  # a busy machine may be too slow to start it
                if node.poll() not in (None, -signal.SIGKILL):
                    self.start_node(bank)
                silent = self.printed("run").count(f"{bank} gives no answer (")
                if silent > self._silent[bank] + 1:  # it goes on, so the owner does as it is told
                    self._silent[bank] = silent
                    self.kill(bank)
                    self.start_node(bank)
            time.sleep(0.1)
        return found

    def model(self) -> dict[str, Any]:
        """Return what the last run ended with."""
        return json.loads((self._server / "model.json").read_text(encoding="utf-8"))

    def adapted(self, bank: str) -> str:
        """Return what a bank reads of its adapted model, which it fits by itself."""
        table, file = self.folder / f"{bank}.csv", self.folder / f"{bank}-adapted.json"
        model = self._server / "model.json"
        command = [sys.executable, "-m", "private_learning.adapt", bank, table, model, file]
        return subprocess.check_output(command, cwd=self._app, text=True)

    def updates(self) -> int:
        """Return how many updates the checkpoint has."""
        file = self._server / "checkpoint.json"
        return json.loads(file.read_text(encoding="utf-8"))["state"]["k"] if file.exists() else 0

    def answers(self) -> Counter[str]:
        """Return how many answers of each bank the server has received."""
        file = self._server / "exchanges.csv"
        if not file.exists():
            return Counter()
        rows = csv.DictReader(file.read_text(encoding="utf-8").splitlines())
        return Counter(row["client"] for row in rows if row["received"])

    def charges(self, bank: str) -> int:
        """Return how many answers a bank's ledger has charged."""
        return len(self.ledger(bank).read_bytes().split(b"\n", 1)[1])

    def printed(self, party: str) -> str:
        """Return what a party's commands have printed so far."""
        file = self.folder / f"{party}.log"
        return file.read_text(encoding="utf-8", errors="replace") if file.exists() else ""

    def _start(self, party: str, command: str, *arguments: str) -> subprocess.Popen[bytes]:
        settings = {
            "FLWR_HOME": str(self._home(party)),
            "FLWR_TELEMETRY_ENABLED": "0",
            "FLWR_DISABLE_UPDATE_CHECK": "1",
            "PATH": f"{_BIN}:{os.environ['PATH']}",
        }
        apart = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        with (self.folder / f"{party}.log").open("ab") as log:
            started = subprocess.Popen(
                [str(_BIN / command), *arguments], cwd=self.folder, stdin=subprocess.DEVNULL,
                stdout=log, stderr=subprocess.STDOUT, env=apart | settings,
            )  # fmt: skip
        self._commands.append(started)
        return started

    def _home(self, party: str) -> Path:
        return self.folder / f"home-{party}"

    def ledger(self, bank: str) -> Path:
        """Return the file of a bank's ledger."""
        return self.folder / f"{bank}.ledger"


def _at(port: int) -> tuple[str, ...]:
    return "--host", "127.0.0.1", "--port", str(port)


def free_port() -> int:
    """Return a port of 127.0.0.1 that is free now."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port
