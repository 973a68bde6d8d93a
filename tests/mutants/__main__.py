"""``python -m tests.mutants [WORD]``: plant the mutants whose name has the word; list survivors.

With a word, the tests are not run before without any mutant.
"""

import sys
import tempfile
from pathlib import Path

from tests.mutants.hunt import hunt
from tests.mutants.mutant import MUTANTS


def main(word: str = "") -> int:
    """Return the number of survivors."""
    chosen = [mutant for mutant in MUTANTS if word in mutant.name]
    survivors = 0
    with tempfile.TemporaryDirectory() as temporary:
        for found in hunt(chosen, Path(temporary), sound=word != ""):
            survivors += found.killer is None
            said = "SURVIVED" if found.killer is None else f"noticed by {found.killer}"
            print(f"{found.mutant.name}\n    {said}", flush=True)
    print(f"{len(chosen)} mutants, {survivors} survived")
    return survivors


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]) > 0)
