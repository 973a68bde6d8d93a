"""Results side by side: what differs in their scenarios, and by how much in their figures."""

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from asyncdp_sim.comparisons.differences import OtherSetting, changed
from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.errors import Fault, ResultError
from asyncdp_sim.core.files import is_file
from asyncdp_sim.core.units import in_unit, to_units, unit_of
from asyncdp_sim.core.words import aligned, figure, number, ranges, screen_width, within
from asyncdp_sim.measures.scores import SCORES
from asyncdp_sim.measures.summary import Ratio
from asyncdp_sim.results import Result
from asyncdp_sim.scenario import jsonable
from asyncdp_sim.sentences import WORDS, label

LEVEL = 0.95


class Contrast(NamedTuple):
    """The second sample's mean less the first's, and the ends of its 95 % interval.

    Attributes
    ----------
    mean : float or None
        None where a value is absent or infinite, so that there is no mean.
    low, high : float or None
        None where there is no interval.
    """

    mean: float | None = None
    low: float | None = None
    high: float | None = None


def contrast(first: Array, second: Array, *, in_pairs: bool) -> Contrast:
    """Return the contrast of two samples.

    In pairs, with differences d of R of them, d̄ ± t_{R−1} sd(d)/√R, Student's t. Of independent
    samples, with s² = sd²/R of each, ȳ − x̄ ± t_ν √(s₁² + s₂²), where Welch's
    ν = (s₁² + s₂²)²/(s₁⁴/(R₁ − 1) + s₂⁴/(R₂ − 1)). No interval where there is one value.

    Parameters
    ----------
    first, second : array (R₁,), (R₂,)
        At least one value each; NaN where one is absent.
    in_pairs : bool
        Whether values belong together, place by place: R₁ = R₂.
    """
    from scipy.special import stdtrit

    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        return Contrast()
    # In this unit, squares of variances of a model that diverged are no larger than floats.
    unit = max(1.0, float(np.abs([*first, *second]).max()) / 1e50)
    first, second = first / unit, second / unit
    if min(len(first), len(second)) == 1:
        return Contrast(float(second.mean() - first.mean()) * unit)
    if in_pairs:
        differences, freedom = second - first, len(first) - 1.0
        mean, error = float(differences.mean()), float(differences.std(ddof=1)) / len(first) ** 0.5
    else:
        mean = float(second.mean() - first.mean())
        squares = [float(sample.var(ddof=1)) / len(sample) for sample in (first, second)]
        parts = (s**2 / (len(x) - 1) for s, x in zip(squares, (first, second), strict=True))
        total = sum(squares)
        error, freedom = total**0.5, total**2 / sum(parts) if total > 0 else inf
    half = float(stdtrit(freedom, (1 + LEVEL) / 2)) * error
    return Contrast(mean * unit, (mean - half) * unit, (mean + half) * unit)


def figures_of(result: Result) -> dict[str, Array | Ratio]:
    """Return the figures of a result by name: a value for each replicate, or a ratio of sums.

    Values are (R,), NaN where one is absent; a figure that the result has not is left out. A figure
    that has the name of a summary's is that one. Shares are of all attempts and released answers,
    also of those without an end.
    """
    k, time, psi = result.last("k", "time", "relative_fitness")
    figures: dict[str, Array | Ratio] = {"psi_final": np.where(np.isnan(psi), np.inf, psi)}
    for score in SCORES:
        column = f"held_out_{score.name}"
        if column in result.names("curve"):
            figures[column] = np.asarray(result.last(column)[0], dtype=float)
    ended = k == result.updates
    figures["time_to_end"] = np.where(ended, time, np.nan)
    ends = result.manifest.get("end_ticks")
    if ends is not None:
        lasted = np.asarray(to_units(np.array(ends, dtype=np.int64)))
        figures["throughput"] = Ratio(k.astype(float), lasted)
    elif ended.all():  # an older result names no other end
        figures["throughput"] = Ratio(k.astype(float), time)
    if result.has("updates"):
        replicate, stale = result.columns("updates", "replicate", "staleness")
        groups = [stale[replicate == r] for r in result.replicates]
        sums = np.array([(group.sum(), len(group)) for group in groups], dtype=float)
        figures["mean_staleness"] = Ratio(*sums.T)
    counts = ("answers_released", "attempts", "refused", "collided", "lost")
    total = {name: result.of_owners(name).sum(axis=1).astype(float) for name in counts}
    figures["answers_released"] = released = total["answers_released"]
    figures["refused"] = Ratio(total["refused"], total["attempts"])
    figures |= {name: Ratio(total[name], released) for name in ("collided", "lost")}
    spent = np.asarray(result.of_owners("epsilon_spent"), dtype=float)
    if not np.isnan(spent).any():  # else nothing is hidden
        figures["epsilon_spent"] = spent.max(axis=1)
    return figures


_NAMED: dict[str, list[str]] = WORDS["compared"]
"""Figures on the screen, with the unit where the words do not say it; their units in tables."""
_SCORES = {f"held_out_{score.name}": score for score in SCORES}


def _named(name: str, target_unit: str, time_unit: str | None) -> tuple[str, str]:
    """Return a figure's words and unit; errors are in the target's own unit, if it has one."""
    if name in _NAMED:
        words, unit = (in_unit(text, time_unit) for text in _NAMED[name])
        return words, unit
    score = _SCORES[name]
    unit = target_unit if score.in_units else ""
    return f"held-out {score.words}" + (f" ({unit})" if unit else ""), unit


def _more_is_better(name: str) -> bool:
    """Return whether the larger of two values wins; fewer answers are better for privacy."""
    return _SCORES[name].more_is_better if name in _SCORES else name == "throughput"


def together(first: Result, second: Result) -> str:
    """Return in words the joint cost of publishing two results, in addition to their labels."""
    pair = (first.manifest, second.manifest)
    noisy = all(min(label.epsilons(manifest)) < inf for manifest in pair)
    one_noise = noisy and label.stream(pair[0]) == label.stream(pair[1])
    if not same_records(first, second):
        text = "the two results read different records, as far as their manifests say"
        risk = "an attacker that knows the records of one learns the noise of the other (one seed)"
        return f"{text}; do not publish both, because {risk}" if one_noise else text
    costs = [label.true_epsilon(manifest) for manifest in pair]
    if not all(map(label.is_epsilon_shown, pair)):
        return "the same records: what both cost together is not shown, as for one of them alone"
    if not all(map(isfinite, costs)):
        return "the same records: no finite ε holds for both together, as for one of them alone"
    costs_text = " + ".join(map(number, costs))
    counts = [label.n_replicates(manifest) for manifest in pair]
    least = "at least" if any(map(label.is_at_least, pair)) else "at most"
    cost = f"{least} ε = {costs_text} = {number(sum(costs))} for a replicate of each"
    if max(counts) > 1:
        total = sum(count * value for count, value in zip(counts, costs, strict=True))
        cost += f", {number(total)} for all"
    if any((label.stated_delta(manifest) or 0) > 0 for manifest in pair):
        cost += "; every δ adds up likewise"
    if one_noise:
        return (
            "do not publish both, because they reuse the same noise on the same records (one "
            f"seed); with independent noise both would cost the sum, {cost}"
        )
    return f"both results read the same records; publishing both costs the sum, {cost}"


def same_records(first: Result, second: Result) -> bool:
    """Return whether two results read the same table, or records drawn from the same seed.

    Owners who are left out, and columns or rows, may differ: some records are the same.
    """
    ours, theirs = first.scenario["data"], second.scenario["data"]
    if "sha256" in ours or "sha256" in theirs:
        return bool(ours.get("sha256") == theirs.get("sha256"))
    return bool(ours == theirs and first.manifest["seed"] == second.manifest["seed"])


@dataclass(frozen=True)
class ComparedFigure:
    """One figure of both results.

    Attributes
    ----------
    name : str
        In tables and JSON.
    words : str
        On the screen, with the unit where the words do not say it.
    unit : str
        In tables and JSON; empty of a pure number.
    first, second : float
        Means over the replicates compared, or ratios of sums over them; infinite or NaN where a
        replicate's value is.
    contrast : Contrast
        The second less the first.
    less, more : int or None
        Pairs in which the second value is the smaller, or the larger; None without pairs.
    pairs : int or None
        All pairs in which both values are known.
    """

    name: str
    words: str
    unit: str
    first: float
    second: float
    contrast: Contrast
    less: int | None = None
    more: int | None = None
    pairs: int | None = None

    @property
    def is_nothing(self) -> bool:
        """Whether it is 0 in every replicate of both, so that the screen can do without it."""
        return self.first == self.second == self.contrast.low == self.contrast.high == 0

    @property
    def is_alike(self) -> bool:
        """Whether both results have one value in each pair."""
        return self.less == self.more == 0

    @property
    def wins(self) -> int | None:
        """Replicates in which the second result is the better; None without pairs."""
        return self.more if _more_is_better(self.name) else self.less


@dataclass(frozen=True)
class Against:
    """A result compared with the first one.

    Attributes
    ----------
    result : Result
    name : str
        Printed name of the result.
    common : tuple of int
        The replicates that both have of one seed; empty where replicates are not paired.
    pairing : str
        Why they are paired or not, in words, and which interval that gives.
    rows : tuple of ComparedFigure
        Figures that both have.
    settings : tuple of OtherSetting
        Fields of the scenario that differ.
    together : str
        What publishing both costs.
    """

    result: Result
    name: str
    common: tuple[int, ...]
    pairing: str
    rows: tuple[ComparedFigure, ...]
    settings: tuple[OtherSetting, ...]
    together: str

    @property
    def is_paired(self) -> bool:
        """Whether differences are taken within replicates."""
        return len(self.common) > 0


def against(first: Result, second: Result, name: str) -> Against:
    """Compare a result with the first one; replicates of one seed are pairs."""
    common = _common(first, second)
    pairing, rows = _pairing(first, second, common), tuple(_rows(first, second, common))
    settings = tuple(changed(first.scenario, second.scenario))
    return Against(second, name, common, pairing, rows, settings, together(first, second))


def _common(first: Result, second: Result) -> tuple[int, ...]:
    if first.manifest["seed"] != second.manifest["seed"]:
        return ()
    theirs = set(second.replicates)
    return tuple(number for number in first.replicates if number in theirs)


def _pairing(first: Result, second: Result, common: tuple[int, ...]) -> str:
    """Return which replicates are compared, and the kind of interval, in words."""
    seeds = [result.manifest["seed"] for result in (first, second)]
    if len(common) == 0:
        why = f"seeds {seeds[0]} and {seeds[1]}" if seeds[0] != seeds[1] else "other replicates"
        return f"not paired ({why}): means, 95 % intervals by Welch's t for each figure"
    left = len(set(first.replicates) ^ set(second.replicates))
    more = f", {left} of one result alone left out" if left > 0 else ""
    which = f"replicate{'s' * (len(common) > 1)} {ranges(common)} of seed {seeds[0]}{more}"
    if len(common) == 1:
        return f"paired by replicate ({which}): one pair has no interval"
    return f"paired by replicate ({which}): means, 95 % intervals by Student's t for each figure"


def _rows(first: Result, second: Result, common: tuple[int, ...]) -> Iterator[ComparedFigure]:
    """Yield the figures of which both results have a value that is known."""
    paired, pair = len(common) > 0, (first, second)
    units = {result.manifest.get("target_unit") for result in pair}
    target_unit = (units.pop() or "") if len(units) == 1 else ""
    time_unit = unit_of(result.manifest["scenario"] for result in pair)
    in_first, in_second = figures_of(first), figures_of(second)
    for name in (name for name in in_first if name in in_second):
        ours, mine = _values(first, in_first[name], common)
        theirs, other = _values(second, in_second[name], common)
        if np.isnan(ours).all() or np.isnan(theirs).all():
            continue
        difference = contrast(ours, theirs, in_pairs=paired)
        counts = pairs(mine, other) if paired else ()
        means = float(ours.mean()), float(theirs.mean())
        named = _named(name, target_unit, time_unit)
        yield ComparedFigure(name, *named, *means, difference, *counts)


def pairs(first: Array, second: Array) -> tuple[int, int, int]:
    """Return the pairs whose second value is less, and more, and of which both are known."""
    known = ~(np.isnan(first) | np.isnan(second))
    less, more, count = map(np.count_nonzero, (second < first, second > first, known))
    return int(less), int(more), int(count)


def _values(result: Result, found: Array | Ratio, common: tuple[int, ...]) -> tuple[Array, Array]:
    """Return what has a figure for its mean, and the figure of each of these replicates.

    Of all of the result, where these are none.
    """
    place = {number: index for index, number in enumerate(result.replicates)}
    values = [place[number] for number in common or result.replicates]
    if isinstance(found, Ratio):
        ratio = Ratio(found.part[values], found.whole[values])
        return ratio.linear(), ratio.by_replicate()
    return found[values], found[values]


@dataclass(frozen=True)
class Comparison:
    """Results compared with the first of them.

    Attributes
    ----------
    first : Result
    name : str
        Of the first result.
    others : tuple of Against
        At least one.
    """

    first: Result
    name: str
    others: tuple[Against, ...]

    @property
    def results(self) -> dict[str, Result]:
        """All results by name, the first one first."""
        return {self.name: self.first} | {pair.name: pair.result for pair in self.others}

    @property
    def labels(self) -> dict[str, str]:
        """The privacy label of each result, by name."""
        return {name: label.label([result.manifest]).text for name, result in self.results.items()}

    def rows(self) -> list[dict[str, Any]]:
        """Return every figure of every comparison as a row of a table."""
        return [
            {"result": pair.name, "against": self.name, "paired": pair.is_paired, **_cells(row)}
            for pair in self.others
            for row in pair.rows
        ]

    def content(self) -> dict[str, Any]:
        """Return all of it as ``asyncdp compare --json`` prints it: infinities are texts."""
        content = {
            "schema": 1,
            "first": self.name,
            "comparisons": [
                {
                    "second": pair.name,
                    "paired": pair.is_paired,
                    "pairing": pair.pairing,
                    "replicates": list(pair.common),
                    "figures": [_cells(row) for row in pair.rows],
                    "scenario": [vars(setting) for setting in pair.settings],
                    "together": pair.together,
                }
                for pair in self.others
            ],
            "labels": self.labels,
        }
        return dict(jsonable(content))

    def lines(self) -> list[str]:
        """Return all of it for the screen."""
        lines = [line for pair in self.others for line in [*self._against(pair), ""]]
        return lines + _wrapped(*(f"{name}: {text}" for name, text in self.labels.items()))

    def figures(self, each: Against) -> list[list[str]]:
        """Return the figures of one comparison as a table of texts, its header first."""
        won = ["better in"] if each.is_paired else []
        header = ["", self.name, each.name, "difference", "95 % interval", *won]
        return [header, *(_spoken(row) for row in each.rows if not row.is_nothing)]

    def _against(self, each: Against) -> list[str]:
        settings = [["field", self.name, each.name], *(s.describe() for s in each.settings)]
        alike = ["the scenarios do not differ"]
        different = replace(each, rows=tuple(row for row in each.rows if not row.is_alike))
        equal = [f"{row.words} ({figure(row.first)})" for row in each.rows
                 if row.is_alike and not row.is_nothing]  # fmt: skip
        return [
            *_wrapped(f"{each.name} against {self.name}, {each.pairing}"),
            "",
            *(aligned(self.figures(different)) if len(different.rows) > 0 else []),
            *(_wrapped(f"equal in each replicate: {', '.join(equal)}") if len(equal) > 0 else []),
            "",
            *(aligned(settings) if len(each.settings) > 0 else alike),
            "",
            *_wrapped(f"publishing both: {each.together}"),
        ]


def _cells(row: ComparedFigure) -> dict[str, Any]:
    return {
        "figure": row.name,
        "unit": row.unit,
        "first": row.first,
        "second": row.second,
        "difference": row.contrast.mean,
        "low": row.contrast.low,
        "high": row.contrast.high,
        "better": "more" if _more_is_better(row.name) else "less",
        "wins": row.wins,
        "less": row.less,
        "more": row.more,
        "pairs": row.pairs,
    }


def _spoken(row: ComparedFigure) -> list[str]:
    mean, low, high = row.contrast
    texts, ends = [row.words, figure(row.first), figure(row.second), figure(mean)], "–"
    if mean is not None and low is not None and high is not None:
        shown = [within(v, low, high) if high > low else figure(v) for v in (mean, low, high)]
        texts[-1], ends = shown[0], " … ".join(shown[1:])
    if row.wins is None:
        return [*texts, ends]
    won = f"equal in {row.pairs}" if row.is_alike else f"{row.wins} of {row.pairs}"
    return [*texts, ends, won]


def _wrapped(*said: str) -> list[str]:
    unbroken = (paragraph.replace(" %", "\u00a0%") for paragraph in said)
    lines = (line for paragraph in unbroken for line in textwrap.wrap(paragraph, screen_width()))
    return [line.replace("\u00a0", " ") for line in lines]


def compare(directories: Sequence[Path], names: Sequence[str] | None = None) -> Comparison:
    """Compare results with the first of them.

    Results of one seed have their random numbers in common: replicate by replicate the same clocks
    tick and the same noise is drawn, as far as the scenarios let them. Their differences are taken
    within replicates, which leaves out of the interval all that both have in common.

    Parameters
    ----------
    directories : sequence of Path
        Of results, two or more; the cells of a sweep are results.
    names : sequence of str, optional
        What they are called, one each; as their directories by default.

    Raises
    ------
    ResultError
        If there are fewer than two, or one is named twice, is a sweep, or no result.
    """
    if len(directories) < 2:
        count = f"{len(directories)} result{'s' * (len(directories) != 1)}"
        raise ResultError([Fault("DIR", count, "allowed are two or more")])
    places = [directory.resolve() for directory in directories]
    for place, directory in zip(places, directories, strict=True):
        if places.count(place) > 1:
            count, remedy = "the same result twice", "allowed is each once"
            raise ResultError([Fault("DIR", count, remedy)], str(directory))
    first, *rest_opened = map(_opened, directories)
    named, *rest = directory_names(directories) if names is None else names
    compared = (against(first, other, name) for other, name in zip(rest_opened, rest, strict=True))
    return Comparison(first, named, tuple(compared))


def _opened(directory: Path) -> Result:
    """Open a result; a sweep is refused by name, for it is many."""
    if is_file(directory / "cells.parquet"):
        remedy = f"allowed is a result, such as a cell of it: {directory / 'cell-0000'}"
        raise ResultError([Fault("", "a sweep", remedy)], str(directory))
    return Result.read(directory)


def directory_names(directories: Sequence[Path]) -> list[str]:
    """Return the directories' own names where these tell them apart, else their paths."""
    short = [directory.resolve().name for directory in directories]
    return short if len(set(short)) == len(short) else list(map(str, directories))
