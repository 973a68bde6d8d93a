"""``python -m tests.peers.ns3.picture`` draws ours, ns-3 and the formula: docs/pictures/ns3.png."""

import json
from math import sqrt
from pathlib import Path
from statistics import fmean, stdev

from matplotlib.figure import Figure

from asyncdp_sim.network.channels.csma import Dcf
from asyncdp_sim.theory.predict.all import predicted
from asyncdp_sim.theory.predict.channels import approximation
from tests.peers.ns3.measure import FIGURES, OWNERS, SPEED, WINDOWS
from tests.peers.ns3.ours import OTHERS, dcf, link, measured

PICTURE = Path("docs/pictures/ns3.png")
SECONDS = 1.0


def main() -> None:
    """Draw rates of Wi-Fi with small windows, and times of answers on a shared link."""
    made = json.loads(FIGURES.read_text("utf-8"))
    figure = Figure(figsize=(8.4, 3.2), layout="constrained", dpi=150)
    wifi, wired = figure.subplots(1, 2)
    small = WINDOWS["4-8"]
    for mark, (heard, others) in zip("so", OTHERS.items(), strict=True):
        theirs = [made["dcf"]["cells"][f"{heard} 4-8 N={n}"]["rate"][0] for n in OWNERS]
        wifi.plot(OWNERS, theirs, f"k{mark}", mfc="none", label=f"ns-3, others wait {heard}")
        nets = [dcf(n, *small, others_after_collision=others) for n in OWNERS]
        rates = [1e6 * measured(net, SECONDS * 1e6)[0] for net in nets]
        wifi.plot(OWNERS, rates, "-", label=f"ours, others wait {heard}")
        print(heard, [f"{rate:.0f}" for rate in rates])
    for counting, style in (("frozen", "--"), ("bianchi", ":")):
        nets = [dcf(n, *small, counting=counting) for n in OWNERS]
        rates = [1e6 * measured(net, SECONDS * 1e6)[0] for net in nets]
        wifi.plot(OWNERS, rates, style, color="0.5", label=f"ours, {counting}, no other wait")
        about = [
            1e6 * approximation(net.channel, n, 176.0).success_rate
            for net, n in zip(nets, OWNERS, strict=True)
            if isinstance(net.channel, Dcf)
        ]
        print(counting, [f"{rate:.0f}" for rate in rates], [f"{rate:.0f}" for rate in about])
        mark = {"frozen": "x", "bianchi": "+"}[counting]
        wifi.plot(OWNERS, about, mark, color="0.5", label=f"fixed point, {counting}")
    wifi.set(xlabel="stations, windows of 4 to 8 slots", ylabel="answers per second", ylim=0)
    far = rates[-1] / theirs[-1] - 1  # Bianchi's slots with the most stations
    wifi.set_title(
        f"Counts that freeze follow ns-3; Bianchi's slots are up to {-far:.0%} off", fontsize=9
    )
    wifi.legend(fontsize=6)
    theirs, size = made["tcp"]["cells"], 1_000_000
    alone = {size: fmean(theirs[f"push {size} B alone"]["mean"])}
    for owners, colour in ((3, "C0"), (10, "C1"), (40, "C2")):
        for load in (0.5, 0.9):
            runs = theirs[f"push {size} B N={owners} load={load:g}"]["staleness"]
            bar = 2 * stdev(runs) / sqrt(len(runs))
            label = f"ns-3, N = {owners}" if load == 0.5 else None
            look = {"fmt": "s", "color": colour, "mfc": "none", "label": label}
            wired.errorbar(load, fmean(runs), bar, **look)
        grid = [0.05 * step for step in range(1, 21)]
        net = [link(("push", owners, size, load, 10**6), alone) for load in grid]
        wired.plot(grid, [predicted(each, "mean_staleness") for each in net], color=colour)
        each = [load / owners * SPEED / size * alone[size] for load in grid]
        wired.plot(grid, [(owners - 1) * x / (1 + x) for x in each], ":", color=colour)
    wired.set(xlabel="load of the shared link, answers of 1 MB", ylabel="staleness")
    wired.set_title("A bottleneck follows TCP; independent latencies do not", fontsize=9)
    wired.legend(fontsize=7, title="lines: bottleneck\ndots: independent latency", title_fontsize=7)
    figure.savefig(PICTURE)


if __name__ == "__main__":
    main()
