"""Manifest of a result or a sweep: its shape, reading and provenance.

A key is required where the first results had it already; one that came later is not, so that older
results are still read. Of a summary's figures the dictionary of columns says what they may be.
"""

import hashlib
import json
import platform
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from math import prod
from pathlib import Path
from shlex import quote
from typing import Annotated, Any, Literal, NotRequired

import numpy as np
import numpy.typing as npt
from pydantic import Field, GetCoreSchemaHandler, GetPydanticSchema, TypeAdapter, ValidationError
from pydantic_core import CoreSchema
from typing_extensions import TypedDict

import asyncdp_sim
from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.errors import Fault, ResultError
from asyncdp_sim.core.files import file_bytes, from_json, from_toml
from asyncdp_sim.core.specification import Count, Finite, NonNegative
from asyncdp_sim.core.words import shorten
from asyncdp_sim.data.tables.read import source_of
from asyncdp_sim.results import columns
from asyncdp_sim.scenario import Scenario, jsonable, unplaced
from asyncdp_sim.trace import Trace


def not_a_result(
    directory: Path, given: str, allowed: str = "allowed is a result directory"
) -> ResultError:
    """Return the error for a directory that is no result, or a damaged one."""
    return ResultError([Fault("", given, allowed)], str(directory))


SCHEMA = 1
"""Version of the format of results."""

AT_FIRST = (
    "updates", "simulated_time", "throughput", "utilisation", "collision_rate", "refusal_rate",
    "mean_staleness", "p_repeat", "p_repeat_uniform", "clip_count", "psi_final", "max_spent_ratio",
    "private", "epsilon_true", "bound_exceeded", "timing_accounted", "not_for_release",
)  # fmt: skip
"""What every summary has; all else came later, or is there where it was asked for."""

Infinity = Literal["inf", "-inf"]
"""As JSON has it."""
Number = Finite | Infinity
Whole = Annotated[int, Field(ge=0, lt=2**63)]
CellName = Annotated[str, Field(pattern="^cell-[0-9]{4,}$")]
Span = Annotated[list[Finite], Field(min_length=2, max_length=2)]
Texts = dict[str, str]


class Kept(TypedDict):
    """Keys of every manifest: what made a result, and what its reader must know."""

    schema: Literal[1]
    scenario: dict[str, Any]
    digest: str
    seed: Whole
    versions: Texts
    fingerprints: dict[str, Any]
    warnings: list[str]
    warning_fields: NotRequired[list[dict[str, Any]]]
    git_commit: NotRequired[str | None]
    cpu_features: NotRequired[list[str]]
    blas_kernel: NotRequired[str | None]
    label: NotRequired[str]


class Expected(TypedDict):
    """A prediction of one figure."""

    quantity: str
    value: Number | None
    formula: str
    reason: str
    low: NotRequired[Number | None]
    high: NotRequired[Number | None]


def _summary(_: object, to_schema: GetCoreSchemaHandler) -> CoreSchema:
    """Return the shape of a summary: a table of figures, of which some are tables of their own."""
    flat: dict[str, Any] = {"intervals": dict[str, Span | None]}
    inner: dict[str, dict[str, Any]] = {}
    absent = set[str]()
    for name, column in columns.summary().items():
        group, _, part = name.rpartition(".")
        (inner.setdefault(group, {}) if group else flat)[part] = _of_figure(column)
        if column.null != columns.NEVER:
            absent.add(group)
    for group, parts in inner.items():
        table = _table({item: (of, item in columns.SPREAD) for item, of in parts.items()})
        flat[group] = table | None if group in absent else table
    return to_schema(_table({item: (of, item in AT_FIRST) for item, of in flat.items()}))


def _of_figure(column: columns.Column) -> Any:
    """Return the type of a figure, by the dictionary's words for its domain."""
    rest = {columns.COUNT: Whole, columns.NUMBER: Whole, columns.YES: bool, columns.TEXT: str}
    signed = column.domain.startswith(columns.ANY)
    result: Any = rest.get(column.domain, Finite if signed else NonNegative)
    if column.domain.endswith(columns.OR_INFINITE):
        result = result | Infinity
    return result if column.null == columns.NEVER else result | None


def _table(keys: Mapping[str, tuple[Any, bool]]) -> Any:
    """Return a table's type, from each key to what stands there and whether it must."""
    types = {key: of if must else NotRequired[of] for key, (of, must) in keys.items()}
    return TypedDict("_Table", types)  # type: ignore[operator]


class IntervalEnds(TypedDict):
    """A mean gain, and its 95 % interval."""

    gain: Number
    low: Number
    high: Number


class OfRecords(IntervalEnds):
    """A mean gain in which every record counts once."""

    verdict: str


class OfAll(IntervalEnds):
    """The gain of all owners."""

    by_records: OfRecords
    verdict: str
    assumes: str
    owners: Whole
    own: Number
    verdicts: dict[str, Whole]
    no_better_than_guessing: Whole
    runs: Count
    judged_on: str


class OfOwner(TypedDict):
    """The gain of an owner, a row of ``gains``; null where it has no rows to be judged on."""

    owner: Count
    name: str | None
    records: Whole
    own: Number | None
    own_best: str
    joint: Number | None
    adapted: Number | None
    guessing: Number | None
    gain: Number | None
    low: Number | None
    high: Number | None
    joint_gain: Number | None
    joint_gain_low: Number | None
    joint_gain_high: Number | None
    verdict: str
    rows_to_decide: Whole | None
    break_even: None


class HowJudged(TypedDict):
    """Options of judging gains."""

    material: Number
    own_best: Literal["any", "linear"]


class KeptOfRun(Kept):
    """Keys of the manifest of a run, or of a sweep's cell."""

    fingerprints: Texts
    summary: Annotated[dict[str, Any], GetPydanticSchema(_summary)]
    replicates: Annotated[list[Count], Field(min_length=1)]
    end_ticks: NotRequired[Annotated[list[Whole], Field(min_length=1)]]
    network: NotRequired[str]
    events: NotRequired[bool]
    columns: NotRequired[list[str]]
    owner_names: NotRequired[list[str]]
    constants: NotRequired[dict[str, Number | None]]
    loop: NotRequired[str | None]  # of older versions alone
    measured: NotRequired[dict[str, Any]]  # of older versions alone
    predictions: NotRequired[list[Expected]]
    rests_on: NotRequired[object]  # of older versions alone, and not read
    target_unit: NotRequired[str]
    score: NotRequired[str]
    unit: NotRequired[str | None]
    judging: NotRequired[HowJudged]
    consortium: NotRequired[OfAll]
    owners: NotRequired[list[OfOwner]]
    break_even: NotRequired[None]
    remaining: NotRequired[OfAll]
    reads: NotRequired[Literal["public", "all"]]
    release: NotRequired[bool]


class Part(TypedDict):
    """The cells and traces of a sweep that some versions have made, which may be unknown."""

    versions: Texts | None
    made: list[str]


class KeptOfSweep(Kept):
    """Keys of the manifest of a whole sweep."""

    fingerprints: dict[CellName, Texts]
    cells: Count
    failed: NotRequired[dict[CellName, str]]
    mixed_versions: NotRequired[list[Part]]


@cache
def shape_of(*, swept: bool) -> TypeAdapter[Any]:
    """Return what holds the manifest of a sweep, or of a run, to its shape."""
    return TypeAdapter(KeptOfSweep if swept else KeptOfRun)


_LONGEST = 40
"""Characters of a wrong value that a message shows."""
_MENDED = "allowed is a result directory, whose scenario.toml makes it again"


def read_manifest(directory: Path, *needed: str) -> dict[str, Any]:
    """Return the manifest of a result or a sweep: of its shape, and of the scenario it names.

    Parameters
    ----------
    directory : Path
    needed : str
        Keys that it must have: ``summary`` is that of a run, ``cells`` that of a sweep.

    Raises
    ------
    ResultError
        If there is none, or it is damaged or of another version of the format.
    """
    try:
        manifest = from_json(file_bytes(directory / "manifest.json"))
    except (OSError, ValueError):
        if _has_begun(directory):
            remedy = f"to continue it: asyncdp sweep {quote(str(directory))}"
            raise not_a_result(directory, "a sweep that is not finished", remedy) from None
        remedy = "allowed is a result of asyncdp run or sweep"
        raise not_a_result(directory, "no readable manifest.json", remedy) from None
    schema = manifest.get("schema") if isinstance(manifest, dict) else None
    if type(schema) is int and schema != SCHEMA:
        raise not_a_result(directory, f"a result of schema {schema}", f"allowed is one of {SCHEMA}")
    damage = _damage(manifest)
    if damage is not None:
        raise not_a_result(directory, f"a damaged manifest.json ({damage})", _MENDED)
    for key in needed:
        if key not in manifest:
            raise not_a_result(directory, f"a manifest.json without {key}")
    return dict(manifest)


def _has_begun(directory: Path) -> bool:
    """Return whether a sweep has begun in a directory; its manifest comes last."""
    try:
        return "sweep" in from_toml(file_bytes(directory / "scenario.toml").decode())
    except (OSError, ValueError):
        return False


def _damage(manifest: Any) -> str | None:
    """Return the first place that has another shape, or is not of the scenario; None if whole."""
    scenario = manifest.get("scenario") if isinstance(manifest, dict) else None
    swept = isinstance(scenario, dict) and "sweep" in scenario
    try:
        shape_of(swept=swept).validate_python(manifest, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        return _in_words(first["loc"], first["type"], manifest)
    try:
        own = digest(manifest["scenario"])
    except ValueError:  # a text that is none
        own = ""
    if manifest["digest"] != own:
        return "scenario and digest do not belong together"
    return _cells_apart(manifest) if swept else _replicates_apart(manifest)


def _cells_apart(manifest: Mapping[str, Any]) -> str | None:
    """Say where cells are not those of the scenario's grid; None where they are."""
    if manifest["cells"] != prod(map(len, manifest["scenario"]["sweep"].values())):
        return _setting_in_words("cells", manifest["cells"])
    listed = {*manifest["fingerprints"], *manifest.get("failed", ())}
    if listed != {f"cell-{number:04d}" for number in range(manifest["cells"])}:
        return "fingerprints and failed are not of all cells"
    return None


def _replicates_apart(manifest: Mapping[str, Any]) -> str | None:
    """Say that replicates are not ascending; None where they are."""
    text, ends = manifest["replicates"], manifest.get("end_ticks")
    if ends is not None and len(ends) != len(text):
        return _setting_in_words("end_ticks", ends)
    return None if text == sorted(set(text)) else _setting_in_words("replicates", text)


def _in_words(location: tuple[str | int, ...], kind: str, manifest: Any) -> str:
    """Return where a manifest is damaged, and what stands there.

    What the library adds to a location, such as the member of a union, stands in no manifest.
    """
    path, here = "", manifest
    for number, part in enumerate(location, 1):
        absent = number == len(location) and kind == "missing"
        if isinstance(here, dict) and (part in here or absent):
            path, here = f"{path}.{part}".lstrip("."), here.get(part)
        elif isinstance(here, list) and isinstance(part, int):
            path, here = f"{path}[{part}]", here[part]
        else:
            break
    return f"{path} is missing" if kind == "missing" else _setting_in_words(path, here)


def _setting_in_words(path: str, value: Any) -> str:
    """Return a setting, or a value without a path, in words of limited length."""
    short = shorten(json.dumps(value, ensure_ascii=False), _LONGEST)
    return f"{path} = {short}" if path else short


JUDGES = "scikit-learn"
"""Whose version decides gains alone, and stands in no older manifest."""
VERSIONS = "versions.json"
"""File with the versions that made a directory without a manifest."""
CIRCUMSTANCES = ("versions", "mixed_versions", "git_commit", "cpu_features", "blas_kernel")
"""Keys of a manifest that say what a result was made with, and not what was made."""
LATER = ("warning_fields", "rests_on", "loop", "blas_kernel", "end_ticks")
"""Keys that not every version of the package writes, and that no number depends on: what replay
compares are the others. Of older manifests, ``loop`` names the event loop that was used, and
``rests_on`` the tests that checked kinds and figures."""


def placeless(scenario: Scenario) -> dict[str, Any]:
    """Return the scenario as plain tables that name every data file by name and SHA-256.

    Raises
    ------
    DataError
        If a data file cannot be read.
    """
    return unplaced(scenario, cache(lambda path: source_of(path).sha256))


def described(scenario: Scenario) -> dict[str, Any]:
    """Return the resolved scenario for a manifest: a data file by name and digest, not by path.

    Raises
    ------
    DataError
        If the data file cannot be read.
    """
    return dict(jsonable(placeless(scenario)))


def digest(described_scenario: Mapping[str, Any]) -> str:
    """Return the digest of a described scenario: 64 hex digits that name the experiment."""
    content = json.dumps(described_scenario, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(content.encode()).hexdigest()


def network_digest(scenario: Scenario, replicates: int) -> str:
    """Return the name under which a scenario's traces can be shared (16 hex digits).

    Where their timing depends on the model, they are shared with nobody: the whole scenario counts.
    """
    result = scenario.network.digest(scenario.run.seed, replicates)
    if scenario.timing_unaccounted is None:
        return result
    content = result + digest(described(scenario))
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def default_directory(scenario: Scenario) -> Path:
    """Return the default directory of a scenario's result: results/<id>-<digest>."""
    return Path("results") / f"{scenario.id}-{digest(described(scenario))[:8]}"


@cache
def versions() -> dict[str, str]:
    """Return the versions that decide a result's bits, of the packages that are installed."""
    installed = {"asyncdp_sim": asyncdp_sim.__version__, "python": platform.python_version()}
    for name in ("numpy", "simpy", "networkx", JUDGES):
        with suppress(PackageNotFoundError):
            installed[name] = version(name)
    return installed


@cache
def sources() -> str:
    """Return the digest of the package's own modules (16 hex digits): versions may lag behind."""
    root, result = Path(asyncdp_sim.__file__).parent, hashlib.sha256()
    for file in sorted(root.rglob("*.py")):
        result.update(f"{file.relative_to(root).as_posix()}\n".encode() + file.read_bytes())
    return result.hexdigest()[:16]


def other_versions(said: object) -> dict[str, str]:
    """Return those that differ from the versions here, each as ``theirs, here ours``.

    Parameters
    ----------
    said : object
        The versions in a manifest; anything but a table says nothing.
    """
    theirs = said if isinstance(said, Mapping) else {}
    ours = {name: text for name, text in versions().items() if name != JUDGES or JUDGES in theirs}
    return {
        name: f"{theirs.get(name, 'unknown')}, here {ours.get(name, 'none')}"
        for name in dict.fromkeys((*ours, *theirs))
        if theirs.get(name) != ours.get(name)
    }


def cpu_features() -> list[str]:
    """Return the processor features that NumPy uses, sorted."""
    result = np.show_config(mode="dicts")["SIMD Extensions"]
    return sorted({*result.get("baseline", []), *result.get("found", [])})


@cache
def blas_kernel() -> str | None:
    """Return the kernel that NumPy's BLAS has chosen for this processor, such as "SkylakeX".

    None where it does not name one. Another kernel adds in another order, so that the last digits
    of models differ.
    """
    from threadpoolctl import threadpool_info

    numpy = Path(np.__file__).parent
    matches = [item for item in threadpool_info() if item["user_api"] == "blas"]
    beside = (numpy, numpy.with_name("numpy.libs"))  # SciPy has a BLAS of its own
    own = [item for item in matches if not {*beside}.isdisjoint(Path(item["filepath"]).parents)]
    named: str | None = (own or matches or [{}])[0].get("architecture")
    return named


@cache
def git_commit() -> str | None:
    """Return the commit of the source tree that the package runs from, if it is one."""
    root = Path(asyncdp_sim.__file__).resolve().parent.parent
    if not (root / ".git").exists():
        return None
    try:
        asked = subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=root, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return asked.stdout.strip()


def fingerprints(
    traces: Sequence[Trace], curve: npt.NDArray[np.void], models: Array
) -> dict[str, str]:
    """Return digests in layers, so that a difference shows the layer it is in.

    ``order``: who updated, in which order; ``time``: when; ``accounts``: what owners sent and
    released; ``models``: the final models; ``curve``: the fitness on the way.
    """
    updates = [trace.updates for trace in traces]
    return {
        "order": _fingerprint(u[name] for u in updates for name in ("owner", "message")),
        "time": _fingerprint(u[name] for u in updates for name in ("tick", "read_tick")),
        "accounts": _fingerprint(table for t in traces for table in (t.owners, t.released)),
        "models": _fingerprint([models]),
        "curve": _fingerprint([curve]),
    }


def _fingerprint(arrays: Iterable[npt.NDArray[Any]]) -> str:
    """Return the digest of shapes, types and values, these row by row however they lie there."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(str((array.shape, array.dtype.str)).encode())
        digest.update(array.tobytes())
    return digest.hexdigest()
