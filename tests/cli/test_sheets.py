"""``asyncdp data --sheets``: a scenario for each owner's own machine, without a private row."""

from types import SimpleNamespace

import pytest

from asyncdp_sim.proposals import sheets
from asyncdp_sim.scenario import load
from tests.tables import table
from tests.unit.forecasts.clinics import clinics

WHERE = ("data", "all.csv", "--target", "stay", "--owner", "clinic", "--public", "public.csv")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    clinics(tmp_path, owners=8, rows=30, public=400)
    return tmp_path


@pytest.mark.long
def test_every_owner_gets_a_scenario_that_needs_its_own_rows_alone(command, folder):
    said = command.done(*WHERE, "--epsilon", 10, "--sheets", "members")
    assert "8 scenarios, one for each owner, and public.csv" in said.out
    sheet = folder / "members" / "c1.toml"
    text = sheet.read_text(encoding="utf-8")
    assert "# asyncdp forecast c1.toml --as C1\n" in text
    (folder / "all.csv").unlink()
    (folder / "mine.csv").rename(sheet.with_name("c1.csv"))
    [scenario, *_] = load(sheet)
    assert scenario.data.sizes == {f"C{number}": 30 for number in range(1, 9)}
    said = command.done("forecast", sheet, "--as", "C1", "--own-best", "linear")
    assert said.out.startswith("Decision")


def test_a_list_of_names_and_sizes_is_enough(command, folder):
    options = ("--epsilon", 10, "--sheets")
    command.done(*WHERE, *options, "of-rows")
    sizes = "".join(f"C{number},30\n" for number in range(1, 9))
    (folder / "all.csv").write_text(f"clinic,patients\n{sizes}", encoding="utf-8")
    said = command.done(*WHERE, *options, "of-sizes")
    assert "8 scenarios, one for each owner, and public.csv" in said.out
    for sheet in (folder / "of-rows").iterdir():
        assert (folder / "of-sizes" / sheet.name).read_bytes() == sheet.read_bytes()
    (folder / "all.csv").write_text(f"clinic,patients\n{sizes}C1,40\n", encoding="utf-8")
    assert "without a column 'patients'" in command.refused(*WHERE, *options, "twice")


def test_each_owner_has_a_file_of_its_own():
    names = ("A-3", "a", "A", "Public", "Köln", "東京")
    look = SimpleNamespace(owners=dict.fromkeys(names, 30), least=5, public_path="x/public.csv")
    found = sheets(["#:schema", "path = 1", "rest"], look)
    assert [*found] == ["a-3", "a", "a-4", "public-4", "k-ln", "owner"]
    assert all(f'own_path = "{stem}.csv"' in "".join(lines) for stem, lines in found.items())


def test_sheets_that_are_interrupted_are_not_kept(command, folder, monkeypatch):
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("asyncdp_sim.proposals.whole", interrupted)
    said = command(*WHERE, "--epsilon", 10, "--sheets", "members")
    assert said.lines[0] == "interrupted: nothing is kept"
    assert not (folder / "members").exists()


REFUSED = table(__file__, "refused.toml")["sheets"]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("words", REFUSED)
def test_sheets_that_cannot_be_written_are_refused(words, command):
    assert REFUSED[words] in command.refused(*WHERE, *words.split())
