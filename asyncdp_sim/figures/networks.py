"""Pictures of a network: of one run's, or of the one that all cells of a sweep share."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from asyncdp_sim.core.arrays import Columns
from asyncdp_sim.figures.drawer import Declaration, Panel
from asyncdp_sim.figures.picture import Picture, Shown, label, row_labels
from asyncdp_sim.results import Result, Sweep

Drawn = tuple[Columns, Panel, str]
"""The numbers of one result as columns, its panel, whose title is the answer, and its caption."""


@dataclass(frozen=True)
class NetworkFigure:
    """A picture of a network.

    Attributes
    ----------
    name : str
        Of the files.
    head : str
        What is shown, as the caption begins.
    declared : callable
        From a result to what is drawn.
    why_not : callable
        From a result to why it has no such picture; None if it has.
    height : callable
        From the number of owners to inches.
    """

    name: str
    head: str
    declared: Callable[[Result], Drawn]
    why_not: Callable[[Result], str | None]
    height: Callable[[int], float] = lambda _: 3.6

    def of(self, result: Result, *others: Result) -> Picture:
        """Draw the network of a result, which others have too.

        Raises
        ------
        ResultError
            If the result kept no updates, or has none.
        """
        table, panel, sentence = self.declared(result)
        results = [result, *others]
        table = table | row_labels([results], len(next(iter(table.values()))))
        size = (6.5, self.height(result.n_owners))
        declared = Declaration([replace(panel, title="")], size, panel.title)
        caption = f"{self.head}: {sentence}."
        if len(others) > 0:
            caption += f" {len(results)} cells have this network."
        return Picture(self.name, declared, table, caption, label(results), exact=False)


def no_updates(result: Result) -> str | None:
    """Return why a picture of updates does not apply; None if it does."""
    return None if result.has("updates") else "no updates.parquet was kept"


def untimed(result: Result) -> str | None:
    """Return why a picture of times does not apply; None if it does."""
    still = result.summary["simulated_time"] == 0
    return no_updates(result) or ("nothing takes time" if still else None)


def of_one_network(opened: Result | Sweep) -> list[Result] | str:
    """Return the results of the only network, first one that kept its updates; or why not."""
    results = [opened] if isinstance(opened, Result) else [cell.result for cell in opened.cells]
    moved = [result for result in results if result.summary["updates"] > 0]
    if len(moved) == 0:
        return "nothing was updated"
    if len(moved) > 1 and len({result.network_digest or id(result) for result in moved}) > 1:
        return f"cells have several networks; asyncdp plot DIR/{moved[0].directory.name} draws one"
    return sorted(moved, key=lambda result: not result.has("updates"))


def pictures(
    figures: Sequence[NetworkFigure], opened: Result | Sweep, notes: list[str]
) -> list[Shown]:
    """Return all that the network of a result or a sweep shows; note what is not drawn, and why."""
    shown = of_one_network(opened)
    missing: dict[str, list[str]] = {}
    results, planned = [] if isinstance(shown, str) else shown, list[Shown]()
    for figure in figures:
        reason = shown if isinstance(shown, str) else figure.why_not(shown[0])
        if reason is None:
            planned.append((figure.of(*results), results))
        else:
            missing.setdefault(reason, []).append(figure.name.replace("-", " "))
    notes += [f"{', '.join(names)}: {reason}" for reason, names in missing.items()]
    return planned
