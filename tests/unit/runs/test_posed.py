"""Objective and optimum of cells of a sweep: worked out once, for the same records alone."""

from dataclasses import replace
from typing import Any

import pytest

from asyncdp_sim.runs.problem import build_dataset, prepare
from tests.reproducibility.runs import scenario

FIRST: dict[str, Any] = {"run__updates": 12, "run__replicates": 2}
SAME: list[dict[str, Any]] = [
    {"privacy__epsilon": 3.0},
    {"algorithm__rho": 0.5},
    {"run__updates": 7},
]
OTHER: list[dict[str, Any]] = [
    {"model__regularisation": 0.5},
    {"privacy__sensitivity": {"kind": "clip", "bound": 0.3}},
    {"privacy__sensitivity": {"kind": "domain", "row_norm": 1.0, "target_max": 1.0}},
]


@pytest.mark.parametrize("parts", SAME, ids=str)
def test_what_records_ask_for_is_worked_out_once(parts):
    first, second = scenario(**FIRST), scenario(**(FIRST | parts))
    like = prepare(first, build_dataset(first))
    again = prepare(second, like.posed.dataset, like)
    alone = prepare(second, like.posed.dataset).posed
    assert again.posed is like.posed
    assert again.posed.constants == alone.constants
    assert again.posed.judge.optimum.tolist() == alone.judge.optimum.tolist()


@pytest.mark.parametrize("parts", OTHER, ids=str)
def test_other_questions_and_other_records_are_worked_out_anew(parts):
    first, second = scenario(**FIRST), scenario(**(FIRST | parts))
    like = prepare(first, build_dataset(first))
    again = prepare(second, like.posed.dataset, like)
    assert again.posed is not like.posed
    assert again.posed.constants == prepare(second, like.posed.dataset).posed.constants
    assert prepare(first, replace(like.posed.dataset), like).posed is not like.posed
