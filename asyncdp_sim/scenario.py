"""A scenario: the union of all specifications, and TOML in and out."""

import copy
import itertools
import math
import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from asyncdp_sim.data import DataSpec
from asyncdp_sim.data.splitting import ByColumn
from asyncdp_sim.errors import Fault, SpecError
from asyncdp_sim.learning.algorithms import Algorithm
from asyncdp_sim.learning.objectives import Model
from asyncdp_sim.network.availability import Always
from asyncdp_sim.network.channels import Channel, Ideal
from asyncdp_sim.network.clocks import Clock, PoissonClock
from asyncdp_sim.network.laws import Law, NoTime
from asyncdp_sim.network.protocols import Protocol, Request
from asyncdp_sim.network.spec import Latency, Network
from asyncdp_sim.privacy import Privacy
from asyncdp_sim.spec import Count, PerOwner, Positive, Spec, faults_of, parse, per_owner

Raw = dict[str, Any]


def _identifier(text: str) -> str:
    words = text.split("-")
    if not all(word.isascii() and word.isalnum() and word == word.lower() for word in words):
        raise PydanticCustomError("id", "allowed are lower-case words joined by hyphens")
    return text


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
    record_every : int
        Distance in k between rows of the curve, ≥ 1.
    ties : str
        Order of like events at one tick: "declared" or "shuffled".
    learning : str
        "replay" learns over the recorded trace; "live" inside the simulation. The results are
        the same; live is the definition, replay is faster.
    """

    seed: Annotated[int, Field(ge=0)] = 1
    replicates: Count = 1
    updates: Count
    until: Positive | None = None
    record_every: Count = 1
    ties: Literal["declared", "shuffled"] = "declared"
    learning: Literal["replay", "live"] = "replay"


class Owners(Spec):
    """Who takes part.

    Attributes
    ----------
    count : int
        N ≥ 1.
    records : int or list, optional
        n_i ≥ 1 per owner; absent where the data are split by a column.
    """

    count: Count
    records: PerOwner[Count] | None = None


class Scenario(Spec):
    """Everything that decides a run's result, besides the software.

    Raises
    ------
    SpecError
        At construction, with every fault found.
    """

    model_config = ConfigDict(populate_by_name=True)

    schema_version: Annotated[Literal[1], Field(alias="schema")] = 1
    id: Annotated[str, AfterValidator(_identifier)]
    title: str = ""
    description: str = ""
    source: str = "synthetic"
    run: Run
    owners: Owners
    data: DataSpec
    model: Model
    clock: Clock = PoissonClock()
    availability: Always = Always()
    channel: Channel = Ideal()
    latency: Latency = Latency()
    compute: Law = NoTime()
    protocol: Protocol = Request()
    algorithm: Algorithm
    privacy: Privacy
    sweep: dict[str, list[Any]] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _fits_together(self) -> "Scenario":
        found = self._conflicts()
        if found:
            raise faults_of(found)
        return self

    def _conflicts(self) -> list[Fault]:
        n_owners = self.owners.count
        found = list(self.clock.faults(n_owners))
        found += self.privacy.faults(n_owners, self.model.theta_max)
        records = self.owners.records
        if isinstance(records, tuple) and len(records) != n_owners:
            allowed = f"allowed is one number, or a list with one per owner, {n_owners} in all"
            found.append(Fault("owners.records", f"{len(records)} values", allowed))
        by_column = _splits_by_column(self.data)
        if records is None and not by_column:
            found.append(Fault("owners.records", "nothing", "this field is required"))
        if records is not None and by_column:
            allowed = "allowed is nothing where the data are split by a column"
            found.append(Fault("owners.records", str(records), allowed))
        return found

    @property
    def network(self) -> Network:
        """The network part: all that a trace depends on, besides the seed."""
        return Network(
            answers_allowed=self.privacy.budget.answers_allowed(
                self.owners.count, self.run.updates
            ),
            updates=self.run.updates,
            until=self.run.until,
            ties=self.run.ties,
            clock=self.clock,
            availability=self.availability,
            channel=self.channel,
            latency=self.latency,
            compute=self.compute,
            protocol=self.protocol,
        )

    @property
    def records(self) -> tuple[int, ...] | None:
        """n_i per owner; None where the data decide."""
        records = self.owners.records
        return None if records is None else per_owner(records, self.owners.count)

    def plain(self) -> Raw:
        """Return the scenario as TOML-ready tables, with every default filled in."""
        raw: Raw = _listed(self.model_dump(by_alias=True, exclude_none=True))
        return raw if raw["sweep"] else {k: v for k, v in raw.items() if k != "sweep"}

    def base(self) -> "Scenario":
        """Return the scenario without its sweep."""
        return self if len(self.sweep) == 0 else self.model_copy(update={"sweep": {}})

    def cells(self) -> Iterator[tuple[dict[str, Any], "Scenario"]]:
        """Yield the swept values and the scenario of each cell of the grid, last path fastest."""
        for values in itertools.product(*self.sweep.values()):
            chosen = dict(zip(self.sweep, values, strict=True))
            raw = self.base().plain()
            for path, value in chosen.items():
                assign(raw, path, copy.deepcopy(value))
            yield chosen, parse(Scenario, raw)


def _splits_by_column(data: object) -> bool:
    named = getattr(data, "owner_column", None) is not None
    return named or isinstance(getattr(data, "split", None), ByColumn)


def load(file: Path, settings: Sequence[str] = ()) -> tuple[Scenario, list[str]]:
    """Read a scenario from a TOML file.

    Parameters
    ----------
    file : Path
        Relative paths in it are resolved against its folder.
    settings : sequence of str
        ``path=value`` in the order given; values are TOML, or text where they are not.

    Returns
    -------
    Scenario, list of str
        The scenario, and what the settings dropped, in words.

    Raises
    ------
    SpecError
        With every fault found, naming the file.
    """
    raw = _read(file)
    _resolve_paths(raw, file.parent)
    notes: list[str] = []
    for setting in settings:
        path, equals, text = setting.partition("=")
        if equals == "" or path.strip() == "":
            raise SpecError([Fault("--set", repr(setting), "allowed is path=value")])
        value = _toml_value(text)
        if path.strip() == "data.path" and isinstance(value, str):
            value = str(Path(value).absolute())
        try:
            notes += assign(raw, path.strip(), value)
        except SpecError as error:
            raise SpecError(error.faults, str(file)) from None
    try:
        scenario: Scenario = parse(Scenario, raw)
        _check_sweep(scenario)
    except SpecError as error:
        raise SpecError(error.faults, str(file)) from None
    return scenario, notes


def dump(scenario: Scenario, data_path: str | None) -> str:
    """Return a scenario as TOML text, with ``data.path`` as it loads from where the text lies."""
    import tomli_w  # only where a scenario is written

    raw = scenario.plain()
    if data_path is not None:
        raw["data"]["path"] = data_path
    return tomli_w.dumps(raw)


def data_path_from(scenario: Scenario, directory: Path) -> str | None:
    """Return the data file's path as seen from a directory; None without a file."""
    path = getattr(scenario.data, "path", None)
    return None if path is None else os.path.relpath(path, directory.absolute())


def jsonable(value: Any) -> Any:
    """Return plain tables ready for JSON: infinities as the texts "inf" and "-inf", NaN as null."""
    if isinstance(value, Mapping):
        return {key: jsonable(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [jsonable(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value


def assign(raw: Raw, path: str, value: Any) -> list[str]:
    """Set a dotted path in plain tables; return in words what a change of kind dropped.

    Setting ``X.kind`` drops X's fields that the new kind lacks.
    """
    *parents, last = _keys(path)
    table: Any = raw
    for parent in parents:
        table = table.setdefault(parent, {})
        if not isinstance(table, dict):
            allowed = f"{parent!r} is not a table, so nothing can be set below it"
            raise SpecError([Fault(path, repr(value), allowed)])
    if last == "kind" and table.get("kind") != value:
        from asyncdp_sim.spec import fields_of_kind

        keep = fields_of_kind(Scenario, parents, value)
        dropped = sorted(key for key in table if keep is not None and key not in keep)
        for key in dropped:
            del table[key]
        table["kind"] = value
        where = ".".join(parents)
        return [f"{path} = {value}: dropped {where}.{key}, which it lacks" for key in dropped]
    table[last] = value
    return []


def _keys(path: str) -> list[str]:
    """Split a dotted path as TOML does, so that quoted keys may hold dots."""
    try:
        table: Any = tomllib.loads(f"{path} = 0")
    except tomllib.TOMLDecodeError:
        allowed = "allowed is a dotted path such as privacy.epsilon"
        raise SpecError([Fault("--set", repr(path), allowed)]) from None
    keys = []
    while isinstance(table, dict):
        [(key, table)] = table.items()
        keys.append(key)
    return keys


def _check_sweep(scenario: Scenario) -> None:
    """Check every swept value by itself, so that a sweep does not fail half-way."""
    found: list[Fault] = []
    for path, values in scenario.sweep.items():
        if len(values) == 0:
            found.append(Fault(f"sweep.{path}", "[]", "allowed is a list with at least one value"))
        for value in values:
            raw = scenario.base().plain()
            try:
                assign(raw, path, copy.deepcopy(value))
                parse(Scenario, raw)
            except SpecError as error:
                found += [fault.under("sweep") for fault in error.faults]
    if found:
        raise SpecError(found)


def _read(file: Path) -> Raw:
    try:
        text = file.read_bytes().decode("utf-8")
        return tomllib.loads(text)
    except FileNotFoundError:
        given, allowed = "no such file", "allowed is a scenario file in TOML"
    except IsADirectoryError:
        given, allowed = "a directory", "allowed is a scenario file in TOML"
    except OSError as error:
        given, allowed = f"an unreadable file ({error.strerror})", "allowed is a readable TOML file"
    except UnicodeDecodeError as error:
        given, allowed = (
            f"bytes that are not UTF-8 at offset {error.start}",
            "allowed is UTF-8 text",
        )
    except tomllib.TOMLDecodeError as error:
        given, allowed = f"text that is not TOML ({error})", "allowed is TOML 1.0"
    raise SpecError([Fault("", given, allowed)], str(file))


def _resolve_paths(raw: Raw, folder: Path) -> None:
    data, sweep = raw.get("data"), raw.get("sweep")
    if isinstance(data, dict) and isinstance(data.get("path"), str):
        data["path"] = str((folder / data["path"]).absolute())
    if isinstance(sweep, dict) and isinstance(sweep.get("data.path"), list):
        listed = sweep["data.path"]
        sweep["data.path"] = [str((folder / p).absolute()) for p in listed if isinstance(p, str)]


def _toml_value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _listed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _listed(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_listed(inner) for inner in value]
    return value
