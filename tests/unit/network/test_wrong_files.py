"""Files of networks that say what cannot be: each with the lines that are said of it.

In ``wrong_files.txt`` a case begins with the section that reads the file, its name, the number of
owners and other fields of the section; below ``<<<`` stands what is said.
"""

import json
from pathlib import Path

import pytest

from asyncdp_sim.network.availability import Intervals
from asyncdp_sim.network.graphs import EdgeFile
from asyncdp_sim.network.topology import GraphFile

READERS = {"topology": GraphFile, "availability": Intervals, "graph": EdgeFile}
_, *CASES = Path(__file__).with_name("wrong_files.txt").read_text("utf-8").split(">>> ")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.splitlines()[-1][:60])
def test_what_is_wrong_with_a_file_is_a_line_each(case: str, tmp_path: Path) -> None:
    head, text = case.split("\n", 1)
    section, name, owners, fields = head.split(" ", 3)
    content, said = text.split("<<<\n")
    (tmp_path / name).write_text(content, encoding="utf-8")
    spec = READERS[section](path=str(tmp_path / name)).model_copy(update=json.loads(fields))
    faults = [str(fault).replace(f"{tmp_path}/", "") for fault in spec.faults(int(owners))]
    assert faults == said.strip().splitlines()
