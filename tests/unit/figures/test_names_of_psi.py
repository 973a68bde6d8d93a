"""Names of ψ are one dictionary, which every column of a picture is named from."""

import re
from pathlib import Path

from asyncdp_sim.results.columns import summary, tables

ROOT = Path(__file__).resolve().parents[3]
NAME = r"(?:psi|relative_fitness)(?:_\w+)?"
NAMED = re.compile(rf"\"({NAME})\"|\b({NAME})=(?!=)")  # a text, or the name of an argument
PSI = {
    name.partition(".")[0]
    for name in (*summary(), *(column.name for t in tables().values() for column in t.columns))
    if re.fullmatch(rf"{NAME}(\.\w+)?|profits_psi", name)
}
OF_PARTS = r"(_(mean|median|q25|q75|expected))?(_(low|high))?"


def test_columns_of_pictures_are_named_from_the_dictionary():
    folders = (ROOT / "asyncdp_sim" / "figures", ROOT / "analysis")
    text = "\n".join(p.read_text() for folder in folders for p in folder.rglob("*.py"))
    known = re.compile(rf"({'|'.join(PSI)}){OF_PARTS}")
    found = {quoted or given for quoted, given in NAMED.findall(text)} - FORECAST
    assert {"psi_alone", "psi_final_mean", "psi_final_median", "relative_fitness"} <= found
    assert [name for name in sorted(found) if known.fullmatch(name) is None] == []


FORECAST = {"psi"}
"""Keys of ``asyncdp forecast --json``, which are of what is expected."""
