"""``asyncdp forecast``: how good, how soon, who gains, and what to change."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from asyncdp_sim.cli.options import as_options, base_notes, load_scenario, who
from asyncdp_sim.cli.screen import next_steps, note_all, put_schema_beside, show
from asyncdp_sim.core.errors import blaming
from asyncdp_sim.core.progress import drawn
from asyncdp_sim.core.threads import TO_RUN, one_thread, require_address_space

if TYPE_CHECKING:
    from asyncdp_sim.forecasts import MayBeOff
    from asyncdp_sim.scenario import Scenario


def forecast_command(
    file: Path,
    as_json: bool = False,
    details: bool = False,
    every: bool = False,
    target: float | None = None,
    own: bool = False,
    common: bool = False,
    private: bool = False,
    inviting: bool = False,
    tuning: bool = False,
    market: Sequence[float] | None = None,
    save: Path | None = None,
    heterogeneity: float | None = None,
    workers: int = 1,
    only: Sequence[str] = (),
    without: Sequence[str] = (),
    settings: Sequence[str] = (),
    allow_code: bool = False,
) -> None:
    """Forecast which owners gain by joining, and accuracy and time, without training.

    No private records are read without --private.
    """
    require_address_space(TO_RUN)  # before SciPy is there
    from asyncdp_sim.forecasts import forecast, grid, words
    from asyncdp_sim.forecasts.changes import Change, changes
    from asyncdp_sim.forecasts.population import Moments, population
    from asyncdp_sim.reference import write_beside
    from asyncdp_sim.scenario import require_new, save_new

    advising = inviting or tuning or market is not None
    if every and (advising or target is not None):
        wrong = "given --sweep; allowed is without --invite, --tune, --market and --target"
        raise typer.BadParameter(wrong)
    if own and common:
        raise typer.BadParameter("given --own and --common; allowed is one of them")
    if (inviting or tuning) and (own or heterogeneity is not None):
        wrong = "given --own or --heterogeneity; allowed is without --invite and --tune"
        raise typer.BadParameter(wrong)
    if market is not None and target is None:
        wrong = "given --market without --target; add the ψ to reach, such as --target 0.1"
        raise typer.BadParameter(wrong)
    if save is not None and inviting + tuning + (market is not None) != 1:
        raise typer.BadParameter("given --save; add one of --invite, --tune and --market")
    settings = [*settings, *who(only, without)]
    scenario, text = load_scenario(file, settings, allow_code)
    moments: Moments = "own" if own else "common" if common else None
    data: Any = {"moments": moments, "private": private}
    data["heterogeneity"] = heterogeneity
    if every:
        with one_thread(), blaming(file), drawn() as progress:
            points = grid(scenario, **data, progress=progress)
        if as_json:
            typer.echo(words.grid_json(points))
        else:
            show(words.grid_lines(points))
        note_all(text)
        return
    text += base_notes(file, scenario)
    if save is not None:
        require_new(save)
    if advising:
        named = shlex.join([str(file), *as_options(settings)])
        with one_thread(), blaming(file), drawn("more --workers take less") as progress:
            advice = _advice(
                scenario.base(), data, inviting, tuning, market, target,
                workers=workers, progress=progress,
            )  # fmt: skip
        if save is not None:
            [(ends_with, _)] = advice.values()
            if ends_with.scenario is None:
                text.append(f"no owner is invited: {save} is not written")
                save = None
            else:
                save_new(ends_with.scenario, save)
        if as_json:
            if save is not None:
                write_beside(save)
            typer.echo(words.advice_json(advice))
            note_all(text)
            return
        for item, uncertain in advice.values():
            show([*item.lines(named), *words.off_lines(uncertain)])
        if save is not None:
            show([f"saved     {save}; to run it: asyncdp run {shlex.quote(str(save))}"])
            put_schema_beside(save)
        note_all(text)
        return
    base = scenario.base()
    with one_thread(), blaming(file), drawn() as progress:
        value = population(base, moments, private=private)
        given: Any = {"target": target, "workers": workers, "known": value}
        result = forecast(base, **data, **given, progress=progress)
        rest = list[Change]()
        if len(result.verdicts) > 0:
            helps = result.worth is not None or result.break_even.count(None) < len(result.owners)
            options: Any = {"less_noise": helps, "workers": workers, "progress": progress}
            rest = changes(value, result.worth, **options)
    if as_json:
        typer.echo(words.as_json(result, rest))
        note_all(text)
        return
    show(words.lines(result, rest) if details else words.first_screen(result, rest))
    note_all(text)
    again = ["forecast", file, *as_options(settings), "--details"]
    steps = ("to run it", ["run", file, *as_options(settings)])
    next_steps(*([] if details else [("all figures", again)]), steps)


def _advice(
    scenario: "Scenario",
    data: dict[str, Any],
    inviting: bool,
    tuning: bool,
    prices: Sequence[float] | None,
    target: float | None,
    **how: Any,
) -> "dict[str, tuple[Any, MayBeOff | None]]":
    """Return owners to invite, the best step and length, and budgets to buy.

    By the option that asks for each, with how far the forecast of its end may be off.
    """
    from asyncdp_sim.forecasts.advice.invite import invite
    from asyncdp_sim.forecasts.advice.market import buy
    from asyncdp_sim.forecasts.advice.tune import tune
    from asyncdp_sim.forecasts.uncertainty import of_the_end

    how["private"] = data["private"]
    # budgets are bought owner by owner
    moments: Any = "own" if prices is None else data["moments"] or "own"
    advice: dict[str, Any] = {}
    if inviting:
        advice["invite"] = invite(scenario, **how)
    if tuning:
        advice["tune"] = tune(scenario, **how)
    if prices is not None and target is not None:
        advice["market"] = buy(scenario, prices, target, moments=moments, **how)
    for name, item in advice.items():
        ends = None if item.scenario is None else of_the_end(item.scenario, moments, **how)
        advice[name] = item, ends
    return advice
