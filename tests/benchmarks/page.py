"""Tables in the docs, each between two markers."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "benchmarks.md"
BENCHMARKS = ("<!-- benchmarks -->", "<!-- end of benchmarks -->")
PEERS = ("<!-- peers -->", "<!-- end of peers -->")
