"""Figures of papers, and results of others, run in their small size, drawn, and judged."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from asyncdp_sim.results import Sweep
from scenarios.papers.claims import Judged
from scenarios.papers.figure import AS_PUBLISHED, PaperFigure
from scenarios.papers.verify import verify


def verdicts(
    figure: PaperFigure, out: Path, *more: str, variants: Sequence[str] = ()
) -> list[Judged]:
    """Return what is found of a figure in ``out``, with some settings changed."""
    return verify([figure], out, full=False, workers=1, variants=variants, more=more, say=str)


@dataclass(frozen=True)
class Verified:
    """What is found of a figure as published, by quantity, and its runs."""

    found: dict[str, Judged]
    sweep: Sweep

    @property
    def differ(self) -> dict[str, str]:
        """Verdicts other than that a quantity agrees."""
        return {q: each.verdict for q, each in self.found.items() if each.verdict != "agrees"}

    @property
    def drawn(self) -> list[str]:
        """Names of the pictures."""
        return sorted(path.stem for path in (self.sweep.directory / "figures").glob("*.png"))


def verified(figure: PaperFigure, out: Path, *more: str) -> Verified:
    """Verify a figure as published in ``out``, with some settings changed."""
    found = verdicts(figure, out, *more, variants=(AS_PUBLISHED,))
    sweep = Sweep.read(out / figure.name / AS_PUBLISHED)
    return Verified({each.quantity: each for each in found}, sweep)


def once(figure: PaperFigure, *more: str) -> Any:
    """Return a fixture of a module: a figure verified as published."""

    @pytest.fixture(scope="module")
    def fixture(tmp_path_factory: pytest.TempPathFactory) -> Verified:
        return verified(figure, tmp_path_factory.mktemp(figure.name), *more)

    return fixture
