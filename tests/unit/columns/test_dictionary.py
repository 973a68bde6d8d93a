"""The dictionary of columns: all that runs write is in it, and what it says of values is so."""

import json
import math
import re
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from asyncdp_sim.decision import Judging
from asyncdp_sim.results.columns import Column, column, summary, tables
from asyncdp_sim.runs import run, write
from asyncdp_sim.sweeps import sweep
from asyncdp_sim.trace import Detail, Ending, EventKind, ExchangeOutcome
from tests.reproducibility.runs import scenario

SHORT = {"run__updates": 8, "run__replicates": 2}
CLIP = {"kind": "clip", "bound": 1.0}
LABELS = {"kind": "gaussian", "features": 3, "labels": True, "held_out": 0.3}
HELD_OUT = {"kind": "gaussian", "features": 3, "held_out": 0.3}
CSMA = {"kind": "csma", "airtime": 0.1, "propagation_delay": 0.01, "loss": 0.2}
EDGES = {"kind": "edges", "between": [[1, 2], [2, 3]]}
AVERAGING: dict[str, Any] = {
    "protocol": {"kind": "gossip", "graph": EDGES, "clock": {"kind": "poisson", "rate": 1.0}},
    "clock": {"kind": "poisson", "rate": 1.0},
    "algorithm": {"kind": "averaging", "step": 0.1},
    "privacy": {
        "epsilon": 1.0, "delta": 1e-6, "mechanism": "gaussian", "sensitivity": CLIP,
        "observer": {"kind": "node"}, "budget": {"kind": "per-owner-cap", "answers": 1},
    },
}  # fmt: skip
ENERGY = {
    "idle": 0.1, "listening": 0.4, "computing": 5.0, "sending": [1.0, 1.2, 1.4], "receiving": 0.8,
    "byte_sent": 1e-6, "learner": {"idle": 50.0, "busy": 80.0},
}  # fmt: skip
RUNS: dict[str, dict[str, Any]] = {
    "plain": {},
    "held out, alone": {
        "data": HELD_OUT, "run__alone": True, "run__split": True, "owners__names": ["a", "b", "c"],
    },
    "labels": {"data": LABELS, "model__kind": "logistic", "run__alone": True,
               "privacy__sensitivity": CLIP},
    "one replicate": {"run__replicates": 1, "run__split": True},
    "gaussian": {"privacy__mechanism": "gaussian", "privacy__delta": 1e-6, "privacy__overlap": 2},
    "pld": {
        "privacy__accountant": "pld", "privacy__delta": 1e-6, "privacy__sensitivity": CLIP,
    },
    "csma": {"channel": CSMA, "protocol": {"kind": "push"}},
    "rounds": {"protocol": {"kind": "rounds"}, "algorithm": {"kind": "collab-1", "rho": 1.0}},
    "bare": {"privacy": {"mechanism": "none"}, "availability": {"kind": "bernoulli",
             "probability": 0.5}},
    "graph": {
        "protocol": {"kind": "gossip", "graph": EDGES, "clock": {"kind": "poisson", "rate": 1.0}},
        "clock": {"kind": "poisson", "rate": 1.0},
        "algorithm": {"kind": "gossip-graph", "rho": 1.0},
    },
    "averaging": AVERAGING,
    "energy": {"energy": ENERGY},
    "whole owners": {
        "protocol": {"kind": "rounds"},
        "algorithm": {"kind": "parameter-server", "step": 0.2},
        "privacy": {
            "epsilon": 1.0, "delta": 1e-6, "mechanism": "gaussian", "unit": "owner",
            "observer": "model", "sensitivity": {"kind": "adaptive-clip", "start": 0.5},
        },
    },
}  # fmt: skip


CATEGORY = "dictionary<values=string, indices=int8, ordered=0>"


class Found(defaultdict[tuple[str, str], list[Any]]):
    """Values by table and column, and the directories that they are from."""

    directories: Sequence[Path] = ()
    types: dict[tuple[str, str], set[str]]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Found:
    """Return every value of every column and key that these runs and a sweep have written."""
    root = tmp_path_factory.mktemp("dictionary")
    values = Found(list)
    values.types = defaultdict(set)
    for place, changes in enumerate(RUNS.values()):
        directory = root / str(place)
        write(run(scenario(**SHORT | changes), events=True, gains=Judging()), directory)
        gather(directory, "", values)
    swept = {"algorithm.rho": [1.0, 1e200], "privacy.epsilon": [1.0, 2.0]}
    sweep(scenario(**SHORT, sweep=swept, energy=ENERGY), root / "sweep")
    sweep(scenario(**SHORT, **AVERAGING, sweep={"algorithm.step": [0.1, 0.2]}), root / "averages")
    for name in ("sweep", "averages"):
        gather(root / name, "", values)
        for directory in (*(root / name / "traces").iterdir(), *(root / name).glob("cell-*")):
            gather(directory, "traces/" if directory.parent.name == "traces" else "", values)
    values.directories = [page.parent for page in root.rglob("README.md")]
    assert len(values.directories) == len(RUNS) + 8
    return values


def gather(directory: Path, folder: str, values: Found) -> None:
    for file in directory.glob("*.parquet"):
        table = f"{folder}{file.stem}"
        table = "updates" if table == "traces/updates" else table
        read = pq.read_table(file)
        for name, cells in read.to_pydict().items():
            values[table, name] += cells
            values.types[table, name].add(str(read.schema.field(name).type))
    if (directory / "cells.parquet").exists():
        return
    if (directory / "manifest.json").exists():
        for name, value in json.loads((directory / "manifest.json").read_text())["summary"].items():
            if name == "intervals":
                for ratio, ends in value.items():
                    for end, number in zip(("low", "high"), ends or (None, None), strict=True):
                        values["summary", f"{ratio}_{end}"].append(number)
            elif isinstance(value, dict):
                for inner, number in value.items():
                    values["summary", f"{name}.{inner}"].append(number)
            else:
                values["summary", name].append(value)


@pytest.mark.long
def test_every_column_is_in_the_dictionary_and_its_values_in_the_domain(found) -> None:
    assert [key for key in found if column(*key) is None] == []
    wrong = {}
    for key, values in found.items():
        entry = column(*key)
        if entry is not None and entry.domain != "as in the scenario":
            outside = [value for value in values if not fits(value, entry)]
            if outside:
                wrong[key] = (entry.domain, entry.null, outside[:3])
    assert wrong == {}


def test_every_column_has_the_type_that_its_entry_states(found) -> None:
    wrong = {}
    for key, types in found.types.items():
        entry = column(*key)
        stated = {"null", CATEGORY if entry.type == "category" else entry.type}
        if entry.domain != "as in the scenario" and not types <= stated:
            wrong[key] = (entry.type, types)
    assert wrong == {}


def test_every_entry_is_written_by_some_run(found) -> None:
    entries = {(name, each.name) for name, table in tables().items() for each in table.columns}
    entries |= {("summary", name) for name in summary()}
    assert entries - set(found) == {("cells", "error")}  # see tests/unit/sweeps/test_failures


def test_domains_of_names_are_those_of_the_trace() -> None:
    details = [each.name.replace("_", "-") for each in Detail if each is not Detail.none]
    names = {"kind": [each.name for each in EventKind], "detail": details}
    domains = {each.name: each.domain for each in tables()["events"].columns}
    assert {key: domains[key] for key in names} == {
        key: f"one of {', '.join(each)}" for key, each in names.items()
    }
    ending, outcome = column("traces/runs", "ending"), column("traces/exchanges", "outcome")
    assert ending.domain == f"one of {', '.join(each.name for each in Ending)}"
    outcomes = ", ".join(f"{each.value} {each.name}" for each in ExchangeOutcome)
    assert outcome.meaning == f"Outcome of the exchange: {outcomes}"
    assert outcome.domain == f"whole numbers 0 to {max(ExchangeOutcome)}"


def test_fields_of_files_and_pages_say_the_same(found) -> None:
    for directory in found.directories:
        page = (directory / "README.md").read_text(encoding="utf-8")
        for file in directory.glob("*.parquet"):
            for field in pq.read_schema(file):
                said = {key.decode(): text.decode() for key, text in field.metadata.items()}
                entry = column(file.stem, field.name)
                assert entry is not None
                assert said == {"unit": entry.unit, "meaning": entry.meaning}
                unit = "" if entry.unit == "none" else entry.unit
                assert f"| `{field.name}` | {entry.meaning} | {unit} |" in page


def test_every_entry_says_all_of_it() -> None:
    every = [each for table in tables().values() for each in table.columns]
    for entry in (*every, *summary().values()):
        said = (entry.meaning, entry.unit, entry.domain, entry.null)
        assert all(text.strip() != "" and not text.endswith(".") for text in said), entry


def fits(value: Any, entry: Column) -> bool:
    """Tell whether a value is one that an entry's own words allow."""
    if value is None:
        return entry.null != "never null"
    domain = entry.domain.removesuffix(" or ∞")
    if value in (math.inf, "inf"):
        return domain != entry.domain
    lists, domain = domain.startswith("lists of "), domain.removeprefix("lists of ")
    if lists:
        return all(within(each, domain) for each in value)
    return within(value, domain)


def within(value: Any, domain: str) -> bool:
    if domain == "text":
        return isinstance(value, str) and value != ""
    if domain == "true or false":
        return isinstance(value, bool)
    if domain.startswith("one of "):
        return value in domain.removeprefix("one of ").split(", ")
    whole, domain = domain.startswith("whole numbers "), domain.removeprefix("whole numbers ")
    assert isinstance(value, int | float)
    if whole and value != int(value):
        return False
    if domain == "any number":
        return math.isfinite(value)
    if (above := re.fullmatch(r"≥ (\d+)", domain)) is not None:
        return value >= float(above[1])
    between = re.fullmatch(r"(\d+) to (\d+)", domain)
    assert between is not None, f"a domain that no test reads: {domain!r}"
    slack = 0 if whole else 1e-12
    return float(between[1]) - slack <= value <= float(between[2]) + slack
