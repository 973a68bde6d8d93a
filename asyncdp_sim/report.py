"""A result in words: what the screen shows after a run or a sweep."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from asyncdp_sim.faults import show
from asyncdp_sim.result import read_manifest


def report(directory: Path) -> list[str]:
    """Return the figures that matter most of a result or a sweep directory, a line each.

    Raises
    ------
    ResultError
        If the directory is neither.
    """
    manifest = read_manifest(directory)
    return _run(manifest) if "summary" in manifest else _sweep(directory, manifest)


def notes(directory: Path) -> list[str]:
    """Return the warnings of a result or a sweep, one sentence each.

    Raises
    ------
    ResultError
        If the directory is neither.
    """
    warnings: list[str] = read_manifest(directory)["warnings"]
    return warnings


def _run(manifest: Mapping[str, Any]) -> list[str]:
    figures, psi = manifest["summary"], manifest["summary"]["psi_final"]
    rows = [
        ("replicates", str(len(manifest["replicates"]))),
        ("updates", f"{figures['updates']} in all"),
        ("simulated time", f"{_figure(figures['simulated_time'])} units per replicate"),
        ("throughput", f"{_figure(figures['throughput'])} updates per unit"),
        ("learner busy", _figure(figures["utilisation"])),
        ("requests refused", _figure(figures["refusal_rate"])),
        (
            "P(same owner twice)",
            f"{_figure(figures['p_repeat'])} "
            f"(uniform choice: {_figure(figures['p_repeat_uniform'])})",
        ),
        (
            "ψ at the end",
            f"median {_figure(psi['median'])}, 25–75 % {_figure(psi['q25'])} … "
            f"{_figure(psi['q75'])}, mean {_figure(psi['mean'])}",
        ),
        ("budget spent", f"at most {_figure(figures['max_spent_ratio'])} of ε"),
        (
            "private as claimed",
            f"{'yes' if figures['private'] else 'NO'} (true ε {_figure(figures['epsilon_true'])})",
        ),
        (
            "not for release",
            "yes: private records were read"
            if figures["not_for_release"]
            else "no: synthetic records",
        ),
    ]
    width = max(len(name) for name, _ in rows)
    return [f"{name:<{width}}  {value}" for name, value in rows]


def _sweep(directory: Path, manifest: Mapping[str, Any]) -> list[str]:
    swept = list(manifest["scenario"]["sweep"])
    header = ["cell", *swept, "ψ median", "25 %", "75 %", "mean", "private", "true ε"]
    rows = [header]
    for name in manifest["fingerprints"]:
        cell = read_manifest(directory / name)
        figures, psi = cell["summary"], cell["summary"]["psi_final"]
        rows.append(
            [
                name.removeprefix("cell-"),
                *(_swept_value(cell["scenario"], path) for path in swept),
                *(_figure(psi[part]) for part in ("median", "q25", "q75", "mean")),
                "yes" if figures["private"] else "NO",
                _figure(figures["epsilon_true"]),
            ]
        )
    return _aligned(rows)


def _swept_value(scenario: Mapping[str, Any], path: str) -> str:
    value: Any = scenario
    for key in path.split("."):
        value = value[key]
    return value if isinstance(value, str) else show(value)


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True))
        for row in rows
    ]


def _figure(value: float | str | None) -> str:
    return "–" if value is None else f"{float(value):.4g}"
