"""Differences of rates and staleness from ns-3, which ``python -m tests.pictures ns3`` draws."""

import json
from math import ceil, sqrt
from statistics import fmean, stdev
from typing import Any

import numpy as np

from analysis.one_panel import DOTS, TRUTH, one_panel, written
from asyncdp_sim.figures.drawer import Layer, Side
from asyncdp_sim.figures.picture import Picture
from tests.peers.ns3.measure import FIGURES, OWNERS, SEEDS, SPEED, WINDOWS, Wired
from tests.peers.ns3.ours import OTHERS, dcf, figures, measured

SECONDS = 2.0
SIZE = 1_000_000
"""Bytes of an answer on the shared link."""
FROZEN, SLOTS = "Wi-Fi: frozen", "Wi-Fi: Bianchi's slots"
QUEUED, APART = "link: bottleneck", "link: independent latencies"
ROWS = (FROZEN, "Wi-Fi: one wait for all", SLOTS, QUEUED, APART)
Off = tuple[float, float]
"""A difference from ns-3, and two standard errors of ns-3; per cent."""


def picture() -> Picture:
    """Draw the difference from ns-3 in each cell, a row for each model."""
    cells = {
        program: each["cells"] for program, each in json.loads(FIGURES.read_text("utf-8")).items()
    }
    found = dict(zip(ROWS, (*_wifi(cells["dcf"]), *_wired(cells["tcp"])), strict=True))
    off = np.array([each for name in ROWS for each in found[name]])
    row = np.repeat(np.arange(len(ROWS)), [len(found[name]) for name in ROWS])
    ends = (off[:, 0] - off[:, 1], off[:, 0] + off[:, 1])
    marks = [
        Layer("upright", 0.0, look=TRUTH),
        written(0.0, -0.5, "ns-3", "right"),
        Layer("rows", off[:, 0], row.astype(float), *ends, look=DOTS),
    ]
    sides = (
        Side(
            "rate (Wi-Fi) or staleness (link):\n"
            "difference from ns-3, %\n(± 2 standard errors of ns-3)",
            grid=True,
        ),
        Side(limits=(len(ROWS) - 0.5, -0.8), ticks=range(len(ROWS)), labels=ROWS),
    )
    caption = (
        "Answers per second of 802.11a with windows of 4 to 8 slots, where others wait DIFS, 2 to "
        "20 stations; and staleness of answers of 1 MB pushed over a shared link, 3 to 40 owners "
        "at loads 0.5 and 0.9: ours over that of ns-3, less 1. A dot is a cell."
    )
    table = {"model": np.array(ROWS)[row], "off": off[:, 0], "two_standard_errors": off[:, 1]}
    most = {name: max(abs(each) for each, _ in found[name]) for name in ROWS}
    title = nearest(most)
    return one_panel("ns3", title, marks, sides, caption, table, height=2.8)


def nearest(most: dict[str, float]) -> str:
    """Return how far the models are off at most, in per cent, rounded up."""
    up = {name: f"{ceil(10 * off) / 10:g} %" for name, off in most.items()}
    return (
        f"Frozen counters are within {up[FROZEN]} of ns-3's Wi-Fi with windows of 4 to 8, a "
        f"bottleneck within {up[QUEUED]} of its staleness of 1 MB pushes; Bianchi's slots are up "
        f"to {up[SLOTS]} off, independent latencies {up[APART]}"
    )


def _wifi(cells: Any) -> tuple[list[Off], ...]:
    theirs = np.array([cells[f"DIFS 4-8 N={n}"]["rate"] for n in OWNERS])
    found = []
    for how in (
        {"others_after_collision": OTHERS["DIFS"]},
        {"counting": "frozen"},
        {"counting": "bianchi"},
    ):
        rates = [1e6 * measured(dcf(n, *WINDOWS["4-8"], **how), SECONDS * 1e6)[0] for n in OWNERS]
        found.append(_off(np.array(rates), theirs[:, 0], theirs[:, 1]))
    return tuple(found)


def _wired(cells: Any) -> tuple[list[Off], list[Off]]:
    alone = {SIZE: fmean(cells[f"push {SIZE} B alone"]["mean"])}
    queued, apart = list[Off](), list[Off]()
    for owners in (3, 10, 40):
        for load in (0.5, 0.9):
            theirs = cells[f"push {SIZE} B N={owners} load={load:g}"]["staleness"]
            known = np.array([fmean(theirs)]), np.array([stdev(theirs) / sqrt(len(theirs))])
            cell = Wired("push", owners, SIZE, load, 400)
            ours = fmean(figures(cell, alone, seed)["staleness"] for seed in SEEDS)
            queued += _off(np.array([ours]), *known)
            under_way = load / owners * SPEED / SIZE * alone[SIZE]
            apart += _off(np.array([(owners - 1) * under_way / (1 + under_way)]), *known)
    return queued, apart


def _off(ours: Any, theirs: Any, error: Any) -> list[Off]:
    share = ours / theirs
    return list(zip(100 * (share - 1), 200 * share * error / theirs, strict=True))
