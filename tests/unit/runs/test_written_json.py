"""JSON files of results are laid out part by part, and are what the library would write."""

import json
import math

import pytest

from asyncdp_sim.results.write import write_into
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


@pytest.mark.parametrize("times", [1, 2])
def test_parts_laid_out_one_by_one_make_the_same_text(times, tmp_path):
    for number, value in enumerate(VALUES * times):
        write_into(tmp_path, f"{number}.json", value)
        wanted = json.dumps(jsonable(value), indent=2, ensure_ascii=False) + "\n"
        assert (tmp_path / f"{number}.json").read_text(encoding="utf-8") == wanted
