"""Provenance of a result: versions, processor, commit, digests and fingerprints."""

import hashlib
import json
import platform
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import asyncdp_sim
from asyncdp_sim.core.arrays import Array
from asyncdp_sim.data.tables.read import source_of
from asyncdp_sim.scenario import Scenario, jsonable, unplaced, unplaced_json
from asyncdp_sim.trace import Trace

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
    if len(scenario.sweep) > 0:
        return dict(jsonable(placeless(scenario)))
    return unplaced_json(scenario, cache(lambda path: source_of(path).sha256))


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
    found = {"asyncdp_sim": asyncdp_sim.__version__, "python": platform.python_version()}
    for name in ("numpy", "simpy", "networkx", JUDGES):
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


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
    traces: Sequence[Trace],
    curve: npt.NDArray[np.void],
    models: Array,
) -> dict[str, str]:
    """Return digests in layers, so that a difference shows the layer it is in.

    ``order``: who updated, in which order; ``time``: when; ``accounts``: what owners sent and
    released; ``models``: the final models; ``curve``: the fitness on the way.
    """
    updates = [trace.updates for trace in traces]
    return {
        "order": _fingerprint(
            np.ascontiguousarray(u[c]) for u in updates for c in ("owner", "message")
        ),
        "time": _fingerprint(
            np.ascontiguousarray(u[c]) for u in updates for c in ("tick", "read_tick")
        ),
        "accounts": _fingerprint(
            array for trace in traces for array in (trace.owners, trace.released)
        ),
        "models": _fingerprint([np.ascontiguousarray(models)]),
        "curve": _fingerprint([np.ascontiguousarray(curve)]),
    }


def _fingerprint(arrays: Any) -> str:
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(str((array.shape, array.dtype.str)).encode())
        digest.update(array.tobytes())
    return digest.hexdigest()
