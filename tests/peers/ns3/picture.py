"""``python -m tests.peers.ns3.picture`` draws ours and ns-3: docs/pictures/ns3.png."""

import json
from math import sqrt
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import numpy as np

from asyncdp_sim.figures.drawer import Declaration, Layer, Panel, Side, draw
from asyncdp_sim.figures.drawer import measured as marks_of
from asyncdp_sim.figures.style import DPI, GRAY, OKABE_ITO, laid_out, style
from asyncdp_sim.theory.predict.all import predicted
from tests.peers.ns3.measure import FIGURES, OWNERS, SEEDS, SPEED, WINDOWS, Wired
from tests.peers.ns3.ours import OTHERS, dcf, figures, link, measured

PICTURE = Path("docs/pictures/ns3.png")
SECONDS = 2.0
SIZE = 1_000_000
"""Bytes of an answer on the shared link."""
THEIRS: dict[str, Any] = {
    "marker": "s", "markerfacecolor": "none", "linestyle": "none", "markersize": 7,
}  # fmt: skip
SAME: dict[str, Any] = {"marker": "x", "linestyle": "none", "markersize": 6}
APART: dict[str, Any] = {"linestyle": "-.", "linewidth": 1.0}


def main() -> None:
    """Draw rates of Wi-Fi with small windows, and staleness on a shared link."""
    made = json.loads(FIGURES.read_text("utf-8"))
    (wifi, froze), (wired, queued) = _wifi(made["dcf"]["cells"]), _wired(made["tcp"]["cells"])
    title = (
        "Nearest to ns-3 are counters that freeze (frozen) where others wait DIFS, up to "
        f"{froze:.0%} off, and for the link a bottleneck with the ticks of ns-3, up to {queued:.0%}"
    )
    said = Declaration([wifi, wired], (6.5, 3.4), title)
    figure = draw(said)
    with style(), laid_out(figure, DPI):
        figure.savefig(PICTURE, metadata={"Title": title, "Software": None})


def _wifi(cells: Any) -> tuple[Panel, float]:
    marks = [Layer("line", name="ns-3, ± 2 standard errors", look=THEIRS | {"color": GRAY})]
    off, small = dict[str, float](), WINDOWS["4-8"]
    for color, (heard, others) in zip(OKABE_ITO, OTHERS.items(), strict=False):
        theirs = np.array([cells[f"{heard} 4-8 N={n}"]["rate"] for n in OWNERS])
        ends = theirs[:, 0] + np.outer((0, -2, 2), theirs[:, 1])
        marks.append(marks_of(OWNERS, ends, color=color, **THEIRS))
        rates = _rates([dcf(n, *small, others_after_collision=others) for n in OWNERS])
        name = f"Wi-Fi: frozen, others wait {heard}"
        marks.append(Layer("line", OWNERS, rates, name=name, look={"color": color}))
        off[heard] = float(np.abs(rates / theirs[:, 0] - 1).max())
        print(heard, rates.round())
    waited = np.array([cells[f"DIFS 4-8 N={n}"]["rate"][0] for n in OWNERS])
    for (counting, name), line in zip(
        {"frozen": "Wi-Fi: frozen, one wait for all", "bianchi": "Wi-Fi: Bianchi's slots"}.items(),
        ("--", ":"),
        strict=True,
    ):
        rates = _rates([dcf(n, *small, counting=counting) for n in OWNERS])
        look = {"color": GRAY, "linestyle": line}
        marks.append(Layer("line", OWNERS, rates, name=name, look=look))
        off[counting] = float(np.abs(rates / waited - 1).max())
        print(counting, rates.round())
    title = (
        f"Wi-Fi: where others wait EIFS, up to {off['EIFS']:.0%} off ns-3; Bianchi's slots "
        f"{off['bianchi']:.0%} (DIFS)"
    )
    across = Side("stations, windows of 4 to 8 slots", log=True, ticks=OWNERS)
    side = Side("answers per second", limits=(0, None), grid=True)
    return Panel(marks, across, side, title), off["DIFS"]


def _rates(nets: Any) -> Any:
    return np.array([1e6 * measured(net, SECONDS * 1e6)[0] for net in nets])


def _wired(cells: Any) -> tuple[Panel, float]:
    alone = {SIZE: fmean(cells[f"push {SIZE} B alone"]["mean"])}
    grid, marks, off = np.arange(1, 21) / 20, list[Layer](), list[tuple[float, float]]()
    for color, owners in zip(OKABE_ITO[2:], (3, 10, 40), strict=False):
        net = [link(Wired("push", owners, SIZE, load, 10**6), alone) for load in grid]
        lines = np.array([predicted(each, "mean_staleness") for each in net])
        marks.append(Layer("line", grid, lines, name=f"link: N = {owners}, infinite run",
                           look={"color": color}))  # fmt: skip
        each = grid / owners * SPEED / SIZE * alone[SIZE]
        independent = (owners - 1) * each / (1 + each)
        marks.append(Layer("line", grid, independent, look=APART | {"color": color}))
        for load in (0.5, 0.9):
            theirs = cells[f"push {SIZE} B N={owners} load={load:g}"]["staleness"]
            mean, bar = fmean(theirs), 2 * stdev(theirs) / sqrt(len(theirs))
            ends = np.array([[mean], [mean - bar], [mean + bar]])
            marks.append(marks_of([load], ends, color=color, **THEIRS))
            cell = Wired("push", owners, SIZE, load, 400)
            ours = fmean(figures(cell, alone, seed)["staleness"] for seed in SEEDS)
            marks.append(Layer("line", [load], np.array([ours]), look=SAME | {"color": color}))
            off.append((abs(ours / mean - 1), abs(np.interp(load, grid, independent) / mean - 1)))
    marks += [
        Layer("line", name="link: the ticks of ns-3", look=SAME | {"color": GRAY}),
        Layer("line", name="link: independent latencies", look=APART | {"color": "black"}),
    ]
    queued, apart = map(max, zip(*off, strict=True))
    title = f"Shared link: staleness with independent latencies is up to {apart:.0%} off ns-3"
    across = Side("load of the shared link, push of 1 MB")
    return Panel(marks, across, Side("staleness (updates)", grid=True), title), queued


if __name__ == "__main__":
    main()
