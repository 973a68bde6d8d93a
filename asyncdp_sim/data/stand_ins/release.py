"""A file of released second moments: what owners said of their records, with noise, in public."""

from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field, Strict, model_validator

from asyncdp_sim.data.dataset import Array
from asyncdp_sim.errors import DataError, Fault, SpecError
from asyncdp_sim.faults import faults_of
from asyncdp_sim.on_disk import file_bytes, from_json, from_toml
from asyncdp_sim.spec import Finite, NonNegative, Positive, Spec

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

    name: str | None = Field(
        default=None,
        description="The owner's name, as in the column that splits the table, or its number; "
        "absent where the moments are those of all owners together.",
    )
    records: int = Field(ge=1, description="Number of records that the moments are means over.")
    deviation: NonNegative = Field(
        description="Standard deviation of the noise in each number of the upper triangle, in the "
        "units of the moments, ≥ 0."
    )
    moments: Annotated[tuple[Row, ...], Strict(False)] = Field(
        description="Second moments of features and target, in the features' and the target's "
        "units as models take them: a symmetric matrix with the target last, noise included."
    )

    @model_validator(mode="after")
    def _square(self) -> Self:
        size = len(self.moments)
        allowed = "allowed is a symmetric matrix of two rows or more"
        for i, row in enumerate(self.moments):
            if len(row) != size or size < 2:
                given = f"a row {i + 1} of {len(row)} numbers in {size} rows"
                raise faults_of([Fault("moments", given, allowed)])
        matrix = np.array(self.moments)
        unlike = np.abs(matrix - matrix.T) > 1e-9 * np.abs(matrix).max()
        if unlike.any():
            i, j = np.argwhere(unlike)[0]
            given = f"{matrix[i, j]:g} in row {i + 1}, column {j + 1}, and {matrix[j, i]:g} across"
            raise faults_of([Fault("moments", given, allowed)])
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

    schema_: Literal[1] = Field(alias="schema", description="Version of the format: 1.")
    features: int = Field(ge=1, description="Number of features p, without the target.")
    bound: Positive = Field(
        description="Norm B that each record (x, y) was scaled down to, in their units, > 0."
    )
    norm: Literal["l1", "l2"] = Field(description="Norm of the bound: l1 or l2.")
    law: Law = Field(description="Law of the noise: laplace, gaussian, or none.")
    epsilon: Positive | None = Field(
        default=None, description="ε > 0 that the release cost each record; required with noise."
    )
    delta: Annotated[float, Field(gt=0, lt=1)] | None = Field(
        default=None, description="δ in (0, 1) of the release; required with gaussian noise."
    )
    played_on: str | None = Field(
        default=None, description="The synthetic records of a release that was played."
    )
    owners: Annotated[tuple[OwnerMoments, ...], Strict(False)] = Field(
        min_length=1, description="What each owner released, or one entry for all together."
    )

    @model_validator(mode="after")
    def _fits(self) -> Self:
        found = []
        if self.law != "none" and self.epsilon is None:
            found.append(Fault("epsilon", "nothing", f"required with law {self.law}: ε > 0"))
        if self.law == "gaussian" and self.delta is None:
            found.append(Fault("delta", "nothing", "required with law gaussian: δ in (0, 1)"))
        names = [owner.name for owner in self.owners]
        for i, owner in enumerate(self.owners):
            if len(owner.moments) != self.features + 1:
                allowed = f"allowed are features + 1 = {self.features + 1} rows"
                given = f"{len(owner.moments)} rows"
                found.append(Fault(f"owners.{i}.moments", given, allowed))
            if self.law == "none" and owner.deviation > 0:
                allowed = "allowed is 0 with law none"
                found.append(Fault(f"owners.{i}.deviation", f"{owner.deviation:g}", allowed))
            if owner.name in names[:i]:
                allowed = "allowed is one entry of each owner, or a single one of all together"
                found.append(Fault(f"owners.{i}.name", repr(owner.name), allowed))
            elif owner.name is None and len(names) > 1:
                found.append(Fault(f"owners.{i}.name", "nothing", "required where there are more"))
        if len(found) > 0:
            raise faults_of(found)
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
        allowed = f"allowed is a TOML or JSON file of second moments ({error})"
        raise DataError([Fault(KEY, repr(path), allowed)]) from None
    if not isinstance(raw, dict):
        raise DataError([Fault(KEY, repr(path), "allowed is a table of schema, features, owners…")])
    try:
        return Release(**raw)
    except SpecError as error:
        raise DataError(
            Fault(KEY, f"{name} with {fault.key} = {fault.given}", fault.allowed)
            for fault in error.faults
        ) from None
