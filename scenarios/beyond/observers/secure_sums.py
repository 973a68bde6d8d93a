"""Hiding answers in sums when owners are absent: what it costs beside answers one by one.

The observer is the same learner, and ε is the same. What is simulated is cost and exposure: the
messages of Bonawitz and others (2017) and the noise that they allow, and no cryptography.

Which of the two is better is judged by 95 % intervals: of the ratio of their mean ψ, and of the
difference of owners' mean gains.
"""

from collections.abc import Callable, Sequence
from functools import partial
from math import exp, inf, log, log2, sqrt
from pathlib import Path
from typing import Any

import numpy as np

from analysis.again import traces_of
from analysis.one_panel import PSI, TRUTH, captioned, written
from asyncdp_sim.core.arrays import Array
from asyncdp_sim.decision import MATERIAL, Estimate, Judging
from asyncdp_sim.figures.drawer import Layer, measured
from asyncdp_sim.figures.picture import Picture
from asyncdp_sim.figures.style import looks
from asyncdp_sim.figures.sweep_figure import OutcomeEstimate, ends, estimates, mean_psi_at_end
from asyncdp_sim.network.sums import Aggregation
from asyncdp_sim.privacy.observers.kind import gaussian_epsilons
from asyncdp_sim.results import Result, Sweep
from asyncdp_sim.runs.gains import Gains
from asyncdp_sim.runs.run import run
from asyncdp_sim.scenario import Scenario, load
from asyncdp_sim.scenario.paths import VARIANT
from asyncdp_sim.theory.formulas.exchanges import sum_opens
from asyncdp_sim.trace import Detail, EventKind, Trace
from scenarios.papers.claims import Range, cell_of
from scenarios.papers.figure import read_figures
from scenarios.papers.problem import SURE, once, scenario

PRESENT = "availability.probability"
SINGLE = "every answer is received"
LEAST = 0.001
"""Smaller shares of sums opened are drawn here, at the edge."""
DEADLINE = 0.6
"""Units after which a round ends, where some answers are late."""
WATCHED = 8
"""Replicates of networks that are simulated again."""


def cell(sweep: Sweep, name: str, absent: float) -> Result:
    """Return the result of a variant at a share of absent owners."""
    return cell_of(sweep, {VARIANT: name, PRESENT: round(1 - absent, 9)}).result


def both(sweep: Sweep, name: str, absent: float) -> tuple[Result, Result]:
    """Return the results of a variant, and of answers one by one at as much absence."""
    return cell(sweep, name, absent), cell(sweep, SINGLE, absent)


def over(of: Callable[[Result], float], sweep: Sweep, name: str, absent: float) -> float:
    """Return a figure of a variant over that of answers one by one."""
    mine, single = map(of, both(sweep, name, absent))
    return mine / single


def psi_over_single(sweep: Sweep, name: str, absent: float) -> OutcomeEstimate:
    """Return mean ψ at the end over that of answers one by one, with a 95 % interval.

    The upper halves of both intervals are added in logarithms, in quadrature, as if the runs were
    independent; they share their data, so that the interval is wider than it need be.
    """
    mine, single = map(mean_psi_at_end, both(sweep, name, absent))
    about = np.hypot(log(mine.high / mine.value), log(single.high / single.value))
    ratio = mine.value / single.value
    return OutcomeEstimate(ratio, ratio / exp(about), ratio * exp(about))


def over_single(sweep: Sweep, name: str, absent: float) -> float:
    """Return that ratio alone."""
    return psi_over_single(sweep, name, absent).value


def ratios(sweep: Sweep, name: str, absent: float, are: str) -> Range:
    """Return the ratios whose intervals, so wide, would end below 1, begin above it, or hold it."""
    ratio = psi_over_single(sweep, name, absent)
    below, above = ratio.value / ratio.high, ratio.value / ratio.low
    return {"smaller": (0.0, below), "greater": (above, inf), "undecided": (below, above)}[are]


def sums_of(found: Scenario) -> Any:
    """Return the observer of sums."""
    assert found.privacy.listener.sees_sums
    return found.privacy.listener


def opens(found: Scenario) -> float:
    """Return the chance that a sum is opened, exactly."""
    n, sums = found.owners.count, sums_of(found)
    return sum_opens(n, n - sums.dropouts, sums.stays(found)[-1])


def in_theory(sweep: Sweep, name: str, absent: float) -> float:
    """Return the share of sums that are opened, as the binomial has it."""
    return opens(scenario(cell(sweep, name, absent)))


@once(16)
def again(result: Result, deadline: float | None = None) -> tuple[Scenario, list[Trace]]:
    """Return a result's scenario, perhaps with a deadline, and its networks, simulated again."""
    settings = () if deadline is None else (f"protocol.deadline={deadline}",)
    found = load(result.directory / "scenario.toml", settings)[0].base()
    return found, traces_of(found, WATCHED, events=True)


def _rounds(result: Result) -> tuple[int, int]:
    """Return how many rounds asked all owners, and how many of these opened their sum."""
    found, traces = again(result)
    asked = opened = 0
    for trace in traces:
        ticks, counts = np.unique(trace.exchanges["read_tick"], return_counts=True)
        whole = ticks[counts == found.owners.count]
        used = np.unique(trace.updates["read_tick"])
        asked, opened = asked + len(whole), opened + int(np.isin(whole, used).sum())
    return asked, opened


def opened(sweep: Sweep, name: str, absent: float) -> float:
    """Return the share of sums that were opened, of rounds that asked all owners."""
    asked, found = _rounds(cell(sweep, name, absent))
    return found / asked


def around(sweep: Sweep, name: str, absent: float) -> Range:
    """Return a window of standard errors of that share around the binomial's."""
    asked, _ = _rounds(cell(sweep, name, absent))
    share = in_theory(sweep, name, absent)
    return _near(share, asked)


def _near(share: float, count: int) -> Range:
    about = SURE * sqrt(share * (1 - share) / count)
    return share - about, share + about


def fewest(sweep: Sweep) -> float:
    """Return the fewest answers of a sum that was opened, less n − d, over all cells."""
    found = []
    for each in sweep.cells:
        listener: Any = scenario(each.result).privacy.listener
        keys = np.stack(each.result.columns("updates", "replicate", "k"))
        if listener.sees_sums and keys.size > 0:
            counts = np.unique(keys, axis=1, return_counts=True)[1]
            found.append(counts.min() - (16 - listener.dropouts))
    return float(min(found))


def time_of_update(result: Result) -> float:
    """Return the mean time of an update (units)."""
    replicates = len(result.manifest["replicates"])
    return float(result.summary["simulated_time"]) * replicates / float(result.summary["updates"])


def asked_by_step(n_owners: int, least: int, stays: float) -> float:
    """Return E[A; A ≥ m], A ~ Bin(n, s): the mean number of owners that a step of a sum asks.

    It asks the owners that stayed through all earlier steps, if they suffice to open the sum.
    With A ≥ m, E[A; A ≥ m] = n s P(Bin(n − 1, s) ≥ m − 1).

    Parameters
    ----------
    n_owners, least
        n and m; see :func:`~asyncdp_sim.theory.formulas.exchanges.sum_opens`.
    stays : float
        s, the chance that an owner stays through all earlier steps.
    """
    others_open = 1.0 if least == 1 else sum_opens(n_owners - 1, least - 1, stays)
    return n_owners * stays * others_open


def bytes_of_update(found: Scenario) -> float:
    """Return the mean bytes of all messages of an update, exactly."""
    numbers = {"numbers": found.answer_numbers, "query_numbers": found.numbers}
    network, n = found.network.model_copy(update=numbers), found.owners.count
    shares: Any = found.availability.online_share(n)
    here = float(shares[0])
    there, back = network.query_bytes, network.answer_bytes
    if network.aggregation is None:
        return n * (there + here * back) / (1 - (1 - here) ** n)
    sums, sizes = sums_of(found), {**network.trip_bytes, "query": (there, back)}
    through, least = (1.0, *sums.stays(found)[:-1]), n - sums.dropouts
    order = ("keys", "shares", "query", "opening")
    steps = [sizes[step] for step in order if step in sizes]
    total = 0.0
    for stays, (there, back) in zip(through, steps, strict=True):
        asked = n if stays == 1 else asked_by_step(n, least, stays)
        total += asked * (there + here * back)
    return total / opens(found)


def expansion(_: Sweep, users: int, numbers: int) -> float:
    """Return the bytes of a user over those of its numbers of 16 bits, in the clear.

    Masked numbers have the bits of a sum over all users; what keys and shares take is ours.
    """
    sums = Aggregation(least=1)
    more = (sums.with_query(users), sums.with_answer(users), *sums.trips(users)["opening"])
    return (16 + log2(users)) / 16 + sum(more) / (2 * numbers)


def late(sweep: Sweep, name: str, absent: float) -> float:
    """Return the share of released answers that are late, with a deadline."""
    _, traces = again(cell(sweep, name, absent), DEADLINE)
    events: Any = np.concatenate([trace.events for trace in traces])
    came = (events["kind"] == EventKind.answer_discarded) & (events["detail"] == Detail.late)
    return int(came.sum()) / sum(int(trace.released.sum()) for trace in traces)


def late_in_theory(sweep: Sweep, name: str, absent: float) -> Range:
    """Return a window of standard errors around the chance that a released answer is late.

    Released in time t: Exp(5) < t. Late: with another Exp(10) it is above t, e^(−5t) of those.
    """
    found, traces = again(cell(sweep, name, absent), DEADLINE)
    left = DEADLINE - found.latency.query.mean  # type: ignore[union-attr]
    return _near(float(np.exp(-5 * left)), sum(int(t.released.sum()) for t in traces))


def unmasked(sweep: Sweep, name: str, absent: float) -> float:
    """Return ε of an owner's run if late answers, of a mean owner, were unmasked singly."""
    found, _ = again(cell(sweep, name, absent), DEADLINE)
    accountant: Any = found.accountant
    sums = sums_of(found)
    squared = 2 * float(accountant.zcdp(accountant.answers).max())
    share = late(sweep, name, absent)
    wider = squared * (1 - share + share * sums.enough(found.owners.count))
    return float(gaussian_epsilons(np.array([wider]), accountant.delta)[0])


@once(16)
def gains(result: Result) -> Gains:
    """Return what owners gain in a cell, as a run of it judges."""
    judged = run(scenario(result), gains=Judging()).gains
    assert judged is not None
    return judged


def gain_above_single(sweep: Sweep, name: str, absent: float) -> Estimate:
    """Return the mean gain of owners less that with answers one by one, in the score's unit.

    Its variance is that of owners' differences, as the same rows judge both, and of both runs.
    """
    mine, single = map(gains, both(sweep, name, absent))
    pairs = zip(mine.owners, single.owners, strict=True)
    more = np.array([one.gain.value - other.gain.value for one, other in pairs])
    runs = [each.together.gain.parts[-1] for each in (mine, single) if each.together is not None]
    of_owners = float(more.var(ddof=1)) / len(more), len(more) - 1.0
    return Estimate(float(more.mean()), (of_owners, *runs))


def gain_over_single(sweep: Sweep, name: str, absent: float) -> float:
    """Return that difference alone."""
    return gain_above_single(sweep, name, absent).value


def gains_more(sweep: Sweep, name: str, absent: float) -> Range:
    """Return the differences of gains whose intervals, so wide, would begin above 0."""
    return gain_above_single(sweep, name, absent).half_width, inf


def no_difference(sweep: Sweep, name: str, absent: float) -> Range:
    """Return the differences of gains whose intervals, so wide, would be immaterial."""
    own = np.mean([owner.own for owner in gains(cell(sweep, name, absent)).owners])
    left = MATERIAL * float(own) - gain_above_single(sweep, name, absent).half_width
    return -left, left


longer = partial(over, time_of_update)
larger = partial(over, lambda result: bytes_of_update(scenario(result)))


def pictures(sweep: Sweep) -> Sequence[Picture]:
    """Draw ψ of sums over that of single answers, against the share of sums that are opened."""
    at = [
        (str(each.values[VARIANT]), round(1 - float(each.values[PRESENT]), 9))
        for each in sweep.cells
        if each.values[VARIANT] != SINGLE
    ]
    table = {
        "absent": np.array([absent for _, absent in at]),
        "kind": np.array([name for name, _ in at]),
        "opened": np.array([in_theory(sweep, *each) for each in at]),
        **estimates("ratio", [psi_over_single(sweep, *each) for each in at]),
    }
    marks = [
        Layer("level", y=1.0, look=TRUTH),
        written(LEAST, 1.0, "single answers better", "above"),
        written(LEAST, 1.0, "sums better", "below"),
    ]
    needed = np.array([str(kind).partition(",")[0] for kind in table["kind"]])
    for name, look in zip(dict.fromkeys(needed), looks(len(set(needed))), strict=False):
        look |= {"linestyle": "none", "markersize": 3.5, "elinewidth": 0.9, "capsize": 0}
        share, said = np.maximum(table["opened"], LEAST), f"sums that need {name}"
        chosen = ends(table, "ratio")[:, needed == name]
        marks.append(measured(share[needed == name], chosen, name=said, clip_on=False, **look))
    results = [each.result for each in sweep.cells]
    title, name = where_they_open(table["opened"], ends(table, "ratio")), "price-of-secure-sums"
    x = {"limits": (LEAST, 1.2), "ticks": (LEAST, 0.01, 0.1, 1)}
    return [captioned(name, title, marks, table, results, x=x, psi=PSI)]


def where_they_open(opened: Array, ratio: Array) -> str:
    """Return at which shares of sums opened ψ is certainly smaller, and certainly larger.

    ``ratio`` is over ψ of single answers, with the ends of its intervals, (3, J).
    """
    order = np.argsort(-opened)
    share, (_, low, high) = opened[order], ratio[:, order]
    better, worse = int(np.cumprod(high < 1).sum()), int(np.cumprod((low > 1)[::-1]).sum())
    parts = []
    if better > 0:
        least = f"{100 * share[better - 1]:.2g} % of the sums open"
        parts.append(f"better than single answers where at least {least}")
    if worse > 0:
        parts.append(f"worse where at most {100 * share[-worse]:.2g} % do")
    told = ", ".join(parts) or "neither better nor worse than single ones"
    return f"At equal ε, sums of answers fit {told}"


RESULTS = read_figures(Path(__file__).with_suffix(".toml"), globals())
