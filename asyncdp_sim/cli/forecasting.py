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
    target: float | None = None,
    private: bool = False,
    inviting: bool = False,
    tuning: bool = False,
    market: Sequence[float] | None = None,
    save: Path | None = None,
    workers: int = 1,
    only: Sequence[str] = (),
    without: Sequence[str] = (),
    settings: Sequence[str] = (),
    allow_code: bool = False,
) -> None:
    """Forecast by simulated runs which owners gain by joining, accuracy and time.

    No private records are read without --private.
    """
    require_address_space(TO_RUN)  # before SciPy is there
    from asyncdp_sim.describe.names import write_beside
    from asyncdp_sim.forecasts import forecast, words
    from asyncdp_sim.forecasts.changes import Change, changes
    from asyncdp_sim.forecasts.population import population
    from asyncdp_sim.scenario import require_new, save_new

    advising = inviting or tuning or market is not None
    if market is not None and target is None:
        wrong = "given --market without --target; add the ψ to reach, such as --target 0.1"
        raise typer.BadParameter(wrong)
    if save is not None and inviting + tuning + (market is not None) != 1:
        raise typer.BadParameter("given --save; add one of --invite, --tune and --market")
    settings = [*settings, *who(only, without)]
    scenario, text = load_scenario(file, settings, allow_code)
    text += base_notes(file, scenario)
    if save is not None:
        require_new(save)
    if advising:
        named = shlex.join([str(file), *as_options(settings)])
        with one_thread(), blaming(file), drawn("more --workers take less") as progress:
            advice = _advice(
                scenario.base(), inviting, tuning, market, target,
                private=private, workers=workers, progress=progress,
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
        value = population(base, private=private)
        result = forecast(base, target=target, workers=workers, known=value, progress=progress)
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

    advice: dict[str, Any] = {}
    if inviting:
        advice["invite"] = invite(scenario, **how)
    if tuning:
        advice["tune"] = tune(scenario, **how)
    if prices is not None and target is not None:
        advice["market"] = buy(scenario, prices, target, **how)
    for name, item in advice.items():
        ends = None if item.scenario is None else of_the_end(item.scenario, **how)
        advice[name] = item, ends
    return advice
