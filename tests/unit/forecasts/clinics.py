"""Clinics whose stays are linear in five columns: a law of which the truth is known."""

import numpy as np
import pandas as pd

from asyncdp_sim.scenario import load
from tests import scenes
from tests.tables import table

COLUMNS = list("abcde")


def clinics(folder, owners=20, rows=11, public=800, away=0.0, epsilon=1e5):
    """Write the table of all, that of the first clinic, and public rows; ``away`` is by how much
    the clinics' laws differ.
    """
    generator = np.random.default_rng(5)
    common = np.array([1.0, -2.0, 0.5, 0.3, 1.5])
    laws = [common + away * generator.standard_normal(5) for _ in range(owners)]

    def stays(count):
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
    known = stays(public // owners).sample(frac=1, random_state=1)
    known.to_csv(folder / "public.csv", index=False)
    sizes = {f"C{number}": rows for number in range(1, owners + 1)}
    asked = table(__file__, "clinics.toml")
    asked["owners"] = {"count": owners, "records": None}
    asked["privacy"]["epsilon"], asked["data"]["public_records"] = epsilon, public
    own = {"path": "nowhere.csv", "own_path": "mine.csv", "sizes": sizes}
    for name, data in (("clinics", {"path": "all.csv"}), ("mine", own)):
        said = scenes.text(**asked | {"data": asked["data"] | data})
        (folder / f"{name}.toml").write_text(said, encoding="utf-8")
    return load(folder / "clinics.toml")[0]
