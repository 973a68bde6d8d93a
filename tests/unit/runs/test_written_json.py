"""JSON files of results: infinities as text, NaN as null, keys of several kinds."""

import json
import math
import re

import pytest

from asyncdp_sim.core.errors import ResultError
from asyncdp_sim.results.write import Writer, all_on_disk, write_into
from asyncdp_sim.scenario import jsonable
from asyncdp_sim.trace import ExchangeOutcome

VALUES = (
    {"a": 1, "b": None, "c": [True, 0.1, "ε\n\"'"], "d": {}},
    {"deep": {"er": {"still": [{"x": [1, [2, {"y": "z"}]]}, []]}}, "none": {"of": {}}},
    {"inf": math.inf, "in": {"nan": math.nan, "list": [1.0, -math.inf]}, "tuple": (1, 2)},
    {"far": {"in": {"side": {"of": {"it": [{}, [], {"empty": {}, "list": []}]}}}}},
    {"3": {"4": 5e-324}, "ä": {"ö": [0.1 + 0.2, 10**30]}},
    {True: {None: 1, 2: False}, 0.5: {"b": {ExchangeOutcome.applied: {False: 3}}}},
)


def test_a_json_file_says_what_it_was_given(tmp_path):
    for number, value in enumerate(VALUES):
        write_into(tmp_path, f"{number}.json", value)
        wanted = json.dumps(jsonable(value), indent=2, ensure_ascii=False) + "\n"
        assert (tmp_path / f"{number}.json").read_text(encoding="utf-8") == wanted
    write_into(tmp_path, "small.json", {"step": 1e-05, "least": 1.5e-7})
    small = json.loads((tmp_path / "small.json").read_text(encoding="utf-8"))
    assert small == {"step": 1e-05, "least": 1.5e-7}  # however their digits are written
    read = json.loads((tmp_path / "2.json").read_text(encoding="utf-8"))
    assert read["inf"] == "inf"
    assert read["in"] == {"nan": None, "list": [1.0, "-inf"]}


def test_of_directories_that_are_not_on_disk_the_first_is_named(tmp_path):
    built = [Writer(tmp_path / name) for name in ("one", "two", "three")]
    for writer in built:
        writer.put("words.txt", "words")
    built[1].files[0].unlink()
    with pytest.raises(ResultError, match=re.escape(f"{tmp_path / 'one'}: --out: given No such")):
        all_on_disk(built)
    for writer in built:
        writer.discard()
    assert list(tmp_path.iterdir()) == []
