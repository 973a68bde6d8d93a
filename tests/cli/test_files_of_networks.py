"""Laws and availability from files beside a scenario: found, named by digest, moved, refused."""

import shutil

import pytest

from tests.one_in import one_in
from tests.scenes import text
from tests.tables import table

SCENE = text(**table(__file__, "files_of_networks.toml"))


FILES = {"scene.toml": SCENE}


@pytest.fixture
def folder(here):
    (here / "tables").mkdir()
    (here / "tables" / "online.csv").write_text("owner,start,end\n1,0,20\n2,1,24\n3,0,24\n")
    (here / "tables" / "pings.csv").write_text("ms\n80\n12.5\n15\n110\n")
    (here / "tables" / "slow.csv").write_text("ms\n800\n")
    return here


@one_in(2, ("verb", "result"), [("run", "r"), ("sweep", "s")])
def test_a_result_is_made_again_wherever_its_files_lie(verb, result, command, folder):
    command.done(verb, "scene.toml", "--out", result)
    manifest = (folder / result / "manifest.json").read_text()
    assert "tables/" not in manifest
    assert '"sha256"' in manifest
    assert "reproduced" in command.done("replay", result).out
    (folder / "deep").mkdir()
    shutil.move(folder / result, folder / "deep" / result)
    shutil.move(folder / "tables", folder / "deep" / "tables")
    assert "reproduced" in command.done("replay", f"deep/{result}").out


@pytest.mark.long
def test_each_file_is_found_where_its_field_is_set(command, folder):
    """Under other names, and far away; a file that several fields name is told of one of them."""
    command.done("sweep", "scene.toml", "--out", "s")
    fields = {
        "availability.path": "online.csv",
        "latency.query.0.path": "pings.csv",
        "sweep.variant.1.compute.path": "slow.csv",
    }
    (folder / "far").mkdir()
    for name in fields.values():
        shutil.move(folder / "tables" / name, folder / "far" / f"my-{name}")
    said = command("replay", "s")
    assert said.code == 2
    looked = "there is no such file, here or next to the result; give its place: --set"
    assert said.lines == [
        f"s: {field}: given '{folder / 'tables' / name}'; {looked} {field}=…"
        for field, name in fields.items()
    ]
    settings = [f"--set={field}=far/my-{name}" for field, name in fields.items()]
    assert "reproduced" in command.done("replay", "s", *settings).out
    assert "give another file: --set sweep.variant.1.compute.path=…" in command.refused(
        "replay", "s", *settings[:-1], "--set=sweep.variant.1.compute.path=scene.toml", code=3
    )


def test_another_file_under_its_name_is_no_replay(command, folder):
    command.done("run", "scene.toml", "--out", "r")
    (folder / "tables" / "pings.csv").write_text("ms\n80\n12.5\n15\n111\n")
    assert command("replay", "r").code == 3


REFUSED = table(__file__, "refused.toml")["networks"]


@pytest.mark.parametrize("setting", REFUSED)
def test_what_is_wrong_is_one_line(setting, command, folder):
    assert REFUSED[setting].format(folder=folder) == command.refused(
        "run", "scene.toml", "--set", setting
    )
