"""All scores together: too small a spread means inflated errors, too large a wrong simulator."""

from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from .zscores import flat

pytestmark = [pytest.mark.long, pytest.mark.no_evidence]

SCORED = ("\ndef scores():\n", "\nsound = shared(measure)\n")


def scores_of(module):
    """Return the scores of a module: those that it names, or those of its cases of every run."""
    if hasattr(module, "scores"):
        return module.scores()
    cases = module.CI if hasattr(module, "CI") else module.CASES
    found = [module.sound(name) for name in cases]
    return flat(found) if isinstance(found[0], dict) else [each for some in found for each in some]


def test_scores_spread_like_normal_deviates():
    """Of every module here that has some, those of a sound simulator."""
    files = sorted(Path(__file__).parent.glob("test_*.py"))
    scored = [file for file in files if any(each in file.read_text("utf-8") for each in SCORED)]
    modules = [import_module(f".{file.stem}", __package__) for file in scored]
    z = np.array([each.z for module in modules for each in scores_of(module)])
    assert len(z) > 100
    assert 0.85 <= np.sqrt(np.mean(z**2)) <= 1.20
