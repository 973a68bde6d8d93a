"""A forecast as Python sees it."""

import json
from functools import cached_property
from typing import TYPE_CHECKING, Any

from asyncdp_sim.api.arguments import Named
from asyncdp_sim.api.results import ForecastPlots
from asyncdp_sim.core.words import html_table, number

if TYPE_CHECKING:
    from asyncdp_sim import forecasts
    from asyncdp_sim.sentences.forecast import Decision


class Forecast(Named):
    """Forecast of a scenario: accuracy, time, and the owners that gain.

    Attributes
    ----------
    found : object
        The forecast itself, with ``psi``, ``time``, ``quantiles`` and more.

    Examples
    --------
    >>> found = ad.forecast(ad.load("vary-availability").replace(run={"updates": 50}))
    >>> found.curve.attrs["units"]
    {'time': 'time units', 'relative_fitness': 'none'}
    >>> bool(found.summary.loc["psi", "value"] == found.found.psi > 0)
    True
    """

    def __init__(self, found: "forecasts.Forecast") -> None:
        self.found = found

    @property
    def decision(self) -> "Decision":
        """Decision in words: what is gained, accuracy, time, privacy, certainty."""
        from asyncdp_sim.sentences.forecast import decide

        return decide(self.found)

    @property
    def curve(self) -> Any:
        """The expected ψ over time, a pandas frame."""
        import pandas as pd

        columns = {"time": self.found.times, "relative_fitness": self.found.curve}
        frame = pd.DataFrame(columns)
        frame.attrs["units"] = {"time": "time units", "relative_fitness": "none"}
        return frame

    @property
    def owners(self) -> Any:
        """Errors and gain of each owner, a pandas frame; empty from public rows alone."""
        import pandas as pd

        frame = pd.DataFrame(self._content["owners"])
        frame.attrs["units"] = dict.fromkeys(map(str, frame.columns), "none")
        return frame

    @property
    def summary(self) -> Any:
        """Its figures with the ends of their 95 % intervals, a pandas frame."""
        import pandas as pd

        forecast = self.found
        rows: dict[str, tuple[float | None, float, str]] = {
            "psi": (forecast.psi, forecast.psi_half_width, "none"),
            "noise_free": (forecast.noise_free, 0.0, "none"),
            "cost_of_privacy": (forecast.cost_of_privacy, 0.0, "none"),
            "time": (forecast.time, forecast.time_half_width, "time units"),
        }
        if forecast.target is not None:
            rows["target_time"] = (forecast.target_time, 0.0, "time units")
            rows["target_probability"] = (forecast.target_probability, 0.0, "none")
        table = {
            name: (value, None, None, unit)
            if value is None or half == 0  # a figure that is exact, or has none
            else (value, value - half, value + half, unit)
            for name, (value, half, unit) in rows.items()
        }
        heads = ["value", "low", "high", "unit"]
        frame = pd.DataFrame.from_dict(table, orient="index", columns=heads)
        frame.index.name = "figure"
        frame.attrs["units"] = dict(frame["unit"])
        return frame

    @property
    def plot(self) -> ForecastPlots:
        """Its pictures as matplotlib axes."""
        return ForecastPlots(self._content)

    def lines(self) -> list[str]:
        """Return it in words, as lines."""
        from asyncdp_sim.sentences.forecast import lines

        return lines(self.found)

    @cached_property
    def _content(self) -> dict[str, Any]:
        from asyncdp_sim.sentences.forecast import as_json

        return dict(json.loads(as_json(self.found)))

    def __repr__(self) -> str:
        return f"<Forecast: expected ψ {number(self.found.psi)}, {self.found.method}>"

    def _repr_html_(self) -> str:
        from asyncdp_sim.sentences.forecast import MOST, figures, owners

        html = html_table(self.decision.rows(), title="Forecast")
        html += html_table(figures(self.found))
        listed = self._content["owners"]
        return html + (html_table(owners(listed)[: MOST + 1]) if len(listed) > 0 else "")
