"""A forecast from 2,000 public rows beside runs on the private ones, on two real tables.

At night, where the tables stand beside the project. Public rows are drawn at random into a file of
their own, a draw for each seed; settings are those that are proposed on the first draw. What
docs/tutorial-own-table.md says of the ratios is what comes out here.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from asyncdp_sim import proposals as whole
from asyncdp_sim.data.table_profile import look
from asyncdp_sim.forecasts.population import Population, population
from asyncdp_sim.runs.run import run
from asyncdp_sim.scenario import load

from .networks import ended

pytestmark = pytest.mark.no_evidence

FOLDER = Path(__file__).resolve().parents[3] / "shared/data"
PAGE = Path(__file__).resolve().parents[2] / "docs/tutorial-own-table.md"
PUBLIC, FIRST, DRAWS = 2000, 20200101, 8
RUNS = 20
LENDING = ("lendingclub_2007_2011", "int_rate", None, "LendingClub")
SPARCS = ("sparcs_2020_musculoskeletal_37k", "los", "Permanent.Facility.Id", "SPARCS")


def draw(table: pd.DataFrame, seed: int, folder: Path) -> None:
    """Write public rows and the others, each in the order of the table."""
    rows = np.sort(np.random.default_rng(seed).permutation(len(table))[:PUBLIC])
    table.iloc[rows].to_parquet(folder / "public.parquet", index=False)
    table.drop(index=table.index[rows]).to_parquet(folder / "table.parquet", index=False)


def psi(known: Population) -> float:
    """Return the median ψ at the end; networks and noise are the same for both kinds of rows."""
    scenario = known.scenario
    quick = {"record_every": scenario.run.updates, "alone": False, "split": False}
    scenario = scenario.model_copy(update={"run": scenario.run.model_copy(update=quick)})
    made = run(scenario, numbers=range(1, RUNS + 1), dataset=known.dataset)
    return float(np.median(ended(made)))


def proposed(tmp_path: Path, file: str, target: str, owner: str | None) -> pd.DataFrame:
    """Write the scenario that is proposed on the first draw; return the whole table."""
    source = FOLDER / f"{file}.parquet"
    if not source.exists():
        pytest.skip("the real table is not beside us")
    table = pd.read_parquet(source)
    draw(table, FIRST, tmp_path)
    paths = [str(tmp_path / f"{each}.parquet") for each in ("table", "public")]
    seen = look(paths[0], target=target, owner=owner, public_path=paths[1])
    lines = whole(seen, 1.0, tmp_path)
    if owner is not None:  # as many as have records enough, which differs from draw to draw
        lines = [line for line in lines if not line.startswith("count = ")]
    (tmp_path / "s.toml").write_text("\n".join(lines), encoding="utf-8")
    return table


@pytest.mark.nightly
@pytest.mark.parametrize(("file", "target", "owner", "name"), [LENDING, SPARCS])
def test_forecasts_from_public_rows_are_those_of_runs(file, target, owner, name, tmp_path):
    table = proposed(tmp_path, file, target, owner)
    ratios = []
    for seed in (FIRST, *range(1, DRAWS)):
        draw(table, seed, tmp_path)
        scenario = load(tmp_path / "s.toml")[0].base()
        truth = psi(population(scenario, private=True))
        ratios.append(psi(population(scenario, private=False)) / truth)
    said = f"{np.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
    print(name, said)
    assert 1 / 1.25 < np.median(ratios) < 1.25
    assert f"{said} for {name}" in " ".join(PAGE.read_text("utf-8").split())
