"""A panel for each network of a sweep; what is constant or too much is left out, and said."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from asyncdp_sim.figures import networks, traces
from asyncdp_sim.figures.networks import DrawnNetwork
from asyncdp_sim.results import Result, Sweep
from tests.manifests import changed
from tests.unit.figures.made import finished, made, scenario, write_table


def updated(directory: Path, owner: Sequence[int], n_owners: int, network: str) -> Result:
    """Write a result whose update k is of this owner, at time k."""
    made(directory, said=scenario(n_owners), simulated_time=9.0, updates=len(owner))
    k = np.arange(1, len(owner) + 1)
    columns = {"replicate": np.ones_like(k), "k": k, "tick": k * 10**9, "time": k * 1.0}
    columns |= {"owner": np.array(owner), "staleness": np.zeros_like(k)}
    write_table(directory, "updates", columns)
    used = np.bincount(owner, minlength=n_owners + 1)[1:]
    write_table(directory, "owners", {"owner": np.arange(1, n_owners + 1), "updates": used})
    with changed(directory) as manifest:
        manifest["network"] = network
    return Result.read(directory)


def of_networks(directory: Path, shares_online: Sequence[float]) -> Sweep:
    """Two ways to learn over each network; owner 1 makes all updates but one."""
    rows = [(share, step) for share in shares_online for step in ("uniform", "inverse-rate")]
    for number, (share, _) in enumerate(rows):
        owner = [1, 2, 3] if share == 1 else [1, 1, 2, 1]
        updated(directory / f"cell-{number:04d}", owner, 3, f"net-{share}")
    online, steps = zip(*rows, strict=True)
    return finished(directory, {"availability.probability": online, "algorithm.selection": steps})


def test_each_network_has_a_panel_named_by_what_sets_it_apart(tmp_path):
    found = networks.networks(of_networks(tmp_path, [1.0, 0.2]))
    assert [each.name for each in found] == [f"online {share} % of the time" for share in (100, 20)]
    assert [each.result.directory.name for each in found] == ["cell-0000", "cell-0002"]
    picture = traces.BY_UPDATE.picture(found)
    titles = [axes.get_title(loc="left").replace("\n", " ") for axes in picture.figure.axes]
    answers = ("3 of 3 owners made the first 3 updates", "2 of 3 owners made the first 4 updates")
    for title, each, answer in zip(titles, found, answers, strict=True):
        assert title.startswith(f"{each.name}: {answer}")
    drawn = picture.table["network"] == found[1].name
    assert picture.table["owner"][drawn].tolist() == [1, 1, 2, 1]
    assert "a panel for each network" in picture.caption
    assert f"{found[1].name}: k = 1 to 4 of replicate 1" in picture.caption


def test_constant_panels_and_too_many_are_left_out_and_said(tmp_path):
    found = networks.networks(of_networks(tmp_path, [1.0, *np.arange(1, 8) / 10]))
    kept, left_out = networks.spread(found)
    assert len(kept) == networks.MOST
    assert found[0] in kept
    assert found[-1] in kept
    assert {*left_out, *(each.name for each in kept)} == {each.name for each in found}
    notes: list[str] = []
    planned = networks.pictures(traces.ALL, found, notes)
    drawn = {picture.name: picture for picture, _ in (each.shown() for each in planned)}
    assert set(drawn) == {"timing-by-update", "timing-by-time", "shares"}
    assert [len(drawn[name].figure.axes) for name in drawn] == [6, 6, 6]
    assert {*drawn["shares"].table["network"]}.isdisjoint({found[0].name})
    assert notes[:2] == [
        f"timing by update, timing by time: 6 of 8 networks are drawn, without "
        f"{left_out[0]}; {left_out[1]} (a cell's own directory has its pictures)",
        "gaps: all times between updates are equal in any network",
    ]
    assert "shares: all owners have equally many updates (online 100 % of the time)" in notes


def test_seeds_are_one_network(tmp_path):
    for number in range(2):
        updated(tmp_path / f"cell-{number:04d}", [1, 2], 3, f"net-{number}")
    sweep = finished(tmp_path, {"run.seed": [1, 2]})
    assert [each.result.directory.name for each in networks.networks(sweep)] == ["cell-0000"]


def test_many_owners_are_marks_on_a_tall_page_and_are_counted(tmp_path):
    owner = np.random.default_rng(1).integers(1, 170, 90)
    result = updated(tmp_path / "many", owner.tolist(), 169, "net")
    for picture in (traces.BY_UPDATE.of(result), traces.BY_TIME.of(result)):
        [axes] = picture.figure.axes
        assert len(axes.collections) == 0  # no stems, which would be a hatching
        assert picture.figure.get_figheight() > 5
        assert f"in which {len(set(owner.tolist()))} of 169 owners spoke" in picture.caption


def test_one_network_alone_has_the_picture_that_it_always_had(tmp_path):
    result = updated(tmp_path / "one", [1, 2, 2], 3, "net")
    left = traces.SHARES.picture(
        [DrawnNetwork(result, "the one that differs")]
    )  # others are constant
    answer = "the one that differs: 0 of 3 owners are outside the law's 99 % band (0.03 expected)"
    assert left.said.title == answer
    assert "1/N: the one that differs: 3 updates;" in left.caption
    for figure in (traces.GAPS, traces.SHARES):
        alone, among = figure.of(result), figure.picture([DrawnNetwork(result)])
        assert alone.caption == among.caption
        assert "network" not in alone.table


def test_panels_have_one_scale_unless_one_would_be_too_small(tmp_path):
    few, some = (updated(tmp_path / f"{n}", [1, 2, 1], n, f"{n}") for n in (2, 3))
    many = updated(tmp_path / "many", list(range(1, 401)), 400, "many")
    first, second = traces.SHARES.picture(
        [DrawnNetwork(few, "a"), DrawnNetwork(some, "b")]
    ).figure.axes
    assert first.get_ylim() == second.get_ylim()
    first, second = traces.SHARES.picture(
        [DrawnNetwork(few, "a"), DrawnNetwork(many, "b")]
    ).figure.axes
    assert first.get_ylim()[1] > 20 * second.get_ylim()[1]
