"""Records that are drawn are kept, whole and checked; nothing depends on whether they were."""

import os
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from asyncdp_sim.data import Dataset, HospitalData, LendingData
from asyncdp_sim.data.kept import VARIABLE, Cache, origin
from asyncdp_sim.data.kept.cache import MOST
from asyncdp_sim.data.splits import ByColumn, Shuffled
from asyncdp_sim.notices import Counted
from asyncdp_sim.streams import Streams

FEW = {"features": 2, "public_records": 200}
RECIPES = [*LendingData.examples()[:3], LendingData(**FEW, held_out=0.2, score_on="all")]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where even few records are kept."""
    monkeypatch.setenv(VARIABLE, str(tmp_path / "kept"))
    monkeypatch.setattr(origin, "LEAST", 0)
    return tmp_path / "kept"


def built(recipe=None, seed=1, records=(30, 40)):
    recipe = LendingData(**FEW) if recipe is None else recipe
    return recipe.build(len(records), records, Streams(seed))


def alike(one: Dataset, two: Dataset) -> bool:
    """Whether records that were read are those that were drawn."""
    return all(same(getattr(one, each.name), getattr(two, each.name)) for each in fields(Dataset))


def same(one, two):
    if isinstance(one, tuple):
        return len(one) == len(two) and all(map(same, one, two))
    if isinstance(one, np.ndarray):
        if one.dtype != two.dtype or one.shape != two.shape or one.tobytes() != two.tobytes():
            return False
        return one.strides == two.strides and one.flags.writeable <= two.flags.writeable
    counted = not isinstance(one, Counted) or (one.sentence, one.fields) == (
        two.sentence,
        two.fields,
    )
    return type(one) is type(two) and one == two and counted


def refused(*_: object) -> None:
    raise AssertionError("drawn again")


@pytest.mark.parametrize("recipe", RECIPES)
def test_records_that_are_kept_are_those_that_were_drawn(recipe, folder, monkeypatch):
    drawn = built(recipe)
    monkeypatch.setattr(LendingData, "_drawn", refused)
    assert alike(built(recipe), drawn)
    assert len(list(folder.iterdir())) == 1


def discharged(seed=1):
    recipe = HospitalData(**FEW, split=ByColumn(column="Facility Id", least=10_000))
    return recipe.build(2, None, Streams(seed))


def test_records_are_kept_where_their_number_is_drawn_too(folder, monkeypatch):
    drawn = discharged()
    monkeypatch.setattr(HospitalData, "_drawn", refused)
    assert alike(discharged(), drawn)
    assert len(list(folder.iterdir())) == 1
    with pytest.raises(AssertionError, match="drawn again"):
        discharged(seed=2)


def test_few_records_are_not_kept_where_their_number_is_drawn_too(folder, monkeypatch):
    monkeypatch.setattr(origin, "LEAST", 2**40)
    discharged()
    assert not folder.exists()


def test_what_is_asked_for_decides_which_records_are_meant(folder, monkeypatch):
    drawn = [built(), built(seed=2), built(records=(30, 41)), built(RECIPES[1])]
    monkeypatch.setattr(origin, "made_by", lambda: {"code": "another"})
    drawn.append(built())
    assert len(list(folder.iterdir())) == 5
    assert alike(drawn[0], drawn[4])
    assert not any(alike(drawn[0], each) for each in drawn[1:4])


def spoilt(whole: bytes):
    """A file cut off, with a byte changed anywhere, or made by somebody else."""
    yield from (whole[:end] for end in (0, 10, 64, 65, 200, len(whole) - 1))
    yield whole + b"\0"
    for place in np.linspace(0, len(whole) - 1, 12).astype(int).tolist():
        yield whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :]
    digest, header, rest = whole.split(b"\n", 2)
    for other in (b"", b"null", b"[]", b"{}", b"[" * 9999, header.replace(b"<f8", b"|O8", 1)):
        yield b"\n".join([digest, other, rest])
    yield b"\n".join(
        [digest, header.replace(b'"arrays": [', b'"arrays": [["<f8", [-1, 9]], '), rest]
    )


def test_what_is_not_whole_is_drawn_again_and_written_anew(folder):
    drawn = built()
    [file] = folder.iterdir()
    whole = file.read_bytes()
    for count, bad in enumerate(spoilt(whole)):
        file.write_bytes(bad)
        assert alike(built(), drawn)
        assert file.read_bytes() == whole, count


def test_a_file_of_other_records_is_not_taken_for_these(folder):
    drawn = built()
    [file] = folder.iterdir()
    built(seed=2)
    [other] = {*folder.iterdir()} - {file}
    file.write_bytes(other.read_bytes())
    assert alike(built(), drawn)


def test_without_a_place_to_keep_them_records_are_drawn(folder, monkeypatch):
    drawn = built()
    for place in ("", os.devnull, f"{os.devnull}/further"):
        monkeypatch.setenv(VARIABLE, place)
        assert alike(built(), drawn)
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setattr(Path, "home", missing)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert Cache.of_user().directory is None
    assert alike(built(), drawn)
    assert len(list(folder.iterdir())) == 1


def missing() -> Path:
    raise RuntimeError("no home")


def test_the_place_is_the_platforms_unless_it_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert Cache.of_user().directory == tmp_path / "asyncdp"
    monkeypatch.setenv("XDG_CACHE_HOME", "not/absolute")
    assert Cache.of_user().directory == Path.home() / ".cache" / "asyncdp"
    monkeypatch.setattr("sys.platform", "darwin")
    assert Cache.of_user().directory == Path.home() / "Library" / "Caches" / "asyncdp"


def test_the_oldest_make_room(tmp_path):
    drawn = built()
    cache = Cache(tmp_path, 10**9)
    for number in range(4):
        cache.put(f"{number}", drawn)
        os.utime(tmp_path / f"{number}.records", (number, number))
    (tmp_path / ".partial-left.records").write_bytes(b"left by a program that was killed")
    os.utime(tmp_path / ".partial-left.records", (0, 0))
    (tmp_path / "somebody's").write_bytes(b"x" * 10**5)
    size = (tmp_path / "0.records").stat().st_size
    Cache(tmp_path, 3 * size + size // 2).put("4", drawn)
    names = {file.name for file in tmp_path.iterdir()}
    assert names == {"2.records", "3.records", "4.records", "somebody's"}
    Cache(tmp_path, size - 1).put("5", drawn)
    assert {file.name for file in tmp_path.iterdir()} == {"somebody's"}
    assert MOST == 2**30


def test_few_records_parts_of_streams_and_code_from_outside_are_not_kept(folder, monkeypatch):
    LendingData(**FEW).build(2, (30, 40), Streams(1).within("again"))

    class Other(Shuffled):
        pass

    Other.__module__ = "somebodys"
    built(LendingData(**FEW).model_copy(update={"split": Other()}))
    monkeypatch.setattr(origin, "LEAST", 8 * 3 * 70 + 1)
    built()
    assert not folder.exists()
    monkeypatch.setattr(origin, "LEAST", 8 * 3 * 70)
    built()
    assert folder.exists()
