"""A cluster that asks for certificates: the settings of ``docs/recipes.md``, on loopback.

The certificates in ``tls`` are valid until 2126. ``ca.pem`` signed ``mine.pem``; another authority
signed ``strangers.pem``. Their keys open clusters of this test, and nothing else.
"""

import re
import shutil
import subprocess
from pathlib import Path

import dask
import distributed  # noqa: F401  # which brings its settings
import pytest

from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.sweeps import sweep
from tests.clustered import clustered
from tests.unit.sweeps.conftest import as_if_let_alone

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
def cluster(tmp_path, monkeypatch):
    """Start a scheduler and a worker as the page says, in a folder with certificates."""
    monkeypatch.setattr("asyncdp_sim.sweeps.batch.PATIENCE", 120.0)
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
def test_a_cluster_with_certificates(cluster, scenario, tmp_path, monkeypatch):
    """It does the work, and hears nobody without a certificate of its authority."""
    assert sweep(scenario, tmp_path / "far", address=cluster).left == 0
    as_if_let_alone(scenario, tmp_path / "far")
    monkeypatch.setattr("asyncdp_sim.sweeps.batch.PATIENCE", 2.0)
    stranger = {f"{CLIENT}.cert": "strangers.pem", f"{CLIENT}.key": "strangers.key"}
    refused(scenario, cluster, stranger, "a scheduler that answers")
    plain = {"distributed.comm.require-encryption": None, **NOBODY}
    refused(scenario, cluster.replace("tls", "tcp"), plain, "a scheduler that answers")
    assert sweep(scenario, tmp_path / "again", address=cluster).left == 0


def test_settings_that_do_not_fit(scenario, command, file):
    """Nothing is connected, so that nothing is left half open to be told of at the end."""
    lost = {f"{CLIENT}.cert": "nowhere.pem", "distributed.comm.tls.ca-file": "nowhere.pem"}
    required = {"distributed.comm.require-encryption": True, **NOBODY}
    refused(scenario, "tls://127.0.0.1:9", NOBODY, "tls:// where certificates are set")
    refused(scenario, "tls://127.0.0.1:9", lost, "certificates that can be read")
    refused(scenario, "tcp://127.0.0.1:9", required, "tls://…, as encryption is required")
    said = command("sweep", file, "--cluster", "tls://127.0.0.1:9")
    assert said.code == 2
    allowed = "tls:// where certificates are set"
    assert said.lines == [f"{file}: --cluster: given 'tls://127.0.0.1:9'; allowed is {allowed}"]


def refused(scenario: Scenario, address: str, settings: dict[str, object], said: str) -> None:
    """Hold that a sweep is refused in one line, and leaves nothing."""
    with dask.config.set(settings), pytest.raises(SpecError) as error:
        sweep(scenario, Path("refused"), address=address)
    [line] = error.value.lines()
    assert line.startswith(f"--cluster: given '{address}'; allowed is {said}")
    assert not Path("refused").exists()
