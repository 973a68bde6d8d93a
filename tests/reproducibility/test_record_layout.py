"""Records in rows or in columns, on one core or two: the same gradients, and the same results."""

import os
import subprocess
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from asyncdp_sim.data import Dataset
from asyncdp_sim.learning.objectives import LinearRecords, Squared
from asyncdp_sim.learning.objectives.mlp import Perceptron, PerceptronRecords
from tests.cli.command import PROGRAM
from tests.tables import table
from tests.unit.learning.problems import records

NAMES = ("columns", "rows")
TABLE = table(__file__, "record_layout.toml")
CODE = TABLE["code"]
SCENARIO = TABLE["scenario"]


@pytest.mark.parametrize("kind", ["linear", "perceptron"])
@pytest.mark.parametrize("clip", [None, 0.5])
def test_no_order_of_records_changes_a_bit(kind, clip):
    """A model alone, and among 32 others."""
    x, y = records(1, (700, 31, 1), 6)
    net, found = Perceptron(5, 5), []
    for order in (np.ascontiguousarray, np.asfortranarray):
        data = Dataset(tuple(order(each) for each in x), tuple(y), ("x",) * 6, (0, 0, 0), False)
        features = data.features
        some = LinearRecords(features, y, clip, "l1", Squared())
        if kind == "perceptron":
            some = PerceptronRecords(net, features, y, Squared(), clip)
        points = np.random.default_rng(4).normal(size=(33, 6 if kind == "linear" else net.numbers))
        owners = np.arange(33) % 3
        found += [some.gradient(owners, points)]
        for row in range(33):
            alone = some.gradient(owners[row : row + 1], points[row : row + 1])
            assert np.array_equal(alone[0], found[-1][row])
    assert np.array_equal(*found)


@pytest.mark.long
def test_rows_of_a_custom_kind_replay_on_another_number_of_cores(tmp_path):
    (tmp_path / "kind.py").write_text(CODE, encoding="utf-8")
    for kind, name in zip(("gaussian", "python:kind.py:InRows"), NAMES, strict=True):
        (tmp_path / f"{name}.toml").write_text(SCENARIO.format(kind=kind), encoding="utf-8")
        run(tmp_path, 1, "run", f"{name}.toml", "--out", name)
    run(tmp_path, 2, "replay", "rows")
    for each in ("curve", "models"):  # labels differ: no claim is made for a kind from outside
        columns, rows = (pq.read_table(tmp_path / name / f"{each}.parquet") for name in NAMES)
        assert columns.equals(rows, check_metadata=False)


def run(folder: Path, threads: int, *arguments: str) -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    command = [str(PROGRAM), *arguments, "--allow-code"]
    subprocess.run(command, cwd=folder, env=environment, check=True, timeout=600)
