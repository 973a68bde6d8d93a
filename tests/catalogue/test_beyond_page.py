"""Pages of others' results say what runs say: every figure of their tables, at full size."""

from collections.abc import Callable
from pathlib import Path

import pytest

from scenarios.beyond import RESULTS, absence, lasting, muffliato, waves
from scenarios.beyond.observers import linear_systems
from scenarios.papers.claims import Judged
from tests.catalogue.verdicts import verdicts

pytestmark = pytest.mark.nightly

PAGES = Path(__file__).parents[2] / "docs" / "beyond"
Found = dict[str, Judged]


def told(judged: Judged, digits: int) -> str:
    """Return a figure and its standard error, as tables have them."""
    assert judged.error is not None
    return f"{judged.ours:.{digits}f} ± {judged.error:.{digits}f}"


def of_muffliato(found: Found) -> list[str]:
    quantities = {
        "share of pairs whose loss is above the sum": "0",
        "mean loss over the mean of the sum, capped": "1",
        "mean loss over the mean of the sum, as it is": "1",
        "mean loss over a trusted curator's: a factor of the graph": "",
    }
    rows = []
    for quantity, printed in quantities.items():
        cells = [told(found[f"{graph}: {quantity}"], 2) for graph in muffliato.GRAPHS]
        rows.append(f"| {quantity} | {printed} | {' | '.join(cells)} |".replace("|  |", "| |"))
    return rows


def of_bias(found: Found) -> list[str]:
    return [
        f" | {told(found[f'{name}: bias over that of equation (3)'], 2)} | "
        for name in absence.NAMES
    ]


def of_lasting(found: Found) -> list[str]:
    said = "mean ψ, beside its exact value"
    return [f" | {found[f'{name}: {said}'].ours:.4f} ± " for name in lasting.NAMES]


def of_waves(found: Found) -> list[str]:
    said = "mean ψ, beside its exact value"
    ours = [[f"{found[f'{of(each)}: {said}'].ours:.4f}" for each in waves.DEGREES]
            for of in (waves.in_waves, waves.steady)]  # fmt: skip
    return [f"| {each} ± " for row in ours for each in row]


def of_routing(found: Found) -> list[str]:
    quantities = (
        "share of the time to ψ = 0.02 saved by the best m and p, over all alike and m = N",
        "share of the joules of boards to ψ = 0.02 saved by the best m and p, over all alike and "
        "m = N",
        "that share, without watts while idle, beside its forecast",
        "share of the joules that the quickest choice saves, if all answers cost as many: a loss",
    )
    return [f"| {told(found[quantity], 2)} | " for quantity in quantities]


def of_accuracy(found: Found) -> list[str]:
    said = "accuracy gained over all alike and m = N after {} units, relative"
    gains = [found[said.format(time)] for time in (1, 2, 12)]
    alike = told(found["accuracy gained after 1 unit where all owners have one speed, relative"], 2)
    return [*(f"| 0.10 to 0.30 | {told(each, 2)} | " for each in gains), f"| 0 | {alike} | "]


def of_pairs(found: Found) -> list[str]:
    quantities = (
        "local noise, everything being sent to all: error at equal μ², over a curator's",
        "gossip alone: error at equal mean μ² of pairs, over a curator's",
        "pairwise noise: error at equal mean μ² of pairs, over a curator's",
        "error of pairwise noise over that of gossip alone",
    )
    return [
        " | ".join(told(found[f"{graph}: {each}"], 2) for graph in muffliato.GRAPHS)
        for each in quantities
    ]


def of_users(found: Found) -> list[str]:
    return [
        f"| {each.published:g} | {each.ours:.3g} ± {each.error:.2g} | " for each in found.values()
    ]


def of_sums(found: Found) -> list[str]:
    said, gained = ": ψ over that of single answers, ", ": mean gain above that of single answers, "
    opened = {("12 of 16, one trip", "0.2"): "0.261", ("12 of 16, one trip", "0.3"): "0.032"}
    rows = [f"| {name} | {absent} | {share} | " for (name, absent), share in opened.items()]
    for each in found.values():
        name, _, absent = each.quantity.partition(said)
        if absent and name[:4] != "8 of":
            of_gain = f"{name}{gained}{absent.partition(':')[0]}"
            [gain] = [one.ours for one in found.values() if one.quantity.startswith(of_gain)]
            word = {"below 1": "better", "above 1": "worse"}
            verdict = absent.partition(": ")[2]
            verdict = word.get(verdict, verdict)
            rows += [f" | {each.ours:.3f} (", f"): {verdict} | {gain:.3f} ± "]
    return rows


def of_systems(found: Found) -> list[str]:
    every = [", ".join(view) for view in linear_systems.VIEWS]
    rows, first = [], every[0]
    assert {f"{found[f'{graph}: {view}: {linear_systems.GROWTH}'].ours:.2f}"
            for graph in linear_systems.GRAPHS for view in every} == {"2.00"}  # fmt: skip
    for quantity in (
        f"{first}: {linear_systems.GROWTH}, most exposed owner",
        f"{first}: {linear_systems.GROWTH}, each round apart",
        *(f"{view}: {linear_systems.OVER}" for view in every),
    ):
        cells = [f"{found[f'{graph}: {quantity}'].ours:.2f}" for graph in linear_systems.GRAPHS]
        rows.append(f"| {' | '.join(cells)} |")
    tests = [each.ours for each in found.values() if linear_systems.TESTED in each.quantity]
    return [*rows, f"{min(tests):.2f} to {max(tests):.2f} of their predicted"]


def of_devices(found: Found) -> list[str]:
    updates, loss = list(found.values())[:2]
    return [f"| {told(updates, 2)} | ", f"| {told(loss, 2)} | "]


ROWS: dict[str, Callable[[Found], list[str]]] = {
    "muffliato": of_muffliato,
    "fedawe-bias": of_bias,
    "ca-fed": of_lasting,
    "fedawe-waves": of_waves,
    "routing": of_routing,
    "routing-accuracy": of_accuracy,
    "decor": of_pairs,
    "hidden-users": of_users,
    "five-devices": of_devices,
    "linear-systems": of_systems,
    "secure-sums": of_sums,
}


@pytest.mark.parametrize("figure", RESULTS, ids=lambda figure: figure.name)
def test_tables_have_what_comes_out(figure, tmp_path):
    page = (PAGES / f"{figure.name}.md").read_text(encoding="utf-8")
    found = verdicts(figure, tmp_path)
    assert not [each for each in found if each.verdict == "fails"]
    missing = [row for row in ROWS[figure.name]({each.quantity: each for each in found})
               if row not in page]  # fmt: skip
    assert missing == []
