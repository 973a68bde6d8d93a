"""Plain English: phrases of a former dialect, one a line in ``dialect.txt``, do not come back."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PHRASES = Path(__file__).with_name("dialect.txt").read_text("utf-8").splitlines()
DIALECT = re.compile(rf"\b({'|'.join(map(re.escape, PHRASES))})\b", re.I)
COLUMN = re.compile(r"[.\"`]unheard\b")
"""The name of a column of results, which stays."""
BREAK = re.compile(r"[\"'#]*\s+[\"'#]*\s*")
"""A space, or the end of a line within a sentence."""
TEXTS = ("*.md", "docs/**/*.md", "asyncdp_sim/**/*.py", "asyncdp_sim/**/*.toml")
OPEN = tuple(
    """
    asyncdp_sim/api/ asyncdp_sim/audits/ asyncdp_sim/columns/ asyncdp_sim/comparisons/
    asyncdp_sim/data/ asyncdp_sim/evidence/ asyncdp_sim/figures/ asyncdp_sim/measures/
    asyncdp_sim/privacy/ asyncdp_sim/reference/ asyncdp_sim/rehearsals/ asyncdp_sim/reports/
    docs/parts/ docs/privacy/aggregation.md docs/reference/ docs/verification.md
    """.split()
)
"""Where phrases remain, or come from: this list has to become empty."""


def test_texts_are_in_plain_english() -> None:
    texts = {
        str(file.relative_to(ROOT)): file.read_text("utf-8")
        for pattern in TEXTS
        for file in ROOT.glob(pattern)
    }
    texts["CHANGELOG.md"] = texts["CHANGELOG.md"].partition("\n## 0.1.0")[0]
    found = {
        name: phrases
        for name, text in texts.items()
        if not name.startswith(OPEN)
        and (phrases := DIALECT.findall(BREAK.sub(" ", COLUMN.sub("", text))))
    }
    assert found == {}
