"""``python -m tests.fingerprints -o FILE`` records the bits of the catalogue and of all kinds.

``python -m tests.fingerprints --against FILE`` compares them with such a file and lists every
difference; ``--only catalogue`` and ``--only kinds`` do a part. A line of a file is a cell of an
entry, or a small scenario around a member of a family, in layers, so that a difference says what it
is a difference of. Bits are compared on one machine with one set of libraries. Exit 0 done, 1 some
differ, 2 wrong arguments.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from asyncdp_sim.scenario.catalogue import catalogue
from tests.fingerprints.fingerprint import Fingerprint, cells, recorded
from tests.fingerprints.kinds import all_kinds

PARTS = ("catalogue", "kinds")
Fingerprints = dict[str, Fingerprint]


def main(arguments: list[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.fingerprints", description=__doc__)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("-o", type=Path, metavar="FILE", help="write all fingerprints here")
    what.add_argument("--against", type=Path, metavar="FILE", help="compare all with these")
    parser.add_argument("--workers", type=int, default=2, help="processes; changes no bit")
    parser.add_argument("--only", choices=PARTS, help="a part of them")
    asked = parser.parse_args(arguments)
    parts = PARTS if asked.only is None else (asked.only,)
    before = None if asked.against is None else json.loads(asked.against.read_text("utf-8"))
    found = taken(asked.workers, parts)
    refused = sum("refused" in each for each in found.values())
    print(f"{len(found)} fingerprints, {refused} of them refused")
    if before is None:
        asked.o.write_text(as_text(found), encoding="utf-8")
        return 0
    of_kinds = {key for key in before if key.startswith("kind ")}
    asked_for = {"kinds": of_kinds, "catalogue": before.keys() - of_kinds}
    wanted = {key: before[key] for part in parts for key in asked_for[part]}
    told = list(differences(wanted, found))
    print(*told, f"{len(told)} differences", sep="\n")
    return int(len(told) > 0)


def taken(workers: int, parts: Sequence[str] = PARTS) -> Fingerprints:
    """Return the fingerprints of all entries, by entry and cell, and of all kinds."""
    names = [entry.name for entry in catalogue()] if "catalogue" in parts else []
    chosen = [(name, cell) for name in names for cell in cells(name)]
    with ProcessPoolExecutor(workers) as pool:
        kinds = pool.submit(all_kinds) if "kinds" in parts else None
        found = [pool.submit(recorded, name, cell) for name, cell in chosen]
        by_cell = {
            f"{name} {cell:04d}": each.result()
            for (name, cell), each in zip(chosen, found, strict=True)
        }
        return by_cell | ({} if kinds is None else kinds.result())


def as_text(found: Fingerprints) -> str:
    """Return JSON of one line per cell, sorted."""
    lines = (f"{json.dumps(key)}: {json.dumps(found[key])}" for key in sorted(found))
    return "{\n" + ",\n".join(lines) + "\n}\n"


def differences(before: Fingerprints, after: Fingerprints) -> Iterator[str]:
    """Yield a line for each layer of each cell that is another now, or is there only once."""
    for key in sorted(before.keys() | after.keys()):
        old, new = before.get(key, {}), after.get(key, {})
        for layer in dict.fromkeys((*old, *new)):
            was, now = old.get(layer, "absent"), new.get(layer, "absent")
            if was != now:
                yield f"{key}: {layer} was {was}, is {now}"


if __name__ == "__main__":
    sys.exit(main())
