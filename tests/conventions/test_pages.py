"""Blocks of Python on pages of ``docs`` work as they stand there, one after the other."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = ("simpy.md",)


@pytest.mark.parametrize("name", PAGES)
def test_every_block_runs(name: str) -> None:
    page = (DOCS / name).read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S)
    assert len(blocks) > 0
    known: dict[str, object] = {"__name__": "page"}
    for block in blocks:
        exec(compile(block, name, "exec", dont_inherit=True), known)
