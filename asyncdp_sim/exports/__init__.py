"""A Flower app that carries out a scenario's algorithm, with noise by OpenDP."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from asyncdp_sim.core.errors import DataError, Fault, SpecError
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.core.units import to_units
from asyncdp_sim.data.tables import encodings
from asyncdp_sim.data.tables.encoded_columns import TableEncoder, target_codes
from asyncdp_sim.data.tables.file_form import words_of
from asyncdp_sim.data.tables.read import with_public_rows
from asyncdp_sim.data.tables.table_data import TableData
from asyncdp_sim.data.tables.text_columns import kinds_in
from asyncdp_sim.exports.private_learning import table
from asyncdp_sim.network import simulate
from asyncdp_sim.privacy.sensitivity import Domain
from asyncdp_sim.runs.problem import build_dataset, prepare
from asyncdp_sim.scenario import Scenario

APP = "private_learning"
PATIENCE = 120.0
"""Seconds after which the server waits for a reply no more, where the scenario says nothing."""

_ROUNDS = ("collab-1", "collab-2", "parameter-server")
_ALGORITHMS = ("async-gossip", "fedasync", "fedbuff", *_ROUNDS)
_ENCODINGS = ("number", "one-hot", "ordinal", "classes", "drop")
_MODELS = ("ridge", "logistic", "svm")


def export_flower(scenario: Scenario, folder: Path, unit: float = 1.0) -> list[str]:
    """Write a Flower app into a new folder.

    Parameters
    ----------
    scenario : Scenario
        Its sweep, if any, is left out.
    folder : Path
    unit : float
        Seconds of a time unit, > 0.

    Returns
    -------
    list of str
        What was written, in words.

    Raises
    ------
    SpecError
        With all that the app cannot carry out, and what to use.
    DataError
        If the table is not what the scenario says, or the folder is there or cannot be made.
    """
    scenario = scenario.base()
    faults = list(_misfits(scenario))
    if len(faults) > 0:
        raise SpecError(faults)
    if folder.exists():
        raise DataError([Fault("--out", str(folder), "allowed is a new directory")])
    plan = plan_of(scenario, unit)
    here = Path(__file__).parent
    code = folder / APP
    try:
        code.mkdir(parents=True)
    except OSError as error:
        remedy = "allowed is a directory that can be made"
        raise DataError([Fault("--out", f"{folder} ({error.strerror})", remedy)]) from None
    for file in sorted((here / APP).glob("*.py")):
        shutil.copyfile(file, code / file.name)
    shutil.copyfile(here / "README.md", folder / "README.md")
    settings = (here / "pyproject.toml").read_text(encoding="utf-8")
    name = re.sub(r"[^a-z0-9]+", "-", f"private-learning-{scenario.id}".lower()).strip("-")
    settings = settings.replace('name = "private-learning"', f'name = "{name}"')
    (folder / "pyproject.toml").write_text(settings, encoding="utf-8")
    (code / "plan.json").write_text(json.dumps(plan, indent=1) + "\n", encoding="utf-8")
    _write_public_rows(scenario, code / "public.json")
    owners = plan["owners"]
    return [
        f"app: {plan['algorithm']['kind']} over {plan['protocol']['kind']}, "
        f"{len(owners)} owners, {plan['updates']} updates, {scenario.privacy.mechanism.kind} noise",
        "not in the app: channel, latency, compute, availability (the real network has its own)",
    ]


def _write_public_rows(scenario: Scenario, path: Path) -> None:
    """Write the public rows, with which the app can be run on one machine without any owner."""
    data: Any = scenario.read_data
    if data.public_records == 0:
        return
    names = [*data.encoder().public, data.target]
    frame, _ = with_public_rows(
        data.path, data.public_path, data.public_records, data.form, spare=(data.split_column,),
        missing=(), seed=data.public_seed,
    )  # fmt: skip
    rows = frame[names].tail(data.public_records).fillna("")
    path.write_text(json.dumps(rows.to_dict("records")), encoding="utf-8")


def plan_of(scenario: Scenario, unit: float) -> dict[str, Any]:
    """Return all decided numbers, which are public, as JSON holds them."""
    dataset = build_dataset(scenario)
    problem = prepare(scenario, dataset, judged=False)
    accountant, size = problem.accountant, problem.task.steps.n_features
    n_owners = len(dataset.rows)
    apart = dataset.held_out_rows or (np.arange(0),) * n_owners
    rates, prices = scenario.clock.rates(n_owners), scenario.privacy.prices(n_owners)
    gaps = None if not scenario.protocol.acts_on_ticks or rates is None else rates
    owners = [
        {
            "name": name,
            "records": int(dataset.records[i]),
            "held_out": np.searchsorted(np.union1d(dataset.rows[i], apart[i]), apart[i]).tolist(),
            "epsilon": float(accountant.epsilon[i]),
            "answers": int(accountant.answers[i]),
            "price": prices[i] if len(prices) > 0 else None,
            "mean_gap": None if gaps is None else unit / gaps[i],
            "simulated_scale": float(problem.noise.scale[i]),
        }
        for i, name in enumerate(dataset.owner_names)
    ]
    return {
        "updates": scenario.run.updates,
        "size": size,
        "unit_seconds": unit,
        "expected_seconds": _expected(scenario) * unit,
        "patience": _patience(scenario, unit),
        "protocol": {
            "kind": scenario.protocol.kind,
            "busy": getattr(scenario.protocol, "busy", None),
        },
        "algorithm": _algorithm(scenario, problem.task.steps),
        "model": {
            "loss": scenario.model.kind,
            "sigma": scenario.model.sigma,
            "bound": scenario.xi,
            "norm": 1 if scenario.privacy.norm == "l1" else 2,
        },
        "privacy": {
            "mechanism": scenario.privacy.mechanism.kind,
            "bound": problem.xi,
            "norm": scenario.privacy.norm,
            "delta": scenario.privacy.stated_delta,
        },
        "owners": owners,
        "data": _data(scenario),
    }


def _misfits(scenario: Scenario) -> Iterator[Fault]:
    """Yield what the app cannot carry out, and what to use."""
    privacy, protocol, algorithm = scenario.privacy, scenario.protocol, scenario.algorithm
    protocols = ("rounds",) if algorithm.kind in _ROUNDS else ("request", "push")
    data = scenario.data
    yield from _allowed("algorithm.kind", algorithm.kind, _ALGORITHMS)
    if algorithm.kind in _ALGORITHMS:
        yield from _allowed("protocol.kind", protocol.kind, protocols)
    if protocol.kind in ("request", "push"):
        yield from _allowed("protocol.own_tick", protocol.own_tick, ("drop",))
        yield from _allowed("clock.kind", scenario.clock.kind, ("poisson",))
    if protocol.kind == "request":
        yield from _allowed("protocol.busy", protocol.busy, ("refuse", "queue"))
    yield from _allowed("model.kind", scenario.model.kind, _MODELS)
    mechanisms = ("laplace", "discrete-laplace", "gaussian")
    yield from _allowed("privacy.mechanism", privacy.mechanism.kind, mechanisms)
    yield from _allowed("data.kind", data.kind, ("table",))
    if isinstance(data, TableData):
        if data.path.endswith(".parquet") or (data.public_path or "").endswith(".parquet"):
            yield Fault("data.path", repr(data.path), "allowed in a Flower app is a CSV")
        if data.split_column is None:
            remedy = "allowed in a Flower app is a column: each owner has a table of its own"
            yield Fault("data.owner_column", "nothing", remedy)
        for name, encoding in data.columns.items():
            kinds = ("number", "classes") if name == data.target else _ENCODINGS
            yield from _allowed(f"data.columns.{name}", encoding.kind, kinds)
    absent = {
        "algorithm.local_steps": algorithm.gradients_per_answer > 1,
        "algorithm.batch": algorithm.sample is not None,
        "privacy.sampling": privacy.sampling is not None,
        "privacy.accountant": privacy.accountant is not None,
        "privacy.learner": privacy.learner is not None,
        "privacy.observer": privacy.observer is not None and privacy.listener.kind != "transcript",
        "privacy.grid": privacy.grid is not None,
        "privacy.unit": privacy.per_owner,
        "privacy.participation": privacy.participation is not None,
        "protocol.owners": protocol.asked_at_most is not None,
        "run.target": scenario.run.target is not None,
        "run.until": scenario.run.until is not None,
    }
    for key, present in absent.items():
        if present:
            yield Fault(key, "a setting", "allowed in a Flower app is nothing: leave it out")
    if not privacy.budget.even:
        remedy = "allowed in a Flower app is horizon or per-owner-cap, with equal parts"
        yield Fault("privacy.budget.kind", repr(privacy.budget.kind), remedy)
    if privacy.mechanism.needs_delta and getattr(privacy.budget, "per_answer", None) is not None:
        remedy = "allowed in a Flower app with gaussian noise is answers, or a per-owner-cap"
        yield Fault("privacy.budget.per_answer", "a price", remedy)
    yield from _allowed("privacy.noise", privacy.noise, ("vector",))
    if privacy.hides:
        norm = privacy.mechanism.norm
        yield from _allowed("privacy.sensitivity.norm", privacy.norm, (norm,))
    if privacy.hides and np.isinf(scenario.accountant.epsilon).any():
        yield Fault("privacy.epsilon", "inf", "allowed in a Flower app is a finite ε")


def _allowed(key: str, given: str, fitting: tuple[str, ...]) -> Iterator[Fault]:
    if given not in fitting:
        yield Fault(key, repr(given), f"allowed in a Flower app is {' or '.join(fitting)}")


def _expected(scenario: Scenario) -> float:
    """Return the time units until the last update of one simulated run."""
    streams = Streams(scenario.run.seed).within("replicate", 1)
    ticks = simulate(scenario.network, streams, events=False).updates["tick"]
    return float(to_units(int(ticks[-1]))) if len(ticks) > 0 else 0.0


def _patience(scenario: Scenario, unit: float) -> float:
    """Return the seconds after which a reply is waited for no more."""
    limits = (scenario.protocol.gives_up_after, scenario.protocol.round_deadline)
    return min([limit * unit for limit in limits if limit is not None], default=PATIENCE)


def _algorithm(scenario: Scenario, steps: Any) -> dict[str, Any]:
    """Return the numbers of the algorithm's steps, and the models that it begins with."""
    state = steps.init([Streams(scenario.run.seed).within("replicate", 1)])
    algorithm: Any = scenario.algorithm
    kind, most = algorithm.kind, scenario.model.theta_max
    copies = getattr(state, "copies", None)
    numbers = {
        "kind": kind,
        "central": state.central[0].tolist(),
        "copies": [] if copies is None else copies[0].tolist(),
        "box": [None, None] if most is None else [-most, most],
    }
    if kind in _ROUNDS:
        return numbers | {
            "weights": steps.weights.tolist(),
            "sigma": steps.sigma,
            "rate": steps.rate,
            "exponent": {"collab-1": 1.0, "collab-2": 0.5}.get(kind) or steps.exponent,
            "lead": getattr(steps, "lead", None),
        }
    if copies is not None:
        shrink, step = steps.shrink_copy, steps.step
        numbers["shrink_central"] = steps.shrink_central
    else:
        often = 1.0 if steps.often is None else steps.often
        shrink, step = 1 + (steps.shrink - 1) / often, steps.step / often
        if algorithm.kind == "fedbuff":
            shrink = -steps.shrink / often
        numbers["fresh"] = algorithm.weight(np.arange(scenario.run.updates)).tolist()
    shrink, step = np.broadcast_arrays(shrink, step)
    fields = ("mixing", "server_step", "buffer")
    own = {name: getattr(algorithm, name) for name in fields if hasattr(algorithm, name)}
    return numbers | own | {
        "apply_at": steps.apply_at, "shrink": shrink.tolist(), "step": step.tolist(),
    }  # fmt: skip


def _data(scenario: Scenario) -> dict[str, Any]:
    """Return how a client reads its table: what public rows alone have decided."""
    data: Any = scenario.read_data
    encoder: TableEncoder = data.encoder()
    form, projection = data.form, encoder.projection
    shift: Any = 0.0
    if projection.shift is not None and projection.matrix is not None:
        shift = projection.shift @ projection.matrix
    domain = scenario.privacy.bounded
    bounded = None
    if isinstance(domain, Domain):
        norm = domain.rows or scenario.privacy.norm
        order = 1 if norm == "l1" else 2
        bounded = {"order": order, "row_norm": domain.row_norm, "target_max": domain.target_max}
    return {
        "separator": form.separator,
        "decimal": form.decimal,
        "charset": form.charset,
        "skip": form.skip,
        "missing": {
            str(name): sorted(words_of(encoder.missing, str(name)))
            for name in (*encoder.public, data.target)
        },
        "owner_column": data.split_column,
        "person": data.person,
        "first_rows": scenario.all_records is not None,
        "columns": [_column(encoder, str(name)) for name in encoder.public],
        "target": _target(encoder),
        "shift": np.asarray(shift).tolist(),
        "matrix": None if projection.matrix is None else projection.matrix.tolist(),
        "target_shift": projection.target_shift,
        "ones": projection.ones,
        "labels": list(scenario.model.labels) or None,
        "domain": bounded,
        "append_one": scenario.model.augmented,
    }


def _column(encoder: TableEncoder, name: str) -> dict[str, Any]:
    """Return how a column of features is read."""
    public, decimal = encoder.public[name], encoder.decimal
    encoding: encodings.Encoding = encoder.declared.get(name) or encodings.usual(public, decimal)
    learned = encoding.learn(public, name, decimal)
    unknown, codes = list(learned.unknown), None
    if isinstance(encoding, encodings.OneHot):
        values = [text.removeprefix(f"{name} = ") for text in learned.names]
        codes = dict(zip(values, np.eye(len(values)).tolist(), strict=True))
        unknown = [0.0] * len(values)
    elif isinstance(encoding, encodings.Ordinal):
        order = encodings.distinct(public) if encoding.order is None else encoding.order
        codes = {value: [float(j)] for j, value in enumerate(order)}
    elif isinstance(encoding, encodings.ClassLabels):
        codes, unknown = _labels(encoding.values, learned), [0.0]
    return _read_as(public, decimal, codes, unknown, encoding.labels or ())


def _target(encoder: TableEncoder) -> dict[str, Any]:
    """Return how the target is read: a number, or the name of a class."""
    public, decimal, names = encoder.target, encoder.decimal, encoder.classes
    codes = _labels(names, target_codes(public, encoder.declared, decimal)) if names else None
    return _read_as(public, decimal, codes, [None], names)


def _read_as(
    public: Any, decimal: str, codes: Any, unknown: Any, classes: tuple[str, ...]
) -> dict[str, Any]:
    """Return how cells are read: as numbers of some kinds, or by their codes.

    Those of classes are found by what spellings have in common, unless two names have that, too.
    """
    return {
        "name": str(public.name),
        "codes": codes,
        "folded": 0 < len(classes) == len({*map(table.folded, classes)}),
        "kinds": sorted(kinds_in(public, decimal)),
        "unknown": unknown,
    }


def _labels(names: tuple[str, ...], codes: encodings.Codes) -> dict[str, list[float]]:
    """Return the labels of classes by their names, and by what spellings have in common."""
    import pandas as pd

    texts = pd.Series([*names, *map(table.folded, names), "0", "1", "-1", "true", "false"])
    [labels] = codes.read(texts).values
    pairs = zip(texts, labels.tolist(), strict=True)
    return {text: [label] for text, label in pairs if not np.isnan(label)}
