"""``python -m tests.versions [PYTEST ARGUMENTS]``: the suite on old and new versions.

Environments are made in ``.versions`` and kept there; what cannot be had is named, never assumed.
"""

import sys

from tests.versions.matrix import main

sys.exit(main(sys.argv[1:]) > 0)
