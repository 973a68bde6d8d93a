"""All scores together: too small a spread means inflated errors, too large a wrong simulator."""

from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

pytestmark = [pytest.mark.long, pytest.mark.no_evidence]


def test_scores_spread_like_normal_deviates():
    """Of every module here that defines ``scores``, those of a sound simulator."""
    files = sorted(Path(__file__).parent.glob("test_*.py"))
    names = [file.stem for file in files if "\ndef scores():\n" in file.read_text("utf-8")]
    modules = [import_module(f".{name}", __package__) for name in names]
    z = np.array([each.z for module in modules for each in module.scores()])
    assert len(z) > 100
    assert 0.85 <= np.sqrt(np.mean(z**2)) <= 1.20
