"""Clinics whose stays are linear in five columns: a law of which the truth is known."""

from pathlib import Path

import numpy as np
import pandas as pd

from asyncdp_sim.scenario import Scenario, load
from tests import scenes

COLUMNS = list("abcde")
TABLE = {
    "kind": "table", "public_path": "public.csv", "target": "stay", "owner_column": "clinic",
    "unit": "days", "preprocessing": "pca", "features": 5,
}  # fmt: skip


def clinics(
    folder: Path,
    owners: int = 20,
    rows: int = 11,
    public: int = 800,
    away: float = 0.0,
    epsilon: float = 1e5,
) -> Scenario:
    """Write the table of all, that of the first clinic, and public rows; ``away`` is by how much
    the clinics' laws differ.
    """
    generator = np.random.default_rng(5)
    common = np.array([1.0, -2.0, 0.5, 0.3, 1.5])
    laws = [common + away * generator.standard_normal(5) for _ in range(owners)]

    def stays(count: int) -> pd.DataFrame:
        frames = []
        for number, law in enumerate(laws, 1):
            x = generator.standard_normal((count, 5))
            frame = pd.DataFrame(x.round(4), columns=COLUMNS)
            frame["stay"] = (10 + x @ law + 1.5 * generator.standard_normal(count)).round(3)
            frames.append(frame.assign(clinic=f"C{number}"))
        return pd.concat(frames)

    everybody = stays(rows)
    everybody.to_csv(folder / "all.csv", index=False)
    everybody[everybody["clinic"] == "C1"].to_csv(folder / "mine.csv", index=False)
    stays(public // owners).sample(frac=1, random_state=1).to_csv(
        folder / "public.csv", index=False
    )
    sizes = {f"C{number}": rows for number in range(1, owners + 1)}
    for name, more in (
        ("clinics", {"path": "all.csv"}),
        ("mine", {"path": "nowhere.csv", "own_path": "mine.csv", "sizes": sizes}),
    ):
        said = scenes.text(
            id="clinics",
            run={"seed": 2, "updates": 40, "replicates": 3},
            owners={"count": owners, "records": None},
            protocol={"kind": "rounds"},
            algorithm={"kind": "parameter-server", "step": 0.3},
            privacy={"epsilon": epsilon, "sensitivity": {"kind": "clip", "bound": 10.0}},
            model={"regularisation": 0.001},
            data=TABLE | {"public_records": public} | more,
        )
        (folder / f"{name}.toml").write_text(said, encoding="utf-8")
    return load(folder / "clinics.toml")[0]
