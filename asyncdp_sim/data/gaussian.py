"""Synthetic Gaussian features with linear targets or labels: nothing real, everything known."""

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from asyncdp_sim.data.dataset import Array, Dataset, frozen
from asyncdp_sim.data.held_out import HeldOutShare, keep_apart, said
from asyncdp_sim.data.splitting import require_records, take
from asyncdp_sim.errors import DataError, Fault
from asyncdp_sim.spec import NonNegative, Spec
from asyncdp_sim.streams import Scope, Streams

LARGEST_ROTATED = 2000  # a dense rotation costs features³ operations


class GaussianData(Spec):
    """Targets y = xᵀ(θ₀ + δ_i) + ``noise``·N(0, 1), x ~ N(0, R Λ Rᵀ), θ₀ ~ N(0, I).

    Owners differ by δ_i = ``heterogeneity``·N(0, I), from the stream ``("data", "owner", i,
    "shift")``.

    Λ is a geometric sequence from √condition down to 1/√condition (determinant one), R an
    orthogonal matrix from the stream ``("data", "rotation")``; θ₀ comes from
    ``("data", "truth")``. Owner i = 1…N draws from ``("data", "owner", i)``, features first, so
    that adding owners leaves the others' records unchanged.

    Attributes
    ----------
    features : int
        p, 1…100000 (at most 2000 with a condition above 1).
    noise : float
        Standard deviation of the target around the linear model, ≥ 0.
    condition : float
        Condition number of the features' covariance, ≥ 1; without meaning for p = 1.
    heterogeneity : float
        Standard deviation of each coordinate of an owner's own truth around θ₀, ≥ 0.
    labels : bool
        Whether the target is the sign of y, −1 or 1 (1 at y = 0), which the models that classify
        need; the draws are the same.
    held_out : float
        Share of every owner's rows, in [0, 1), that is kept apart from training.
    """

    kind: Literal["gaussian"] = "gaussian"
    features: Annotated[int, Field(ge=1, le=100_000)]
    noise: NonNegative = 1.0
    condition: Annotated[float, Field(ge=1, allow_inf_nan=False)] = 1.0
    heterogeneity: NonNegative = 0.0
    labels: bool = False
    held_out: HeldOutShare = 0.0

    def build(
        self, n_owners: int, records: tuple[int, ...] | None, streams: Streams | Scope
    ) -> Dataset:
        """Draw the owners' records.

        Parameters
        ----------
        n_owners : int
            N ≥ 1.
        records : tuple of int
            n_i ≥ 1, one per owner.
        streams : Streams or Scope
            The run's random streams.

        Raises
        ------
        DataError
            On ``owners.records``, ``data.features`` or ``data.held_out``.
        """
        counts = require_records(records, n_owners)
        root = self._covariance_root(streams)
        truth = streams.generator("data", "truth").standard_normal(self.features)
        kept, apart = keep_apart(self.held_out, counts, streams)
        features, targets, unseen_features, unseen_targets = [], [], [], []
        for owner, (n, left, held) in enumerate(zip(counts, kept, apart, strict=True), start=1):
            generator = streams.generator("data", "owner", owner)
            x = generator.standard_normal((n, self.features))
            if root is not None:
                x = x @ root
            own = truth
            if self.heterogeneity > 0:
                shift = streams.generator("data", "owner", owner, "shift")
                own = truth + self.heterogeneity * shift.standard_normal(self.features)
            y = x @ own + self.noise * generator.standard_normal(n)
            y = np.where(y < 0, -1.0, 1.0) if self.labels else y
            features.append(frozen(take(x, left)))
            targets.append(frozen(take(y, left)))
            if self.held_out > 0:
                unseen_features.append(frozen(take(x, held)))
                unseen_targets.append(frozen(take(y, held)))
        what = "target's sign" if self.labels else "target"
        return Dataset(
            features=tuple(features),
            targets=tuple(targets),
            columns=tuple(f"x{j}" for j in range(1, self.features + 1)),
            public_rows_of_owner=(0,) * n_owners,
            real=False,
            notes=(
                f"Gaussian features and a linear {what}, drawn for this run.",
                *said(kept, apart),
            ),
            held_out_features=tuple(unseen_features),
            held_out_targets=tuple(unseen_targets),
        )

    def _covariance_root(self, streams: Streams | Scope) -> Array | None:
        """Return Λ^{1/2} Rᵀ, or None for the identity covariance."""
        if self.condition == 1 or self.features == 1:
            return None
        if self.features > LARGEST_ROTATED:
            allowed = f"allowed is at most {LARGEST_ROTATED} with data.condition > 1"
            raise DataError([Fault("data.features", str(self.features), allowed)])
        generator = streams.generator("data", "rotation")
        rotation, upper = np.linalg.qr(generator.standard_normal((self.features, self.features)))
        # QR leaves the signs to the library; with R's diagonal positive it is Haar-distributed.
        rotation *= np.sign(np.diag(upper))
        spread = np.linspace(0.5, -0.5, self.features)
        return np.asarray(self.condition ** (spread[:, None] / 2) * rotation.T)
