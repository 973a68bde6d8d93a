"""Study of τ curious servers of POLAR: ``python -m scenarios.curious_servers``.

The weights and perturbations are those that the simulated clients draw, with M = 5 and M̄ = 50
as published (POLAR, figure 3); a client's gradient is the same at all steps of a window, which is
the best that can happen to those who are curious. Y = ‖g‖ is ours: none is published.
"""

import argparse
import sys
from math import inf
from pathlib import Path

import numpy as np
import pandas as pd

from analysis.one_panel import DOTS, captioned, written
from analysis.privacy.curious import additive_spread, guess, guess_error, weight_spread
from asyncdp_sim.core.errors import InputError
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.figures.drawer import Layer
from asyncdp_sim.figures.picture import Picture, save, write
from asyncdp_sim.figures.style import GRAY, looks
from asyncdp_sim.learning.algorithms.obfuscation import draw_additive, draw_weights
from asyncdp_sim.sentences.label import Label

NO_GUARANTEE = Label(
    text="POLAR: obfuscated, no differential privacy guarantee for any ε.",
    private=False,
    epsilon_true=inf,
    delta=None,
    timing_accounted=True,
    release=True,
)


SEED, CLIENTS, FEATURES = 1, 2000, 10
TOTAL, BOUND = 5.0, 50.0
UPLOADS, WINDOW = (2, 3, 4, 5), 10
ADDITIVE = (0.0, 1.0)
"""Y over ‖g‖."""


def measured(
    window: int, uploads: int, *, seed: int = SEED, clients: int = CLIENTS
) -> pd.DataFrame:
    """Return what 1…|N_h| servers know, without and with additive perturbations.

    Returns
    -------
    DataFrame
        ``window``, ``uploads`` and ``servers``: Δ, |N_h| and τ; ``additive``: Y over the gradient's
        norm; ``error`` and ``expected``: error of the best multiple of what they see, measured and
        by theory.
    """
    streams = Streams(seed)
    gradient = np.full(FEATURES, FEATURES**-0.5)

    def generators(purpose: str) -> list[np.random.Generator]:
        return [streams.generator(purpose, window, uploads, c) for c in range(clients)]

    weights = draw_weights(generators("weights"), window, uploads, TOTAL, BOUND)
    drawn = draw_additive(generators("additive"), window, uploads, FEATURES, 1.0)
    square = float(np.square(drawn).sum(axis=3).mean())
    of_weights = weight_spread(window, uploads, TOTAL, BOUND)
    rows = []
    for bound in ADDITIVE:
        spread = of_weights + additive_spread(window, uploads, TOTAL, bound**2 * square, 1.0)
        for servers in range(1, uploads + 1):
            error = guess(gradient, weights, bound * drawn, servers)
            expected = guess_error(spread, uploads, servers)
            rows.append((window, uploads, servers, bound, error, expected))
    names = ["window", "uploads", "servers", "additive", "error", "expected"]
    return pd.DataFrame(rows, columns=names)


def by_servers(rows: pd.DataFrame) -> Picture:
    """Draw the error against τ, a line for each |N_h|; all rows have one Δ and one Y."""
    lines, most = rows.groupby("uploads"), int(rows["uploads"].max())
    marks = [
        Layer("line", name="measured", look=DOTS | {"color": GRAY}),
        Layer("line", name="theory", look={"color": GRAY}),
    ]
    for (n, line), look in zip(lines, looks(len(lines), markersize=4.5), strict=True):
        x, error, expected = (line[name].to_numpy(float) for name in rows.columns[[2, 4, 5]])
        marks += [
            Layer("line", x, error, look=look | {"linestyle": "none"}),
            Layer("line", x, expected, look={"color": look["color"]}),
            written(n, 0, f"of {n}", "left", look["color"]),
        ]
    some = rows[rows["servers"] < rows["uploads"]]
    least = some.loc[some["error"].idxmin()]
    title = (
        f"All but one of {least.uploads:.0f} servers miss a gradient by {100 * least.error:.2g} %; "
        "all of them know it exactly"
    )
    table = {name: column.to_numpy() for name, column in rows.items()}
    window, additive = int(least["window"]), least["additive"]
    return captioned(
        "curious-servers", title, marks, table, NO_GUARANTEE,
        x={"ticks": range(1, most + 1)}, window=window, additive=additive,
    )  # fmt: skip


def main(arguments: list[str] | None = None) -> int:
    """Measure and draw; return 0 done, 2 the input is wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m scenarios.curious_servers", description=__doc__
    )
    parser.add_argument("--out", type=Path, default=Path("results/curious-servers"))
    asked = parser.parse_args(arguments)
    rows = pd.concat([measured(WINDOW, n) for n in UPLOADS], ignore_index=True)
    picture, folder = by_servers(rows[rows["additive"] > 0]), asked.out / "figures"
    try:
        path = save(picture, folder)
        said = f"# Figures\n\n## {path.name}\n\n{picture.caption} {NO_GUARANTEE.text}\n"
        write(folder / "captions.md", said.encode())
    except InputError as error:
        sys.stderr.write("\n".join(error.lines()) + "\n")
        return 2
    sys.stdout.write(f"{path}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
