"""Rows of second moments that were released: Gaussian, with these moments to the last digit."""

from typing import Annotated, Literal

import numpy as np
from typing_extensions import override

from asyncdp_sim.data.dataset import Array
from asyncdp_sim.data.stand_ins.apart import apart
from asyncdp_sim.data.stand_ins.kind import PublicKnowledge, StandInKind, StandInRows
from asyncdp_sim.data.stand_ins.release import KEY, Release, read_release
from asyncdp_sim.errors import DataError, Fault
from asyncdp_sim.spec import about
from asyncdp_sim.streams import Scope, Streams


class DeclaredMoments(StandInKind):
    """Owners' rows are Gaussian, with second moments that were released.

    Noise may leave a matrix of moments with eigenvalues that no records have. Of all released
    matrices the mean M̄ is taken, weighted by records; its eigenvalues below the standard deviation
    of its noise are raised to that, which gives the nearest matrix (in the Frobenius norm) that has
    none below. Owner i's is M̄ + λ_i (M_i − M̄), with λ_i such that owners are as unlike as the
    matrices show beyond their noise, measured by slopes at the least squares of M̄, and mended in
    the same way with its own noise, λ_i times as large. Owners that the file does not name, and
    all where it has one entry, have M̄.

    Redraws add the noise once more, and draw rows anew.
    """

    words = "Gaussian rows with the second moments that owners released"
    uncertain = "draws of the noise that the release has"
    needs_public_rows = False

    kind: Literal["moments"] = "moments"
    path: Annotated[
        str,
        about(
            "A TOML or JSON file of released second moments, with bounds, law of the noise and ε"
        ),
    ]

    @override
    def drawn(self, known: PublicKnowledge, streams: Streams | Scope) -> StandInRows:
        release, p = read_release(self.path), known.features.shape[1]
        if release.features != p:
            given, allowed = f"moments of {release.features} features", f"data.features is {p}"
            raise DataError([Fault(KEY, given, allowed)])
        matrices, deviation = release.matrices(), np.array([o.deviation for o in release.owners])
        if self.redrawn > 0:
            scope = streams.within("data", "stand-in", "noise", self.redrawn)
            matrices = np.stack(
                [
                    each + noise(release.law, spread, p + 1, scope.generator(k))
                    for k, (each, spread) in enumerate(zip(matrices, deviation, strict=True))
                ]
            )
            deviation = deviation * np.sqrt(2)
        weight = np.array([o.records for o in release.owners], dtype=float)
        weight /= weight.sum()
        floor = float(np.sqrt(np.square(weight) @ np.square(deviation)))
        mean, raised = mended(np.einsum("k,kij->ij", weight, matrices), floor)
        shares, own = _shares(mean, matrices, deviation, weight)
        called = known.names or tuple(str(i + 1) for i in range(len(known.sizes)))
        entries = {o.name: k for k, o in enumerate(release.owners) if o.name is not None}
        owners = []
        for i, (name, size) in enumerate(zip(called, known.sizes, strict=True)):
            matrix, k = mean, entries.get(name)
            if k is not None and shares[k] > 0:
                its = mean + shares[k] * (matrices[k] - mean)
                matrix, _ = mended(its, float(shares[k] * deviation[k]))
            generator = self.of_owner(i + 1, streams)
            owners.append(gaussian_rows(matrix, size, generator))
        generator = self.of_others(streams)
        others = gaussian_rows(mean, known.others, generator)
        unnamed = sum(name not in entries for name in called)
        return StandInRows(owners, others, _doubts(release, raised, p + 1, unnamed, own))


def noise(law: str, deviation: float, size: int, generator: np.random.Generator) -> Array:
    """Return a symmetric matrix whose upper triangle has independent numbers of this deviation."""
    upper = np.triu_indices(size)
    if law == "laplace":
        values = generator.laplace(scale=deviation / np.sqrt(2), size=len(upper[0]))
    else:
        values = deviation * generator.standard_normal(len(upper[0]))
    matrix = np.zeros((size, size))
    matrix[upper] = values
    return matrix + np.triu(matrix, 1).T


def mended(matrix: Array, floor: float) -> tuple[Array, int]:
    """Return the nearest symmetric matrix without eigenvalues below ``floor``, and how many were.

    Nearest in the Frobenius norm; the floor is ≥ 0.
    """
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    raised = int(np.count_nonzero(values < floor))
    return (vectors * np.maximum(values, floor)) @ vectors.T, raised


def gaussian_rows(
    moments: Array, count: int, generator: np.random.Generator
) -> tuple[Array, Array]:
    """Return features and targets of ``count`` Gaussian rows with these second moments about 0.

    Exactly these, but for rounding, where there are twice as many rows as columns; fewer have them
    in the mean.
    """
    rows = generator.standard_normal((count, len(moments)))
    if count >= 2 * len(moments):
        found = np.linalg.cholesky(rows.T @ rows / count)
        rows = np.linalg.solve(found, rows.T).T
    values, vectors = np.linalg.eigh(moments)
    made = rows @ (vectors * np.sqrt(np.maximum(values, 0.0))).T
    return np.asarray(made[:, :-1]), np.asarray(made[:, -1])


def _shares(mean: Array, matrices: Array, deviation: Array, weight: Array) -> tuple[Array, str]:
    """Return λ_k of each entry, and τ²/f(θ*) in words."""
    inverse = np.linalg.pinv(mean[:-1, :-1], hermitian=True)
    theta = inverse @ mean[:-1, -1]
    slopes = matrices[:, :-1, -1] - matrices[:, :-1, :-1] @ theta
    slopes = slopes - weight @ slopes
    distance = np.einsum("ka,ab,kb->k", slopes, inverse, slopes)
    # each number of a slope r − Cθ has the noise of one number of r and of p numbers of C
    chance = np.square(deviation) * (1 + theta @ theta) * float(np.trace(inverse))
    found = apart(distance, chance, weight, len(theta))
    least = float(mean[-1, -1] - mean[-1, :-1] @ theta)
    scale = 1 / least if least > 0 else 0.0
    return found.shares, f"{found.variance * scale:.3g} ± {found.half_width * scale:.2g}"


def _doubts(release: Release, raised: int, size: int, unnamed: int, own: str) -> tuple[str, ...]:
    """Say what the release is, and what is not in the ±."""
    spent = "" if release.law == "none" else ", spent beside what a run will spend"
    told = [
        f"the moments are {release.words}{spent}",
        f"each record was scaled down to {release.norm} norm {release.bound:g} before, and "
        "moments tell no law: Gaussian rows stand in, which is not in the ±",
    ]
    if release.played_on is not None:
        told.insert(0, f"the release was played on {release.played_on}: nobody released it")
    if raised > 0:
        told.append(
            f"{raised} of {size} eigenvalues of all moments together lay below the noise's "
            "standard deviation, and were raised to it"
        )
    if len(release.owners) == 1 or unnamed > 0:
        who = "all" if len(release.owners) == 1 else str(unnamed)
        told.append(f"{who} owners have the moments of all together: what sets them apart is left "
                    "out")  # fmt: skip
    else:
        told.append(
            "owners are taken to be as unlike as their moments show beyond noise: own truths τ² = "
            f"{own} apart"
        )
    return tuple(told)
