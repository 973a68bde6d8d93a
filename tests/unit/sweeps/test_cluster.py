"""Sweeps on a Dask cluster, with TLS and without."""

import io
import logging
import re
import shutil
import subprocess
from concurrent.futures import CancelledError
from pathlib import Path

import dask
import distributed  # noqa: F401  # which brings its settings
import pytest
from distributed.comm import CommClosedError
from threadpoolctl import threadpool_info, threadpool_limits

from asyncdp_sim.core.errors import MachineError, SpecError
from asyncdp_sim.results.manifest import sources
from asyncdp_sim.scenario import Scenario, load
from asyncdp_sim.sweeps.cluster import _on_a_worker, _scheduler_there, made_with
from asyncdp_sim.sweeps.sweep import sweep
from tests.cli.scenes import SWEEP
from tests.clustered import Clustered, clustered
from tests.unit.sweeps.conftest import as_if_let_alone, whole_cells

# A real Dask scheduler with two workers on loopback, one of which is killed.

LONGER = SWEEP.replace("updates = 12", "updates = 200").replace("[3, 4]", "[3, 4, 5, 6]")
KINDS = Path(__file__).parents[3] / "docs" / "kinds"


@pytest.fixture
def cluster(tmp_path, monkeypatch):
    # Processes that have just been started may be long in coming where the machine is busy.
    monkeypatch.setattr("asyncdp_sim.sweeps.cluster.PATIENCE", 120.0)
    with clustered(2, tmp_path) as found:
        yield found


@pytest.mark.long
def test_workers_load_what_a_scenario_names_and_a_killed_one_changes_nothing(cluster, tmp_path):
    """One after the other, as starting a cluster takes longer than either."""
    workers_load_what_a_scenario_names(cluster.address, tmp_path)
    a_killed_worker_changes_nothing(cluster, tmp_path)


def longer(folder: Path) -> Scenario:
    (folder / "longer.toml").write_text(LONGER, encoding="utf-8")
    return load(folder / "longer.toml")[0]


def a_killed_worker_changes_nothing(cluster: Clustered, folder: Path) -> None:
    scenario = longer(folder)
    ended: list[int] = []

    def kill(*_: object) -> None:
        if len(ended) == 0:
            cluster.workers[0].kill()
        ended.append(1)

    found = sweep(scenario, folder / "killed", address=cluster.address, progress=kill)
    assert (found.done, found.left) == (12, 0)
    assert len(ended) == 12
    assert cluster.workers[0].wait(5) != 0
    as_if_let_alone(scenario, folder / "killed")


def workers_load_what_a_scenario_names(address: str, folder: Path) -> None:
    (folder / "momentum.py").write_text((KINDS / "momentum.py").read_text("utf-8"), "utf-8")
    text = (KINDS / "momentum.toml").read_text("utf-8")
    (folder / "momentum.toml").write_text(text.replace("replicates = 20", "replicates = 2"))
    scenario, _ = load(folder / "momentum.toml", allow_code=True)
    assert sweep(scenario, folder / "far", address=address).done == 2
    as_if_let_alone(scenario, folder / "far")
    (folder / "momentum.py").unlink()  # as where a worker does not reach the file
    with pytest.raises(SpecError, match="there is no such file"):
        sweep(scenario, folder / "lost", address=address)


@pytest.mark.long
def test_a_cluster_that_is_not_there(command, file, monkeypatch):
    monkeypatch.setattr("asyncdp_sim.sweeps.cluster.PATIENCE", 0.5)
    with pytest.raises(SpecError, match="a scheduler that answers"):
        sweep(load(file)[0], file.parent / "result", address="tcp://127.0.0.1:9")
    assert not (file.parent / "result").exists()
    said = command.refused("sweep", file, "--out", file.parent / "result", "--cluster", "nowhere")
    assert "--cluster: given 'nowhere'; allowed is a host and a port, such as tcp" in said


def test_work_on_a_worker_of_other_modules_is_refused():
    wanted = made_with()
    assert _on_a_worker("tcp://x", wanted, len, [1, 2]) == 2
    for name in wanted:
        with pytest.raises(SpecError, match=f"one has {name} "):
            _on_a_worker("tcp://x", wanted | {name: "other"}, len, [1, 2])


def test_a_worker_computes_with_one_thread():
    def threads() -> set[int]:
        return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}

    with threadpool_limits(2, "blas"):
        assert _on_a_worker("tcp://x", made_with(), threads) == {1}


def test_the_digest_of_modules_is_of_all_their_bytes():
    sources.cache_clear()
    before = sources()
    assert re.fullmatch(r"[0-9a-f]{16}", before)
    read = Path.read_bytes

    def edited(file: Path) -> bytes:
        return read(file) + b" " * (file.name == "units.py")

    sources.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "read_bytes", edited)
        assert sources() != before
    sources.cache_clear()


@pytest.mark.parametrize("raised", [CancelledError("learn-1"), CommClosedError("in <TCP>")])
def test_a_scheduler_that_goes_away_is_the_machines(raised):
    gone = pytest.raises(MachineError, match="the scheduler tcp://x is gone")
    with gone, _scheduler_there("tcp://x"):
        raise raised


@pytest.mark.long
def test_a_scheduler_that_is_killed_is_a_line_and_the_same_again_goes_on(cluster, tmp_path):
    scenario, printed = longer(tmp_path), io.StringIO()
    handler = logging.StreamHandler(printed)  # as Dask has one on standard error
    logging.getLogger("distributed").addHandler(handler)

    def kill(*_: object) -> None:
        cluster.scheduler.kill()

    with pytest.raises(MachineError, match="is gone; finished work is kept"):
        sweep(scenario, tmp_path / "out", address=cluster.address, progress=whole_cells(kill))
    assert printed.getvalue() == ""
    logging.getLogger("distributed").removeHandler(handler)
    assert sweep(scenario, tmp_path / "out").left == 0


# A cluster that asks for certificates: the settings of ``docs/recipes.md``, on loopback.
#
# The certificates in ``tls`` are valid until 2126. ``ca.pem`` signed ``mine.pem``; another
# authority signed ``strangers.pem``. Their keys open clusters of this test, and nothing else.

PAGE = Path(__file__).parents[3] / "docs" / "recipes.md"
CERTIFICATES = Path(__file__).parent / "tls"
Settings = dict[str, str]
CLIENT = "distributed.comm.tls.client"
NOBODY = {f"{CLIENT}.cert": None, f"{CLIENT}.key": None}


def shown() -> tuple[str, list[str]]:
    """Return the exports that the page shows, and how it starts a scheduler."""
    blocks = re.findall(r"```bash\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    [block] = [each for each in blocks if "TLS" in each]
    exports, _, start = block.rpartition("done\n")
    return exports + "done\n", start.partition("#")[0].split()


def exported(text: str, folder: Path) -> Settings:
    """Return what a shell in a folder exports by these lines."""
    ended = subprocess.run(
        ["bash", "-euc", f"{text}env -0"], cwd=folder, capture_output=True, text=True, check=True
    )
    pairs = (each.partition("=") for each in ended.stdout.split("\0"))
    return {name: value for name, _, value in pairs if name.startswith("DASK_")}


@pytest.fixture
def secure_cluster(tmp_path, monkeypatch):
    """Start a scheduler and a worker as the page says, in a folder with certificates."""
    monkeypatch.setattr("asyncdp_sim.sweeps.cluster.PATIENCE", 120.0)
    monkeypatch.chdir(tmp_path)
    shutil.copytree(CERTIFICATES, tmp_path, dirs_exist_ok=True)
    exports, [dask_, *scheduler] = shown()
    assert dask_ == "dask"
    for name, value in exported(exports, tmp_path).items():
        monkeypatch.setenv(name, value)
    # over what Dask has by default: set alone puts the environment's in the place of all of it
    ours = dask.config.merge(dask.config.global_config, dask.config.collect_env())
    with dask.config.set(ours), clustered(1, tmp_path, scheduler, "tls") as found:
        yield found.address


@pytest.mark.long
def test_a_cluster_with_certificates(secure_cluster, scenario, tmp_path, monkeypatch):
    """It does the work, and hears nobody without a certificate of its authority."""
    assert sweep(scenario, tmp_path / "far", address=secure_cluster).left == 0
    as_if_let_alone(scenario, tmp_path / "far")
    monkeypatch.setattr("asyncdp_sim.sweeps.cluster.PATIENCE", 2.0)
    stranger = {f"{CLIENT}.cert": "strangers.pem", f"{CLIENT}.key": "strangers.key"}
    refused(scenario, secure_cluster, stranger, "a scheduler that answers")
    plain = {"distributed.comm.require-encryption": None, **NOBODY}
    refused(scenario, secure_cluster.replace("tls", "tcp"), plain, "a scheduler that answers")
    assert sweep(scenario, tmp_path / "again", address=secure_cluster).left == 0


def test_settings_that_do_not_fit(scenario, command, file):
    """Nothing is connected, so that nothing is left half open to be told of at the end."""
    lost = {f"{CLIENT}.cert": "nowhere.pem", "distributed.comm.tls.ca-file": "nowhere.pem"}
    required = {"distributed.comm.require-encryption": True, **NOBODY}
    refused(scenario, "tls://127.0.0.1:9", NOBODY, "tls:// where certificates are set")
    refused(scenario, "tls://127.0.0.1:9", lost, "certificates that can be read")
    refused(scenario, "tcp://127.0.0.1:9", required, "tls://…, as encryption is required")
    line = command.refused("sweep", file, "--cluster", "tls://127.0.0.1:9")
    allowed = "tls:// where certificates are set"
    assert line == f"{file}: --cluster: given 'tls://127.0.0.1:9'; allowed is {allowed}"


def refused(scenario: Scenario, address: str, settings: dict[str, object], said: str) -> None:
    """Hold that a sweep is refused in one line, and leaves nothing."""
    with dask.config.set(settings), pytest.raises(SpecError) as error:
        sweep(scenario, Path("refused"), address=address)
    [line] = error.value.lines()
    assert line.startswith(f"--cluster: given '{address}'; allowed is {said}")
    assert not Path("refused").exists()
