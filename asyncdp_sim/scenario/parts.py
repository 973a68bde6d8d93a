"""The parts of a scenario that are of no other family: its id, its sweep, its run, its owners."""

from collections import Counter
from typing import Annotated, Any, Literal

from pydantic import Field
from pydantic_core import PydanticCustomError

from asyncdp_sim.errors import Fault, SpecError
from asyncdp_sim.faults import faults_of, show
from asyncdp_sim.scenario import variants
from asyncdp_sim.scenario.paths import keys
from asyncdp_sim.scenario.variants import VARIANT
from asyncdp_sim.spec import Count, PerOwner, Positive, Spec, wrong_length


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


Names = Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Field(strict=False)]


class Owners(Spec):
    """Who takes part.

    Attributes
    ----------
    count : int
        N ≥ 1. In a scenario file it may be absent where ``names`` say it, or a column of a table
        whose values are the owners.
    records : int or list, optional
        n_i ≥ 1 per owner; absent where the data are split by a column.
    names : list of str, optional
        What the owners are called, one name each, all different; absent where the data are split
        by a column, whose values are the names.
    """

    count: Count
    records: PerOwner[Count] | None = None
    names: Names | None = None

    def name_faults(self, column: str | None) -> list[Fault]:
        """Return what is wrong with the names, the data being split by a column or not."""
        if self.names is None:
            return []
        key, given = "owners.names", f"{len(self.names)} names"
        if column is not None:
            allowed = f"allowed is nothing where the values of {column!r} are the names"
            return [Fault(key, given, allowed)]
        found = wrong_length(key, self.names, self.count, "name")
        twice = [name for name, times in Counter(self.names).items() if times > 1]
        if len(twice) > 0:
            found.append(Fault(key, f"{show(twice[0])} twice", "allowed is every name once"))
        return found
