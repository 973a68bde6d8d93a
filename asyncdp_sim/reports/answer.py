"""The first screen of a page: a decision, the figures behind it, and the privacy label."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from asyncdp_sim.comparisons import Comparison
from asyncdp_sim.core.units import in_unit, unit_of
from asyncdp_sim.core.words import number
from asyncdp_sim.figures.break_even import decisions
from asyncdp_sim.figures.kit.outcomes import psi_at_end
from asyncdp_sim.privacy.label import epsilon_words, label, reasons, timing_reasons
from asyncdp_sim.reports.numbers import PRIVATE, shown, span
from asyncdp_sim.results import Result, Sweep

PSI = "relative fitness f(θ)/f(θ*) − 1; 0 is the best model"


@dataclass(frozen=True)
class KeyFigure:
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


@dataclass(frozen=True)
class Answer:
    """The decision of a page, and the figures behind it."""

    decision: str
    facts: tuple[KeyFigure, ...]


def of_result(result: Result) -> Answer:
    """Return the answer of one result."""
    psi, manifest = psi_at_end(result), result.manifest
    ends = span(psi.low, psi.high)
    interval = f"95 %: {ends}; " if ends else ""
    return Answer(
        _decision(result, psi.value),
        (
            KeyFigure("ψ at the end", number(psi.value), f"median; {interval}{PSI}"),
            KeyFigure("Time", _time(result), "simulated, per replicate"),
            KeyFigure("ε", _epsilon(manifest), "per owner, for the whole run"),
            KeyFigure("Private as stated", PRIVATE[label([manifest]).private]),
        ),
    )


def _decision(result: Result, psi: float) -> str:
    """Return what owners gain, where the run judged it; else how good the model becomes."""
    together = result.manifest.get("consortium")
    if together is not None:
        counts = together["verdicts"]
        gain, worse = (shown(counts.get(name, 0)) for name in ("gains", "does worse"))
        ends = span(together["low"], together["high"])
        unit = result.manifest.get("unit")
        return (
            f"Mean gain {number(together['gain'])}{'' if unit is None else f' {unit}'} "
            f"(95 %: {ends}; {result.manifest['score']}). Of {result.n_owners:,} owners "
            f"{gain} gain and {worse} do worse; of the others it is not clear, or does not matter."
        )
    updates = f"After {shown(result.updates)} updates"
    if psi >= 1:
        return f"{updates} the loss is {number(1 + psi)} times the least possible loss."
    return f"{updates} the loss is {number(100 * psi)} % above the least possible loss."


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
    private = sum(label([result.manifest]).private is True for result in results)
    missing = f"{len(sweep.missing)} not finished" if len(sweep.missing) > 0 else ""
    smallest = f"The smallest ψ is {number(values[best])}, with {cell.label(sweep.paths)}."
    return Answer(
        " ".join([*decisions(sweep), smallest]),
        (
            KeyFigure("ψ at the end", _range(values), f"over cells, median of each; {PSI}"),
            KeyFigure(
                "Time", in_unit(f"{_range(times)} time units", unit), "simulated, per replicate"
            ),
            KeyFigure("ε", ", ".join(epsilons[:4]) + ", …" * (len(epsilons) > 4), "per owner"),
            KeyFigure("Private as stated", f"{private} of {len(results)} cells", missing),
        ),
    )


def _range(values: list[float]) -> str:
    low, high = number(min(values)), number(max(values))
    return low if low == high else f"{low} to {high}"


def of_forecast(found: Mapping[str, Any]) -> Answer:
    """Return the answer of a forecast: its own decision, line by line."""
    decision = found["decision"]
    names = {
        "how_good": "How good",
        "how_soon": "How soon",
        "privacy": "At what privacy",
        "break_even": "Break-even ε",
        "how_sure": "How sure",
    }
    changes = ("What would change it", "; ".join(decision["would_change_it"]))
    rows = [*((name, decision[key]) for key, name in names.items()), changes]
    text = str(decision["decision"])
    notes = {"How good": PSI if "ψ" in decision["how_good"] else ""}
    facts = (KeyFigure(name, str(value), notes.get(name, "")) for name, value in rows if value)
    return Answer(f"{text[:1].upper()}{text[1:]}.", tuple(facts))


def of_comparison(compared: Comparison) -> Answer:
    """Return the answer of a comparison: whose ψ is smaller, and the figures of each result."""
    facts = [
        KeyFigure(
            name,
            f"ψ {number(psi_at_end(result).value)}, {_time(result)}, ε {_epsilon(result.manifest)}",
            f"private as stated: {PRIVATE[label([result.manifest]).private]}",
        )
        for name, result in compared.results.items()
    ]
    return Answer(" ".join(_verdicts(compared)), (*facts, KeyFigure("", "", f"ψ: {PSI}")))


def _verdicts(compared: Comparison) -> list[str]:
    """Return a sentence on ψ for each comparison with the first result."""
    texts = []
    for pair in compared.others:
        row = next((row for row in pair.rows if row.quantity.name == "psi_final"), None)
        against = f"{pair.name} against {compared.name}"
        found = None if row is None else row.contrast
        if found is None or found.mean is None or found.low is None or found.high is None:
            texts.append(f"{against}: no interval of the difference in ψ.")
        elif found.low <= 0 <= found.high:
            texts.append(f"{against}: no certain difference in ψ.")
        else:
            way = "smaller" if found.mean < 0 else "larger"
            ends = span(found.low, found.high)
            size = number(abs(found.mean))
            texts.append(f"{against}: ψ is {way} by {size} (95 % of the difference: {ends}).")
    return texts


@dataclass(frozen=True)
class Banner:
    """The head of the page: its statement on privacy.

    Attributes
    ----------
    text : str
        The label of all results that the page shows, word by word.
    tone : str
        "broken" where any is not private as claimed, not shown to be, or its timing is not
        accounted; "withheld" where all are, and private records were read; "kept" else.
    reasons : tuple of str
        Why, in full.
    """

    text: str
    tone: str
    reasons: tuple[str, ...]


def banner(manifests: Sequence[Mapping[str, Any]]) -> Banner:
    """Return the privacy label of these results on a page, with at least the label's content."""
    page_label = label(manifests)
    why = [reason for said in manifests for reason in (*reasons(said), *timing_reasons(said))]
    kept = page_label.private is True  # which it is not where timing is not accounted
    tone = "broken" if not kept else "withheld" if page_label.not_for_release else "kept"
    return Banner(page_label.text, tone, tuple(dict.fromkeys(why)))
