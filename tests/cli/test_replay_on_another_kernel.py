"""``asyncdp replay`` of a result that another BLAS kernel has made, or one that is not known."""

import math
import shutil
from functools import reduce
from operator import getitem
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from asyncdp_sim.results.manifest import blas_kernel
from asyncdp_sim.runs.directory import write
from asyncdp_sim.runs.run import run
from asyncdp_sim.scenario import load
from asyncdp_sim.sweeps.sweep import sweep
from tests.cli.command import program
from tests.cli.scenes import SMALL, SWEEP
from tests.directories import manifest, move_number
from tests.manifests import changed
from tests.one_in import one_in

ROUNDED = "reproduced (other linear algebra: equal to "
AGREES = "reproduced (manifest, scenario and every table agree"
pytestmark = pytest.mark.usefixtures("here")
KERNELS = f"made with BLAS kernel Abacus, here {blas_kernel()}"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with a run ``r`` and a sweep ``s``, made here."""
    folder: Path = tmp_path_factory.mktemp("made")
    (folder / "sweep.toml").write_text(SWEEP, encoding="utf-8")
    scenario, _ = load(folder / "sweep.toml")
    write(run(scenario, events=True), folder / "r")
    sweep(scenario, folder / "s")
    return folder


@pytest.fixture
def here(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a copy of them, and work in it."""
    shutil.copytree(made, tmp_path / "copy")
    monkeypatch.chdir(tmp_path / "copy")
    return tmp_path / "copy"


def set_kernel(result: str, name: str | None) -> None:
    """Let a manifest name another kernel; None takes the key out, as older manifests lack it."""
    with changed(Path(result)) as manifest:
        manifest["blas_kernel"] = name
        if name is None:
            del manifest["blas_kernel"]


def plant(file: str, column: str, relative: float) -> None:
    """Move a number by a part of the largest of its column; by 0 it is moved by its last bit."""
    largest = max(map(abs, pq.read_table(file)[column].to_pylist()))
    move_number(file, column, 1, relative * largest if relative else None)


OF_MODELS = ["curve relative_fitness", "curve fitness", "models theta_L", "optimum theta"]
EXACT = [
    "owners epsilon_spent", "owners online_fraction", "curve time", "updates time", "updates tick",
    "events tick",
]  # fmt: skip
"""Tables and their columns."""


@one_in(4, "place", OF_MODELS)
def test_models_and_curves_are_compared_to_the_tolerance(place, command):
    table, column = place.split()
    set_kernel("r", "Abacus")
    plant(f"r/{table}.parquet", column, 1e-13)
    said = command.done("replay", "r")
    assert said.out.startswith(f"r: {ROUNDED}1e-13 of the largest value, {KERNELS}")
    plant(f"r/{table}.parquet", column, 1e-6)
    said = command("replay", "r")
    assert said.code == 3
    [line] = said.lines[-1:]
    assert line.startswith(f"r: not reproduced: {table}.parquet {column}, row 1 (")
    assert line.endswith(f" differ; {KERNELS}")


@pytest.mark.parametrize("place", OF_MODELS)
def test_on_the_same_kernel_one_bit_is_a_difference(place, command):
    table, column = place.split()
    plant(f"r/{table}.parquet", column, 0)
    said = command("replay", "r")
    assert said.code == 3
    assert f"not reproduced: {table}.parquet {column}, row 1 (" in said.err
    assert "BLAS kernel" not in said.err


def test_of_an_older_result_the_kernel_is_not_known(command):
    set_kernel("r", None)
    assert AGREES in command.done("replay", "r").out
    plant("r/models.parquet", "theta_L", 0)
    said = command.done("replay", "r").out
    assert ROUNDED in said
    assert f"made with BLAS kernel not known, here {blas_kernel()}" in said


def test_where_no_bit_differs_another_kernel_is_a_note(command):
    set_kernel("r", "Abacus")
    said = command.done("replay", "r")
    assert AGREES in said.out
    assert said.lines == [f"note: r was {KERNELS}"]


@pytest.mark.parametrize("place", EXACT)
def test_order_time_and_accounts_are_exact_on_any_kernel(place, command):
    table, column = place.split()
    set_kernel("r", "Abacus")
    plant(f"r/{table}.parquet", column, 1 if column == "tick" else 0)
    plant("r/models.parquet", "theta_L", 1e-6)
    said = command("replay", "r")
    assert said.code == 3
    first = "" if table == "owners" else "not reproduced: "  # models are learned before
    assert f"{first}{table}.parquet {column}, row 1 (" in said.err
    assert said.err.rstrip().endswith(KERNELS)


@pytest.mark.parametrize(("key", "code"), [
    ("summary.psi_final.mean", 0), ("constants.smoothness", 0), ("fingerprints.models", 0),
    ("fingerprints.order", 3), ("summary.throughput", 3), ("summary.clip_count", 3), ("label", 3),
])  # fmt: skip
def test_figures_of_models_may_have_other_last_digits(key, code, command):
    set_kernel("r", "Abacus")
    *parents, last = key.split(".")
    with changed(Path("r")) as manifest:
        table = reduce(getitem, parents, manifest)
        value = table[last]
        if isinstance(value, float):
            table[last] = math.nextafter(value, 0.0)
        else:
            table[last] = f"{value}x" if isinstance(value, str) else value + 1
    assert command("replay", "r").code == code


def test_a_part_of_a_sweep_is_by_its_own_kernel(command):
    set_kernel("s/cell-0001", "Abacus")
    plant("s/cell-0001/curve.parquet", "relative_fitness", 1e-13)
    plant("s/cells.parquet", "psi_final.mean", 1e-13)
    said = command.done("replay", "s")
    assert f"s: {ROUNDED}1e-13 of the largest value, {KERNELS} in 6 cells)" in said.out
    assert f"note: s was made in part with BLAS kernel Abacus, here {blas_kernel()}" in said.err
    plant("s/cell-0002/curve.parquet", "relative_fitness", 1e-13)
    assert "not reproduced: cell-0002/curve.parquet relative_fitness, row 1 (" in command.refused(
        "replay", "s", code=3
    )


@pytest.mark.long
@pytest.mark.parametrize("learning", ["replay", "live"])
def test_a_result_of_haswell_is_reproduced_by_the_kernel_here(learning, tmp_path, monkeypatch):
    """Where OpenBLAS knows no Haswell, or has it here, both have the same bits."""
    text = SMALL.replace("features = 2", "features = 9").replace("records = 20", "records = 200")
    text = text.replace("[run]", f'[run]\nlearning = "{learning}"')
    (tmp_path / "scene.toml").write_text(text, encoding="utf-8")
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    assert program("run", "scene.toml", "--out", "r", folder=tmp_path).code == 0
    monkeypatch.delenv("OPENBLAS_CORETYPE")
    said = program("replay", "r", folder=tmp_path).out
    made = manifest(tmp_path / "r")["blas_kernel"]
    other = f"of the largest value, made with BLAS kernel {made}, here "
    assert AGREES in said or (ROUNDED in said and other in said)
    if made == "Haswell" and blas_kernel() == "SkylakeX":
        assert ROUNDED in said
