"""Last digits that another BLAS kernel changes: models and curves are compared to a tolerance."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from math import inf
from pathlib import Path

import numpy as np

from asyncdp_sim.on_disk import file_bytes, from_json
from asyncdp_sim.results import read_columns
from asyncdp_sim.results.provenance import blas_kernel
from asyncdp_sim.runs.differences import Difference

TOLERANCE = 1e-9
"""Largest distance of two kernels' numbers, relative to the curve's largest value.

Measured between Haswell and SkylakeX: 2e-12 in cells of the catalogue at full size, and 6e-11 where
few public rows make the records ill-conditioned.
"""
OTHER_ALGEBRA = "other linear algebra: equal to"
_TABLES = ("alone", "curve", "models", "optimum")
_NAMES = (
    "psi", "held_out", "attacker", "epsilon_median", "epsilon_true", "delta", "constants.",
    "predictions.", "warning_fields.",
)  # fmt: skip
"""What begins so is worked out by linear algebra too, in whatever table or manifest it stands."""


def other_kernels(directory: Path) -> dict[Path, str]:
    """Return the kernels of a result, or of a sweep and its cells, that are not the one here.

    They stand by the folders of manifests; one that is not named may be any.
    """
    here, found = blas_kernel(), {}
    for file in sorted(directory.rglob("manifest.json")):
        try:
            made = from_json(file_bytes(file))
        except (OSError, ValueError):  # a damaged one is a difference
            continue
        named = made.get("blas_kernel") if isinstance(made, Mapping) else None
        if named is None or named != here:
            found[file.parent] = "not known" if named is None else str(named)
    return found


def beyond_rounding(
    directory: Path, again: Path, differ: Sequence[Difference], kernels: Mapping[Path, str]
) -> tuple[list[Difference], float]:
    """Return the differences that no other kernel explains, and the largest that one does.

    Explained is a distance of numbers that linear algebra gives, to ``TOLERANCE`` of the largest
    value: of the column, or the number itself, and for ψ of the curve. Digests of models and
    curves are explained by what they are of.

    Parameters
    ----------
    directory, again : Path
        The result or sweep, and the same made again.
    differ : sequence of Difference
    kernels : mapping
        As :func:`other_kernels` returns it.
    """
    largest_psi = cache(lambda folder: _largest_psi(again / folder))

    def apart_of(differs: Difference) -> float:
        folder = Path(differs.file).parent
        made_here = directory / folder not in kernels
        if made_here and (folder != Path() or len(kernels) == 0):
            return inf
        return _apart(differs, largest_psi)

    apart = [apart_of(each) for each in differ]
    far = [each for each, by in zip(differ, apart, strict=True) if by > TOLERANCE]
    return far, max((by for by in apart if by <= TOLERANCE), default=0.0)


def _apart(differs: Difference, largest_psi: Callable[[Path], float]) -> float:
    """Return a distance relative to the largest value; infinite where no kernel explains it."""
    file = Path(differs.file)
    if differs.place.startswith("fingerprints.") and differs.place.endswith((".models", ".curve")):
        return 0.0
    name = differs.place.removeprefix("summary.").removeprefix("asyncdp.")
    if not name.startswith(_NAMES) and (file.stem not in _TABLES or name.startswith("time")):
        return inf
    curve = largest_psi(file.parent) if name.startswith("psi") else 0.0
    largest = max(differs.largest, curve)
    return differs.distance / largest if largest > 0 else inf


def _largest_psi(folder: Path) -> float:
    """Return the largest finite |ψ| of the curves in a folder."""
    files = sorted(folder.rglob("curve.parquet"))
    curves = [read_columns(file.parent, "curve", ["relative_fitness"])[0] for file in files]
    values = np.abs(np.concatenate([np.zeros(1), *curves]))
    return float(values[np.isfinite(values)].max())


__all__ = ["OTHER_ALGEBRA", "TOLERANCE", "beyond_rounding", "other_kernels"]
