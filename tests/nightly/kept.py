"""Findings of the nightly run, kept between runs: a file for each part, by item.

Each item has its own date, commit and seed, so that parts may run at different times, and what
failed may be run again by itself.
"""

import json
import subprocess
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.nightly.reports import ROOT

FOLDER = Path(__file__).parent / "found"
Found = dict[str, Any]


def kept(part: str, folder: Path = FOLDER) -> dict[str, Found]:
    """Return what a part found, by item; nothing where it never ran."""
    file = folder / f"{part}.json"
    return dict(json.loads(file.read_text(encoding="utf-8"))) if file.exists() else {}


def keep(part: str, item: str, found: Mapping[str, Any], folder: Path = FOLDER) -> None:
    """Keep what a part found of an item, in the place of what it found before."""
    folder.mkdir(exist_ok=True)
    all_of_it = dict(sorted((kept(part, folder) | {item: dict(found)}).items()))
    lines = ",\n".join(f"{json.dumps(name)}: {_line(each)}" for name, each in all_of_it.items())
    (folder / f"{part}.json").write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


def _line(found: Found) -> str:
    return json.dumps(found, ensure_ascii=False)


def stamp(seed: int, began: float) -> Found:
    """Return when, of which commit and from which number an item was found.

    Parameters
    ----------
    seed : int
    began : float
        When it began, in seconds of ``time.monotonic``.
    """
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "commit": commit(),
        "seed": seed,
        "seconds": round(time.monotonic() - began, 1),
    }


def commit() -> str:
    """Return the commit of the work tree, with a + where more has changed than what is found.

    Of an unpacked source distribution it is not known, and empty.
    """
    return _git("rev-parse", "--short=10", "HEAD") + ("+" if _git(*CHANGED) != "" else "")


CHANGED = ("status", "--porcelain", "--", ".", ":!tests/nightly/found", ":!docs", ":!README.md")


def _git(*words: str) -> str:
    ended = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return ended.stdout.strip()
