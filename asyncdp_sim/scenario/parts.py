"""The parts of a scenario that are of no other family: its id, its sweep, its run, its owners."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Discriminator, Field, Tag
from pydantic_core import PydanticCustomError

from asyncdp_sim.errors import Fault, SpecError
from asyncdp_sim.faults import TAGS, faults_of
from asyncdp_sim.network.laws import Lognormal
from asyncdp_sim.scenario import variants
from asyncdp_sim.scenario.paths import keys
from asyncdp_sim.scenario.variants import VARIANT
from asyncdp_sim.spec import Count, Positive, Several, Spec, per_owner
from asyncdp_sim.streams import Streams


def identifier(text: str) -> str:
    """Return an id: lower-case words joined by hyphens."""
    words = text.split("-")
    if not all(word.isascii() and word.isalnum() and word == word.lower() for word in words):
        raise PydanticCustomError("id", "allowed are lower-case words joined by hyphens")
    return text


def canonical(sweep: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Spell every swept path as ``a.b``, so that one path cannot stand twice."""
    found: list[Fault] = []
    spelled: dict[str, list[Any]] = {}
    for path, values in sweep.items():
        if len(values) == 0:
            found.append(Fault(path, "[]", "allowed is a list with at least one value"))
        if path == VARIANT:
            found += variants.faults(values)
            spelled[path] = values
            continue
        try:
            parts = keys(path)
        except SpecError as error:
            found += error.faults
            continue
        name = ".".join(parts)
        if parts[0] in ("schema", "id", "sweep") or name in spelled:
            found.append(Fault(path, "this path", "allowed is a field of the run, once each"))
        spelled[name] = values
    if len(found) > 0:
        raise faults_of(found)
    return spelled


class Run(Spec):
    """How much is simulated.

    Attributes
    ----------
    seed : int
        ≥ 0; the only seed.
    replicates : int
        R ≥ 1 independent runs.
    updates : int
        T ≥ 1, the papers' horizon.
    until : float, optional
        Time units (> 0) at which a run ends even if T is not reached.
    target : float, optional
        ψ > 0; a run ends with the first update that brings the relative fitness of θ_L down to it.
    record_every : int
        Distance in k between rows of the curve, ≥ 1.
    ties : str
        Order of like events at one tick: "declared" or "shuffled".
    learning : str
        "replay" learns over the recorded trace; "live" inside the simulation. The results are
        the same; live is the definition, replay is faster. Where timing depends on the model
        (``target``, ``[trigger]``) there is no trace before learning, and only live will do.
    alone : bool
        Whether each owner's own optimum is found too, and ψ of it.
    split : bool
        Whether ψ at the end is split into its parts, which takes further runs without noise.
    """

    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] = 1
    replicates: Count = 1
    updates: Count
    until: Annotated[float, Field(gt=0, le=1e9)] | None = None
    target: Positive | None = None
    record_every: Count = 1
    ties: Literal["declared", "shuffled"] = "declared"
    learning: Literal["replay", "live"] = "replay"
    alone: bool = False
    split: bool = False


class LognormalCounts(Spec):
    """Numbers of records that are drawn once, from the stream ``("owners", "records")``.

    They are the scenario's, of its seed, and nothing is read for them: n_i is lognormal, rounded to
    the nearest whole number, and at least 1. More owners leave those of the others as they are.

    Attributes
    ----------
    mean : float
        1 to 10⁸.
    cv : float
        Coefficient of variation, > 0 to 100.
    """

    mean: Annotated[float, Field(ge=1, le=1e8)]
    cv: Annotated[float, Field(gt=0, le=100)]

    def drawn(self, n_owners: int, seed: int) -> tuple[int, ...]:
        """Return n_i of each owner."""
        generator = Streams(seed).generator("owners", "records")
        law = Lognormal(mean=self.mean, cv=self.cv)
        counts = np.rint(law.draw(generator, n_owners)).clip(1, 2**31 - 1)
        return tuple(int(count) for count in counts)


def _how_given(value: object) -> str:
    if isinstance(value, list | tuple):
        return TAGS[1]
    return TAGS[3] if isinstance(value, Mapping | LognormalCounts) else TAGS[0]


Records = Annotated[
    Annotated[Count, Tag(TAGS[0])]
    | Annotated[Several[Count], Tag(TAGS[1])]
    | Annotated[LognormalCounts, Tag(TAGS[3])],
    Discriminator(_how_given),
]


class Owners(Spec):
    """Who takes part.

    Attributes
    ----------
    count : int
        N ≥ 1.
    records : int, list or table, optional
        n_i ≥ 1 per owner, or ``{ mean = 500, cv = 1.0 }``, the mean and coefficient of variation of
        a lognormal law that they are drawn from; absent where the data are split by a column or by
        their targets.
    """

    count: Count
    records: Records | None = None

    def records_of(self, seed: int) -> tuple[int, ...] | None:
        """Return n_i per owner; None where the data decide."""
        if isinstance(self.records, LognormalCounts):
            return self.records.drawn(self.count, seed)
        return None if self.records is None else per_owner(self.records, self.count)
