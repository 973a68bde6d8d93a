"""``python -m tests.nightly``: try all that is believed of the simulator; write what was found.

``--only`` names the parts that run (oracles, mutants, versions, fuzz; without one the
page alone is written anew), ``--item WORD`` those of their items whose name has the word,
``--missing`` those of which nothing is kept yet, and ``--seed`` the number that all fresh seeds are
of; it is drawn otherwise, and logged. What was found is kept item by item in
``tests/nightly/found``; from there ``docs/verification.md`` is made, and its date in the README.
Exit 1 where something failed, survived or escaped.
"""

import argparse
import re
import secrets
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

from tests.nightly.kept import Found, keep, kept, prune, stamp
from tests.nightly.page import PAGE, newest, pages
from tests.nightly.parts import PARTS
from tests.nightly.reports import ROOT

README = ROOT / "README.md"
LINK = re.compile(r"(\[[^]]*\]\(docs/verification\.md\) \(last on )[^)]*\)")


def main(arguments: Sequence[str]) -> int:
    """Run the chosen parts, and write the page."""
    options = argparse.ArgumentParser(prog="python -m tests.nightly")
    options.add_argument("--only", nargs="*", choices=PARTS, default=list(PARTS))
    options.add_argument("--item", default="")
    options.add_argument("--missing", action="store_true")
    options.add_argument("--seed", type=int, default=secrets.randbits(31))
    given = options.parse_args(arguments)
    bad = 0
    for name in given.only:
        items = [each for each in PARTS[name].items() if given.item in each]
        there = kept(name) if given.missing else {}
        for item, found in _run(name, [each for each in items if each not in there], given.seed):
            keep(name, item, found)
            write()  # after each: the suite on other versions compares the two
            wrong = list(faults(found))
            bad += len(wrong)
            sys.stdout.write("\n".join([f"{name}: {item}: {found['seconds']} s", *wrong]) + "\n")
            sys.stdout.flush()
    write()
    return int(bad > 0)


def _run(name: str, items: Sequence[str], seed: int) -> Iterator[tuple[str, Found]]:
    """Yield items of a part with what was found, each with its stamp."""
    began = time.monotonic()
    for item, found in PARTS[name].run(items, seed):
        yield item, stamp(seed, began) | found
        began = time.monotonic()


def faults(found: Found) -> Iterator[str]:
    """Yield what is wrong in what was found of an item, a line each."""
    failed: dict[str, Any] = found.get("failed", {})
    yield from (f"  FAILED {test}: {why}" for test, why in failed.items())
    if "noticed_by" in found and found["noticed_by"] is None:
        yield "  SURVIVED"
    if found.get("passed") is False:
        yield f"  FAILED {found['said']}"
    for test, each in found.get("tests", {}).items():
        if each["outcome"] != "passed":
            yield f"  FAILED {test}: {each['why']}"


def dated(readme: str, date: str) -> str:
    """Return the README with a date beside its link.

    Raises
    ------
    ValueError
        If it has no such link.
    """
    text, count = LINK.subn(rf"\g<1>{date})", readme)
    if count != 1:
        raise ValueError(f"{README}: no link to {PAGE.name} with (last on …) behind it")
    return text


def write() -> None:
    """Write the pages, and their date in the README, after what is gone was dropped."""
    for name, part in PARTS.items():
        prune(name, part.items())
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
    README.write_text(dated(README.read_text(encoding="utf-8"), newest()), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
