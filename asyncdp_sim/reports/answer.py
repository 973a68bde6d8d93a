"""The first screen of a page: a decision, the numbers behind it, and the privacy label."""

from collections.abc import Iterable, Mapping, Sequence
from math import isnan, nan
from typing import Any, NamedTuple

import numpy as np

from asyncdp_sim.comparisons.comparison import Comparison
from asyncdp_sim.core import words
from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.units import in_unit, unit_of
from asyncdp_sim.core.words import as_float, extent, figure, number, sentence
from asyncdp_sim.figures.break_even import decisions
from asyncdp_sim.figures.sweep_figure import OutcomeEstimate, interval, mean_psi_at_end, psi_at_end
from asyncdp_sim.results import Result, Sweep
from asyncdp_sim.results.columns import flat
from asyncdp_sim.results.columns import summary as dictionary
from asyncdp_sim.sentences import WORDS
from asyncdp_sim.sentences.forecast import ROWS, rows_of
from asyncdp_sim.sentences.label import (
    epsilon_words,
    hidden_unit,
    kept,
    label,
    n_sharers,
    reasons,
    timing_reasons,
)
from asyncdp_sim.sentences.result import (
    ERRORS,
    decision,
    how_good,
    how_sure,
    if_others_left,
    in_rounds,
    not_judged,
    theory,
    verdicts,
)
from asyncdp_sim.theory.prediction import plain

PSI = "relative fitness f(θ)/f(θ*) − 1; 0 is the best model"


class KeyFigure(NamedTuple):
    """A figure of the first screen, and what it means.

    Attributes
    ----------
    name, value : str
    note : str
        Its meaning or its interval; may be empty.
    """

    name: str
    value: str
    note: str = ""


class Answer(NamedTuple):
    """The decision of a page, and the figures behind it."""

    decision: str
    facts: tuple[KeyFigure, ...]

    @classmethod
    def from_rows(cls, decision: str, rows: Iterable[tuple[str, ...]]) -> "Answer":
        """Return an answer with the rows that have a value, or a note: as of a figure."""
        return cls(decision, tuple(KeyFigure(*row) for row in rows if any(row[1:])))


def of_result(result: Result) -> Answer:
    """Return the answer of one result."""
    psi, manifest = psi_at_end(result), result.manifest
    ends = words.interval(psi.low, psi.high)
    gain, means = decision(manifest), None
    if result.has("gains"):
        frame = result.frame("gains")
        means = {name: float(frame[name].mean()) for name in ERRORS}
    left, remaining = "", manifest.get("remaining")
    if remaining is not None:
        left = if_others_left(remaining["verdicts"], remaining, manifest.get("unit"))
    name, good = how_good(manifest, means)
    rounds = " (rounds of answers)" * in_rounds(manifest["scenario"])
    psi_note = f"median; {f'95 %: {ends}; ' if ends else ''}{PSI}"
    facts = [
        (ROWS["owners"], "" if gain is None else verdicts(manifest)),
        (ROWS["remaining"], left),
        (f"{name[0].upper()}{name[1:]}", good),
        ("ψ at the end", number(psi.value), psi_note),
        (ROWS["how_soon"], f"after {_time(result)}{rounds}"),
        (ROWS["privacy"], _privacy(manifest)),
        ("Private as stated", kept(manifest)),
        (ROWS["how_sure"], how_sure(manifest)),
    ]
    unknown = f"whether owners gain by joining is {not_judged(manifest)}"
    return Answer.from_rows(sentence(gain or unknown), facts)


def _privacy(manifest: Mapping[str, Any]) -> str:
    """Return the privacy of a run, in the words of a forecast."""
    true = epsilon_words(manifest)
    if true in ("ε not shown", "no finite ε"):
        return true
    return f"{true.replace('true ε', 'ε =')} per owner for the whole run"


def _time(result: Result) -> str:
    unit = unit_of([result.manifest["scenario"]])
    return in_unit(f"{number(float(result.summary['simulated_time']))} time units", unit)


def _epsilon(manifest: Mapping[str, Any]) -> str:
    return epsilon_words(manifest).removeprefix("true ε ").removeprefix("ε ")


def of_sweep(sweep: Sweep) -> Answer:
    """Return the answer of a sweep: the settings of its least ψ, and the range of its figures."""
    results = [cell.result for cell in sweep.cells]
    values = [psi_at_end(result).value for result in results]
    best = min(range(len(values)), key=lambda at: values[at])
    cell = sweep.cells[best]
    times = [float(result.summary["simulated_time"]) for result in results]
    unit = unit_of([results[0].manifest["scenario"]])
    epsilons = list(dict.fromkeys(_epsilon(result.manifest) for result in results))
    private = sum(kept(result.manifest) == "yes" for result in results)
    missing = f"{len(sweep.missing)} failed" if len(sweep.missing) > 0 else ""
    smallest = f"The smallest ψ is {number(values[best])}, with {cell.label(sweep.paths)}."
    facts = [
        ("ψ at the end", extent(values), f"over cells, median of each; {PSI}"),
        ("Time", in_unit(f"{extent(times)} time units", unit), "simulated, per replicate"),
        ("ε", ", ".join(epsilons[:4]) + ", …" * (len(epsilons) > 4), "per owner"),
        ("Private as stated", f"{private} of {len(results)} cells", missing),
    ]
    return Answer.from_rows(" ".join([*decisions(sweep), smallest]), facts)


def of_forecast(decision: Mapping[str, str]) -> Answer:
    """Return the answer of a forecast: its own decision, line by line."""
    (_, text), *rows = rows_of(decision)
    return Answer.from_rows(sentence(text), rows)


def of_comparison(compared: Comparison) -> Answer:
    """Return the answer of a comparison: whose ψ is smaller, and the figures of each result."""
    facts = []
    for name, result in compared.results.items():
        psi, manifest = number(psi_at_end(result).value), result.manifest
        private = f"private as stated: {kept(manifest)}"
        facts.append((name, f"ψ {psi}, {_time(result)}, ε {_epsilon(manifest)}", private))
    return Answer.from_rows(" ".join(_verdicts(compared)), [*facts, ("", "", f"ψ: {PSI}")])


def _verdicts(compared: Comparison) -> list[str]:
    """Return a sentence on ψ for each comparison with the first result."""
    texts = []
    for pair in compared.others:
        row = next((row for row in pair.rows if row.name == "psi_final"), None)
        against = f"{pair.name} against {compared.name}"
        found = None if row is None else row.contrast
        if found is None or found.mean is None or found.low is None or found.high is None:
            texts.append(f"{against}: no interval of the difference in ψ.")
        elif found.low <= 0 <= found.high:
            texts.append(f"{against}: no certain difference in ψ.")
        else:
            way = "smaller" if found.mean < 0 else "larger"
            ends = words.interval(found.low, found.high)
            size = number(abs(found.mean))
            texts.append(f"{against}: ψ is {way} by {size} (95 % of the difference: {ends}).")
    return texts


class Banner(NamedTuple):
    """The head of the page: its statement on privacy.

    Attributes
    ----------
    text : str
        The label of all results that the page shows, word by word.
    tone : str
        "broken" where any is not private as claimed, not shown to be, or its timing is not
        accounted; "withheld" where all are, and private records were read; "kept" else.
    release : bool
        Whether the page may be published: no private record was read.
    reasons : tuple of str
        Why, in full.
    """

    text: str
    tone: str
    release: bool
    reasons: tuple[str, ...]


def banner(manifests: Sequence[Mapping[str, Any]]) -> Banner:
    """Return the privacy label of these results on a page, with at least the label's content."""
    page_label = label(manifests)
    why = [reason for said in manifests for reason in (*reasons(said), *timing_reasons(said))]
    private = page_label.private is True  # which it is not where timing is not accounted
    tone = "broken" if not private else "kept" if page_label.release else "withheld"
    return Banner(page_label.text, tone, page_label.release, tuple(dict.fromkeys(why)))


FIRST = (
    "psi_final.median", "psi_final.mean", "psi_final.q25", "psi_final.q75", "updates",
    "simulated_time", "throughput",
)  # fmt: skip
"""What comes first; all else comes as the dictionary has it."""
OF_SEVERAL = ("psi_final.mean", "psi_final.q25", "psi_final.q75")
"""Parts that one replicate does not need, because they all equal its median."""
OF_PRIVACY = (
    "private", "epsilon_true", "epsilon_at_least", "delta", "bound_exceeded", "queries_unseen",
    "timing_accounted", "not_for_release",
)  # fmt: skip
"""Text of the section on privacy."""


_OF_PSI = {"psi_final.median": psi_at_end, "psi_final.mean": mean_psi_at_end}
"""Figures with intervals of their own."""


def key_numbers(result: Result) -> list[dict[str, Any]]:
    """Return every number of a summary that is there, the most asked for first.

    Each is measured, with its interval of 95 %, its prediction, whether that lies in the interval
    (None where either is missing) and the formula or why there is none. ``first`` are those to be
    read first: of the model, predicted, or not alike in all replicates.
    """
    summary = flat(result.summary)
    columns = dictionary()
    order = [*FIRST, *(name for name in columns if name not in FIRST)]
    left_out = OF_PRIVACY if len(result.replicates) > 1 else (*OF_PRIVACY, *OF_SEVERAL)
    shown = [name for name in order if summary.get(name) is not None and name not in left_out]
    predicted = {row["quantity"]: row for row in result.manifest.get("predictions", [])}
    return [_figure(result, name, summary[name], predicted.get(name)) for name in shown]


def shown(value: Any) -> str:
    """Return a number in three digits, a text as it is, and a dash for nothing."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) and as_float(value) is None else figure(value)


def _figure(
    result: Result, name: str, value: Any, prediction: dict[str, Any] | None
) -> dict[str, Any]:
    column = dictionary()[name]
    time_unit = unit_of([result.manifest["scenario"]]) or "time unit"
    ends = OutcomeEstimate(nan, *interval(result.summary, name))
    if name in _OF_PSI:
        ends = _OF_PSI[name](result)
    least, most = (nan, nan) if prediction is None else theory(prediction)
    low, high = ends.low, ends.high
    # bounds of a sample that never varied are the value itself, to the last digit
    slack = 1e-9 * max(1.0, abs(low)) if not isnan(low) else 0.0
    sure = not isnan(least) and not isnan(low)
    return dict(
        name=name,
        meaning=column.meaning,
        unit="" if column.unit == "none" else column.unit.replace("time unit", time_unit),
        value=shown(value),
        interval=words.interval(low, high),
        theory="" if isnan(least) else extent((least, most)),
        inside=(low - slack <= most and least <= high + slack) if sure else None,
        why="" if prediction is None else plain(str(prediction["reason"] or prediction["formula"])),
        first=name in FIRST
        or (name.startswith("held_out") and name.endswith((".median", "_optimum", "_alone")))
        or name.startswith("profits")
        or (value != 0 and (not isnan(least) or low < high)),
    )


class PageTable(NamedTuple):
    """A table of a page: its rows, the header first, a sentence above it, whether it is folded."""

    title: str
    rows: Sequence[Sequence[str]]
    note: str = ""
    folded: bool = False


MOST_CELLS = 200
"""Cells that are listed."""
_OF_CELLS = (
    "ψ", "95 %", "updates per unit", "95 %", "time (units)", "private", "true ε",
)  # fmt: skip


def cells(sweep: Sweep) -> PageTable:
    """Return a row for each finished cell, the first of many."""
    rows = [["cell", *sweep.paths, *_OF_CELLS]]
    for cell in sweep.cells[:MOST_CELLS]:
        manifest, summary, psi = cell.result.manifest, cell.result.summary, psi_at_end(cell.result)
        swept = (cell.label([path]) for path in sweep.paths)
        rows.append(
            [
                str(cell.number),
                *(text.replace(" = ", "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}") for text in swept),
                shown(psi.value),
                words.interval(psi.low, psi.high),
                shown(summary["throughput"]),
                words.interval(*interval(summary, "throughput")),
                shown(summary["simulated_time"]),
                kept(manifest),
                epsilon_words(manifest).removeprefix("true ε "),
            ]
        )
    count, listed = len(sweep.cells), len(rows) - 1
    note = f"{count} finished cells"
    note += f", {len(sweep.missing)} failed" if len(sweep.missing) > 0 else ""
    note += f"; the first {listed} are listed" if listed < count else ""
    note += ". ψ is the median over replicates after the last update. Intervals hold 95 %."
    return PageTable("Cells", rows, note)


MOST_OWNERS = 200
"""Owners that are listed; of more, those with the largest share of ε spent."""
FIRST_OWNERS = 12
"""Number of rows visible at once; the others unfold below."""
_AVERAGED: dict[str, str] = WORDS["averaged"]
"""Columns of the owners' table that are means over replicates; the last three with energy alone."""


def owners(result: Result) -> list[PageTable]:
    """Return a row for each owner over all replicates, or for those whose budgets are used most.

    A row has the owner's largest charge, the power of the strongest attacker in any replicate, and
    means of counts. The first table is visible at once, a second one with the others unfolds.
    """
    people, known = result.participants, result.names("owners")

    def of(name: str) -> Array:
        return np.asarray(result.of_owners(name), dtype=float)

    claimed, charged = of("epsilon")[0], of("epsilon_spent").max(axis=0)
    columns = {"records": of("records").mean(axis=0), "ε": claimed, "charged": charged}
    if "attacker_power" in known:  # which older results have not
        columns["detected at 1 % false alarms"] = of("attacker_power").max(axis=0)
    columns |= {head: of(name).mean(axis=0) for head, name in _AVERAGED.items() if name in known}
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.nan_to_num(charged / claimed, nan=0.0, posinf=0.0)
    order, count = np.arange(len(share)), len(share)
    if count > MOST_OWNERS:
        order = np.sort(np.argsort(-share, kind="stable")[:MOST_OWNERS])
    texts = {"owner": list(map(str, people.numbers))}
    pairs = zip(people.names, texts["owner"], strict=False)
    if any(name not in ("", number) for name, number in pairs):
        texts["name"] = list(people.names)
    texts |= {head: list(map(shown, values)) for head, values in columns.items()}
    rows = [[column[at] for column in texts.values()] for at in order]
    sharers = n_sharers(result.manifest) - 1
    of_records = hidden_unit(result.manifest) == "record"
    holders = f"and {sharers} other{'s' * (sharers > 1)} hold" if sharers > 0 else "holds"
    detected = f"a given record that the owner {holders}" if of_records else "the owner"
    note = (
        "Per owner: the stated ε; the largest ε charged for answers in any replicate; the largest "
        f"share of cases in which an attacker with 1 % false alarms detects {detected}; and means "
        "over replicates."
    )
    if len(rows) < count:
        note += f" Of {count} owners these {len(rows)} have used the largest share of ε."
    first, others = rows[:FIRST_OWNERS], rows[FIRST_OWNERS:]
    tables = [PageTable("Privacy of each owner", [list(texts), *first], note)]
    if len(others) > 0:
        tables.append(PageTable(f"{len(others)} more owners", [list(texts), *others], folded=True))
    return tables
