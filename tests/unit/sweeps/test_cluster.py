"""A real Dask scheduler with two workers on loopback, one of which is killed."""

import re
from concurrent.futures import CancelledError
from pathlib import Path

import pytest
from distributed.comm import CommClosedError
from threadpoolctl import threadpool_info, threadpool_limits

from asyncdp_sim.core.errors import MachineError, SpecError
from asyncdp_sim.results.manifest import sources
from asyncdp_sim.scenario import Scenario, load
from asyncdp_sim.sweeps import sweep
from asyncdp_sim.sweeps.batch import _on_a_worker, _scheduler_there, made_with
from tests.cli.scenes import SWEEP
from tests.clustered import Clustered, clustered
from tests.unit.sweeps.conftest import as_if_let_alone
from tests.unit.sweeps.told import whole_cells

LONGER = SWEEP.replace("updates = 12", "updates = 200").replace("[3, 4]", "[3, 4, 5, 6]")
KINDS = Path(__file__).parents[3] / "docs" / "kinds"


@pytest.fixture
def cluster(tmp_path, monkeypatch):
    # Processes that have just been started may be long in coming where the machine is busy.
    monkeypatch.setattr("asyncdp_sim.sweeps.batch.PATIENCE", 120.0)
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
        ended.append(1)
        if len(ended) == 1:
            cluster.workers[0].kill()

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
    monkeypatch.setattr("asyncdp_sim.sweeps.batch.PATIENCE", 0.5)
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
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            Path, "read_bytes", lambda file: read(file) + b" " * (file.name == "units.py")
        )
        sources.cache_clear()
        assert sources() != before
    sources.cache_clear()


@pytest.mark.parametrize(
    ("raised", "said"),
    [
        (CancelledError("learn-1"), "the scheduler tcp://x is gone"),
        (CommClosedError("in <TCP>"), "the scheduler tcp://x is gone"),
    ],
)
def test_a_scheduler_that_goes_away_is_the_machines(raised, said):
    with pytest.raises(MachineError, match=said), _scheduler_there("tcp://x"):
        raise raised


@pytest.mark.long
def test_a_scheduler_that_is_killed_is_a_line_and_the_same_again_goes_on(cluster, tmp_path):
    scenario = longer(tmp_path)
    ended: list[int] = []

    def kill(*_: object) -> None:
        if len(ended) == 0:
            cluster.scheduler.kill()
        ended.append(1)

    with pytest.raises(MachineError, match="is gone; finished work is kept"):
        sweep(scenario, tmp_path / "out", address=cluster.address, progress=whole_cells(kill))
    assert sweep(scenario, tmp_path / "out").left == 0
