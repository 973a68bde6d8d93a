"""``asyncdp forecast``: how good, how soon, who gains, and what to change."""

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from asyncdp_sim.cli import terminal
from asyncdp_sim.core.errors import blaming
from asyncdp_sim.core.files import require_new
from asyncdp_sim.core.progress import drawn
from asyncdp_sim.core.starting import TO_RUN, one_thread, require_address_space


def forecast_command(
    file: Path,
    as_json: bool = False,
    details: bool = False,
    target: float | None = None,
    private: bool = False,
    inviting: bool = False,
    tuning: bool = False,
    market: Sequence[float] | None = None,
    whose: str | None = None,
    comparing: bool = False,
    material: float | None = None,
    own_best: str = "any",
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
    from asyncdp_sim.cli.catalogue import put_schema_beside, write_beside
    from asyncdp_sim.core.streams import Streams
    from asyncdp_sim.forecasts.alternatives import alternatives
    from asyncdp_sim.forecasts.forecast import forecast
    from asyncdp_sim.forecasts.gains import Asked
    from asyncdp_sim.forecasts.population import population
    from asyncdp_sim.scenario import save_new
    from asyncdp_sim.sentences import forecast as words
    from asyncdp_sim.sentences.forecast import content_of_others, lines_of_others

    advising = inviting or tuning or market is not None
    if market is not None and target is None:
        wrong = "given --market without --target; add the ψ to reach, such as --target 0.1"
        raise typer.BadParameter(wrong)
    if whose is not None and (private or advising):
        wrong = "given --as; allowed with it are --json, --details and --alternatives"
        raise typer.BadParameter(wrong)
    if comparing and advising:
        wrong = "given --alternatives; allowed without --invite, --tune and --market"
        raise typer.BadParameter(wrong)
    judging = terminal.as_judging(material, own_best)
    if save is not None and inviting + tuning + (market is not None) != 1:
        raise typer.BadParameter("given --save; add one of --invite, --tune and --market")
    settings = [*settings, *terminal.who(only, without)]
    scenario, notes = terminal.load_scenario(file, settings, allow_code)
    notes += terminal.base_notes(file, scenario)
    if save is not None:
        require_new(save)
    if advising:
        from asyncdp_sim.forecasts.invite import invite
        from asyncdp_sim.forecasts.market import buy
        from asyncdp_sim.forecasts.tune import tune

        named = shlex.join([str(file), *terminal.as_options(settings)])
        advice: dict[str, Any] = {}
        with one_thread(), blaming(file), drawn("more --workers take less") as progress:
            options: Any = {"private": private, "workers": workers, "progress": progress}
            if inviting:
                advice["invite"] = invite(scenario.base(), **options)
            if tuning:
                advice["tune"] = tune(scenario.base(), **options)
            if market is not None and target is not None:
                advice["market"] = buy(scenario.base(), market, target, **options)
        if save is not None:
            [ends_with] = advice.values()
            if ends_with.scenario is None:
                notes.append(f"no owner is invited: {save} is not written")
                save = None
            else:
                save_new(ends_with.scenario, save)
        if as_json:
            typer.echo(words.json_text(advice))
        else:
            terminal.show([line for item in advice.values() for line in item.lines(named)])
        if save is not None and as_json:
            write_beside(save)
        elif save is not None:
            terminal.show([f"saved     {save}; to run it: asyncdp run {shlex.quote(str(save))}"])
            put_schema_beside(save)
        terminal.note_all(notes)
        return
    base, asked = scenario.base(), Asked(judging.material, judging.own_best, workers)
    with one_thread(), blaming(file), drawn() as progress:
        value = population(base, private=private)
        result = forecast(
            base,
            target=target,
            workers=workers,
            known=value,
            judged=asked,
            whose=whose,
            progress=progress,
            whole=as_json,  # a screen has no curve
        )
        compared = None
        if comparing and result.gains is not None:
            progressing = replace(asked, progress=progress)
            compared = alternatives(value, progressing, whose, result.gains)
    own = None if whose is None else base.read_data.own_rows(Streams(base.run.seed))
    unlike = [*(own.unlike if own is not None else ()), *value.dataset.unlike]
    notes += unlike if private or whose is not None else []
    if as_json:
        typer.echo(words.as_json(result, [] if compared is None else content_of_others(compared)))
        terminal.note_all(notes)
        return
    terminal.show(words.lines(result) if details else words.first_screen(result))
    if compared is not None and result.gains is not None:
        terminal.show(["", *lines_of_others(result.gains, compared)])
    terminal.note_all(notes)
    again = ["forecast", file, *terminal.as_options(settings), "--details"]
    again += [] if whose is None else ["--as", whose]
    again += ["--private"] if private else []
    steps = ("to run it", ["run", file, *terminal.as_options(settings)])
    terminal.next_steps(*([] if details else [("all figures", again)]), steps)
