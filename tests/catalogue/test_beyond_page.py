"""Pages of others' results say what runs say: every figure of their tables, at full size."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from asyncdp_sim.scenario.catalogue import entry
from scenarios.beyond import RESULTS, absence, lasting, muffliato, waves
from scenarios.beyond.observers import linear_systems
from scenarios.command import produce
from scenarios.papers.claims import Judged
from tests.catalogue.verdicts import verdicts
from tests.tables import table

pytestmark = pytest.mark.nightly

PAGES = Path(__file__).parents[2] / "docs" / "beyond"
TABLE = table(__file__, "beyond_page.toml")
EACH = {
    "graph": muffliato.GRAPHS,
    "way": absence.NAMES,
    "absence": lasting.NAMES,
    "waves": [of(each) for of in (waves.in_waves, waves.steady) for each in waves.DEGREES],
}
Found = dict[str, Judged]


def told(judged: Judged, digits: int) -> str:
    """Return a figure and its standard error, as tables have them."""
    assert judged.error is not None
    return f"{judged.ours:.{digits}f} ± {judged.error:.{digits}f}"


def filled(name: str, found: Found) -> Iterator[str]:
    """Yield the rows that a page has of a result, with what is found in their places."""
    for row in TABLE[name]:
        names, digits = EACH.get(row.get("each", ""), ("",)), row["digits"]
        quantities = [said.format(name) for name in names for said in row["of"]]
        if row.get("error", True):
            cells = [told(found[quantity], digits) for quantity in quantities]
        else:
            cells = [f"{found[quantity].ours:.{digits}f}" for quantity in quantities]
        in_one = [" | ".join(cells)] if row.get("beside", False) else cells
        yield from (row["row"].format(cell) for cell in in_one)


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
            verdict = absent.partition(": ")[2]
            verdict = {"below 1": "better", "above 1": "worse"}.get(verdict, verdict)
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


ROWS: dict[str, Callable[[Found], list[str]]] = {
    "hidden-users": of_users,
    "linear-systems": of_systems,
    "secure-sums": of_sums,
}


@pytest.mark.parametrize("figure", RESULTS, ids=lambda figure: figure.name)
def test_tables_have_what_comes_out(figure, tmp_path):
    page = (PAGES / f"{figure.name}.md").read_text(encoding="utf-8")
    found = verdicts(figure, tmp_path)
    assert not [each for each in found if each.verdict == "fails"]
    quantities = {each.quantity: each for each in found}
    rows = (
        [*filled(figure.name, quantities)]
        if figure.name in TABLE
        else ROWS[figure.name](quantities)
    )
    assert [row for row in rows if row not in page] == []


# Entries beyond the papers are done within a minute of one processor, pictures included.


ALSO = {"joules-against-accuracy", "steps-against-staleness", "wifi-contention"}
ENTRIES = {figure.entry: figure.origin for figure in RESULTS} | {name: entry(name) for name in ALSO}


@pytest.mark.parametrize("name", sorted(ENTRIES))
def test_a_minute_will_do(name, tmp_path):
    began = time.process_time()
    produce(ENTRIES[name].scenario(), tmp_path / "result", 1)
    assert time.process_time() - began < 60
