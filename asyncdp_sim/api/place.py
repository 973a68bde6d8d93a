"""Places of results on disk: directories that stay, and those that go with their result."""

import shutil
import tempfile
import weakref
from pathlib import Path


class KeptDirectory:
    """A directory that is kept, or is removed when nobody holds on to this object any more.

    Parameters
    ----------
    path : Path, optional
        Where it is to stay; absent, it is a temporary one, which does not exist yet.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.kept = path is not None
        if path is None:
            folder = tempfile.mkdtemp(prefix="asyncdp-")
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
            path = Path(folder) / "result"
        self.path = path
