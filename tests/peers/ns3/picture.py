"""Differences from ns-3, a row for each family of cells, drawn by ``python -m tests.pictures ns3``.

What is compared is how many answers arrive per second, or of those sent; with TCP how long one
takes. Ours is simulated with as many seeds as ns-3; a formula is what one would calculate instead.
Rounds over TCP are left out, as our times of queries are fitted to them.
"""

import json
from collections.abc import Iterator, Sequence
from math import ceil, hypot, sqrt
from statistics import fmean, stdev
from typing import Any, NamedTuple

import numpy as np

from analysis.one_panel import DOTS, TRUTH, one_panel
from asyncdp_sim.core.arrays import Columns
from asyncdp_sim.figures.drawer import Layer, Side
from asyncdp_sim.figures.picture import Picture
from asyncdp_sim.network.channels.aloha import Aloha
from asyncdp_sim.network.channels.csma import Csma
from asyncdp_sim.theory.formulas import channels
from asyncdp_sim.theory.formulas.channels import dcf_fixed_point
from tests.peers.ns3.measure import FIGURES, SEEDS, cells
from tests.peers.ns3.ours import OTHERS, WIFI, cell_of, dcf, figures, lossy, measured, per_answer

SIZE = 1_000_000
"""Bytes of an answer on the shared link."""
LOADS = ("load=0.5", "load=0.9")
"""Of the shared link; at 0.1 ns-3 has one or two seeds."""
EIFS, BROADCAST = "Wi-Fi, EIFS", "TCP broadcast"
BEYOND = {BROADCAST: "TCP broadcasts", EIFS: "Wi-Fi where others wait EIFS"}
"""Families of which the page states a cause that ours does not have."""
PAIR = 2
"""Stations of which no other waits: EIFS and DIFS are one cell."""
TURN = 192 / 4256
"""Of 802.15.4: the time to turn around, in airtimes."""
SECONDS, AIRTIMES, ANSWERS = 2.0, 50_000.0, 20_000.0
OURS: dict[str, Any] = DOTS | {"markersize": 4, "elinewidth": 0.9, "capsize": 0}
FORMULA: dict[str, Any] = OURS | {"marker": "^", "color": "#D55E00"}
Mean = tuple[float, float]
"""A mean and its standard error."""


class Off(NamedTuple):
    """Differences from ns-3 in a cell, and two of their standard errors; per cent."""

    family: str
    cell: str
    ours: float
    ours_error: float
    formula: float
    formula_error: float


def picture() -> Picture:
    """Draw the differences in each cell, a row for each family."""
    found = list(compared(json.loads(FIGURES.read_text("utf-8"))))
    table = {name: np.array(column) for name, column in zip(Off._fields, zip(*found, strict=True),
                                                            strict=True)}  # fmt: skip
    families = list(dict.fromkeys(table["family"].tolist()))
    names = sorted(families, key=lambda name: name in BEYOND)
    row = np.array([names.index(family) for family in table["family"]], dtype=float)
    rows, most = (-0.6, len(names) - 0.4), usual(table)
    shade = {"color": "0.9", "zorder": 0}
    marks = [
        Layer("band", scaled([-most, most]), None, [rows[0]] * 2, [rows[1]] * 2, look=shade),
        Layer("upright", 0.0, look=TRUTH),
        Layer("line", name="our simulation, ± 2 standard errors", look=OURS),
        Layer("line", name="closed formula (TCP: no waiting)", look=FORMULA),
    ]
    for what, aside, look in (("formula", 0.2, FORMULA), ("ours", -0.2, OURS)):
        off, error = table[what], table[f"{what}_error"]
        value, low, high = map(scaled, (off, off - error, off + error))
        marks.append(Layer("rows", value, row + aside, low, high, look=look))
    ticks = -80, -30, -most, 0, most, 15
    sides = (
        Side(
            "rate of answers against ns-3, %\n(TCP: time of an answer)",
            limits=tuple(scaled([-130, 22])),
            ticks=scaled(ticks).tolist(),
            labels=[f"{each:+}".replace("-", "−") if each else "ns-3" for each in ticks],
        ),
        Side(limits=rows[::-1], ticks=range(len(names)), labels=names, grid=True),
    )
    caption = (
        f"A mark is a cell, with ± 2 standard errors of both; shade: within {most} %. The axis is "
        "the inverse hyperbolic sine of per cents: wide about 0, and logarithmic beyond 3. "
        "Numbers of slots are the windows of Wi-Fi; TCP sends 1 MB at loads 0.5 and 0.9. "
        "Formulas: Bianchi's fixed point for Wi-Fi, and for TCP answers that never wait."
    )
    note = (
        f"A mark is a number of stations and a load. EIFS: the longer wait of those who heard a "
        f"collision. Shade: within {most} %; the axis is stretched about 0. TCP rounds are left "
        "out: our times of queries are fitted to them."
    )
    return one_panel("ns3", nearest(table), marks, sides, caption, table, height=3.9, note=note)


def scaled(per_cent: Any) -> Any:
    """Return places on the axis."""
    return np.arcsinh(np.asarray(per_cent, dtype=float))


def usual(table: Columns) -> int:
    """Return how far off ours is at most where no other cause is known, in per cent, rounded up."""
    return ceil(np.abs(table["ours"][~np.isin(table["family"], list(BEYOND))]).max())


def nearest(table: Columns) -> str:
    """Return how far off ours and the formulas are at most, in per cent, rounded."""
    off = {
        family: [np.abs(table[who][table["family"] == family]).max() for who in ("ours", "formula")]
        for family in np.unique(table["family"])
    }
    parts = [f"{name} (up to {off[family][0]:.0f} %)" for family, name in BEYOND.items()]
    formulas, most = [formula for _, formula in off.values()], usual(table)
    return (
        f"Our simulation is within {most} % of ns-3, except for {' and '.join(parts)}; closed "
        f"formulas are so in {sum(each <= most for each in formulas)} of {len(formulas)} rows, and "
        f"up to {max(formulas):.0f} % off in the others"
    )


def compared(known: Any) -> Iterator[Off]:
    """Yield the difference in each cell, of what ns-3 measured."""
    for program, channel, key in (
        ("aloha", Aloha(airtime=1.0), "received"),
        ("csma", Csma(airtime=1.0, propagation_delay=TURN), "received"),
    ):
        for name, (owners, load, _) in cells(program):
            each = load / owners
            net = cell_of(owners, channel, each)
            formula = channels.aloha(owners, each, 1.0).success_rate
            if program == "csma":
                formula = channels.csma(owners, each, 1.0, TURN).success_rate
            ours = _mean([measured(net, AIRTIMES, seed)[0] for seed in SEEDS])
            yield _off(program.upper(), name, ours, known[program]["cells"][name][key], formula)
    for name, (loss, most, _) in cells("lossy"):
        ours = _mean([per_answer(lossy(loss, most), ANSWERS, seed)[0] for seed in SEEDS])
        theirs = known["lossy"]["cells"][name]["arrived"]
        yield _off("lossy link", name, ours, theirs, channels.delivered(loss, most))
    yield from _wifi(known["dcf"]["cells"])
    yield from _wired(known["tcp"]["cells"])


def _wifi(known: Any) -> Iterator[Off]:
    times = WIFI["slot"], WIFI["airtime"], WIFI["after_success"], WIFI["after_collision"]
    for name, (owners, first, last, _, _) in cells("dcf"):
        waits, windows, _ = name.split()
        if waits == "EIFS" and owners == PAIR:
            continue
        counting: dict[str, Any] = {"counting": "frozen", "others_after_collision": OTHERS[waits]}
        net = dcf(owners, first, last, **counting)
        ours = _mean([1e6 * measured(net, SECONDS * 1e6, seed)[0] for seed in SEEDS])
        point = dcf_fixed_point(owners, first, (last // first).bit_length() - 1)
        family = EIFS if waits == "EIFS" else f"Wi-Fi, {windows.replace('-', '–')} slots"
        formula = 1e6 * point.access(*times).success_rate
        yield _off(family, name, ours, known[name]["rate"], formula)


def _wired(known: Any) -> Iterator[Off]:
    alone = {size: fmean(known[f"push {size} B alone"]["mean"]) for size in (40, SIZE)}
    never_waits = {"push": alone[SIZE], "request": alone[40] + 2 * alone[SIZE]}
    for name, cell in cells("tcp"):
        if cell.protocol == "rounds" or not name.endswith(LOADS) or f" {SIZE} " not in name:
            continue
        theirs = known[name]["mean"]
        ours = [float(figures(cell, alone, seed)["mean"]) for seed in SEEDS]
        share = fmean(ours) / fmean(theirs)
        # Both have the same ticks: a seed's difference varies less than either.
        apart = _mean([one - share * other for one, other in zip(ours, theirs, strict=True)])[1]
        off = _off(f"TCP {cell.protocol}", name, (fmean(ours), 0.0), _mean(theirs),
                   never_waits.get(cell.protocol, alone[SIZE]))  # fmt: skip
        yield off._replace(ours_error=200 * apart / fmean(theirs))


def _mean(values: Sequence[float]) -> Mean:
    return fmean(values), stdev(values) / sqrt(len(values))


def _off(family: str, cell: str, ours: Mean, theirs: Sequence[float], formula: float) -> Off:
    (mine, error), (mean, its) = ours, theirs
    shares = mine / mean, formula / mean
    both = 200 * shares[0] * hypot(error / mine, its / mean)
    return Off(family, cell, 100 * (shares[0] - 1), both, 100 * (shares[1] - 1),
               200 * shares[1] * its / mean)  # fmt: skip
