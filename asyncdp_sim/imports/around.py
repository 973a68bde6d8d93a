"""A scenario around a network that was measured."""

from collections.abc import Sequence
from pathlib import Path

from asyncdp_sim.errors import DataError, Fault
from asyncdp_sim.results.write import write_into
from asyncdp_sim.scenario import SCHEMA_LINE, load

_AROUND = (
    f"{SCHEMA_LINE}\n"
    + """\
# The network is that of {file}. Who learns what, by which steps and at which
# price is yours to say: the lines marked "a choice" stand for it.
schema = 1
id = "{id}"
title = "The network of {file}"
{blocks}

[run]
updates = {updates}{until}  # a choice

[owners]
count = {owners}
records = {records}  # a choice

[data]  # a choice
kind = "gaussian"
features = 10

[model]  # a choice
kind = "ridge"
regularisation = 1e-3

[algorithm]  # a choice
kind = "async-gossip"
rho = 1.0

[privacy]  # a choice
epsilon = 1.0
sensitivity = {{ kind = "clip", bound = 1.0 }}
"""
)


def written_around(
    blocks: Sequence[str],
    out: Path,
    file: Path,
    *,
    owners: int,
    records: int = 100,
    updates: int = 1000,
    until: float | None = None,
) -> None:
    """Write a scenario that can be run, around the network part that ``blocks`` say in TOML.

    Raises
    ------
    DataError
        If its name does not end in .toml.
    SpecError
        If what was measured makes no network.
    """
    if out.suffix != ".toml":
        raise DataError([Fault("-o", repr(str(out)), "allowed is a name that ends in .toml")])
    words = "".join(c if c.isascii() and c.isalnum() else " " for c in file.stem.lower()).split()
    text = _AROUND.format(
        file=file.name.replace('"', "'").replace("\\", "/"),
        id="-".join(words) or "measured",
        blocks="\n".join(blocks),
        updates=updates,
        until="" if until is None else f"\nuntil = {until!r}",
        owners=owners,
        records=records,
    )
    write_into(out.absolute().parent, out.name, text)
    load(out)
