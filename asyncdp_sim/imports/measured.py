"""A measured trace: who asked, read, answered and was heard when, as laws and a scenario."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from asyncdp_sim.errors import DataError, Fault
from asyncdp_sim.imports.around import written_around
from asyncdp_sim.imports.fitted import (
    ENOUGH,
    FittedLaw,
    FittedPresence,
    Floats,
    fit_law,
    fit_presence,
    information,
)
from asyncdp_sim.imports.online_table import counted, write_columns
from asyncdp_sim.network import Network, simulate
from asyncdp_sim.network.availability import Always, OnOff
from asyncdp_sim.network.clocks import PoissonClock
from asyncdp_sim.network.contents import columns_of, shortened, time_of
from asyncdp_sim.network.latency import Latency
from asyncdp_sim.network.laws import Exponential, Law
from asyncdp_sim.network.protocols import Push, Request
from asyncdp_sim.streams import Streams
from asyncdp_sim.trace import Trace
from asyncdp_sim.words import aligned, number

COLUMNS = ("owner", "request", "read", "release", "end")
KIND = f"allowed is a CSV or .parquet with the columns {','.join(COLUMNS)}"
REPLICATES = 20
"""Simulations of the second half."""
STAGES = ("request", "compute", "answer")
_MANY = 10**9


@dataclass(frozen=True)
class MeasuredTrace:
    """Exchanges in the order of their requests; NaN from where one did not come to its end.

    Attributes
    ----------
    names : tuple of str
        What owner 0, 1, … is called.
    owner : array of int
    request, read, release, end : array
        Time units: when an owner asked, when the model was read for it, when its answer left, and
        when that was heard.
    """

    names: tuple[str, ...]
    owner: npt.NDArray[np.int64]
    request: Floats
    read: Floats
    release: Floats
    end: Floats

    @property
    def heard(self) -> npt.NDArray[np.bool_]:
        """Which exchanges ended with an answer that was heard."""
        return ~np.isnan(self.end)

    @property
    def refuses(self) -> bool:
        """Whether some requests were never served, and others asked after them."""
        return bool(np.isnan(self.read[: len(self.read) - len(self.names)]).any())

    def only(self, which: npt.NDArray[np.bool_]) -> "MeasuredTrace":
        """Return some of the exchanges."""
        columns = (getattr(self, name)[which] for name in COLUMNS)
        return MeasuredTrace(self.names, *columns)

    @property
    def locked(self) -> bool:
        """Whether the learner had one exchange at a time."""
        mine = self.only(self.heard)
        order = np.argsort(mine.read, kind="stable")
        return bool((mine.read[order][1:] >= mine.end[order][:-1] - 1e-9).all())

    @property
    def staleness(self) -> Floats:
        """Other answers heard between an answer's read and its end."""
        mine = self.only(self.heard)
        ends = np.sort(mine.end)
        since = np.searchsorted(ends, mine.read, side="right")
        return (np.searchsorted(ends, mine.end, side="left") - since).clip(0).astype(float)

    @property
    def found_free(self) -> npt.NDArray[np.bool_]:
        """Which requests that were heard found the learner with no exchange."""
        mine = self.only(self.heard)
        begun = np.searchsorted(np.sort(mine.read), mine.request, side="left")
        ended = np.searchsorted(np.sort(mine.end), mine.request, side="right")
        return np.asarray(begun <= ended)

    @property
    def queues(self) -> bool:
        """Whether requests were served that had found the learner locked."""
        return self.locked and not bool(self.found_free.all())

    def durations(self) -> dict[str, tuple[Floats, npt.NDArray[np.int64]]]:
        """Return by stage how long it lasted, and of whom.

        A request's travel is seen where the learner was free when it was sent.
        """
        mine = self.only(self.heard)
        free = self.found_free if self.locked else np.ones(len(mine.owner), bool)
        return {
            "request": ((mine.read - mine.request)[free], mine.owner[free]),
            "compute": (mine.release - mine.read, mine.owner),
            "answer": (mine.end - mine.release, mine.owner),
        }

    @property
    def unseen(self) -> bool:
        """Whether requests that a locked learner refused are not in the table."""
        return self.locked and not self.queues and not self.refuses

    def gaps(self) -> tuple[list[Floats], list[Floats]]:
        """Return each owner's times from when it was free to its next request, and busy before.

        Of requests that are unseen while the learner is locked the gaps count what is left: a
        Poisson clock is one in the time that the learner is free, too.
        """
        mine = self.only(self.heard)
        order = np.argsort(mine.read, kind="stable")
        edges = np.stack([mine.read[order], mine.end[order]], axis=1).ravel()
        locked = np.cumsum((mine.end - mine.read)[order])
        passed = np.stack([np.append(0.0, locked[:-1]), locked], axis=1).ravel()
        gaps, busy = [], []
        for owner in range(len(self.names)):
            own = self.owner == owner
            asked, ended = self.request[own], self.end[own]
            free = np.where(np.isnan(ended), asked, ended)[:-1]
            gap = asked[1:] - free
            good = gap >= 0
            if self.unseen:
                gap = gap - np.interp(asked[1:], edges, passed) + np.interp(free, edges, passed)
            gaps.append(np.maximum(gap[good], 0.0))
            busy.append((free - asked[:-1])[good])
        return gaps, busy

    @property
    def free_share(self) -> float:
        """Share of the time that gaps count."""
        if not self.unseen:
            return 1.0
        mine = self.only(self.heard)
        return 1 - float((mine.end - mine.read).sum() / (mine.end.max() - self.request.min()))


@dataclass(frozen=True)
class FittedNetwork:
    """Laws of all that takes time, fitted to a trace.

    Attributes
    ----------
    stages : dict
        By stage, one law, or one per owner.
    presence : FittedPresence
    protocol : Request or Push
    """

    stages: dict[str, tuple[FittedLaw, ...]]
    presence: FittedPresence
    protocol: Request | Push

    def laws(self, stage: str) -> Law | tuple[Law, ...]:
        """Return a stage's law, or one per owner."""
        found = tuple(each.law for each in self.stages[stage])
        return found[0] if len(found) == 1 else found

    def judged(self, half: "FittedNetwork") -> "FittedNetwork":
        """Return it with how well the laws of a first half fit what that has not seen."""
        stages = dict(self.stages)
        for stage, laws in stages.items():
            if len(laws) == len(half.stages[stage]):
                stages[stage] = tuple(
                    replace(mine, distance=its.distance, p=its.p)
                    for mine, its in zip(laws, half.stages[stage], strict=True)
                )
        return replace(self, stages=stages)

    def network(self, until: float) -> Network:
        """Return the network, with budgets that nobody spends."""
        here = self.presence
        return Network(
            answers_allowed=(_MANY,) * len(here.rates),
            updates=_MANY,
            until=until,
            clock=PoissonClock(rate=here.rates),
            availability=Always()
            if here.always
            else OnOff(on=Exponential(mean=here.on), off=Exponential(mean=here.off)),
            latency=Latency(request=self.laws("request"), answer=self.laws("answer")),
            compute=self.laws("compute"),
            protocol=self.protocol,
        )


def import_trace(file: Path, out: Path, seed: int) -> list[str]:
    """Fit a measured trace, hold the fit of its first half against the second, write a scenario.

    Parameters
    ----------
    file : Path
        A CSV or Parquet file with a row per request: the owner, and when it asked, when the model
        was read for it, when its answer left and when that was heard (time units); empty from
        where an exchange did not come to its end.
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
    trace = read_trace(file)
    if not trace.heard.any():
        allowed = f"allowed are {ENOUGH} answers in each half"
        raise DataError([Fault("", "no request with an answer", allowed)], str(file))
    began, ended = float(trace.request.min()), float(np.nanmax(trace.end))
    middle = (began + ended) / 2
    first, second = trace.only(trace.request < middle), trace.only(trace.request >= middle)
    for part, which in ((first, "first"), (second, "second")):
        few = [name for i, name in enumerate(trace.names) if (part.owner == i).sum() < 3]
        if len(few) > 0 or part.heard.sum() < ENOUGH:
            given = f"a {which} half with {part.heard.sum()} answers, and {counted(len(few), 'owner')} with fewer than 3 requests"  # noqa: E501
            allowed = f"allowed are {ENOUGH} answers in each half, and 3 requests of every owner"
            raise DataError([Fault("", given, allowed)], str(file))
    half = fit(first, second)
    simulated = [
        simulate(half.network(ended - middle), Streams(seed).within("replicate", replicate))
        for replicate in range(1, REPLICATES + 1)
    ]
    whole = fit(trace, second).judged(half)
    _write(whole, trace, file, out, ended - began)
    return [
        f"{counted(len(trace.owner), 'request')} of {counted(len(trace.names), 'owner')}, "
        f"{trace.heard.sum():,} answers in {number(ended - began)} units",
        f"protocol: {whole.protocol.kind}"
        + (f", busy {whole.protocol.busy}" if isinstance(whole.protocol, Request) else ""),
        *_said(whole),
        *_compared(simulated, trace, second, middle, ended),
    ]


def read_trace(file: Path) -> MeasuredTrace:
    """Read a measured table.

    Raises
    ------
    DataError
        With the rows that are wrong.
    """
    columns = columns_of(str(file), COLUMNS, "", KIND)
    wrong = list(columns.wrong)
    times = {name: _times(columns.cells[name]) for name in COLUMNS[1:]}
    for place, line in enumerate(columns.lines):
        row = [times[name][place] for name in COLUMNS[1:]]
        known = [value for value in row if not np.isnan(value)]
        stood = ",".join(str(columns.cells[name][place]) for name in COLUMNS)
        gap = np.isnan(row).tolist() != sorted(np.isnan(row).tolist())
        if len(known) == 0 or gap or -1.0 in known or known != sorted(known):
            allowed = "allowed are times ≥ 0 in this order, empty from where it did not go on"
            where = f"{file.name}, {columns.place} {line}"
            wrong.append((line, Fault("", f"{stood} ({where})", allowed)))
    if len(wrong) > 0:
        wrong.sort(key=lambda pair: pair[0])
        raise DataError(shortened([fault for _, fault in wrong], file.name), str(file))
    texts = [str(cell) for cell in columns.cells["owner"]]
    names = tuple(sorted(set(texts), key=lambda text: (len(text), text)))
    numbers = {name: place for place, name in enumerate(names)}
    owner = np.array([numbers[text] for text in texts])
    order = np.argsort(times["request"], kind="stable")
    return MeasuredTrace(names, owner[order], *(times[name][order] for name in COLUMNS[1:]))


def _times(cells: Sequence[str] | npt.NDArray[np.generic]) -> Floats:
    """Return times; NaN of an empty cell, −1 of one that holds no time."""
    texts = ["" if str(cell) == "nan" else str(cell) for cell in cells]
    told = (np.nan if text == "" else time_of(text) for text in texts)
    return np.array([-1.0 if each is None else each for each in told], np.float64)


def fit(seen: MeasuredTrace, later: MeasuredTrace) -> FittedNetwork:
    """Return laws of what was seen, held against what came later."""
    stages: dict[str, tuple[FittedLaw, ...]] = {}
    known, after = seen.durations(), later.durations()
    owners = range(len(seen.names))
    for stage in STAGES:
        (values, whose), (others, theirs) = known[stage], after[stage]
        each = [values[whose == i] for i in owners]
        alike = min(map(len, each)) < ENOUGH or sum(map(information, each)) >= information(values)
        if alike or len(seen.names) == 1 or values.max(initial=0.0) == 0:
            stages[stage] = (fit_law(values, others),)
        else:
            stages[stage] = tuple(fit_law(each[i], others[theirs == i]) for i in owners)
    protocol = Request(busy="queue" if seen.queues else "refuse") if seen.locked else Push()
    return FittedNetwork(stages, fit_presence(*seen.gaps(), share=seen.free_share), protocol)


def _said(found: FittedNetwork) -> list[str]:
    told = []
    for stage in STAGES:
        laws = found.stages[stage]
        name = stage if stage == "compute" else f"latency.{stage}"
        if len(laws) == 1:
            told.append(f"{name}: {laws[0]}")
        else:
            means = [each.law.mean for each in laws]
            worst = min(laws, key=lambda each: each.p)
            told.append(
                f"{name}: a law per owner, means {number(min(means))} to {number(max(means))}; "
                f"worst fit: {worst}"
            )
    return [*told, *found.presence.lines()]


def _compared(
    simulated: Sequence[Trace],
    trace: MeasuredTrace,
    second: MeasuredTrace,
    middle: float,
    ended: float,
) -> list[str]:
    """Return the second half as it was and as the first half predicts it, with ratios."""
    applied = [each.updates for each in simulated]
    ends = trace.end[trace.heard]
    within = ends > middle
    owner = trace.owner[trace.heard][within]
    rows: list[tuple[str, float, list[float]]] = [
        (
            "throughput",
            within.sum() / (ended - middle),
            [len(u) / (ended - middle) for u in applied],
        ),
        (
            "mean staleness",
            float(second.staleness.mean()),
            [float(u["staleness"].mean()) if len(u) > 0 else 0.0 for u in applied],
        ),
    ]
    shown = np.argsort(-np.bincount(owner, minlength=len(trace.names)), kind="stable")
    for i in shown[[0, -1]] if len(shown) > 1 else ():
        rows.append(
            (
                f"share of {trace.names[i]}",
                float((owner == i).mean()),
                [float((u["owner"] == i + 1).mean()) if len(u) > 0 else 0.0 for u in applied],
            )
        )
    table = [("second half", "measured", "predicted", "± in a half", "ratio")]
    for name, was, drawn in rows:
        ratio = "" if was == 0 else f"{np.mean(drawn) / was:.3f}"
        cells = number(was), number(float(np.mean(drawn))), number(float(np.std(drawn, ddof=1)))
        table.append((name, *cells, ratio))
    measured = np.bincount(owner, minlength=len(trace.names)) / max(len(owner), 1)
    foretold = np.mean(
        [np.bincount(u["owner"] - 1, minlength=len(measured)) / max(len(u), 1) for u in applied],
        axis=0,
    )
    apart = f"shares: {np.abs(measured - foretold).sum() / 2:.4f} apart in total variation"
    return ["the first half, fitted, predicts the second:", *aligned(table), apart]


def _write(
    found: FittedNetwork, trace: MeasuredTrace, file: Path, out: Path, length: float
) -> None:
    """Write the scenario, and durations that are their own law beside it."""
    here, kept = found.presence, dict[str, Floats]()
    beside = out.with_suffix(".durations.csv")

    def spelled(law: Law, column: str) -> str:
        if law.kind == "empirical":
            kept[column] = np.asarray(law.durations_measured)
            return f'{{ kind = "empirical", path = "{beside.name}", column = "{column}" }}'
        fields = law.model_dump(exclude_none=True).items()
        told = (f'{k} = "{v}"' if isinstance(v, str) else f"{k} = {v!r}" for k, v in fields)
        return f"{{ {', '.join(told)} }}"

    def stage(name: str) -> str:
        laws = found.stages[name]
        if len(laws) == 1:
            return spelled(laws[0].law, name)
        each = (spelled(law.law, f"{name}-{i}") for i, law in enumerate(laws, start=1))
        return _rows(list(each))

    names = (f"#   {i}: {name}" for i, name in enumerate(trace.names, start=1))
    blocks = ["# owners by number:", *names, f"compute = {stage('compute')}"]
    blocks += ["", "[latency]", f"request = {stage('request')}", f"answer = {stage('answer')}"]
    rates = ", ".join(repr(rate) for rate in here.rates)
    blocks += ["", "[clock]", 'kind = "poisson"', f"rate = [{rates}]"]
    if not here.always:
        on, off = (f'{{ kind = "exponential", mean = {m!r} }}' for m in (here.on, here.off))
        blocks += ["", "[availability]", 'kind = "on-off"', f"on = {on}", f"off = {off}"]
    blocks += ["", "[protocol]", f'kind = "{found.protocol.kind}"']
    if isinstance(found.protocol, Request):
        blocks.append(f'busy = "{found.protocol.busy}"')
    if len(kept) > 0:
        longest = max(map(len, kept.values()))
        columns = {
            name: np.append(values, [np.nan] * (longest - len(values)))
            for name, values in kept.items()
        }
        write_columns(columns, beside)
    updates = int(trace.heard.sum())
    written_around(blocks, out, file, owners=len(trace.names), updates=updates, until=length)


def _rows(values: Sequence[str]) -> str:
    return "\n".join(["[", *(f"    {value}," for value in values), "]"])
