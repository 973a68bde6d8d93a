"""Privacy of each owner by name: what it was promised, what was charged, and what it gave."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from asyncdp_sim.figures.kit.source import Result
from asyncdp_sim.privacy.label import n_sharers
from asyncdp_sim.reports.key_numbers import shown

MOST = 200
"""Owners that are listed; of more, those with the largest share of ε spent."""
ENERGY = ["joules", "bytes_sent", "bytes_received"]
"""Columns that are there with ``[energy]`` alone."""
FIRST = 12
"""So many stand on the page at once; the others open below."""


@dataclass(frozen=True)
class OwnerRow:
    """One owner over all replicates: the largest charge, and means of what it did."""

    number: int
    name: str
    records: str
    epsilon: str
    spent: str
    power: str
    released: str
    used: str
    online: str
    joules: str
    sent: str
    heard: str


@dataclass(frozen=True)
class OwnersTable:
    """The owners that are listed, how many there are, and whether names and energy are told.

    ``holders`` says who holds the record that an attacker detects.
    """

    rows: tuple[OwnerRow, ...]
    count: int
    named: bool
    powered: bool
    holders: str

    @property
    def first(self) -> tuple[OwnerRow, ...]:
        """Those that stand on the page at once."""
        return self.rows[:FIRST]

    @property
    def others(self) -> tuple[OwnerRow, ...]:
        """Those that open below."""
        return self.rows[FIRST:]


def owners(result: Result) -> OwnersTable:
    """Return a row for each owner, or for those whose budgets are used most."""
    who = result.participants
    names = who.names if len(who.names) > 0 else ("",) * len(who.numbers)
    epsilon, spent = (result.of_owners(name)[0:] for name in ("epsilon", "epsilon_spent"))
    claimed, charged = epsilon[0].astype(float), spent.astype(float).max(axis=0)
    power = _powers(result, len(charged))
    powered = "joules" in result.names("owners")
    averaged = ["records", "answers_released", "updates", "online_fraction"]
    averaged += ENERGY if powered else []
    means = {name: result.of_owners(name).astype(float).mean(axis=0) for name in averaged}
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.nan_to_num(charged / claimed, nan=0.0, posinf=0.0)
    order = np.arange(len(share))
    if len(order) > MOST:
        order = np.sort(np.argsort(-share, kind="stable")[:MOST])
    rows = tuple(
        OwnerRow(
            number=who.numbers[at],
            name=names[at],
            records=shown(means["records"][at]),
            epsilon=shown(claimed[at]),
            spent=shown(charged[at]),
            power=shown(power[at]),
            released=shown(means["answers_released"][at]),
            used=shown(means["updates"][at]),
            online=shown(means["online_fraction"][at]),
            **{
                column: shown(means[name][at]) if powered else ""
                for column, name in zip(("joules", "sent", "heard"), ENERGY, strict=True)
            },
        )
        for at in map(int, order)
    )
    told = any(row.name not in ("", str(row.number)) for row in rows)
    others = n_sharers(result.manifest) - 1
    holders = f"and {others} other{'s' * (others > 1)} hold" if others > 0 else "holds"
    return OwnersTable(rows, len(share), told, powered, f"the owner {holders}")


def _powers(result: Result, count: int) -> npt.NDArray[np.float64]:
    """Return each owner's largest attacker's power; NaN where an older result has none."""
    if "attacker_power" not in result.names("owners"):
        return np.full(count, np.nan)
    return np.asarray(result.of_owners("attacker_power").astype(float).max(axis=0))
