"""Small scenarios around each example of each member of every family, and their fingerprints.

They take the same few owners, updates and records. What a member needs besides, such as a protocol
that an algorithm runs on, stands beside it here. Their runs are digested twice, with every event
and without: a network may be simulated in another way where no event is kept.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from asyncdp_sim.core.specification import kind_of, members
from asyncdp_sim.learning.algorithms import AnyAlgorithm
from asyncdp_sim.network.protocols import Protocol
from asyncdp_sim.scenario import Scenario, parse
from asyncdp_sim.scenario.fields import examples_of
from tests import tables
from tests.conformance import test_observers
from tests.conformance.members import FAMILIES, FORMS, examples
from tests.fingerprints.fingerprint import Fingerprint, fingerprint, of_run, of_text

Raw = dict[str, Any]
Around = Callable[[Any, Path], Iterator[Raw]]

TABLE = tables.table(__file__, "kinds.toml")
BASE, DISPATCH = TABLE["base"], TABLE["dispatch"]
BOUNDS: dict[str, Raw] = TABLE["bounds"]
GAUSSIAN: Raw = {"mechanism": "gaussian", "delta": 1e-5}
NOT_PRIVATE: Raw = {"mechanism": "none", "epsilon": None, "sensitivity": None}
MERGED = ("run", "owners", "privacy")
"""Sections of which a change keeps the other fields."""
ROWS, PUBLIC_ROWS = 939, 9
LETTERS, MONTHS = "abc", ("Jan", "Feb", "Mar")


def scenarios(folder: Path) -> Iterator[tuple[str, Raw]]:
    """Yield scenarios by family, member and number; their files are written into a folder."""
    for family, union in (FAMILIES | FORMS).items():
        numbers: dict[str, int] = {}
        for spec in examples(union):
            kind = kind_of(type(spec))
            for changes in around(family, spec, folder):
                number = numbers[kind] = numbers.get(kind, -1) + 1
                kept = {name: BASE[name] | changes.get(name, {}) for name in MERGED}
                whole = (BASE | changes | kept).items()
                said = {name: table for name, table in whole if table is not None}
                yield f"kind {family} {kind} {number}", said


def around(family: str, spec: Any, folder: Path) -> Iterator[Raw]:
    """Yield the scenarios around an example, as changes of the base."""
    if family in AROUND:
        yield from AROUND[family](spec, folder)
    for template in TABLE["around"].get(family, ()):
        yield _filled(template, spec)


def _filled(template: Any, spec: Any) -> Any:
    """Return a template with an example in the place of "@"; "absent" is None."""
    if isinstance(template, dict):
        return {name: _filled(part, spec) for name, part in template.items()}
    return {"@": spec, "absent": None}.get(template, template)


def all_kinds() -> dict[str, Fingerprint]:
    """Return the fingerprints of all members of all families."""
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        return {key: recorded(raw, folder) for key, raw in scenarios(folder)}


def recorded(raw: Raw, folder: Path) -> Fingerprint:
    """Return a scenario's digests, or under ``refused`` why it does not run."""
    try:
        scenario = parse(Scenario, raw)
        with threadpool_limits(1):
            without = of_text(of_run(scenario, events=False))
        return fingerprint(scenario) | {"without events": without}
    except Exception as error:  # the other members are compared all the same
        return {"refused": f"{type(error).__name__}: {error}".replace(f"{folder}/", "")}


def _learning(algorithm: Any, protocol: Any, bound: Raw | None = None) -> Raw:
    """Return what an algorithm needs on a protocol that it runs on."""
    privacy: Raw = {} if bound is None else {"sensitivity": bound}
    if algorithm.obfuscates or algorithm.sample is not None:  # no ε is known of its answers
        privacy = NOT_PRIVATE
    elif algorithm.answers_once or not algorithm.looks_at_models:
        privacy |= {"budget": {"kind": "per-owner-cap", "answers": 1}}
    if not algorithm.looks_at_models and not algorithm.answers_once:
        privacy |= {"sensitivity": BOUNDS["domain"]}
    clock = None if protocol.update_of in ("pair", "servers") else BASE["clock"]
    return {"algorithm": algorithm, "protocol": protocol, "clock": clock, "privacy": privacy}


def _clock(spec: Any, _: Path) -> Iterator[Raw]:
    """Yield an example, the same of exchanges that take no time, and of owners as a crowd."""
    changes: Raw = {"clock": spec, "protocol": {"kind": "push" if spec.saturated else "request"}}
    yield changes
    if not spec.saturated:
        yield changes | {"latency": None, "compute": None}
    if "population" in type(spec).model_fields:
        yield changes | {"clock": spec.model_copy(update={"population": "superposed"})}


def _loss(spec: Any, _: Path) -> Iterator[Raw]:
    loss = getattr(spec, "probability", spec)
    yield {"channel": {"kind": "ideal", "loss": loss, "loss_query": loss}}


def _protocol(spec: Any, _: Path) -> Iterator[Raw]:
    yield _learning(next(each for each in examples(AnyAlgorithm) if each.faults(spec) == []), spec)


def _algorithm(spec: Any, _: Path) -> Iterator[Raw]:
    """Yield an example on the first of each protocol that it runs on, with bounds that it has."""
    one = spec.gradients_per_answer > 1 or spec.obfuscates or spec.sample is not None
    kinds = ("clip",) if one or not spec.looks_at_models else ("clip", "declared")
    for protocol in (examples_of(each)[0] for each in members(Protocol)):
        if spec.runs_on(protocol):
            for kind in kinds:
                yield _learning(spec, protocol, BOUNDS[kind])


def _model(spec: Any, _: Path) -> Iterator[Raw]:
    initial = "uniform" if spec.kind == "mlp" else "zeros"
    data, rounds = {**BASE["data"], "labels": spec.classifies}, {"kind": "rounds"}
    stepped = {"kind": "parameter-server", "step": 0.5, "initial": initial}
    yield {"model": spec, "data": data, "protocol": rounds, "algorithm": stepped}
    if spec.kind != "mlp":
        yield {"model": spec, "data": data}


def _budget(spec: Any, _: Path) -> Iterator[Raw]:
    yield (DISPATCH if spec.of_asked else {}) | {"privacy": {"budget": spec}}


def _mechanism(spec: Any, _: Path) -> Iterator[Raw]:
    delta = {"delta": 1e-5} if spec.needs_delta else {}
    yield {"privacy": (NOT_PRIVATE if spec.exact else delta) | {"mechanism": spec}}


def _sensitivity(spec: Any, _: Path) -> Iterator[Raw]:
    if spec.moving:
        owners = {"unit": "owner", "observer": "model", "epsilon": 3.0}
        rounds = {"kind": "parameter-server", "step": 0.1}
        privacy = GAUSSIAN | owners | {"sensitivity": spec}
        yield {"protocol": {"kind": "rounds"}, "algorithm": rounds, "privacy": privacy}
    else:
        yield {"privacy": (GAUSSIAN if spec.norm == "l2" else {}) | {"sensitivity": spec}}


def _observer(spec: Any, _: Path) -> Iterator[Raw]:
    yield test_observers.scenario(spec).plain()


def _data(spec: Any, folder: Path) -> Iterator[Raw]:
    """Yield an example with its files in a folder; a table is written, real ones are not there."""
    changes: Raw = {"owners": {"records": None}} if spec.says_records else {}
    places = {}
    if spec.kind == "table":
        form: Raw = {"sep": spec.separator or ",", "decimal": spec.decimal or "."}
        columns = ["x", "z", "w", "who", "y"]
        if spec.public_records == 0:  # each column is a feature
            columns.remove("w")
        places["path"] = _table(folder, columns, **form)
        if spec.public_path is not None:
            places["public_path"] = _table(folder, columns, PUBLIC_ROWS, **form)
    elif getattr(spec, "path", None) is not None:
        places["path"] = str(folder / spec.path)
    if spec.kind == "gaussian" and spec.labels:
        changes["model"] = {"kind": "logistic", "regularisation": 0.1}
    yield changes | {"data": spec.model_copy(update=places)}


def _table(folder: Path, columns: list[str], count: int = ROWS, **form: Any) -> str:
    """Write a table of owners' records; of each column, cells do not depend on the others."""
    n = np.arange(count)
    z, w = np.random.default_rng(3).integers(100, size=(2, ROWS))[:, :count]
    cells: dict[str, Any] = {"x": [LETTERS[i] for i in n % 5 % 3], "z": z, "w": w / 10}
    cells["who"] = [LETTERS[i] for i in n % 3]
    cells["money"] = [f"$ {each}.5" for each in z]
    cells["day"] = [f"2020-05-{each % 28 + 1:02d}" for each in z]
    cells["month"] = [f"{MONTHS[each % 3]}-20{each % 9 + 10}" for each in z]
    cells["y"] = z / 10 + n % 5 % 3
    file = folder / f"{'-'.join(columns)} {count}{form.get('sep', ',')}.csv"
    pd.DataFrame(cells)[columns].to_csv(file, index=False, **form)
    return str(file)


def _of_table(folder: Path, cells: list[str], **fields: Any) -> Raw:
    """Return the section of a table with the fields that matter."""
    data = {"kind": "table", "path": _table(folder, cells), "target": "y", "features": 2}
    return {"data": data | {"public_records": PUBLIC_ROWS} | fields}


def _split(spec: Any, folder: Path) -> Iterator[Raw]:
    says = spec.of_column is not None or spec.by_target
    changes: Raw = {"owners": {"records": None}} if says else {}
    yield changes | _of_table(folder, ["x", "z", "w", "who", "y"], split=spec)


def _stand_in(spec: Any, folder: Path) -> Iterator[Raw]:
    yield _of_table(folder, ["z", "w", "y"], stand_in=spec, from_stand_in=True)


def _preprocessing(spec: Any, folder: Path) -> Iterator[Raw]:
    yield _of_table(folder, ["z", "w", "y"], preprocessing=spec)


def _encoding(spec: Any, folder: Path) -> Iterator[Raw]:
    usual = {"number": "z", "money": "money", "date": "day", "drop": "month"}
    by_format = getattr(spec, "format", None) is not None
    column = "month" if by_format else usual.get(spec.kind, "x")
    yield _of_table(folder, ["x", "z", "w", "money", "day", "month", "y"], columns={column: spec})


AROUND: dict[str, Around] = {
    "data": _data,
    "split": _split,
    "stand-in": _stand_in,
    "preprocessing": _preprocessing,
    "encoding": _encoding,
    "clock": _clock,
    "packet loss": _loss,
    "protocol": _protocol,
    "algorithm": _algorithm,
    "model": _model,
    "budget": _budget,
    "mechanism": _mechanism,
    "sensitivity": _sensitivity,
    "observer": _observer,
}
"""Families of which one template does not do."""
