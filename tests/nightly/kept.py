"""Findings of the nightly run, kept between runs: a file for each part, by item.

Each item has its own date, commit and seed, so that parts may run at different times, and what
failed may be run again by itself.
"""

import json
import subprocess
import time
from collections.abc import Collection, Mapping
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


def prune(part: str, items: Collection[str], folder: Path = FOLDER) -> None:
    """Drop what is kept of items that a part no longer has, or whose noticing test is gone."""
    found = kept(part, folder)
    left = {name: each for name, each in found.items() if name in items and _there(each)}
    if left != found:
        _write(part, left, folder)


def _there(found: Found) -> bool:
    """Return whether the test that noticed a mutant, if one did, still has its name."""
    noticed = found.get("noticed_by")
    if noticed is None:
        return True
    file, _, function = noticed.partition("[")[0].partition("::")
    path = ROOT / file
    return path.is_file() and f"def {function.rpartition('::')[2]}" in path.read_text("utf-8")


def keep(part: str, item: str, found: Mapping[str, Any], folder: Path = FOLDER) -> None:
    """Keep what a part found of an item, in the place of what it found before."""
    _write(part, kept(part, folder) | {item: dict(found)}, folder)


def _write(part: str, found: Mapping[str, Found], folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    lines = ",\n".join(f"{json.dumps(name)}: {_line(each)}" for name, each in sorted(found.items()))
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
