"""A result in words: what the screen shows after a run or a sweep."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import inf, isfinite, isnan, nan
from pathlib import Path
from typing import Any

from asyncdp_sim.core.specification import member
from asyncdp_sim.core.units import ROUNDS, counts_rounds, in_unit, unit_of
from asyncdp_sim.core.validation import show
from asyncdp_sim.core.words import (
    aligned,
    as_float,
    estimate,
    extent,
    figure,
    known,
    number,
    numbers,
    plus_minus,
    some_of,
)
from asyncdp_sim.decision import Verdict
from asyncdp_sim.measures.scores import SCORES
from asyncdp_sim.measures.summary import NAMES
from asyncdp_sim.network.protocols import Protocol
from asyncdp_sim.privacy.guarantee import BROKEN, UNSHOWN, UNTIMED
from asyncdp_sim.privacy.pairs import words as attacker_words
from asyncdp_sim.results.manifest import read_manifest
from asyncdp_sim.scenario import spoken, with_short_digest
from asyncdp_sim.sentences import WORDS
from asyncdp_sim.sentences.label import (
    Label,
    composition,
    epsilon_words,
    epsilons,
    hidden_unit,
    is_at_least,
    kept,
    label,
    n_sharers,
    observer_words,
    of_summary,
    reasons,
    stated_delta,
    stated_participation,
    stated_unit,
)

AVERAGE = "the average owner"
ONE: dict[str, str] = WORDS["one"]
"""Verdicts on one owner, or on the average one, as sentences."""
MANY: dict[str, str] = WORDS["many"]
"""Verdicts behind the number of owners that have them, in the order in which they are counted."""
ERRORS: dict[str, str] = WORDS["errors"]
"""Names of the models whose mean errors are compared."""


def joining(
    gain: Mapping[str, Any],
    unit: str | None,
    budgets: Iterable[float],
    who: str = AVERAGE,
    least: str = "",
) -> str:
    """Return the verdict on an owner or on the average one, with the gain and its interval.

    Parameters
    ----------
    gain : mapping
        ``verdict``, ``gain``, ``low``, ``high`` and ``own``, as the manifest of a run and the JSON
        of a forecast have them.
    unit : str or None
        Of the error.
    budgets : iterable of float
        ε of owners; ∞ without privacy.
    who : str
        The owner.
    least : str
        Stands before the gain where it is a lower bound.
    """
    verdict, finite = str(gain["verdict"]), list(filter(isfinite, budgets))
    where = f"at ε = {numbers(finite)}" if len(finite) > 0 else "without privacy"
    sentence = f"{ONE.get(verdict, f'{verdict}: {{}}').format(who)} {where}"
    size, own = known(gain["gain"]), known(gain["own"])
    if not isfinite(size):
        why = "the joint model diverged" if verdict == Verdict.WORSE else "no rows to be judged on"
        return f"{sentence}: {why}"
    percent = round(100 * size / own) if own > 0 else 0
    share = f", {percent} % of its own error" if percent != 0 else ""
    return f"{sentence}: gain {least}{with_ends(gain, unit)}{share}"


def errors(means: Mapping[str, float], score: str, unit: str | None) -> str:
    """Return mean errors of the models that are compared.

    Parameters
    ----------
    means : mapping
        ``own``, ``joint``, ``adapted`` and ``guessing``.
    score : str
        What the errors are.
    unit : str or None
    """
    if isnan(means["own"]):  # nobody has rows to be judged on
        return ""
    texts = ", ".join(f"{number(means[key])} {name}" for key, name in ERRORS.items())
    return f"{texts} ({score}{f', {unit}' if unit else ''})"


def with_ends(gain: Mapping[str, Any], unit: str | None) -> str:
    """Return a gain in its unit, and its 95 % interval."""
    return estimate(known(gain["gain"]), known(gain["low"]), known(gain["high"]), unit or "")


def counted(verdicts: Mapping[str, int], owners: str) -> str:
    """Return how many owners have each verdict.

    Parameters
    ----------
    verdicts : mapping
        The number of owners with each; a verdict that nobody has may be absent.
    owners : str
        How many owners it is of.
    """
    return f"{owners}: {', '.join(f'{verdicts.get(v, 0)} {text}' for v, text in MANY.items())}"


def result_lines(directory: Path, *, details: bool = True) -> list[str]:
    """Return the figures of a result or a sweep directory, a line each.

    Without details, those of the network and those that no decision needs are left out.

    Raises
    ------
    ResultError
        If the directory is neither.
    """
    manifest = read_manifest(directory)
    if "summary" not in manifest:
        return _sweep(directory, manifest)
    rows, asked = figures(manifest), manifest["scenario"]["run"]["updates"]
    pairs = zip(rows, named_lines(rows), strict=True)
    return [line for row, line in pairs if details or not _is_detail(*row, asked)]


def named_lines(rows: Sequence[tuple[str, str]]) -> list[str]:
    """Return texts as lines, each behind its name, below each other."""
    width = max(len(name) for name, _ in rows)
    return [f"{name:<{width}}  {text}" for name, text in rows]


def _is_detail(name: str, value: str, asked: int) -> bool:
    """Return whether no decision needs a row of a result, of which so many updates were asked.

    The loss and R² say in other units what the errors in the target's unit do.
    """
    network = [NAMES[key][0] for key in ("throughput", "p_repeat", *_WHERE_THERE_IS_ANY)]
    further = (
        "replicates", "gains are of", "weighted by n_i", "time unit", "smaller ψ",
        "held-out loss", "held-out R²",
    )  # fmt: skip
    as_asked = (("timing", "accounted"), ("updates", _updates(asked)))
    return name in (*network, *further) or (name, value) in as_asked


def _updates(count: float) -> str:
    return f"{figure(count)} per replicate"


def notes(directory: Path) -> list[str]:
    """Return the warnings of a result or a sweep, and which versions made it if several did.

    Raises
    ------
    ResultError
        If the directory is neither.
    """
    manifest = read_manifest(directory)
    text = manifest.get("mixed_versions", [])
    return [*manifest["warnings"], *(_versions_of(part) for part in text)]


def warnings_first(directory: Path) -> tuple[list[str], list[str]]:
    """Return the warnings that limit the figures or the privacy of a result; then other notes.

    Raises
    ------
    ResultError
        If the directory is neither a result nor a sweep.
    """
    manifest = read_manifest(directory)
    kinds = [row["kind"] for row in manifest.get("warning_fields", [])]
    limits = {
        text
        for text, kind in itertools.zip_longest(manifest["warnings"], kinds, fillvalue="noted")
        if kind not in ("noted", "target-reached") or any(mark in text for mark in _MARKS)
    }
    first = [text for text in manifest["warnings"] if text in limits]
    first += [_versions_of(part) for part in manifest.get("mixed_versions", [])]
    return first, [text for text in manifest["warnings"] if text not in limits]


def _versions_of(part: Mapping[str, Any]) -> str:
    """Return in words which cells and traces were made by these versions."""
    which = ", ".join(f"{name} {version}" for name, version in (part["versions"] or {}).items())
    return f"mixed versions: {some_of(part['made'], 6)} by {which or 'unknown ones'}"


def figures(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return how good, who gains, how soon, at what privacy; the label; then the network."""
    summary, psi = manifest["summary"], manifest["summary"]["psi_final"]
    predicted = {item["quantity"]: theory(item) for item in manifest.get("predictions", [])}
    intervals = summary.get("intervals", {})

    def measured(key: str, unit: str) -> str:
        """Return a figure, its 95 % interval, and its predicted value, if any."""
        value, ends = as_float(summary.get(key)), intervals.get(key)
        if value is None:
            return figure(None)
        text = f"{figure(value)} {unit}"
        if ends is not None:
            text = estimate(value, ends[0], ends[1], unit)
        expected = predicted.get(key, (nan, nan))
        return text if isnan(expected[0]) else f"{text} (theory {extent(expected)})"

    scenario = manifest["scenario"]
    unit = unit_of([scenario])
    quartiles = (
        f"median {figure(psi['median'])}, 25–75 % {figure(psi['q25'])} … {figure(psi['q75'])}, "
        f"mean {figure(psi['mean'])}"
    )
    rounds = [("time unit", ROUNDS)] if in_rounds(scenario) else []
    return [
        *([("rehearsed", "with real processes")] if "measured" in manifest else []),
        ("ψ at the end", quartiles if len(manifest["replicates"]) > 1 else figure(psi["mean"])),
        *_gains(manifest),
        *_honest(summary, scenario["owners"]["count"]),
        *_scores(summary, manifest.get("target_unit")),
        (
            "simulated time",
            in_unit(f"{figure(summary['simulated_time'])} units per replicate", unit)
            + " (rounds of answers)" * len(rounds),
        ),
        *rounds,
        ("budget spent", _spent(summary)),
        ("updates", _updates(summary["updates"] / len(manifest["replicates"]))),
        ("replicates", str(len(manifest["replicates"]))),
        *_label(manifest),
        *(
            (NAMES[key][0], in_unit(measured(key, NAMES[key][1]), unit))
            for key in ("throughput", *_WHERE_THERE_IS_ANY)
            if key not in _WHERE_THERE_IS_ANY or summary.get(key) not in (None, 0.0)
        ),
        (
            NAMES["p_repeat"][0],
            f"{figure(summary['p_repeat'])} "
            f"(uniform choice: {figure(summary['p_repeat_uniform'])})",
        ),
        *_energy(summary, measured),
    ]


def in_rounds(scenario: Mapping[str, Any]) -> bool:
    """Return whether a time unit of a scenario, as tables, is one round of answers."""
    table = scenario.get("protocol", {"kind": "request"})
    kind = member(Protocol, table["kind"])
    # not validated: an older result may have fields that are gone
    clocked = kind is not None and kind.model_construct(**table).clocked
    return clocked and counts_rounds(unit_of([scenario]), scenario.get("clock", {}))


def theory(prediction: Mapping[str, Any]) -> tuple[float, float]:
    """Return what a figure lies between by theory: twice the one value, or NaN where unknown."""
    value = as_float(prediction["value"])
    low, high = (known(prediction.get(end)) for end in ("low", "high"))
    return (low, high) if value is None else (value, value)


def _label(manifest: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield rows of the privacy label: private or not and why, true ε, timing, release."""
    text, unit, alone = label([manifest]), stated_unit(manifest), composition([manifest])
    stated = f", δ = {number(text.delta)}" if text.delta is not None and text.delta > 0 else ""
    true = epsilon_words(manifest)
    if text.private is True:
        sign = "=" if len(set(epsilons(manifest))) == 1 else "≤"
        true = true.replace("true ε", f"ε {sign}")
        stated += " per owner"
    yield "private", f"{kept(manifest, 'nothing is claimed')} ({true}{stated})"
    against = observer_words([manifest])
    if against is not None:
        yield "ε is against", against
    yield from (("because", why) for why in reasons(manifest))
    if "attacker_power" in manifest["summary"] and stated_delta(manifest) is not None:
        yield "an attacker", _attacker(manifest)
    if alone is not None:
        yield "scope", f"ε {alone}"
    if unit is not None:
        yield "unit of privacy", unit
    rule = stated_participation([manifest])
    if rule is not None:
        yield "participation", rule
    yield "timing", "accounted" if text.timing_accounted else "NOT accounted"
    may_be = "yes: synthetic records" if text.release else "no: private records were read"
    yield "may be published", may_be


def _attacker(manifest: Mapping[str, Any]) -> str:
    """Return the bound on an attacker, or why there is none."""
    power, advantage = (of_summary(manifest, f"attacker_{e}") for e in ("power", "advantage"))
    if advantage == 1 or (advantage is not None and not is_at_least(manifest)):
        return attacker_words(power, advantage, n_sharers(manifest), hidden_unit(manifest))
    because = "the sensitivity bound is declared, not enforced"
    return f"no upper bound holds, because {because if is_at_least(manifest) else _OUTSIDE}"


def _epsilon(said: Label) -> str:
    true = said.epsilon_true
    least = said.epsilon_at_least and true is not None and isfinite(true)
    return f"{'≥ ' if least else ''}{figure(said.epsilon_true)}"


def _spent(figures: Mapping[str, Any]) -> str:
    """Return what was charged, which is for answers, and never for when they come."""
    if figures["max_spent_ratio"] is None:
        return "no finite budget"
    charged = f"at most {figure(100 * figures['max_spent_ratio'])} % of ε"
    return charged if figures["timing_accounted"] else f"{charged}, for the answers alone"


def decision(manifest: Mapping[str, Any]) -> str | None:
    """Return what the average owner of a run gains; None where no run has judged it."""
    together = manifest.get("consortium")
    if together is None:
        return None
    return joining(together, manifest.get("unit"), epsilons(manifest))


def not_judged(manifest: Mapping[str, Any]) -> str:
    """Return what stands in place of the gain of a run that has none, and why."""
    if "score" in manifest:
        return "not judged: no row that is apart from training has a target"
    if manifest["scenario"]["data"].get("held_out"):
        return "not judged: asyncdp run of a single cell judges it"
    return "not judged: no rows are kept apart for it (data.held_out); see asyncdp forecast"


def how_good(manifest: Mapping[str, Any], means: Mapping[str, float] | None) -> tuple[str, str]:
    """Return how good the model is, in the target's unit where rows were kept apart, and of what.

    Parameters
    ----------
    manifest : mapping
        Of a run.
    means : mapping or None
        Mean errors ``own``, ``joint``, ``adapted`` and ``guessing``; None where none were judged.
    """
    summary = manifest["summary"]
    if means is not None:
        return "mean error", errors(means, manifest["score"], manifest.get("unit"))
    for row in _scores(summary, manifest.get("target_unit")):
        return row
    psi = known(summary["psi_final"]["median"], inf)
    loss = f"{number(1 + psi)} times" if psi >= 1 else f"{number(100 * psi)} % above"
    return "loss", f"{loss} the least possible loss"


def how_sure(manifest: Mapping[str, Any]) -> str:
    """Return what intervals are over, or that there is none."""
    together, count = manifest.get("consortium"), len(manifest["replicates"])
    if together is None and count == 1:
        return "no interval of one run"
    judges = "" if together is None else f"{together['judged_on']}, and "
    return f"95 % intervals over {judges}{count} simulated run{'s' * (count > 1)}"


def verdicts(manifest: Mapping[str, Any]) -> str:
    """Return how many owners of a run have each verdict, where it has judged gains."""
    together = manifest["consortium"]
    return counted(together["verdicts"], f"of {sum(together['verdicts'].values())} owners")


def if_others_left(verdicts: Mapping[str, int], mean: Mapping[str, Any], unit: str | None) -> str:
    """Return what the owners that gain would gain without the others.

    Parameters
    ----------
    verdicts : mapping
        How many of them would have each verdict.
    mean : mapping
        ``gain``, ``low`` and ``high`` of the mean over them.
    unit : str or None
    """
    alone = counted(verdicts, f"{sum(verdicts.values())} that gain, if they alone join")
    return f"{alone}; mean gain {with_ends(mean, unit)}"


def _gains(manifest: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield rows on what owners gain on new cases of their own, or that nobody has judged it."""
    mean = decision(manifest)
    if mean is None:
        yield "mean gain", not_judged(manifest)
        return
    together = manifest["consortium"]
    yield "mean gain", mean
    yield "verdicts", f"{verdicts(manifest)} (gains.parquet)"
    left = manifest.get("remaining")
    if left is not None:
        yield "if others left", if_others_left(left["verdicts"], left, manifest.get("unit"))
    if together["no_better_than_guessing"] > 0:
        yield (
            "guessing as good",
            f"{together['no_better_than_guessing']} owners: neither joint nor adapted model errs "
            "less than one guess for all cases",
        )
    yield (
        "gains are of",
        f"the {manifest['score']} on {together['judged_on']}, if {together['assumes']}",
    )
    material = manifest.get("judging", {"material": 0.05})["material"]  # as of older versions
    own = f"{figure(together['own'])}, of owners' best own models"
    yield "mean own error", f"{own}; a gain counts from {100 * material:g} % of it on"
    weighted = with_ends(together["by_records"], manifest.get("unit"))
    yield "weighted by n_i", f"{weighted}: {together['by_records']['verdict']}"


def _honest(figures: Mapping[str, Any], owners: int) -> Iterator[tuple[str, str]]:
    """Yield rows on held-out rows, owners alone, and the parts of ψ, where they were asked for."""
    if figures.get("held_out_final") is not None:
        texts = {name: figures.get(f"held_out_{name}") for name in ("optimum", "alone")}
        yield "held-out loss", _beside(figures["held_out_final"], **texts)
    if "profits_psi" in figures:
        fits = figures["profits_psi"]
        text = f"for {fits} of {owners} owners, the joint model fits all records better"
        yield "smaller ψ", text
    parts = figures.get("psi_split")
    if parts is not None:
        names = ("bias", "selection", "transient", "noise")
        values = [f"{name} {figure(parts[name])}" for name in names if parts.get(name) is not None]
        if parts.get("noise") is not None and parts.get("noise_se") is not None:
            values[-1] = f"noise {plus_minus(parts['noise'], parts['noise_se'])}"
        why = "" if parts.get("reason") is None else f"({parts['reason']})"
        yield "parts of mean ψ", f"{', '.join(values)} {why}".strip()


def _beside(final: Mapping[str, Any], optimum: Any, alone: Any = None, guess: Any = None) -> str:
    """Return a score of the private models beside those of θ*, owners alone and guessing."""
    text = f"median {figure(final['median'])}, of θ* {figure(optimum)}"
    text += "" if alone is None else f", of owners alone {figure(alone)}"
    return text + ("" if guess is None else f", of guessing {figure(guess)}")


def _energy(
    figures: Mapping[str, Any], measured: Callable[[str, str], str]
) -> Iterator[tuple[str, str]]:
    """Yield rows on joules and bytes, where the summary has them."""
    if "joules" in figures:
        values = measured("joules_per_update", "J per update")
        yield "energy", f"{figure(figures['joules'])} J per replicate, {values}"
    if "bytes_sent" in figures and "bytes_received" in figures:
        sent, received = (number(round(figures[f"bytes_{way}"])) for way in ("sent", "received"))
        yield "bytes", f"{sent} sent, {received} received by all owners per replicate"
    if "learner_watts" in figures:
        yield "learner draws", measured("learner_watts", "W")


def _scores(figures: Mapping[str, Any], unit: str | None) -> Iterator[tuple[str, str]]:
    """Yield a row for each score on held-out rows: of the private models, θ*, owners alone.

    And a row of the scores by which the private models are no better than guessing.
    """
    no_better, better = list[str](), list[str]()
    for score in SCORES:
        final = figures.get(f"held_out_{score.name}")
        if final is None:
            continue
        alone, guess = (figures.get(f"held_out_{score.name}_{by}") for by in ("alone", "guess"))
        if guess is not None:
            ahead = (float(final["median"]) - guess) * (1 if score.more_is_better else -1)
            (better if ahead > 0 else no_better).append(score.words)
        yield (
            f"held-out {score.words}" + (f" ({unit})" if score.in_units and unit else ""),
            _beside(final, figures.get(f"held_out_{score.name}_optimum"), alone, guess),
        )
    if len(no_better) > 0:
        complete = "by every score" if len(better) == 0 else f"by {', '.join(no_better)}"
        but = f" (better by {', '.join(better)})" if len(better) > 0 else ""
        yield "no better than guessing", complete + but


_MARKS = (BROKEN, UNSHOWN, UNTIMED)
_OUTSIDE = "the claim rests on code from outside, which no proof covers"
"""Why no upper bound holds, where the bound on gradients is enforced."""
_WHERE_THERE_IS_ANY = (
    "utilisation", "refusal_rate", "collision_rate", "loss_rate", "offered_load", "mean_waiting",
    "mean_staleness",
)  # fmt: skip
"""Rows of figures that are worth a line only where they are not 0."""


def _sweep(directory: Path, manifest: Mapping[str, Any]) -> list[str]:
    """Return the best cell, and all cells, a row each: settings, ψ, time and label."""
    cells = {name: read_manifest(directory / name, "summary") for name in manifest["fingerprints"]}
    if len(cells) == 0:
        return []
    swept, unit = manifest["scenario"]["sweep"], unit_of([manifest["scenario"]])
    grid = list(itertools.product(*(_swept_values(path, swept[path]) for path in swept)))
    trusted = any(label([cell]).epsilon_at_least for cell in cells.values())
    last = [in_unit("time (units)", unit), "private", "ε" if trusted else "true ε"]
    rows, medians = [["cell", *swept, "ψ median", "25 %", "75 %", *last, "δ"]], list[float]()
    for name, cell in cells.items():
        psi, text, place = cell["summary"]["psi_final"], label([cell]), name.removeprefix("cell-")
        rows.append(
            [
                place,
                *grid[int(place)],
                *(figure(psi[part]) for part in ("median", "q25", "q75")),
                figure(cell["summary"]["simulated_time"]),
                kept(cell),
                _epsilon(text),
                figure(text.delta or 0),
            ]
        )
        medians.append(known(psi["median"], inf))
    best = rows[1 + medians.index(min(medians))]
    chosen = ", ".join(f"{path} = {value}" for path, value in zip(swept, best[1:], strict=False))
    columns = list(zip(*rows, strict=True))
    alike = [column for column in columns[-4:] if len(set(column[1:])) == 1]
    columns = [column for column in columns if column not in alike]
    shared = [f"{column[0]} = {column[1]}" for column in alike if column[:2] != ("δ", "0")]
    alone = composition(list(cells.values()))
    return [
        f"smallest median ψ: {best[len(swept) + 1]} in cell {best[0]} ({chosen}); "
        "ψ = 0 is the best model",
        *([f"in all cells: {', '.join(shared)}"] if len(shared) > 0 else []),
        *aligned(list(zip(*columns, strict=True))),
        *([] if alone is None else [f"ε {alone}"]),
    ]


def _swept_values(path: str, values: Sequence[Any]) -> list[str]:
    """Return the values of a swept field as texts: tables by their kind, if kinds differ."""
    named = [spoken(path, value) for value in values]
    kinds = [value.get("kind") if isinstance(value, Mapping) else None for value in named]
    if None not in kinds and len(set(kinds)) == len(kinds):
        return list(map(str, kinds))
    return list(map(_swept_value, named))


def _swept_value(value: Any) -> str:
    """Return a swept value as it was given, a table by its kind first."""
    if isinstance(value, Mapping):
        kind = [str(value["kind"])] if "kind" in value else []
        rest = [f"{key} {_swept_value(inner)}" for key, inner in value.items() if key != "kind"]
        return ", ".join(kind + rest)
    return with_short_digest(value) if isinstance(value, str) else show(value)
