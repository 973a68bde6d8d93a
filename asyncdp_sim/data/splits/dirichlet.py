"""A simulated partition: rows of like targets go to owners by Dirichlet shares."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field, SerializerFunctionWrapHandler, model_serializer
from typing_extensions import override

from asyncdp_sim.core.errors import DataError, Fault
from asyncdp_sim.core.messages import Ends, FormattedMessage
from asyncdp_sim.data.dataset import Array, Rows
from asyncdp_sim.data.splits.kind import OwnerSplit, SplitKind, TableToSplit
from asyncdp_sim.spec.base import about


class Dirichlet(SplitKind):
    """A simulated partition: rows of like targets go to owners by shares of their own.

    Rows are grouped by their target. Group g goes to owners by shares p_g ~ Dir(αN·w), w being
    the owners' weights, and each row draws its owner by them: from the stream ``("data", "split",
    "rows")`` by its place in the table, and from its own target, of all that is private. No row
    has a say in whose another one is, and a record that is replaced keeps its owner. Which groups
    there are is for public rows to say: a target that none of them has, and one that is missing,
    are a group together.
    """

    kind: Literal["dirichlet"] = "dirichlet"
    dirichlet: Annotated[
        float,
        Field(ge=1e-3, le=1e6),
        about(
            "α: the smaller, the fewer groups of targets an owner has; 10⁶ is nearly alike", "none"
        ),
    ]
    groups: Annotated[
        Annotated[int, Field(ge=2, le=100)] | None,
        about(
            "As many groups between quantiles of the public targets; absent: every label, of at "
            "most 100, is a group",
            "groups",
        ),
    ] = None
    cv: Annotated[
        float,
        Field(ge=0, le=100),
        about(
            'Coefficient of variation of the owners\' lognormal weights, from the stream ("data", '
            '"split", "weights"); 0 makes them equal',
            "none",
        ),
    ] = 0.0
    rows: Annotated[
        Annotated[int, Field(ge=1)] | None,
        about(
            "The first rows of the table that are shared out; absent: all that are not public. A "
            "synthetic twin needs it",
            "rows",
        ),
    ] = None

    @model_serializer(mode="wrap")
    def _without_kind(self, table: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {name: value for name, value in table(self).items() if name != "kind"}

    @property
    @override
    def by_target(self) -> bool:
        return True

    @property
    @override
    def shared_rows(self) -> int | None:
        return self.rows

    @override
    def repeated(self, times: int) -> Self:
        return self if self.rows is None else self.model_copy(update={"rows": times * self.rows})

    @override
    def named(self, values: Sequence[object]) -> tuple[str, ...]:
        return ()

    @override
    def owned(self, asked: TableToSplit) -> OwnerSplit:
        count, n_owners = asked.available if self.rows is None else self.rows, asked.n_owners
        asked.require_rows(count)
        public_targets, streams = asked.known, asked.streams
        group, n_groups = self._groups(
            asked.target[:count], public_targets[~np.isnan(public_targets)]
        )
        weights = np.ones(n_owners)
        if self.cv > 0:
            drawn = streams.generator("data", "split", "weights")
            weights = drawn.lognormal(sigma=np.sqrt(np.log1p(self.cv**2)), size=n_owners)
        alpha = self.dirichlet * n_owners * weights / weights.sum()
        shares = np.stack(
            [
                streams.generator("data", "split", "group", g).dirichlet(alpha)
                for g in range(n_groups)
            ]
        )
        # In order, so that a row's owner is where its own number falls among its group's shares.
        ends = np.cumsum(shares, axis=1)[:, :-1]
        number = streams.generator("data", "split", "rows").random(count)
        owner = np.empty(count, dtype=np.int64)
        for g in range(n_groups):
            mine = group == g
            owner[mine] = np.searchsorted(ends[g], number[mine], side="right")
        rows = [np.flatnonzero(owner == i) for i in range(n_owners)]
        none = [i for i, mine in enumerate(rows, start=1) if len(mine) == 0]
        if len(none) > 0:
            problem = f"{self.dirichlet:g}, which leaves owner {none[0]} without a record"
            rule = "allowed is a larger one, fewer owners, or another run.seed"
            raise DataError([Fault("data.split.dirichlet", problem, rule)])
        return OwnerSplit(rows, notes=(self._said([len(mine) for mine in rows], n_groups - 1),))

    def _groups(self, target: Array, known: Array) -> tuple[Rows, int]:
        """Return each row's group, and how many groups there are: the last of what is unknown."""
        if len(known) == 0:
            rule = "allowed are some with targets: they say which groups there are"
            raise DataError([Fault("data.public_records", "no public target", rule)])
        if self.groups is not None:
            edges = np.quantile(known, np.arange(1, self.groups) / self.groups)
            group = np.searchsorted(edges, target, side="right")
            return np.where(np.isnan(target), self.groups, group), self.groups + 1
        labels = np.unique(known)
        if len(labels) > 100:
            problem = f"nothing for {len(labels)} different targets of public rows"
            rule = "allowed is 2 to 100, groups between quantiles"
            raise DataError([Fault("data.split.groups", problem, rule)])
        group = np.searchsorted(labels, target)
        seen = labels[np.minimum(group, len(labels) - 1)] == target
        return np.where(seen, group, len(labels)), len(labels) + 1

    def _said(self, sizes: Sequence[int], n_groups: int) -> str:
        return FormattedMessage(
            "Who holds which record is an assumption: each row drew its owner by its own target, "
            "of {groups} groups, with α = {alpha:g}; owners have {sizes} records. A record that is "
            "replaced keeps its owner, and moves no other.",
            groups=n_groups,
            alpha=self.dirichlet,
            sizes=Ends(min(sizes), max(sizes)),
        )
