"""The refusal of a directory that holds no result, or a damaged one."""

from pathlib import Path

from asyncdp_sim.errors import Fault, ResultError


def not_a_result(
    directory: Path, given: str, allowed: str = "allowed is a result directory"
) -> ResultError:
    """Return the error for a directory that is no result, or a damaged one."""
    return ResultError([Fault("", given, allowed)], str(directory))
