"""``python -m tests.documents``: rewrite the blocks of ``docs/parts`` that come from the code."""

from tests.documents.parts import PARTS, rewritten

for path in sorted(PARTS.rglob("*.md")):
    path.write_text(rewritten(path.read_text("utf-8")), encoding="utf-8")
