"""The page of the catalogue has every scenario, each once, and no other."""

import re

from asyncdp_sim.scenario.catalogue import catalogue
from tests.documents.parts import ROOT


def test_the_page_lists_the_catalogue():
    page = (ROOT / "docs" / "catalogue.md").read_text("utf-8")
    listed = re.findall(r"^\| `([\w-]+)` \| \S", page, re.M)
    assert sorted(listed) == [entry.name for entry in catalogue()]
