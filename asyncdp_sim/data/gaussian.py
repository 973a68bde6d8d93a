"""Synthetic Gaussian features with linear targets or labels: nothing real, everything known."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

import numpy as np
from pydantic import Field
from typing_extensions import override

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.errors import DataError, Fault
from asyncdp_sim.core.specification import NonNegative, trait
from asyncdp_sim.core.streams import Scope, Streams
from asyncdp_sim.data.dataset import SYNTHETIC, DataKind, Dataset
from asyncdp_sim.data.splits import HeldOutShare, held_out_note, keep_apart, require_records
from asyncdp_sim.data.tables.rows import Swap, take

LARGEST_ROTATED = 2000  # a dense rotation costs features³ operations


class GaussianData(DataKind):
    """Targets y = xᵀ(θ₀ + δ_i) + ``noise``·N(0, 1), x ~ N(0, R Λ Rᵀ), θ₀ ~ N(0, I).

    Owners differ by δ_i = ``heterogeneity``·N(0, I), from the stream ``("data", "owner", i,
    "shift")``.

    Λ is a geometric sequence from √condition down to 1/√condition (determinant one), R an
    orthogonal matrix from the stream ``("data", "rotation")``; θ₀ comes from
    ``("data", "truth")``. Owner i = 1…N draws from ``("data", "owner", i)``, features first, so
    that adding owners leaves the others' records unchanged.
    """

    kind: Literal["gaussian"] = "gaussian"
    features: Annotated[int, Field(ge=1, le=100_000)]
    noise: NonNegative = 1.0
    condition: Annotated[float, Field(ge=1, allow_inf_nan=False)] = 1.0
    heterogeneity: NonNegative = 0.0
    labels: bool = False
    held_out: HeldOutShare = 0.0

    synthetic = True
    draws_fresh = True

    origin = SYNTHETIC

    target_labels = trait(lambda self: (-1.0, 1.0) if self.labels else ())

    @override
    def build(
        self,
        n_owners: int,
        records: tuple[int, ...] | None,
        streams: Streams | Scope,
        swap: Swap | None = None,
    ) -> Dataset:
        counts = require_records(records)
        drawn = list(self._drawn(counts, streams))
        if swap is not None:
            _replace(drawn, counts, swap)
        kept, apart = keep_apart(self.held_out, counts, streams)
        seen = [(take(x, r), take(y, r)) for (x, y), r in zip(drawn, kept, strict=True)]
        unseen = [(take(x, r), take(y, r)) for (x, y), r in zip(drawn, apart, strict=True)]
        unseen = unseen if self.held_out > 0 else []
        firsts = np.cumsum(counts) - counts
        target_words = "target's sign" if self.labels else "target"
        return Dataset(
            features=tuple(x for x, _ in seen),
            targets=tuple(y for _, y in seen),
            columns=tuple(f"x{j}" for j in range(1, self.features + 1)),
            public_rows_of_owner=(0,) * n_owners,
            real=False,
            notes=(
                f"Gaussian features and a linear {target_words}, drawn for this run.",
                *held_out_note(kept, apart),
            ),
            held_out_features=tuple(x for x, _ in unseen),
            held_out_targets=tuple(y for _, y in unseen),
            rows=tuple(first + left for first, left in zip(firsts, kept, strict=True)),
        )

    @override
    def fresh(
        self, n_owners: int, count: int, streams: Streams | Scope
    ) -> Iterator[tuple[Array, Array]]:
        """Yield fresh rows of each owner's law, drawn for each owner anew.

        They come from ``("data", "fresh", i)``: whatever else is drawn stays as it is. Rows that
        owners had in common would not be averaged away in a mean over owners.
        """
        yield from self._drawn((count,) * n_owners, streams, "fresh")

    def _drawn(
        self, counts: Sequence[int], streams: Streams | Scope, name: str = "owner"
    ) -> Iterator[tuple[Array, Array]]:
        """Yield every owner's features, in Fortran order, and targets."""
        root = self._covariance_root(streams)
        truth = streams.generator("data", "truth").standard_normal(self.features)
        for owner, n in enumerate(counts, start=1):
            own = truth
            if self.heterogeneity > 0:
                shift = streams.generator("data", "owner", owner, "shift")
                own = truth + self.heterogeneity * shift.standard_normal(self.features)
            generator = streams.generator("data", name, owner)
            x = generator.standard_normal((n, self.features))
            x = x if root is None else x @ root
            y = x @ own + self.noise * generator.standard_normal(n)
            yield np.asfortranarray(x), np.where(y < 0, -1.0, 1.0) if self.labels else y

    def _covariance_root(self, streams: Streams | Scope) -> Array | None:
        """Return Λ^{1/2} Rᵀ, or None for the identity covariance."""
        if self.condition == 1 or self.features == 1:
            return None
        if self.features > LARGEST_ROTATED:
            rule = f"allowed is at most {LARGEST_ROTATED} with data.condition > 1"
            raise DataError([Fault("data.features", str(self.features), rule)])
        generator = streams.generator("data", "rotation")
        rotation, upper = np.linalg.qr(generator.standard_normal((self.features, self.features)))
        # QR leaves the signs to the library; with R's diagonal positive it is Haar-distributed.
        rotation *= np.sign(np.diag(upper))
        spread = np.linspace(0.5, -0.5, self.features)
        return np.asarray(self.condition ** (spread[:, None] / 2) * rotation.T)


def _replace(drawn: list[tuple[Array, Array]], counts: Sequence[int], swap: Swap) -> None:
    """Replace a record in place; rows count owner after owner."""
    swap.sources(sum(counts))  # refuses rows that there are not
    ends = np.cumsum(counts)
    places = []
    for row in (swap.row, swap.by):
        owner = int(np.searchsorted(ends, row, side="right"))
        places.append((owner, row - int(ends[owner]) + counts[owner]))
    (owner, at), (other, source) = places
    drawn[owner][0][at] = swap.factor * drawn[other][0][source]
    drawn[owner][1][at] = drawn[other][1][source]
