"""Clinics whose stays are linear in five columns: a law of which the truth is known."""

from pathlib import Path

import numpy as np
import pandas as pd

from asyncdp_sim.scenario import Scenario, load

COLUMNS = list("abcde")
SCENARIO = """
id = "clinics"
run = {{ seed = 2, updates = 40, replicates = 3 }}
owners = {{ count = {owners} }}
protocol = {{ kind = "rounds" }}
algorithm = {{ kind = "parameter-server", step = 0.3 }}
privacy = {{ epsilon = {epsilon}, sensitivity = {{ kind = "clip", bound = 10.0 }} }}
model = {{ regularisation = 0.001, kind = "ridge" }}
[data]
kind = "table"
path = "{path}"
public_path = "public.csv"
public_records = {public}
target = "stay"
owner_column = "clinic"
unit = "days"
preprocessing = "pca"
features = 5
{more}
"""


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
    written = {"owners": owners, "public": public, "epsilon": epsilon}
    sizes = "\n".join(f"C{number} = {rows}" for number in range(1, owners + 1))
    mine = f'own_path = "mine.csv"\n[data.sizes]\n{sizes}'
    texts = {
        "clinics.toml": SCENARIO.format(path="all.csv", more="", **written),
        "mine.toml": SCENARIO.format(path="nowhere.csv", more=mine, **written),
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return load(folder / "clinics.toml")[0]
