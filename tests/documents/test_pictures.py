"""Pictures of the docs: each has its table and its answer, is not stale, and is in plain words."""

import csv
import math
import re

import numpy as np
import pytest
from PIL import Image

from asyncdp_sim.figures.picture import as_csv
from asyncdp_sim.scenario.catalogue import catalogue
from scenarios.beyond import RESULTS
from tests.conventions.test_conventions import DIALECT
from tests.pictures import FOLDER, PROGRAMS, SOURCES, drawn

QUICK = ("twenty-small-banks", "decisions")
BANKS = QUICK[0]
OF_GAIN = re.compile(r"\b(gains?|join|profits?)\b", re.I)
"""Words of a decision: ψ, the fit to all records, is none."""


def title(name: str) -> str:
    """Return the answer that is written on a picture, from its file."""
    with Image.open(FOLDER / f"{name}.png") as image:
        return str(image.info["Title"])


def table(text: str) -> dict[str, list[str]]:
    """Return the columns of a picture's table."""
    head, *rows = csv.reader(text.splitlines())
    return dict(zip(head, map(list, zip(*rows, strict=True)), strict=True))


def test_every_picture_of_the_docs_has_a_source_and_a_page():
    known = {*PROGRAMS, *(each.name for each in RESULTS), *(each.name for each in catalogue())}
    assert set(SOURCES) <= known
    pages = "".join(file.read_text("utf-8") for file in (FOLDER.parent).rglob("*.md"))
    assert [name for name in SOURCES if f"pictures/{name}.png" not in pages] == []


@pytest.mark.parametrize("name", SOURCES)
def test_its_answer_is_a_sentence_in_plain_words_and_its_table_is_beside_it(name):
    text = title(name)
    assert len(text.split()) > 4
    assert DIALECT.findall(text) == []
    if any(column.startswith("psi") for column in table((FOLDER / f"{name}.csv").read_text())):
        assert OF_GAIN.findall(text) == []


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.long if name in QUICK else pytest.mark.nightly)
        for name in SOURCES
    ],
)
def test_it_is_not_stale(name, tmp_path):
    """Drawn again, a picture has the table and the answer that are in the docs."""
    again = drawn(name, tmp_path / "sweep")
    assert again.said.title == title(name), f"python -m tests.pictures {name} draws it again"
    kept = table((FOLDER / f"{name}.csv").read_text(encoding="utf-8"))
    new = table(as_csv(again.labelled()))
    assert list(new) == list(kept)
    for column, values in kept.items():
        try:
            expected = np.array([float(value or "nan") for value in values])
        except ValueError:
            assert new[column] == values, column
            continue
        found = np.array([float(value or "nan") for value in new[column]])
        np.testing.assert_allclose(found, expected, rtol=1e-6, err_msg=column)


def test_pages_name_the_part_of_the_drop_that_waves_cause():
    columns = table((FOLDER / "fedawe-waves.csv").read_text(encoding="utf-8"))
    psi = dict(
        zip(zip(columns["kind"], columns["degree"], strict=True), columns["psi"], strict=True)
    )
    waves, steady = (
        np.log(float(psi[kind, "0.5"]) / float(psi[kind, "0.1"]))
        for kind in ("in waves", "without waves")
    )
    beyond = FOLDER.parent / "beyond"
    assert f"*Refuted*: its cause. {steady / waves:.0%}".replace("%", " %") in (
        beyond / "fedawe-waves.md"
    ).read_text("utf-8")
    assert round(waves / (waves - steady)) == 5
    assert "waves cause a fifth of it" in (beyond / "README.md").read_text("utf-8")


def test_ours_is_as_far_from_ns3_as_title_and_page_say():
    columns = table((FOLDER / "ns3.csv").read_text(encoding="utf-8"))
    off = dict[str, list[float]]()
    for family, ours in zip(columns["family"], columns["ours"], strict=True):
        off.setdefault(family, []).append(abs(float(ours)))
    most = {family: max(values) for family, values in off.items()}
    beyond = [most.pop(family) for family in ("TCP broadcast", "Wi-Fi, EIFS")]
    said = [f"within {math.ceil(max(most.values()))} % of ns-3, except for TCP broadcasts"]
    said += [f"up to {each:.0f} %)" for each in beyond]
    assert [part for part in said if part not in title("ns3")] == []
    page = (FOLDER.parent / "ns3.md").read_text("utf-8")
    assert f"16 to {beyond[0]:.0f} % too early" in page
    frozen = max(most["Wi-Fi, 16–1024 slots"], most["Wi-Fi, 4–8 slots"])
    eifs = sorted(off["Wi-Fi, EIFS"])
    assert f'| Wi-Fi, `counting = "frozen"` | 8 | up to {math.ceil(frozen)} % |' in page
    eifs_said = f"up to {math.ceil(eifs[-2])} %; {math.ceil(eifs[-1])} % for 20 with small windows"
    assert f"| the same, where others wait EIFS | {len(eifs)} | {eifs_said} |" in page


def test_the_gain_of_routing_has_the_errors_of_its_page():
    """The table of the page has one standard error, the picture two."""
    columns = table((FOLDER / "routing-accuracy.csv").read_text(encoding="utf-8"))
    page = (FOLDER.parent / "beyond" / "routing-accuracy.md").read_text("utf-8")
    for time, gain, error in np.array(list(columns.values())[:3], dtype=float).T:
        if round(time, 9) in (1, 2, 12):
            assert f"| {gain:.2f} ± {error / 2:.2f} |" in page
    [spell] = re.findall(r"only (from .+ units); after", title("routing-accuracy"))
    assert f"at least a tenth {spell}, and about zero" in page


def test_the_break_even_picture_says_what_its_table_has():
    columns = table((FOLDER / f"{BANKS}.csv").read_text(encoding="utf-8"))
    rows = zip(columns["epsilon"], columns["fits_better"], strict=True)
    at_most = [int(better) for epsilon, better in rows if float(epsilon) == 10]
    said = "At ε = 10, the joint model fits all records better than the own model of "
    half = np.median(np.array(columns["break_even_epsilon"], dtype=float)[: len(at_most)])
    said += f"{sum(at_most)} of {len(at_most)} owners; from ε = {half:.3g} ("
    assert title(BANKS).startswith(said)
