"""Rows in place of private ones that are drawn from public rows."""

from typing import Literal

import numpy as np
from typing_extensions import override

from asyncdp_sim.data.dataset import Array, Rows
from asyncdp_sim.data.stand_ins.kind import PublicKnowledge, StandInKind, StandInRows
from asyncdp_sim.data.stand_ins.unlike import alike, half, last, require_targets, unlike
from asyncdp_sim.streams import Scope, Streams


class PublicRows(StandInKind):
    """Every private row is drawn from the public rows, with replacement.

    Where the public rows tell owners apart (they name them, or stand in the order of the table
    whose owners have consecutive rows), a row of owner i is one of its own public rows with
    probability λ_i, and any public row else. λ_i is such that owners are as unlike as the public
    rows show beyond chance, measured by the slopes x(y − xᵀθ) of the least squares of all public
    rows: none where their order or names tell nothing.

    Redraws take a random half of the public rows: a forecast from a half is as far from the one of
    all as the latter is from that of endless public rows, in the root mean square. From it they
    draw owners' rows anew, as an owner's own rows are others than those that stand in for them.
    """

    words = "rows drawn from the table's public ones"
    uncertain = "random halves of the public rows"
    needs_public_rows = True

    kind: Literal["public-rows"] = "public-rows"

    @override
    def drawn(self, known: PublicKnowledge, streams: Streams | Scope) -> StandInRows:
        require_targets(known)
        rows = half(known, self.redrawn, streams)
        like = known.like[rows]
        found = unlike(known.features[rows], known.targets[rows], like, len(known.sizes))
        owners = []
        for i, size in enumerate(known.sizes):
            generator = self.of_owner(i + 1, streams)
            places = generator.integers(len(rows), size=size)
            own, share = np.flatnonzero(like == i), generator.random(size) < found.shares[i]
            if len(own) > 0:
                places = np.where(share, own[generator.integers(len(own), size=size)], places)
            owners.append(_taken(known, rows[places]))
        generator = self.of_others(streams)
        others = _taken(known, rows[generator.integers(len(rows), size=known.others)])
        return StandInRows(owners, others, (*alike(known, found), *last(known)))


def _taken(known: PublicKnowledge, rows: Rows) -> tuple[Array, Array]:
    return known.features[rows], known.targets[rows]
