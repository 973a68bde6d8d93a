"""Finished runs: tells whether a directory holds the run that is asked for."""

import os
from pathlib import Path

from asyncdp_sim.errors import Fault, ResultError
from asyncdp_sim.results import read_manifest
from asyncdp_sim.results.provenance import described
from asyncdp_sim.results.write import remove_leftovers, require_free
from asyncdp_sim.runs.differences import between, in_words
from asyncdp_sim.runs.outcome import all_numbers
from asyncdp_sim.scenario import Scenario

_TABLES = tuple(f"{name}.parquet" for name in ("updates", "curve", "owners", "models", "optimum"))
_ALLOWED = "allowed is a directory that does not exist yet: name another with --out"


def finished(scenario: Scenario, directory: Path, *, events: bool, measured: bool = False) -> bool:
    """Return whether the result of a scenario is in a directory; if not, the directory is free.

    The same scenario is the same as resolved: every field, the seed and the replicates among them,
    and the contents of data files, wherever these lie. What a killed run has left beside the
    directory is removed.

    Parameters
    ----------
    scenario : Scenario
        Without a sweep.
    directory : Path
    events : bool
        Whether every event is to be there.
    measured : bool
        Whether it is to be a rehearsal, and not a simulation.

    Raises
    ------
    ResultError
        If something else is there, or a result without the events, or nothing can be written.
    DataError
        If a data file cannot be read.
    """
    if not os.path.isfile(directory / "manifest.json"):  # says no of any place that cannot be
        require_free(directory)
        remove_leftovers(directory)
        return False
    manifest, asked = read_manifest(directory), described(scenario)
    if "summary" not in manifest:
        require_free(directory)
    if ("measured" in manifest) is not measured:
        which = "a simulation" if measured else "a rehearsal, not a simulation"
        raise ResultError([Fault("--out", f"an existing path, {which}", _ALLOWED)], str(directory))
    differ = list(between("manifest.json", manifest["scenario"], asked, "asked"))
    whole = manifest.get("replicates") == list(all_numbers(scenario))
    if len(differ) > 0 or not whole:
        which = in_words(differ) or "of some replicates"
        given = f"an existing path, another result ({which})"
        raise ResultError([Fault("--out", given, _ALLOWED)], str(directory))
    missing = [name for name in _TABLES if not (directory / name).is_file()]
    if len(missing) > 0:
        given = f"a damaged result, without {', '.join(missing)}"
        raise ResultError([Fault("--out", given, _ALLOWED)], str(directory))
    if events and manifest.get("events") is not True:
        given = "a finished result without events"
        allowed = "allowed is it without --events, or another --out"
        raise ResultError([Fault("--events", given, allowed)], str(directory))
    return True
