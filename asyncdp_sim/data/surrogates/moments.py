"""Released second moments, and Gaussian rows that have these moments to the last digit.

Owners said of their records, with noise and in public, what the file holds.
"""

from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field, Strict, model_validator
from typing_extensions import override

from asyncdp_sim.core.errors import DataError, Fault, SpecError
from asyncdp_sim.core.files import file_bytes, from_json, from_toml
from asyncdp_sim.core.streams import Scope, Streams
from asyncdp_sim.data.dataset import Array
from asyncdp_sim.data.surrogates.public_rows import PublicKnowledge, StandInKind, StandInRows, apart
from asyncdp_sim.spec.base import Finite, NonNegative, Positive, Spec
from asyncdp_sim.spec.validation import faults_of

KEY = "data.stand_in.path"
Row = Annotated[tuple[Finite, ...], Strict(False)]
Law = Literal["laplace", "gaussian", "none"]


class OwnerMoments(Spec):
    """The release of one owner, or of all owners together.

    Attributes
    ----------
    name : str, optional
        The owner's, as the column that splits the table has it, or its number; absent where the
        moments are those of all owners together.
    records : int
        n_i ≥ 1, which is public.
    deviation : float
        Standard deviation, ≥ 0, of the noise in each number of the upper triangle.
    moments : list of list of float
        The mean of zzᵀ over the records, z = (x, y) as models take them, scaled down to the bound:
        p + 1 rows of p + 1 numbers, symmetric, the target's last, with the noise in it.
    """

    name: str | None = None
    records: int = Field(ge=1)
    deviation: NonNegative
    moments: Annotated[tuple[Row, ...], Strict(False)]

    @model_validator(mode="after")
    def _square(self) -> Self:
        size = len(self.moments)
        rule = "allowed is a symmetric matrix of two rows or more"
        for i, row in enumerate(self.moments):
            if len(row) != size or size < 2:
                problem = f"a row {i + 1} of {len(row)} numbers in {size} rows"
                raise faults_of([Fault("moments", problem, rule)])
        matrix = np.array(self.moments)
        unlike = np.abs(matrix - matrix.T) > 1e-9 * np.abs(matrix).max()
        if unlike.any():
            i, j = np.argwhere(unlike)[0]
            problem = (
                f"{matrix[i, j]:g} in row {i + 1}, column {j + 1}, and {matrix[j, i]:g} across"
            )
            raise faults_of([Fault("moments", problem, rule)])
        return self


class Release(Spec):
    """Second moments that owners released, by a vetted library.

    Attributes
    ----------
    schema_ : int
        1, called ``schema`` in the file.
    features : int
        p.
    bound : float
        B > 0; each record (x, y) was scaled down to this norm.
    norm : {"l1", "l2"}
        Of the bound.
    law : {"laplace", "gaussian", "none"}
        Of the noise.
    epsilon : float, optional
        ε > 0 that the release cost each record; required but for law none.
    delta : float, optional
        δ in (0, 1), with Gaussian noise.
    played_on : str, optional
        Of a release that was played: the synthetic records that it is of.
    owners : list of OwnerMoments
        One at least.
    """

    schema_: Literal[1] = Field(alias="schema")
    features: int = Field(ge=1)
    bound: Positive
    norm: Literal["l1", "l2"]
    law: Law
    epsilon: Positive | None = None
    delta: Annotated[float, Field(gt=0, lt=1)] | None = None
    played_on: str | None = None
    owners: Annotated[tuple[OwnerMoments, ...], Strict(False)] = Field(min_length=1)

    @model_validator(mode="after")
    def _fits(self) -> Self:
        faults = []
        if self.law != "none" and self.epsilon is None:
            faults.append(Fault("epsilon", "nothing", f"required with law {self.law}: ε > 0"))
        if self.law == "gaussian" and self.delta is None:
            faults.append(Fault("delta", "nothing", "required with law gaussian: δ in (0, 1)"))
        names = [owner.name for owner in self.owners]
        for i, owner in enumerate(self.owners):
            if len(owner.moments) != self.features + 1:
                rule = f"allowed are features + 1 = {self.features + 1} rows"
                problem = f"{len(owner.moments)} rows"
                faults.append(Fault(f"owners.{i}.moments", problem, rule))
            if self.law == "none" and owner.deviation > 0:
                rule = "allowed is 0 with law none"
                faults.append(Fault(f"owners.{i}.deviation", f"{owner.deviation:g}", rule))
            if owner.name in names[:i]:
                rule = "allowed is one entry per owner, or a single one for all owners"
                faults.append(Fault(f"owners.{i}.name", repr(owner.name), rule))
            elif owner.name is None and len(names) > 1:
                faults.append(Fault(f"owners.{i}.name", "nothing", "required where there are more"))
        if len(faults) > 0:
            raise faults_of(faults)
        return self

    def matrices(self) -> Array:
        """Return the moments as released, (K, p + 1, p + 1)."""
        return np.array([owner.moments for owner in self.owners])

    @property
    def words(self) -> str:
        """What the release is, in words."""
        if self.law == "none":
            return "second moments without noise, which are not private"
        delta = "" if self.delta is None else f", δ = {self.delta:g}"
        return f"second moments with {self.law} noise, ε = {self.epsilon:g}{delta}"


def read_release(path: str) -> Release:
    """Read a release from TOML, or from JSON where the name ends in .json.

    Raises
    ------
    DataError
        On ``data.stand_in.path``, with what is wrong in the file.
    """
    name = Path(path).name
    try:
        text = file_bytes(Path(path)).decode("utf-8")
        raw: Any = from_json(text) if path.endswith(".json") else from_toml(text)
    except FileNotFoundError:
        raise DataError([Fault(KEY, repr(path), "there is no such file")]) from None
    except (OSError, ValueError) as error:
        rule = f"allowed is a TOML or JSON file of second moments ({error})"
        raise DataError([Fault(KEY, repr(path), rule)]) from None
    if not isinstance(raw, dict):
        raise DataError([Fault(KEY, repr(path), "allowed is a table of schema, features, owners…")])
    try:
        return Release(**raw)
    except SpecError as error:
        raise DataError(
            Fault(KEY, f"{name} with {fault.key} = {fault.given}", fault.allowed)
            for fault in error.faults
        ) from None


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
    uncertain = "draws of the release's noise"
    needs_public_rows = False

    kind: Literal["moments"] = "moments"
    path: str

    @override
    def drawn(self, known: PublicKnowledge, streams: Streams | Scope) -> StandInRows:
        release, p = read_release(self.path), known.features.shape[1]
        if release.features != p:
            problem, rule = f"moments of {release.features} features", f"data.features is {p}"
            raise DataError([Fault(KEY, problem, rule)])
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
        other_rows = gaussian_rows(mean, known.others, generator)
        unnamed = sum(name not in entries for name in called)
        return StandInRows(owners, other_rows, _doubts(release, raised, p + 1, unnamed, own))


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
        factor = np.linalg.cholesky(rows.T @ rows / count)
        rows = np.linalg.solve(factor, rows.T).T
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
    distances = apart(distance, chance, weight, len(theta))
    least = float(mean[-1, -1] - mean[-1, :-1] @ theta)
    scale = 1 / least if least > 0 else 0.0
    return (
        distances.shares,
        f"{distances.variance * scale:.3g} ± {distances.half_width * scale:.2g}",
    )


def _doubts(release: Release, raised: int, size: int, unnamed: int, own: str) -> tuple[str, ...]:
    """Say what the release is, and what is not in the ±."""
    spent = "" if release.law == "none" else ", in addition to the ε of a run"
    doubts = [
        f"the moments are {release.words}{spent}",
        f"each record was scaled down to {release.norm} norm {release.bound:g}; the law of rows is "
        "unknown and taken as Gaussian, which the ± does not include",
    ]
    if release.played_on is not None:
        doubts.insert(
            0, f"the moments are a simulated release from {release.played_on}, not a real one"
        )
    if raised > 0:
        doubts.append(
            f"{raised} of {size} eigenvalues of the pooled moments were below the noise's "
            "standard deviation, and were raised to it"
        )
    if len(release.owners) == 1 or unnamed > 0:
        count = "all" if len(release.owners) == 1 else str(unnamed)
        doubts.append(f"{count} owners have the pooled moments: their differences are not modelled")
    else:
        doubts.append(
            "differences between owners are estimated from their moments, without noise: τ² = "
            f"{own}"
        )
    return tuple(doubts)
