"""A comparison as Python sees it."""

from typing import Any

from asyncdp_sim import comparisons
from asyncdp_sim.api.plots import ComparisonPlots
from asyncdp_sim.api.results import Result
from asyncdp_sim.words import html_table


class Comparison:
    """Results beside each other: differences of their figures, and of their scenarios.

    Attributes
    ----------
    found : object
        The comparison itself, with ``others``, ``labels`` and ``content()``.

    Examples
    --------
    >>> scenario = ad.load("vary-availability").replace(run={"updates": 20, "replicates": 4})
    >>> found = ad.compare(ad.run(scenario), ad.run(scenario.replace(privacy={"epsilon": 3.0})))
    >>> found.settings["field"].tolist()
    ['privacy.epsilon']
    >>> frame = found.to_frame().set_index("figure")
    >>> float(frame.loc["time_to_end", "difference"])  # the same clocks have ticked
    0.0
    """

    def __init__(self, found: comparisons.Comparison, results: tuple[Result, ...]) -> None:
        self.found = found
        self._results = results  # whose directories may be temporary

    def to_frame(self) -> Any:
        """Return a row per figure of each comparison, with its interval, as pandas."""
        import pandas as pd

        return pd.DataFrame(self.found.rows())

    @property
    def settings(self) -> Any:
        """The fields in which scenarios differ from the first, a pandas frame."""
        import pandas as pd

        rows = [
            (each.name, setting.field, setting.first, setting.second)
            for each in self.found.others
            for setting in each.settings
        ]
        return pd.DataFrame(rows, columns=["result", "field", "first", "second"])

    @property
    def plot(self) -> ComparisonPlots:
        """Its figures, each as matplotlib axes."""
        return ComparisonPlots(self.found.results)

    def lines(self) -> list[str]:
        """Return it in words, a line each."""
        return self.found.lines()

    def __repr__(self) -> str:
        others = ", ".join(each.name for each in self.found.others)
        return f"<Comparison of {others} with {self.found.name}>"

    def _repr_html_(self) -> str:
        tables = [
            html_table(
                self.found.figures(each), title=each.name, said=[each.pairing, each.together]
            )
            for each in self.found.others
        ]
        return "".join(tables) + html_table(self.found.labels.items(), title="Privacy")
