"""Study of τ curious servers of POLAR: ``python -m scenarios.curious_servers``.

The weights and perturbations are those that the simulated clients draw, with M = 5 and M̄ = 50
as published (POLAR, figure 3); a client's gradient is the same at all steps of a window, which is
the best that can happen to those who are curious. Y = ‖g‖ is ours: none is published.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

from analysis.privacy.curious import additive_spread, guess, guess_error, weight_spread
from analysis.privacy.curious_servers import NO_GUARANTEE, Known, by_servers, one_more
from asyncdp_sim.core.errors import InputError
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.figures.picture import save, write
from asyncdp_sim.learning.algorithms.polar import draw_additive, draw_weights

SEED, CLIENTS, FEATURES = 1, 2000, 10
TOTAL, BOUND = 5.0, 50.0
UPLOADS, WINDOWS, WINDOW = (2, 3, 4, 5), (1, 10, 50), 10
ADDITIVE = (0.0, 1.0)
"""Y over ‖g‖."""


def measured(window: int, uploads: int, *, seed: int = SEED, clients: int = CLIENTS) -> list[Known]:
    """Return what 1…|N_h| servers know, without and with additive perturbations."""
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
            found = guess(gradient, weights, bound * drawn, servers)
            expected = guess_error(spread, uploads, servers)
            known = (window, uploads, servers, bound, found.error, expected, found.cosine)
            rows.append(Known(*known))
    return rows


def main(arguments: list[str] | None = None) -> int:
    """Measure and draw; return 0 done, 2 the input is wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m scenarios.curious_servers", description=__doc__
    )
    parser.add_argument("--out", type=Path, default=Path("results/curious-servers"))
    asked = parser.parse_args(arguments)
    rows = [row for window in WINDOWS for n in UPLOADS for row in measured(window, n)]
    chosen = [row for row in rows if row.window == WINDOW and row.additive == ADDITIVE[-1]]
    pictures = (by_servers(chosen), one_more(rows))
    try:
        paths = [save(picture, asked.out / "figures") for picture in pictures]
        said = [f"## {p.name}.png\n\n{p.caption} {NO_GUARANTEE.text}\n" for p in pictures]
        write(asked.out / "figures" / "captions.md", "\n".join(["# Figures\n", *said]).encode())
    except InputError as error:
        sys.stderr.write("\n".join(error.lines()) + "\n")
        return 2
    sys.stdout.write("".join(f"{path}\n" for path in paths))
    return 0


if __name__ == "__main__":
    sys.exit(main())
