"""Plain English: phrases of a former dialect, one a line in ``dialect.txt``, do not come back."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PHRASES = Path(__file__).with_name("dialect.txt").read_text("utf-8").splitlines()
DIALECT = re.compile(rf"\b({'|'.join(map(re.escape, PHRASES))})\b", re.I)
COLUMN = re.compile(r"[.\"`\[]unheard\b|^unheard\b", re.M)
"""The name of a column of results, which stays."""
BREAK = re.compile(r"[\"'#]*\s+[\"'#]*\s*")
"""A space, or the end of a line within a sentence."""
TEXTS = ("*.md", "docs/**/*.md", "asyncdp_sim/**/*.py", "asyncdp_sim/**/*.toml")


@pytest.mark.long
def test_texts_are_in_plain_english():
    texts = {
        str(file.relative_to(ROOT)): file.read_text("utf-8")
        for pattern in TEXTS
        for file in ROOT.glob(pattern)
    }
    texts["CHANGELOG.md"] = texts["CHANGELOG.md"].partition("\n## 0.1.0")[0]
    found = {
        name: phrases
        for name, text in texts.items()
        if (phrases := DIALECT.findall(BREAK.sub(" ", COLUMN.sub("", text))))
    }
    assert found == {}
