"""Measured exchanges as laws and a scenario, whose first half is compared with its second."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import exp, inf, log, sqrt
from pathlib import Path
from typing import Any

import numpy as np

from asyncdp_sim.core.arrays import Array, Bools, Ints
from asyncdp_sim.core.errors import DataError, Fault, SpecError
from asyncdp_sim.core.specification import LONGEST
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.core.words import aligned, extent, number
from asyncdp_sim.network import Network, laws, simulate
from asyncdp_sim.network.availability import Always, Availability, Bernoulli, OnOff
from asyncdp_sim.network.clocks import PoissonClock
from asyncdp_sim.network.protocols import Push, Request, Rounds
from asyncdp_sim.network.spec import Latency
from asyncdp_sim.network.table_file import by_line, columns_of, moment_of
from asyncdp_sim.results.write import write_into
from asyncdp_sim.scenario import SCHEMA_LINE, load
from asyncdp_sim.scenario.paths import listed, toml

COLUMNS = ("owner", "request", "read", "release", "end")
CLIENT = ("client", "sent", "received")
"""What federated software logs: a model is read when it is sent, and its answer is computing."""
KIND = f"allowed is a CSV or .parquet with the columns {','.join(COLUMNS)}, or {','.join(CLIENT)}"
_TIMES = "allowed are times in this order, empty after the last step reached"


@dataclass(frozen=True)
class MeasuredTrace:
    """Exchanges in the order of their requests; NaN from where one did not come to its end.

    Attributes
    ----------
    names : tuple of str
        Name of owner 0, 1, … in the file.
    owner : array of int
        Owner of each exchange.
    request, read, release, end : array
        Time units: when an owner asked, when the model was read for it, when its answer left, and
        when that was received.
    """

    names: tuple[str, ...]
    owner: Ints
    request: Array
    read: Array
    release: Array
    end: Array

    @property
    def answered(self) -> "MeasuredTrace":
        """Those exchanges that ended with a received answer."""
        return self.only(~np.isnan(self.end))

    def only(self, which: Bools) -> "MeasuredTrace":
        """Return some of the exchanges."""
        return MeasuredTrace(self.names, *(getattr(self, name)[which] for name in COLUMNS))

    @property
    def locked(self) -> bool:
        """Whether the learner had one exchange at a time."""
        mine = self.answered
        order = np.argsort(mine.read, kind="stable")
        return bool((mine.read[order][1:] >= mine.end[order][:-1] - 1e-9).all())

    @property
    def found_free(self) -> Bools:
        """Which answered requests found the learner without an open exchange."""
        mine = self.answered
        begun = np.searchsorted(np.sort(mine.read), mine.request, side="left")
        ended = np.searchsorted(np.sort(mine.end), mine.request, side="right")
        return np.asarray(begun <= ended)

    @property
    def unseen(self) -> bool:
        """Whether requests that a locked learner refused are not in the table.

        They are in it if requests were never served, and others asked after them.
        """
        refused = np.isnan(self.read[: len(self.read) - len(self.names)]).any()
        return self.protocol == Request(busy="refuse") and not bool(refused)

    def rounds(self) -> tuple[Ints, Array]:
        """Return the round of each exchange, by its read, and when the round before it ended."""
        order = np.argsort(self.read, kind="stable")
        ends = np.where(np.isnan(self.end), self.read, self.end)[order]
        before = np.append(-np.inf, np.maximum.accumulate(ends)[:-1])
        begins = self.read[order] >= before - 1e-9
        number = np.empty(len(order), np.int64)
        number[order] = np.cumsum(begins) - 1
        return number, before[begins]

    @property
    def in_rounds(self) -> bool:
        """Whether the learner sent its model to several owners at once and waited for all.

        In a round each owner is asked once and, in the median of ten answers or more to rounds with
        several owners, all within a tenth of the longest answer's time.
        """
        import pandas as pd

        mine = self.answered
        columns = {"round": mine.rounds()[0], "owner": mine.owner, "read": mine.read}
        frame = pd.DataFrame({**columns, "time": mine.end - mine.read})
        if frame.duplicated(["round", "owner"]).any():
            return False
        rounds = frame[frame["round"].duplicated(keep=False)].groupby("round")
        apart = rounds["read"].max() - rounds["read"].min()
        close = (apart / rounds["time"].max().clip(1e-9)).median() < 0.1
        return bool(close and rounds.size().sum() >= 10)

    @property
    def protocol(self) -> Request | Push | Rounds:
        """The protocol by which the exchanges were made."""
        if self.in_rounds:
            return Rounds()
        if not self.locked:
            return Push()
        return Request(busy="refuse" if self.found_free.all() else "queue")

    @property
    def staleness(self) -> Array:
        """Other answers received between an answer's read and its end."""
        mine = self.answered
        ends = np.sort(mine.end)
        since = np.searchsorted(ends, mine.read, side="right")
        return (np.searchsorted(ends, mine.end, side="left") - since).clip(0).astype(float)

    def durations(self) -> dict[str, tuple[Array, "MeasuredTrace"]]:
        """Return by stage the durations (time units), and the exchanges that they are of.

        A request's travel is seen where the learner was free when it was sent. In rounds, a query's
        time counts from the end of the round before.
        """
        mine = self.answered
        result = {
            "compute": (mine.release - mine.read, mine),
            "answer": (mine.end - mine.release, mine),
        }
        if self.in_rounds:
            number, ended = mine.rounds()
            later = number > 0
            return {"query": ((mine.read - ended[number])[later], mine.only(later)), **result}
        free = self.found_free if self.locked else np.ones(len(mine.owner), bool)
        return {"request": ((mine.read - mine.request)[free], mine.only(free)), **result}

    def gaps(self) -> tuple[list[Array], list[Array], float]:
        """Return each owner's times from when it was free to its next request, and busy before.

        Of requests that are unseen while the learner is locked the gaps count what is left: a
        Poisson clock is one in the time that the learner is free, too. The number returned is the
        share of the time that gaps count.
        """
        mine, unseen = self.answered, self.unseen
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
            if unseen:
                gap = gap - np.interp(asked[1:], edges, passed) + np.interp(free, edges, passed)
            gaps.append(np.maximum(gap[good], 0.0))
            busy.append((free - asked[:-1])[good])
        share = 1 - float(locked[-1] / (mine.end.max() - self.request.min())) if unseen else 1.0
        return gaps, busy, share


def read_trace(file: Path) -> MeasuredTrace:
    """Read a measured table; its times count from the first request.

    Raises
    ------
    DataError
        With the rows that are wrong.
    """
    columns: tuple[str, ...] = COLUMNS
    with suppress(SpecError):  # the second reading says what is wrong
        if len(columns_of(str(file), CLIENT[:1], "", KIND).lines) > 0:
            columns = CLIENT
    table = columns_of(str(file), columns, "", KIND)
    wrong = list(table.wrong)
    times = np.array([[_time(cell) for cell in table.cells[name]] for name in columns[1:]]).T
    for line, passed, *cells in zip(table.lines, times, *table.cells.values(), strict=True):
        reached = passed[~np.isnan(passed)].tolist()
        in_order = len(reached) > 0 and passed[: len(reached)].tolist() == sorted(reached)
        if cells[0] == "" or not in_order or not np.isfinite(reached).all():
            where = f"{file.name}, {table.place} {line}"
            wrong.append((line, Fault("", f"{','.join(cells)} ({where})", _TIMES)))
    if len(wrong) > 0:
        raise DataError(by_line(wrong, file.name), str(file))
    times -= times[:, 0].min()
    if np.nanmax(times) > LONGEST:
        span = f"{np.nanmax(times):g} between the first and the last time ({file.name})"
        rule = f"allowed are at most {LONGEST:g}, and times in numbers or in ISO 8601, not in both"
        raise DataError([Fault("", span, rule)], str(file))
    texts = table.cells[columns[0]]
    names = tuple(sorted(set(texts), key=lambda text: (len(text), text)))
    numbers = {name: place for place, name in enumerate(names)}
    owner = np.array([numbers[text] for text in texts], np.int64)
    order = np.argsort(times[:, 0], kind="stable")
    steps = times[order].T[[0, 0, 1, 1] if columns is CLIENT else slice(None)]
    return MeasuredTrace(names, owner[order], *steps)


def _time(cell: str) -> float:
    """Return a time: NaN of an empty cell, ∞ of one that holds no time."""
    moment = moment_of(cell)
    try:
        return float(cell or "nan") if moment is None else moment[0] / 1e6
    except ValueError:
        return inf


ENOUGH = 20
"""Durations of an owner in the first half that are fitted separately."""
POOR = 1e-3
"""A law that later durations reject at this level gives way to the durations themselves."""
_LEAST = 1e-9
_FARTHEST = log(1e6)
"""Of the logarithm of a period online or offline over the mean gap: of others gaps tell nothing."""


@dataclass(frozen=True)
class FittedLaw:
    """A law of durations, and how well it fits.

    Attributes
    ----------
    law, half : Law
        Fitted to all durations, and to those of the first half.
    error : float
        Standard error of the mean.
    distance, p : float
        Distance of Kolmogorov and Smirnov between the first half's law and the second half's
        durations, and the probability of one as large if that law is true.
    """

    law: laws.Law
    half: laws.Law
    error: float
    distance: float
    p: float

    def __str__(self) -> str:
        if self.law.instant:
            return self.law.kind
        text = f"{self.law.kind}, mean {number(self.law.mean)} ± {number(self.error)}"
        if self.law.constant:
            return text
        cv = sqrt(self.law.variance) / self.law.mean
        fit = f"Kolmogorov–Smirnov distance {number(self.distance)} (p {number(self.p)})"
        return f"{text}, cv {number(cv)}, {fit}"


def fit_law(first: Array, second: Array) -> FittedLaw:
    """Return the law that fits durations best, by its likelihood and number of parameters.

    Parameters
    ----------
    first, second : array
        Durations of both halves (time units, ≥ 0). Where the second half rejects the law of the
        first, the durations are the law.
    """
    from scipy import stats

    values = np.concatenate([first, second])
    (_, law, _), (_, half, distribution) = _best(values), _best(first)
    if law.constant or len(second) == 0:
        return FittedLaw(law, half, 0.0, 0.0, 1.0)
    error = float(values.std(ddof=1)) / sqrt(len(values))
    test = stats.kstest(second, distribution)
    if test.pvalue < POOR:
        law, half = (laws.Empirical(values=tuple(part.tolist())) for part in (values, first))
        test = stats.ks_2samp(first, second)
    return FittedLaw(law, half, error, float(test.statistic), float(test.pvalue))


def _best(values: Array) -> tuple[float, laws.Law, Callable[[Array], Array]]:
    """Return the least criterion (Schwarz; −∞ of a constant), its law and distribution function."""
    from scipy import stats

    mean = float(values.mean()) if len(values) > 0 else 0.0
    if mean <= _LEAST or values.std() <= 1e-6 * mean:
        law: laws.Law = laws.NoTime() if mean <= _LEAST else laws.Constant(value=mean)
        return -inf, law, lambda at: np.asarray(at >= mean * (1 - 1e-5), float)
    values = np.maximum(values, _LEAST)
    logs, sigma = float(np.log(values).mean()), float(np.log(values).std())
    shape, _, scale = stats.gamma.fit(values, floc=0)
    matches: list[tuple[int, laws.Law, Any]] = [
        (1, laws.Exponential(mean=mean), stats.expon(scale=mean))
    ]
    if np.expm1(sigma**2) <= laws.WIDEST**2:
        law = laws.Lognormal(mean=exp(logs + sigma**2 / 2), cv=sqrt(np.expm1(sigma**2)))
        matches.append((2, law, stats.lognorm(sigma, scale=exp(logs))))
    if shape >= laws.WIDEST_GAMMA**-2:
        matches.append((2, laws.Gamma(mean=mean, cv=shape**-0.5), stats.gamma(shape, scale=scale)))
    cost = log(len(values))  # of a parameter
    entries = [(n * cost - 2 * fit.logpdf(values).sum(), law, fit.cdf) for n, law, fit in matches]
    return min(entries, key=lambda entry: entry[0])


def fit_laws(trace: MeasuredTrace, middle: float) -> Mapping[str, tuple[FittedLaw, ...]]:
    """Return a law of each stage, or one per owner where Schwarz's criterion prefers them.

    Those of requests before ``middle`` are compared with the others.
    """
    result = {}
    for stage, (values, exchanges) in trace.durations().items():
        early = exchanges.request < middle
        groups = [exchanges.owner == owner for owner in range(len(trace.names))]
        enough = min(int((early & own).sum()) for own in groups) >= ENOUGH
        if not enough or sum(_best(values[own])[0] for own in groups) >= _best(values)[0]:
            groups = [np.ones(len(values), bool)]
        result[stage] = tuple(fit_law(values[own & early], values[own & ~early]) for own in groups)
    return result


@dataclass(frozen=True)
class FittedOwners:
    """Clocks and availability of owners, with standard errors.

    Attributes
    ----------
    clock : PoissonClock
    availability : Availability
    errors : tuple of float
        Standard errors: of each owner's clock rate, then of the logarithms of the mean periods
        online and offline; or, in rounds, of each owner's probability.
    lines : tuple of str
        The same in words.
    """

    clock: PoissonClock
    availability: Availability
    errors: tuple[float, ...]
    lines: tuple[str, ...]


def fit_owners(trace: MeasuredTrace) -> FittedOwners:
    """Return when the owners of a trace ask and are online.

    Raises
    ------
    DataError
        If an owner has no pauses, so that no clock can be told.
    """
    if trace.in_rounds:
        return fit_rounds(trace.rounds()[0], trace.owner, len(trace.names))
    gaps, busy, share = trace.gaps()
    for name, pauses in zip(trace.names, gaps, strict=True):
        if pauses.sum() <= _LEAST * len(pauses):
            problem = f"owner {name!r} without a pause between an answer and its next request"
            remedy = "allowed are owners with pauses: saturated clocks, and exchanges of one owner"
            raise DataError([Fault("", problem, f"{remedy} that overlap, cannot be fitted")])
    return fit_presence(gaps, busy, share)


def fit_rounds(rounds: Ints, owners: Ints, n: int) -> FittedOwners:
    """Return how likely each of n owners takes part in a round.

    A round without owners leaves no trace. Given shares s of the rounds that are seen, the
    likelihood is largest where p = s(1 − ∏(1 − p)).
    """
    count = int(rounds.max()) + 1
    seen = np.bincount(owners, minlength=n) / count
    shares, none = seen, 0.0
    for _ in range(1000):
        none = float(np.prod(1 - shares))
        shares = seen * (1 - none)
    # Information per round seen: of each owner alone, less what is lost in empty rounds.
    odds = np.sqrt(none) / (1 - none) / np.maximum(1 - shares, 1e-12)
    alone = 1 / np.maximum(shares * (1 - shares), 1e-12) / (1 - none)
    curvature = np.diag(alone) - np.outer(odds, odds)
    spread = np.sqrt(np.maximum(np.diag(np.linalg.pinv(curvature)), 0) / count)
    always = shares.min() == 1
    part = Always() if always else Bernoulli(probability=tuple(shares.tolist()))
    text = "always" if always else f"bernoulli, {extent(shares)} (± {number(spread.max())})"
    text = f"availability: {text}, in {count:,} rounds"
    return FittedOwners(PoissonClock(), part, tuple(spread.tolist()), (text,))


def fit_presence(gaps: Sequence[Array], busy: Sequence[Array], share: float = 1.0) -> FittedOwners:
    """Return clocks that tick at random while their owners are online, and when these are.

    An owner that comes and goes by exponential periods, with a Poisson clock of rate λ while it is
    online, ticks after gaps of two exponential parts. With a = 1/on, b = 1/off and the roots
    μ₁ > μ₂ of s² − (λ + a + b)s + λb, the density of a gap is λ[q P(t) + (1 − q)O(t)], where

        P(t) = [(μ₁ − b)e^{−μ₁t} − (μ₂ − b)e^{−μ₂t}]/(μ₁ − μ₂),
        O(t) = b[e^{−μ₂t} − e^{−μ₁t}]/(μ₁ − μ₂),

    and q is the chance to be online after having been busy for s: π + (1 − π)e^{−(a+b)s} with
    π = b/(a + b).

    Parameters
    ----------
    gaps : sequence of array
        Of each owner: from when it was free to when it next asked.
    busy : sequence of array
        How long it was busy before each.
    share : float
        Share of the time that gaps count, in (0, 1]; periods online and offline last longer.
    """
    from scipy.optimize import approx_fprime, minimize

    counts = np.array([len(periods) for periods in gaps], np.float64)
    means = np.array([periods.mean() for periods in gaps])
    plain = float((counts * (np.log(1 / means) - 1)).sum())
    joined, before = np.concatenate(gaps), np.concatenate(busy)
    owner = np.repeat(np.arange(len(gaps)), counts.astype(int))

    def rates(a: float, b: float) -> tuple[Array, Array]:
        online = b / (a + b) + a / (a + b) * np.exp(-(a + b) * before)
        away = np.bincount(owner, 1 - online) / counts / b
        return online, np.asarray((a + b) / b / np.maximum(means - away, means * 1e-3))

    scale = log(float(joined.mean()))

    def likelihood(logs: Sequence[float]) -> float:
        if np.abs(np.add(logs, scale)).max() > _FARTHEST:
            return inf
        a, b = np.exp(logs)
        online, rate = rates(a, b)
        rate = rate[owner]
        half = (rate + a + b) / 2
        root = np.sqrt(np.maximum(half**2 - rate * b, 1e-300))
        fast, slow = half + root, rate * b / (half + root)
        early, late = np.exp(-fast * joined), np.exp(-slow * joined)
        here = (fast - b) * early - (slow - b) * late
        density = rate * (online * here + (1 - online) * b * (late - early)) / (2 * root)
        return -float(np.log(np.maximum(density, 1e-300)).sum())

    starts = [(-scale - 1.0 - x, -scale - 1.0 - y) for x in (0.0, 2.0) for y in (0.0, 2.0)]
    matches = [minimize(likelihood, start, method="Nelder-Mead") for start in starts]
    best = min(matches, key=lambda each: float(each.fun))
    a, b = (float(value) for value in np.exp(best.x))
    part: Availability = Always()
    text, wide = "always", np.zeros(2)
    rate, spread = 1 / means, 1 / np.sqrt(counts)
    better = -float(best.fun) > plain + log(len(joined))  # Schwarz's criterion: two parameters
    inside = np.abs(best.x + scale).max() < _FARTHEST - 1
    if better and inside and b / (a + b) <= 0.995:
        rate, spread = rates(a, b)[1], spread * [gap.std() / gap.mean() for gap in gaps]
        on, off = 1 / a / share, 1 / b / share
        curvature = approx_fprime(best.x, lambda x: approx_fprime(x, likelihood, 1e-3), 1e-2)
        wide = np.sqrt(np.maximum(np.diag(np.linalg.pinv(curvature)), 0.0))
        part = OnOff(on=laws.Exponential(mean=on), off=laws.Exponential(mean=off))
        online = f"online {100 * on / (on + off):.3g} % of the time"
        worst = f"standard errors up to {100 * max(wide):.2g} %"
        text = f"on-off, on {number(on)}, off {number(off)} ({worst}), {online}"
    clock = f"poisson, rates {extent(rate)} (standard errors up to {100 * spread.max():.2g} %)"
    errors = (*(rate * spread).tolist(), *wide.tolist())
    lines = f"clock: {clock}", f"availability: {text}"
    return FittedOwners(PoissonClock(rate=tuple(rate.tolist())), part, errors, lines)


REPLICATES = 20
"""Simulations of the second half."""
_MANY = 10**9
_HEAD = f"""\
{SCHEMA_LINE}
# The network is that of {{file}}. The records, data, model, algorithm and
# privacy below were not measured: choose them. Owners by number:
{{owners}}
"""


def import_trace(file: Path, out: Path, seed: int) -> list[str]:
    """Fit a measured trace, compare its first half with its second, and write a scenario.

    Parameters
    ----------
    file : Path
        A CSV or Parquet file with a row per request: the owner, and when it asked, when the model
        was read for it, when its answer left and when that was received; empty from where an
        exchange did not come to its end. Or a row per client, sent and received. Times are numbers
        (time units) or ISO 8601 (a time unit is a second).
    out : Path
        The scenario, .toml.
    seed : int
        Seed of the simulations.

    Returns
    -------
    list of str
        The laws with intervals, and the prediction, in words.

    Raises
    ------
    DataError
        If the file is no such table, or too short.
    """
    if out.suffix != ".toml":
        raise DataError([Fault("-o", repr(str(out)), "allowed is a name that ends in .toml")])
    trace = read_trace(file)
    n, length = len(trace.names), float(np.nanmax([trace.request, trace.end]))
    early = trace.request < length / 2
    halves = {"first": trace.only(early), "second": trace.only(~early)}
    for which, part in halves.items():
        answers, least = len(part.answered.owner), np.bincount(part.owner, minlength=n).min()
        if answers < ENOUGH or least < 3:
            problem = f"a {which} half with too few (answers: {answers}, of an owner: {least})"
            remedy = f"allowed are {ENOUGH} answers in each half, and 3 requests of each owner"
            raise DataError([Fault("", problem, remedy)], str(file))
    fitted, owners = fit_laws(trace, length / 2), fit_owners(trace)
    half = {stage: [item.half for item in items] for stage, items in fitted.items()}
    early_network = _network(trace, half, fit_owners(halves["first"]), length / 2)
    final = {stage: [item.law for item in items] for stage, items in fitted.items()}
    network = _network(trace, final, owners, length)
    compared = _compared(early_network, halves["second"], seed)
    _write(network, trace, file, out)
    return [
        f"{len(trace.owner):,} requests of {n} owners, "
        f"{len(trace.answered.owner):,} answers in {number(length)} units",
        f"protocol: {', busy '.join(trace.protocol.model_dump(include={'kind', 'busy'}).values())}",
        *(_words(stage, items) for stage, items in fitted.items()),
        *owners.lines,
        *compared,
    ]


def _words(stage: str, fitted: tuple[FittedLaw, ...]) -> str:
    """Return a stage's laws in words."""
    name = stage if stage == "compute" else f"latency.{stage}"
    if len(fitted) == 1:
        return f"{name}: {fitted[0]}"
    worst = min(fitted, key=lambda item: item.p)
    return f"{name}: {extent(item.law.mean for item in fitted)}, a law per owner; worst: {worst}"


def _network(
    trace: MeasuredTrace, fitted: dict[str, list[laws.Law]], owners: FittedOwners, until: float
) -> Network:
    """Return the network of a trace, with budgets that are never exhausted."""
    stages: dict[str, Any] = {
        stage: items[0] if len(items) == 1 else tuple(items) for stage, items in fitted.items()
    }
    return Network(
        answers_allowed=(_MANY,) * len(trace.names),
        updates=_MANY,
        answers_per_update=None if trace.in_rounds else 1,
        until=until,
        clock=owners.clock,
        availability=owners.availability,
        compute=stages.pop("compute"),
        latency=Latency(**stages),
        protocol=trace.protocol,
    )


def _compared(network: Network, second: MeasuredTrace, seed: int) -> list[str]:
    """Return the second half as it was, and as a network predicts it."""
    n, length = network.n_owners, network.until or 0.0
    streams = (Streams(seed).within("replicate", number) for number in range(1, REPLICATES + 1))
    runs = [simulate(network, stream).updates for stream in streams]
    owner = second.answered.owner
    rows = [("throughput", len(owner) / length, [len(run) / length for run in runs])]
    if not second.in_rounds:  # there every answer is of the newest model
        predicted = [float(run["staleness"].mean()) if len(run) > 0 else 0.0 for run in runs]
        rows.append(("mean staleness", float(second.staleness.mean()), predicted))
    cells = [
        (name, *(number(float(x)) for x in (value, np.mean(drawn), np.std(drawn, ddof=1))))
        for name, value, drawn in rows
    ]
    shares = [np.bincount(run["owner"] - 1, minlength=n) / max(len(run), 1) for run in runs]
    apart = np.bincount(owner, minlength=n) / len(owner) - np.mean(shares, axis=0)
    return [
        "a fit of the first half predicts the second (± one standard deviation of a run):",
        *aligned([("second half", "measured", "predicted", "±"), *cells]),
        f"owners' shares: total variation distance {number(float(np.abs(apart).sum() / 2))}",
    ]


def _write(network: Network, trace: MeasuredTrace, file: Path, out: Path) -> None:
    """Write the scenario of a network, with placeholders for what was not measured."""
    words = "".join(c if c.isascii() and c.isalnum() else " " for c in file.stem.lower()).split()
    measured = network.model_dump(
        include={"compute", "latency", "clock", "availability", "protocol"}, exclude_none=True
    )
    gossip, rounds = {"kind": "async-gossip", "rho": 1.0}, {"kind": "collab-2", "step": 0.1}
    ended = int(trace.rounds()[0].max()) + 1 if trace.in_rounds else len(trace.answered.owner)
    tables = {
        "schema": 1,
        "id": "-".join(words) or "measured",
        "title": f"The network of {file.name}",
        **measured,
        "run": {"updates": ended, "until": network.until},
        "owners": {"count": network.n_owners, "records": 100},
        "data": {"kind": "gaussian", "features": 10},
        "model": {"kind": "ridge", "regularisation": 1e-3},
        "algorithm": rounds if trace.in_rounds else gossip,
        "privacy": {"epsilon": 1.0, "sensitivity": {"kind": "clip", "bound": 1.0}},
    }
    names = "\n".join(f"#   {i}: {name!r}" for i, name in enumerate(trace.names, start=1))
    text = _HEAD.format(file=repr(file.name), owners=names) + toml(listed(tables))
    write_into(out.absolute().parent, out.name, text)
    load(out)
