"""Reproduction of a result: commands, seed, versions, digests."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Fact:
    """A name and what it is."""

    name: str
    text: str


@dataclass(frozen=True)
class Reproduction:
    """What it takes to make a result again."""

    commands: tuple[str, ...]
    facts: tuple[Fact, ...]
    fingerprints: tuple[Fact, ...]


def reproduction(name: str, manifest: Mapping[str, Any]) -> Reproduction:
    """Return commands to be run beside a directory of this name, and what decides its bits."""
    place, swept = shlex.quote(name), "summary" not in manifest
    again = f"asyncdp {'sweep' if swept else 'run'} {place}/scenario.toml --out again"
    versions = ", ".join(f"{key} {said}" for key, said in (manifest["versions"] or {}).items())
    facts = [
        Fact("seed", str(manifest["seed"])),
        Fact("digest of the scenario", str(manifest["digest"])),
        Fact("versions", versions),
        Fact("commit", str(manifest.get("git_commit") or "not known")),
        Fact("processor features", ", ".join(manifest.get("cpu_features", [])) or "not known"),
    ]
    prints = manifest["fingerprints"]
    layers = () if swept else tuple(Fact(str(k), str(v)) for k, v in prints.items())
    return Reproduction((f"asyncdp replay {place}", again), tuple(facts), layers)
