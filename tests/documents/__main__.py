"""``python -m tests.documents``: rewrite what docs have from the code.

The blocks of ``docs/parts``, and what ``asyncdp list`` says of privacy; with ``--notebook`` also
what the researcher's notebook prints. What people write must be there before: a page, or a section
of ``clocks.md`` or ``laws.md``, with the two marks of its block. It says which are not.
"""

import sys

from asyncdp_sim.cli.catalogue import MARKS
from tests.documents.listed import marks
from tests.documents.notebook import NOTEBOOK, write
from tests.documents.parts import PARTS, lacking, rewritten

for path in sorted(PARTS.rglob("*.md")):
    path.write_text(rewritten(path.read_text("utf-8")), encoding="utf-8")
MARKS.write_text(marks(), encoding="utf-8")
if "--notebook" in sys.argv[1:]:
    write(NOTEBOOK)
if lines := lacking():
    sys.exit("\n".join(lines))
