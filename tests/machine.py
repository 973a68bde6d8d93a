"""The machine that figures were measured on, in a sentence."""

import datetime
import os
import platform
from pathlib import Path

import numpy as np


def machine() -> str:
    """Return what figures were measured on, and when, in a sentence; no host name and no path."""
    today = datetime.datetime.now(tz=datetime.UTC).date()
    known = f"{_processor()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    return f"Measured on {known}, NumPy {np.__version__}, {today}."


def _processor() -> str:
    listed = Path("/proc/cpuinfo")
    if listed.exists():
        for line in listed.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
