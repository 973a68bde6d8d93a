"""``python -m tests.documents``: rewrite what docs have from the code.

The blocks of ``docs/parts``; with ``--notebook`` also what the researcher's notebook prints.
"""

import sys

from tests.documents.notebook import NOTEBOOK, write
from tests.documents.parts import PARTS, rewritten

for path in sorted(PARTS.rglob("*.md")):
    path.write_text(rewritten(path.read_text("utf-8")), encoding="utf-8")
if "--notebook" in sys.argv[1:]:
    write(NOTEBOOK)
