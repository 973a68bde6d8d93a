"""A measured trace as laws and a scenario: its first half is compared with its second."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from asyncdp_sim.core.streams import Streams
from asyncdp_sim.core.words import aligned, number
from asyncdp_sim.imports.around import counted, listed, refused, write_columns, written_around
from asyncdp_sim.imports.client_log import read_measured
from asyncdp_sim.imports.exchanges import MeasuredTrace
from asyncdp_sim.imports.fitted import (
    ENOUGH,
    FittedLaw,
    FittedPresence,
    FittedRounds,
    Floats,
    fit_law,
    fit_presence,
    fit_rounds,
    information,
)
from asyncdp_sim.network import Network, simulate
from asyncdp_sim.network.clocks import PoissonClock
from asyncdp_sim.network.latency import Latency
from asyncdp_sim.network.laws import Law
from asyncdp_sim.network.protocols import Push, Request, Rounds
from asyncdp_sim.scenario.domains import toml
from asyncdp_sim.spec.base import Spec
from asyncdp_sim.trace import Trace

_MANY = 10**9


@dataclass(frozen=True)
class FittedNetwork:
    """Laws of all that takes time, fitted to a trace.

    Attributes
    ----------
    stages : dict
        By stage, one law, or one per owner.
    presence : FittedPresence or FittedRounds
    protocol : Request, Push or Rounds
    """

    stages: dict[str, tuple[FittedLaw, ...]]
    presence: FittedPresence | FittedRounds
    protocol: Request | Push | Rounds

    def laws(self, stage: str) -> Law | tuple[Law, ...]:
        """Return a stage's law, or one per owner."""
        result = tuple(item.law for item in self.stages[stage])
        return result[0] if len(result) == 1 else result

    @property
    def protocol_fields(self) -> dict[str, str]:
        """What was seen of the protocol beside its kind, by field: what becomes of requests."""
        return self.protocol.model_dump(include={"busy"})

    def judged(self, half: "FittedNetwork") -> "FittedNetwork":
        """Return it with how well the laws of a first half fit what that has not seen."""
        stages = dict(self.stages)
        for stage, laws in stages.items():
            if len(laws) == len(half.stages.get(stage, ())):
                stages[stage] = tuple(
                    replace(mine, distance=its.distance, p=its.p)
                    for mine, its in zip(laws, half.stages[stage], strict=True)
                )
        return replace(self, stages=stages)

    def network(self, until: float, owners: int) -> Network:
        """Return the network of so many owners, with budgets that are never exhausted."""
        here = self.presence
        latency: dict[str, Any] = {n: self.laws(n) for n in self.stages if n != "compute"}
        return Network(
            answers_allowed=(_MANY,) * owners,
            updates=_MANY,
            answers_per_update=1 if self.protocol.update_of == "answer" else None,
            until=until,
            clock=here.clock or PoissonClock(),
            availability=here.availability,
            latency=Latency(**latency),
            compute=self.laws("compute"),
            protocol=self.protocol,
        )

    def lines(self) -> Iterator[str]:
        """Yield the laws in words, with their fit."""
        fields = (f", {name} {value}" for name, value in self.protocol_fields.items())
        yield f"protocol: {self.protocol.kind}{''.join(fields)}"
        for stage, laws in self.stages.items():
            name = stage if stage == "compute" else f"latency.{stage}"
            if len(laws) == 1:
                yield f"{name}: {laws[0]}"
            else:
                means = [each.law.mean for each in laws]
                worst = min(laws, key=lambda each: each.p)
                yield (
                    f"{name}: a law per owner, means {number(min(means))} to "
                    f"{number(max(means))}; worst fit: {worst}"
                )
        yield from self.presence.lines()


def fit(seen: MeasuredTrace, later: MeasuredTrace) -> FittedNetwork:
    """Return laws of what was seen, held against what came later."""
    stages: dict[str, tuple[FittedLaw, ...]] = {}
    value, after = seen.durations(), later.durations()
    owners = range(len(seen.names))
    nothing = np.zeros(0), np.zeros(0, np.int64)
    for stage, (values, whose) in value.items():
        rest, theirs = after.get(stage, nothing)
        items = [values[whose == i] for i in owners]
        alike = min(map(len, items)) < ENOUGH or sum(map(information, items)) >= information(values)
        if alike or len(seen.names) == 1 or values.max(initial=0.0) == 0:
            stages[stage] = (fit_law(values, rest),)
        else:
            stages[stage] = tuple(fit_law(items[i], rest[theirs == i]) for i in owners)
    if seen.in_rounds:
        rounds, _ = seen.rounds()
        return FittedNetwork(stages, fit_rounds(rounds, seen.owner, len(seen.names)), Rounds())
    protocol = Request(busy="queue" if seen.queues else "refuse") if seen.locked else Push()
    return FittedNetwork(stages, fit_presence(*seen.gaps(), share=seen.free_share), protocol)


def write_scenario(
    found: FittedNetwork, trace: MeasuredTrace, file: Path, out: Path, length: float
) -> None:
    """Write the scenario, and durations that are their own law beside it."""
    here, kept = found.presence, dict[str, Floats]()
    beside = out.with_suffix(".durations.csv")

    def spelled(law: Law, column: str) -> str:
        if law.durations_measured is not None:
            kept[column] = np.asarray(law.durations_measured)
            return toml({"kind": "empirical", "path": beside.name, "column": column})
        return toml(law.model_dump(exclude_none=True))

    def stage(name: str) -> str:
        laws = found.stages[name]
        if len(laws) == 1:
            return spelled(laws[0].law, name)
        return listed(spelled(law.law, f"{name}-{i}") for i, law in enumerate(laws, start=1))

    names = (f"#   {i}: {name}" for i, name in enumerate(trace.names, start=1))
    blocks = ["# owners by number:", *names, f"compute = {stage('compute')}"]
    blocks += ["", "[latency]"]
    blocks += [f"{name} = {stage(name)}" for name in found.stages if name != "compute"]
    if here.clock is not None:
        blocks += ["", *_section("clock", here.clock)]
    if not here.availability.always_online:
        blocks += ["", *_section("availability", here.availability)]
    blocks += ["", "[protocol]", f'kind = "{found.protocol.kind}"']
    blocks += [f'{name} = "{value}"' for name, value in found.protocol_fields.items()]
    if len(kept) > 0:
        longest = max(map(len, kept.values()))
        columns = {
            name: np.append(values, [np.nan] * (longest - len(values)))
            for name, values in kept.items()
        }
        write_columns(columns, beside)
    rounds = here.count if isinstance(here, FittedRounds) else None
    owners, answers = len(trace.names), int(trace.heard.sum())
    written_around(blocks, out, file, owners=owners, updates=answers, rounds=rounds, until=length)


def _section(name: str, kind: Spec) -> list[str]:
    """Return a kind as a section of TOML."""
    return [f"[{name}]", *(f"{key} = {toml(value)}" for key, value in kind.model_dump().items())]


def compared(
    simulated: Sequence[Trace],
    trace: MeasuredTrace,
    second: MeasuredTrace,
    middle: float,
    ended: float,
) -> list[str]:
    """Return the second half as it was and as the first half predicts it, with ratios."""
    applied = [item.updates for item in simulated]
    ends = trace.end[trace.heard]
    within = ends > middle
    owner = trace.owner[trace.heard][within]
    rows: list[tuple[str, float, list[float]]] = [
        (
            "throughput",
            within.sum() / (ended - middle),
            [len(u) / (ended - middle) for u in applied],
        ),
    ]
    if not trace.in_rounds:  # there every answer is of the newest model
        predicted = [float(u["staleness"].mean()) if len(u) > 0 else 0.0 for u in applied]
        rows.append(("mean staleness", float(second.staleness.mean()), predicted))
    shown = np.argsort(-np.bincount(owner, minlength=len(trace.names)), kind="stable")
    for i in shown[[0, -1]] if len(shown) > 1 else ():
        rows.append(
            (
                f"share of {trace.names[i]}",
                float((owner == i).mean()),
                [float((u["owner"] == i + 1).mean()) if len(u) > 0 else 0.0 for u in applied],
            )
        )
    table = [("second half", "measured", "predicted", "±", "ratio")]
    for name, was, drawn in rows:
        ratio = "" if was == 0 else number(float(np.mean(drawn)) / was)
        cells = number(was), number(float(np.mean(drawn))), number(float(np.std(drawn, ddof=1)))
        table.append((name, *cells, ratio))
    measured = np.bincount(owner, minlength=len(trace.names)) / max(len(owner), 1)
    foretold = np.mean(
        [np.bincount(u["owner"] - 1, minlength=len(measured)) / max(len(u), 1) for u in applied],
        axis=0,
    )
    distance = number(float(np.abs(measured - foretold).sum() / 2))
    apart = f"owners' shares: total variation distance {distance}"
    return [
        "a fit of the first half predicts the second (± one standard deviation of a run):",
        *aligned(table),
        apart,
    ]


REPLICATES = 20
"""Simulations of the second half."""


def import_trace(file: Path, out: Path, seed: int) -> list[str]:
    """Fit a measured trace, hold the fit of its first half against the second, write a scenario.

    Parameters
    ----------
    file : Path
        A CSV or Parquet file with a row per request: the owner, and when it asked, when the model
        was read for it, when its answer left and when that was heard (time units); empty from
        where an exchange did not come to its end. Or a row per client, sent and received (seconds
        or ISO 8601), or the log of NVFlare's server or of Flower's SuperNodes.
    out : Path
        The scenario, .toml; durations that no law fits are written beside it.
    seed : int
        Of the simulations.

    Returns
    -------
    list of str
        The laws with intervals, and the prediction, in words.

    Raises
    ------
    DataError
        If the file is no such table, or too short.
    """
    trace = read_measured(file)
    if not trace.heard.any():
        rule = f"allowed are {ENOUGH} answers in each half"
        raise refused(file, "no request with an answer", rule)
    began, ended = float(trace.request.min()), float(np.nanmax(trace.end))
    middle = (began + ended) / 2
    first, second = trace.only(trace.request < middle), trace.only(trace.request >= middle)
    for part, which in ((first, "first"), (second, "second")):
        few = [name for i, name in enumerate(trace.names) if (part.owner == i).sum() < 3]
        if len(few) > 0 or part.heard.sum() < ENOUGH:
            answers, owners = f"{part.heard.sum()} answers", counted(len(few), "owner")
            problem = f"a {which} half with {answers}, and {owners} with fewer than 3 requests"
            remedy = f"allowed are {ENOUGH} answers in each half, and 3 requests of every owner"
            raise refused(file, problem, remedy)
    half = fit(first, second)
    simulated = [
        simulate(
            half.network(ended - middle, len(trace.names)),
            Streams(seed).within("replicate", replicate),
        )
        for replicate in range(1, REPLICATES + 1)
    ]
    complete = fit(trace, second).judged(half)
    write_scenario(complete, trace, file, out, ended - began)
    return [
        f"{counted(len(trace.owner), 'request')} of {counted(len(trace.names), 'owner')}, "
        f"{trace.heard.sum():,} answers in {number(ended - began)} units",
        *complete.lines(),
        *compared(simulated, trace, second, middle, ended),
    ]
