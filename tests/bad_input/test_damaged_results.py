"""Results with bytes changed, cut or inserted, and manifests with other values: one line each."""

import random
import re
import secrets
import shutil
from pathlib import Path

import pytest

from tests.cli.command import Command
from tests.cli.scenes import SMALL

COMMANDS = (["replay"], ["plot"], ["report"], ["compare", "whole"])
VALUES = ("null", "[]", "{}", '"x"', "-1", "1e400", "true", "99", "NaN")
CODES = {0, 2, 3}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def damage(file: Path, draw: random.Random) -> None:
    """Change a file by one of five ways."""
    data = bytearray(file.read_bytes())
    place = draw.randrange(len(data))
    ways = ("flip", "cut", "blank", "insert", "edit" if file.suffix != ".parquet" else "flip")
    way = draw.choice(ways)
    if way == "flip":
        for _ in range(draw.choice([1, 3, 20])):
            data[draw.randrange(len(data))] = draw.randrange(256)
    elif way == "cut":
        del data[place:]
    elif way == "blank":
        data[place : place + 50] = bytes(len(data[place : place + 50]))
    elif way == "insert":
        data[place:place] = draw.randbytes(9)
    else:
        text = data.decode()
        found = draw.choice(list(re.finditer(r"(?<=[:=] )[^\n,]+", text)))
        text = text[: found.start()] + draw.choice(VALUES) + text[found.end() :]
        data = bytearray(text.encode())
    file.write_bytes(data)


def escapes(command: Command, folder: Path, count: int, seed: int) -> list[str]:
    """Return what ended otherwise than with an exit code of ours and a line or more."""
    draw = random.Random(seed)
    (folder / "small.toml").write_text(SMALL, encoding="utf-8")
    command.done("run", "small.toml", "--out", "whole")
    files = [path.relative_to("whole") for path in Path("whole").rglob("*")]
    files = sorted(path for path in files if path.suffix in (".parquet", ".json", ".toml"))
    found = []
    for number in range(count):
        shutil.rmtree("damaged", ignore_errors=True)
        shutil.copytree("whole", "damaged")
        file = draw.choice(files)
        damage("damaged" / file, draw)
        verb, *more = draw.choice(COMMANDS)
        try:
            said = command(verb, "damaged", *more)
        except Exception as error:
            found.append(f"{number}: {verb} with {file}: {error!r}")
            continue
        if said.code not in CODES or len(said.out + said.err) == 0:
            found.append(f"{number}: {verb} with {file}: exit {said.code}, {said.err}")
    return found


@pytest.mark.long
def test_twenty(command: Command, here: Path) -> None:
    assert escapes(command, here, 20, 1) == []


@pytest.mark.nightly
def test_two_thousand(command: Command, here: Path) -> None:
    seed = secrets.randbits(32)
    print(f"seed {seed}")
    assert escapes(command, here, 2000, seed) == []


def test_another_version_of_the_format_is_named(command: Command, here: Path) -> None:
    (here / "small.toml").write_text(SMALL, encoding="utf-8")
    command.done("run", "small.toml", "--out", "r")
    manifest = here / "r" / "manifest.json"
    text = manifest.read_text(encoding="utf-8")
    manifest.write_text(text.replace('"schema": 1', '"schema": 99', 1), encoding="utf-8")
    for verb in ("replay", "plot", "report"):
        said = command(verb, "r")
        assert said.code == 2
        assert said.lines == ["r: given a result of schema 99; allowed is one of 1"]


def test_a_link_in_the_place_of_figures_is_not_followed(command: Command, here: Path) -> None:
    (here / "small.toml").write_text(SMALL, encoding="utf-8")
    command.done("run", "small.toml", "--out", "r")
    (here / "elsewhere").mkdir()
    (here / "r" / "figures").symlink_to(here / "elsewhere")
    said = command("plot", "r")
    assert said.code == 2
    assert said.lines == [
        f"r: given a link to {here / 'elsewhere'} in the place of figures; "
        "allowed is a folder, or none yet"
    ]
    assert list((here / "elsewhere").iterdir()) == []
