"""The least version of each package that the project declares to run with."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
"""Of which the first is the oldest."""
EXTRA = "suite"
"""What the suite needs: not lint, whose tools are pinned and want new libraries."""
_REQUIREMENT = re.compile(r"([\w.-]+)(?:\[([\w,]+)\])?(?:(>=|==)([\w.]+))?$")


def minima() -> dict[str, str]:
    """Return the least version of each package that the suite needs, by its name.

    Raises
    ------
    ValueError
        If a requirement names none.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    return dict(_least(project["dependencies"], extras, project["name"])) | dict(
        _least(extras[EXTRA], extras, project["name"])
    )


def _least(wanted: list[str], extras: dict[str, list[str]], own: str) -> Iterator[tuple[str, str]]:
    for requirement in wanted:
        found = _REQUIREMENT.match(requirement)
        if found is None or (found[4] is None and found[1] != own):
            raise ValueError(f"{requirement!r} names no least version")
        if found[1] == own:
            for extra in found[2].split(","):
                yield from _least(extras[extra], extras, own)
        else:
            yield found[1], found[4]


def constraints() -> str:
    """Return the minima as a file of constraints."""
    return "".join(f"{name}=={version}\n" for name, version in sorted(minima().items()))
