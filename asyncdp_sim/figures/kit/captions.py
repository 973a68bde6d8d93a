"""Captions made from the run itself, one page for all figures of a directory."""

from collections.abc import Mapping, Sequence
from typing import Any

from asyncdp_sim.data import SYNTHETIC
from asyncdp_sim.figures.kit.log_axis import leaves_frame
from asyncdp_sim.figures.kit.numbers import as_float, listed, numbers
from asyncdp_sim.figures.kit.picture import FileFormat, Picture
from asyncdp_sim.figures.kit.planned import Shown
from asyncdp_sim.figures.kit.source import Result

BEYOND = "What leaves the frame, and arrows at its end, are beyond 10³⁰: that has diverged."


def caption(number: int, picture: Picture, results: Sequence[Result]) -> str:
    """Return the caption of figure ``number``, which shows these results."""
    said = f"{picture.caption} {BEYOND}" if leaves_frame(picture.figure) else picture.caption
    return f"Figure {number}. {said} {settings(results)} {picture.label.text}"


def settings(results: Sequence[Result]) -> str:
    """Return the settings of the runs shown: N, n_i, T, R, ε, seed, data, source and digest."""
    scenarios = [result.scenario for result in results]
    records = [float(n) for result in results for n in result.columns("owners", "records")[0]]
    claimed = [value for s in scenarios for value in _epsilons(s["privacy"].get("epsilon"))]
    repeated = numbers(float(len(result.replicates)) for result in results)
    said = [
        f"N = {numbers(float(result.n_owners) for result in results)} owners",
        f"n_i = {numbers(records)} records",
        f"T = {numbers(float(result.updates) for result in results)} updates",
        f"R = {repeated} replicate{'' if repeated == '1' else 's'}",
        f"ε = {numbers(claimed)}" if claimed else "no ε",
        f"seed {numbers(float(s['run']['seed']) for s in scenarios)}",
        f"data: {listed([_data(s['data']) for s in scenarios])}",
    ]
    names = listed([str(s["id"]) for s in scenarios])
    origin = listed(list(map(_source, scenarios)))
    digests = listed([str(result.manifest["digest"])[:12] for result in results])
    return f"{', '.join(said)}. Scenario {names} (source: {origin}), digest {digests}."


def page(entries: Sequence[Shown], notes: Sequence[str], ending: FileFormat = "png") -> str:
    """Return ``captions.md``: every figure with its caption and numbers, and what is not drawn."""
    parts = ["# Figures"]
    for number, (picture, results) in enumerate(entries, start=1):
        said = caption(number, picture, results)
        parts.append(f"## {picture.name}.{ending}\n\n{said}\n\nNumbers: `{picture.name}.csv`.")
    if len(notes) > 0:
        parts.append("## Not drawn")
        parts.append("\n".join(f"- {note}" for note in notes))
    return "\n\n".join(parts) + "\n"


def _epsilons(given: object) -> list[float]:
    listed = given if isinstance(given, list) else [given]
    return [value for value in map(as_float, listed) if value is not None]


def _source(scenario: Mapping[str, Any]) -> str:
    """Return where a scenario comes from; where it does not say so truly, where its data do."""
    named, data = scenario.get("source"), scenario["data"]
    if named is None or (named == SYNTHETIC and "path" in data):
        return _data(data)
    return str(named)


def _data(data: dict[str, object]) -> str:
    kind = str(data["kind"])
    if "path" in data:
        return f"{kind}, file {data['path']}"
    return f"{kind} (synthetic)"
