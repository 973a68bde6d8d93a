"""``asyncdp play-release``: a release of second moments, rehearsed on synthetic records."""

from pathlib import Path
from typing import Annotated

import typer

from asyncdp_sim.cli.options import AllowCode, File, Settings, positive
from asyncdp_sim.errors import blaming


def play_release_command(
    file: File,
    out: Annotated[
        Path, typer.Option("-o", "--out", metavar="TOML", help="The file of moments to write.")
    ],
    epsilon: Annotated[
        float, typer.Option("--epsilon", parser=positive, help="ε of the release, of each record.")
    ],
    bound: Annotated[
        float | None,
        typer.Option(
            "--bound",
            parser=positive,
            help="Norm that records are scaled down to; absent, their median norm.",
            show_default=False,
        ),
    ] = None,
    together: Annotated[
        bool, typer.Option("--together", help="One release of all owners together.")
    ] = False,
    private: Annotated[
        bool, typer.Option("--private", help="Refused: never of private rows.")
    ] = False,
    settings: Settings = [],  # noqa: B006
    allow_code: AllowCode = False,
) -> None:
    """Play how owners release second moments, on synthetic records or rows like the public ones.

    A forecast may be tried on the file; real moments come from a vetted library.
    """
    from asyncdp_sim.forecasts.played_release import play, write_played
    from asyncdp_sim.scenario import load, require_new

    if private:
        raise typer.BadParameter(
            "--private: a release is never played on private rows, since whoever has the seed "
            "subtracts the noise; owners release their moments by a vetted library"
        )
    scenario, _ = load(file, settings, allow_code=allow_code)
    with blaming(file):
        require_new(out, "--out")
        made = play(scenario.base(), epsilon, bound, together=together)
        write_played(made, out)
    typer.echo(
        f"written: {out}, {made.words}, each record scaled down to {made.norm} norm "
        f"{made.bound:g}: played on {made.played_on}, and no release of anything"
    )
    if scenario.data.file is not None:
        typer.echo(
            f"to forecast from it: asyncdp forecast {file} --set data.stand_in.kind=moments --set "
            f"data.stand_in.path={out}"
        )
