"""A planted mistake: one small edit, and the tests that must notice it."""

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Mutant:
    """A mistake that somebody might make.

    Attributes
    ----------
    file : str
        Relative to the root of the project.
    right, wrong : str
        What stands there, exactly once in the file, and what is planted instead.
    why : str
        How somebody may come to write it.
    noticed_by : tuple of str
        Files or folders of tests, fastest first, of which one must fail.
    """

    file: str
    right: str
    wrong: str
    why: str
    noticed_by: tuple[str, ...]

    @property
    def name(self) -> str:
        """Where it is planted, and what."""
        return f"{self.file}: {self.why}"

    def plant(self, root: Path) -> str:
        """Edit the file in a copy of the project; return what stood there.

        Raises
        ------
        ValueError
            If what is to be edited does not stand there exactly once.
        """
        text = (root / self.file).read_text(encoding="utf-8")
        if text.count(self.right) != 1 or self.right == self.wrong:
            raise ValueError(f"{self.file}: {self.right!r} stands there {text.count(self.right)}×")
        (root / self.file).write_text(text.replace(self.right, self.wrong), encoding="utf-8")
        return text


def read(text: str) -> list[Mutant]:
    """Return the mutants of a table: blocks of a name, tests, and lines with "-" and with "+"."""
    mutants = []
    for block in text.strip().split("\n\n")[1:]:
        name, tests, *lines = block.split("\n")
        file, _, why = name.partition(": ")
        right, wrong = ("\n".join(x[2:] for x in lines if x[0] == mark) for mark in "-+")
        mutants.append(Mutant(file, right, wrong, why, tuple(tests.split())))
    return mutants


MUTANTS = read((Path(__file__).parent / "table.txt").read_text(encoding="utf-8"))
"""All mutants; a new one joins by its lines in the table."""
