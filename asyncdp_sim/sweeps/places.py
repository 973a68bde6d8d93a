"""Places of sweeps: a directory, or a URL."""

from pathlib import Path

from asyncdp_sim.sweeps.folder import Folder, LocalFolder
from asyncdp_sim.sweeps.url import UrlFolder


def folder(place: Path | str) -> Folder:
    """Return the folder at a path, or at a URL (anything with ``://``)."""
    text = str(place)
    return UrlFolder(text.rstrip("/")) if "://" in text else LocalFolder(Path(place))
