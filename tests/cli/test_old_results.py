"""Results of earlier versions: kinds that are gone, and defaults that were others."""

import re
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tomli_w

import asyncdp_sim as ad
from asyncdp_sim.comparisons.differences import directories
from asyncdp_sim.core.gone import as_earlier, as_now, unnamed
from asyncdp_sim.results import Result
from asyncdp_sim.results.manifest import blas_kernel, default_directory
from asyncdp_sim.scenario import load
from tests.cli.command import program
from tests.cli.scenes import SMALL
from tests.directories import manifest
from tests.manifests import changed
from tests.one_in import one_in

# Results of earlier versions whose kinds and event loops came to go: they are still opened.
#
# A directory of ``old_results`` is named by its mechanism, channel, algorithm, model or topology,
# or by the event loop that its manifest names.

OLD = sorted((Path(__file__).parent / "old_results").iterdir())
LOOPS = [old for old in OLD if old.name in ("compiled", "merged")]
GONE = [old for old in OLD if old not in LOOPS]
EACH = pytest.mark.parametrize("old", OLD, ids=lambda old: old.name)


@pytest.fixture
def result(old: Path, tmp_path: Path) -> Path:
    """Give a copy of an old result, in which files may be written."""
    return Path(shutil.copytree(old, tmp_path / old.name))


@pytest.mark.long
@EACH
def test_it_is_reported_plotted_and_compared(command, result):
    command.done("report", result)
    assert result.name in (result / "report.html").read_text(encoding="utf-8")
    command.done("plot", result)
    assert len(list((result / "figures").iterdir())) > 0
    others = [each for each in OLD if each.name != result.name]
    said = command.done("compare", result, *others).out
    assert [each.name for each in others if f"{each.name} against {result.name}" not in said] == []


@one_in(3, "old", OLD, ids=lambda old: old.name)
def test_it_is_read_from_python(result):
    found = ad.open(result)
    assert isinstance(found, ad.Result)
    assert found.updates["k"].tolist() == [1, 2, 3, 4, 5, 6]
    assert found.curve["k"].tolist() == [0, 1, 2, 3, 4, 5, 6]
    assert found.owners["updates"].sum() == 6
    assert found.plot.convergence().get_xlabel() == "update $k$"
    assert result.name in found._repr_html_()
    assert "psi_final" in ad.compare(found, *OLD).to_frame()["figure"].tolist()


@pytest.mark.parametrize("old", LOOPS, ids=lambda old: old.name)
def test_its_numbers_are_made_again_whatever_loop_made_it(command, result):
    """To last digits: its manifest does not name the BLAS kernel yet.

    Labels of exact tables have changed since: they speak of the file, and no more of the run. And
    beside an ε that is a lower bound no attacker's power is printed any more. A column that came
    later is in the new result alone.
    """
    assert ad.open(result).manifest["loop"] == result.name
    assert command("replay", result).code == 3
    again = result.parent / "again"
    events = ["--events"] if (result / "events.parquet").exists() else []
    command.done("run", result / "scenario.toml", "--out", again, *events)
    differ = [each for each in directories(result, again) if not each.of_circumstances]
    numbers = [each for each in differ if each.file.endswith(".parquet")]
    assert len(numbers) > 0
    wrong = [
        str(each)
        for each in numbers
        if not each.place.startswith(("asyncdp.", "attacker_"))
        and not each.new
        and each.distance > 1e-9 * each.largest
    ]
    assert wrong == []


@pytest.mark.parametrize("old", GONE, ids=lambda old: old.name)
def test_a_kind_that_is_gone_is_refused_by_one_line(command, result):
    """In a scenario and where a result is made again; the line names the kind and another."""
    for words in (("replay", result), ("check", result / "scenario.toml")):
        assert f"given {result.name!r}; this kind is gone: allowed is " in command.refused(*words)


FIELDS: dict[str, dict[str, Any]] = {
    "adversary": {"adversary": {"kind": "flip", "owners": [2], "factor": 1.0}},
    "acceptance": {"acceptance": {"kind": "clip", "bound": 4.0}},
    "trim": {"algorithm": {"kind": "collab-1", "rho": 10.0, "trim": 1, "initial": "zeros"}},
    "trigger": {"trigger": {"kind": "large-gradient", "threshold": 0.4}},
}
"""Parts of a scenario that are gone."""


@pytest.fixture
def with_field(part: dict[str, Any], tmp_path: Path) -> Path:
    """Give a result whose scenario has such a part, as an older version wrote it by hand."""
    result = Path(shutil.copytree(OLD[0].with_name("compiled"), tmp_path / "old"))
    file = result / "scenario.toml"
    file.write_text(tomli_w.dumps(tomllib.loads(file.read_text()) | part), encoding="utf-8")
    with changed(result) as manifest:
        manifest["scenario"] |= part
    if "trigger" in part:
        for table, column, values in (
            ("events", "kind", lambda kinds: ["answer_withheld", *kinds[1:]]),
            ("owners", "withheld", lambda _: [0, 1]),
        ):
            read = pq.read_table(result / f"{table}.parquet")
            kept = read[column].to_pylist() if column in read.column_names else None
            place = read.column_names.index(column) if kept else read.num_columns
            rest = read.drop_columns([column]) if kept else read
            pq.write_table(
                rest.add_column(place, column, pa.array(values(kept))), result / f"{table}.parquet"
            )
    return result


@pytest.mark.long
@pytest.mark.parametrize("part", FIELDS.values(), ids=FIELDS)
def test_a_result_with_a_part_that_is_gone_is_opened_and_not_made_again(command, with_field):
    command.done("report", with_field)
    command.done("plot", with_field)
    command.done("compare", with_field, OLD[0])
    [line] = command.refused("replay", with_field).splitlines()
    assert re.search(r"scenario\.toml: [a-z.]+: given .*; this (table|field) is gone: ", line)


@pytest.mark.parametrize("part", FIELDS.values(), ids=FIELDS)
def test_events_that_are_gone_are_not_drawn(with_field):
    assert Result.read(with_field).has_events is ("trigger" not in with_field.joinpath(
        "scenario.toml").read_text())  # fmt: skip


# Results of an earlier version, in which a field that has another default now had no name.

EARLIER = Path(__file__).parent / "earlier_defaults"


@pytest.mark.parametrize("name", ["dcf", "sweep"])
def test_it_is_made_again(command, tmp_path, name):
    """Slots of Bianchi's model, which was the only one, also where a sweep has a whole channel."""
    result = shutil.copytree(EARLIER / name, tmp_path / name)
    said = command.done("replay", result).out
    # To the bit on the processor that made it; on another, equal to rounding, which it says.
    assert ": reproduced (manifest, scenario and every table agree" in said or (
        ": reproduced (other linear algebra: equal to" in said
    )


def test_the_same_scenario_that_names_the_old_value_has_the_old_directory(tmp_path):
    earlier = load(EARLIER / "dcf" / "scenario.toml")[0]
    assert earlier.channel.counting == "bianchi"
    assert default_directory(earlier).name == "earlier-dcf-5bed0310"
    file = tmp_path / "mine.toml"
    file.write_text((EARLIER / "dcf" / "scenario.toml").read_text("utf-8"), encoding="utf-8")
    new, _ = load(file)
    assert new.channel.counting == "frozen"
    assert default_directory(new) != default_directory(earlier)
    assert default_directory(load(file, ["channel.counting=bianchi"])[0]) == default_directory(
        earlier
    )


def test_fields_are_named_and_left_out_wherever_the_kind_is():
    tables = {
        "channel": {"kind": "parallel", "each": {"kind": "dcf", "slot": 0.1}},
        "sweep": {
            "variant": [{"channel.kind": "dcf", "name": "a"}, {"channel.counting": "bianchi"}],
            "channel": [{"kind": "dcf"}, {"kind": "aloha"}],
        },
    }
    bare = {"kind": "dcf", "slot": 0.1}
    named = as_earlier({"a": [tables, bare]})
    assert tables["channel"]["each"] == {"kind": "dcf", "slot": 0.1, "counting": "bianchi"}
    assert tables["sweep"]["variant"][0]["channel.counting"] == "bianchi"
    assert tables["sweep"]["channel"] == [{"kind": "dcf", "counting": "bianchi"}, {"kind": "aloha"}]
    unnamed(named)
    assert tables["channel"]["each"] == {"kind": "dcf", "slot": 0.1}
    assert tables["sweep"]["variant"] == [
        {"channel.kind": "dcf", "name": "a"},
        {"channel.counting": "bianchi"},
    ]
    as_now(tables)
    assert "counting" not in tables["channel"]["each"]
    assert tables["sweep"]["channel"][0] == {"kind": "dcf", "counting": "frozen"}


# Results of another linear algebra, and of another label.


@pytest.mark.long
@pytest.mark.parametrize("learning", ["replay", "live"])
def test_a_result_of_haswell_is_reproduced_by_the_kernel_here(learning, tmp_path, monkeypatch):
    """Where OpenBLAS knows no Haswell, or has it here, both have the same bits."""
    text = SMALL.replace("features = 2", "features = 9").replace("records = 20", "records = 200")
    text = text.replace("[run]", f'[run]\nlearning = "{learning}"')
    (tmp_path / "scene.toml").write_text(text, encoding="utf-8")
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    assert program("run", "scene.toml", "--out", "r", folder=tmp_path).code == 0
    monkeypatch.delenv("OPENBLAS_CORETYPE")
    said = program("replay", "r", folder=tmp_path).out
    made = manifest(tmp_path / "r")["blas_kernel"]
    other = f"of the largest value, made with BLAS kernel {made}, here "
    rounded = said.startswith("r: reproduced (other linear algebra") and other in said
    assert rounded or "every table agree" in said
    if made == "Haswell" and blas_kernel() == "SkylakeX":
        assert rounded


def test_long_texts_are_cut_where_they_part(command, tmp_path):
    """Found by attack: two labels that begin alike were printed as one and the same."""
    other = shutil.copytree(EARLIER / "dcf", tmp_path / "other")
    table = pq.read_table(other / "models.parquet")
    label = table.schema.metadata[b"asyncdp.label"]
    changed = table.schema.metadata | {b"asyncdp.label": label[:60] + b"!" + label[60:]}
    pq.write_table(table.replace_schema_metadata(changed), other / "models.parquet")
    said = command("replay", "--diff", EARLIER / "dcf", other).out
    first, second = re.search(r"asyncdp.label \((.{,40}), second (.{,40})\)$", said, re.M).groups()
    assert ("!" in first, "!" in second) == (False, True)
