"""Reproduction of a result: commands, seed, versions, digests."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ReproduceLine:
    """A name and what it is."""

    name: str
    text: str


@dataclass(frozen=True)
class Reproduction:
    """The means to make a result again."""

    commands: tuple[str, ...]
    facts: tuple[ReproduceLine, ...]
    fingerprints: tuple[ReproduceLine, ...]


def reproduction(name: str, manifest: Mapping[str, Any]) -> Reproduction:
    """Return commands to be run beside a directory of this name, and what decides its bits."""
    place, swept = shlex.quote(name), "summary" not in manifest
    again = f"asyncdp {'sweep' if swept else 'run'} {place}/scenario.toml --out again"
    versions = ", ".join(f"{key} {said}" for key, said in (manifest["versions"] or {}).items())
    facts = [
        ReproduceLine("seed", str(manifest["seed"])),
        ReproduceLine("digest of the scenario", str(manifest["digest"])),
        ReproduceLine("versions", versions),
        ReproduceLine("commit", str(manifest.get("git_commit") or "not known")),
        ReproduceLine(
            "processor features", ", ".join(manifest.get("cpu_features", [])) or "not known"
        ),
        ReproduceLine("BLAS kernel", str(manifest.get("blas_kernel") or "not known")),
    ]
    prints = manifest["fingerprints"]
    layers = () if swept else tuple(ReproduceLine(str(k), str(v)) for k, v in prints.items())
    return Reproduction((f"asyncdp replay {place}", again), tuple(facts), layers)
