"""The label's words from manifests: what is broken, unknown or stated is never left out."""

from math import inf
from typing import Any

import pytest

from asyncdp_sim.sentences.label import (
    EXACT,
    label,
    named_guarantee,
    reasons,
    stated_unit,
    timing_reasons,
)
from tests.tables import table
from tests.together import together

GAUSSIAN = {"mechanism": "gaussian", "delta": 1e-6}
CASES = table(__file__, "labels.toml")
WARNINGS = CASES["warnings"]
EXCEEDED, EVENTS, NO_NOISE = (WARNINGS[name] for name in ("exceeded", "events", "exact"))


def made(
    privacy: dict[str, Any], *warnings: str, data: dict[str, Any] | None = None, **summary: Any
) -> dict[str, Any]:
    standard = {"private": True, "epsilon_true": 1.0, "delta": 0.0, "timing_accounted": True}
    declared = (privacy.get("sensitivity") or {}).get("kind") == "declared"
    standard["queries_unseen"] = 0 if declared else None
    return {
        "scenario": {"privacy": {"epsilon": 1.0} | privacy, "data": data or {}},
        "summary": standard | {"not_for_release": False} | summary,
        "warnings": list(warnings),
    }


def of_cell(privacy: Any, warnings: Any = (), **more: Any) -> dict[str, Any]:
    """Return the manifest of a cell of the table."""
    none = {name: None if value == "null" else value for name, value in more.items()}
    return made(privacy, *(WARNINGS[name] for name in warnings), **none)


@together
@pytest.mark.parametrize("case", CASES["labels"], ids=lambda case: case["said"])
def test_the_label_says_what_is_and_what_is_not(case: Any) -> None:
    found, said = label([of_cell(**cell) for cell in case["cells"]]), case["said"]
    assert found.text == said
    assert found.private is said.startswith("Private")
    assert found.timing_accounted is ("TIMING" not in said)
    assert found.not_for_release is ("RELEASE" in said)


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("private", "NOT PRIVATE as claimed"),
        ("timing_accounted", "TIMING NOT ACCOUNTED: the manifest gives no reason"),
        ("not_for_release", "NOT FOR RELEASE"),
    ],
)
@pytest.mark.parametrize("value", [None, "absent"])
def test_what_a_manifest_does_not_say_is_taken_for_the_worse(
    key: str, words: str, value: object
) -> None:
    manifest = made({}, **{key: value})
    if value == "absent":
        del manifest["summary"][key]
    assert words in label([manifest]).text
    assert words in label([made({}), manifest]).text


@pytest.mark.parametrize("unseen", [7, None, "absent"])
def test_a_declared_bound_is_shown_to_hold_by_a_look_at_every_query_alone(unseen: object) -> None:
    """Manifests of before that was done do not say that it was."""
    manifest = made({"sensitivity": {"kind": "declared", "bound": 5.0}}, queries_unseen=unseen)
    if unseen == "absent":
        del manifest["summary"]["queries_unseen"]
    found = label([manifest])
    assert found.private is None
    assert found.text.startswith("NOT SHOWN to be private as claimed (ε = 1 per owner")
    assert named_guarantee([manifest]) == "NOT SHOWN to be private, ε ≥ 1"
    assert label([manifest, made({}, EXCEEDED, private=False)]).private is False


def test_an_unknown_true_epsilon_is_infinite() -> None:
    assert label([made({}, epsilon_true=None)]).epsilon_true == inf
    assert "True ε = ∞" in label([made({}, epsilon_true=None)]).text


def test_one_that_is_not_private_makes_all_that_is_shown_with_it_so() -> None:
    broken = made({}, EXCEEDED, private=False, epsilon_true=3.0)
    found = label([made(GAUSSIAN, delta=1e-6), broken])
    assert found.values() == {
        "private": False,
        "epsilon_true": 3.0,
        "delta": 1e-6,
        "timing_accounted": True,
        "not_for_release": False,
        "epsilon_at_least": False,
    }
    assert found.metadata() == {
        "asyncdp.label": found.text,
        "asyncdp.private": "false",
        "asyncdp.epsilon_true": "3.0",
        "asyncdp.delta": "1e-06",
        "asyncdp.timing_accounted": "true",
        "asyncdp.not_for_release": "false",
        "asyncdp.epsilon_at_least": "false",
    }


def test_a_table_of_exact_values_says_that_no_epsilon_covers_it() -> None:
    found = label([made({}, not_for_release=True)])
    assert found.private is True
    said = found.metadata_of_exact()
    assert said["asyncdp.label"] == f"{EXACT} Its run: {found.text}"
    assert "NOT FOR RELEASE" in said["asyncdp.label"]
    assert (said["asyncdp.private"], said["asyncdp.epsilon_true"]) == ("false", "inf")
    assert (said["asyncdp.delta"], said["asyncdp.not_for_release"]) == ("none", "true")


def test_tables_of_order_and_times_say_what_is_accounted() -> None:
    pure, gaussian = made({}), made(GAUSSIAN, delta=1e-6, epsilon_true=0.5)
    said = label([pure]).metadata_of_network()
    assert said == label([gaussian]).metadata_of_network()
    assert said["asyncdp.timing_accounted"] == "true"
    untimed = label([made({}, EVENTS, timing_accounted=False)]).metadata_of_network()
    assert untimed["asyncdp.label"].endswith("TIMING NOT ACCOUNTED.")
    assert untimed["asyncdp.timing_accounted"] == "false"


def test_a_baseline_beside_private_cells_claims_nothing_and_is_not_private() -> None:
    baseline = made(
        {"mechanism": "none", "epsilon": inf}, NO_NOISE, private=False, epsilon_true="inf"
    )
    found = label([made({}), baseline])
    assert "NOT PRIVATE" not in found.text
    assert found.text.startswith("Private as claimed: ε = 1 per owner over the run, pure ε-DP")
    assert "No privacy is claimed (ε = ∞ per owner over the run, no noise) in 1 of 2" in found.text
    assert found.private is False
    assert found.epsilon_true == inf
    assert named_guarantee([baseline]) == "no privacy claimed"
    some = made({"epsilon": [inf, 1.0]}, NO_NOISE, private=False, epsilon_true="inf")
    assert label([some]).text.startswith("NOT PRIVATE as claimed")  # owner 2 was promised an ε


def test_guarantees_have_short_names() -> None:
    gaussian = made(GAUSSIAN, delta=1e-6)
    assert named_guarantee([made({})]) == "ε-DP, pure, Laplace noise"
    assert named_guarantee([gaussian]) == "(ε, 1e-06)-DP, Gaussian noise"
    broken = [made({}, EXCEEDED, private=False, epsilon_true=e) for e in (3.0, 40.0)]
    assert named_guarantee(broken) == "NOT PRIVATE as claimed, true ε = 3 to 40"
    assert named_guarantee([gaussian, broken[0]]) == "NOT PRIVATE as claimed, true ε = 1 to 3"


def test_reasons_are_told_in_full() -> None:
    broken = made({}, EXCEEDED, "another", EVENTS, private=False, timing_accounted=False)
    assert reasons(broken) == [EXCEEDED.removeprefix("not private: "), EVENTS]
    assert timing_reasons(broken) == [EVENTS.removeprefix("timing not accounted: ")]
    assert reasons(made({})) == timing_reasons(made({})) == []


@pytest.mark.parametrize("data", [{"owner_column": "who"}, {"split": {"column": "who"}}])
def test_a_column_that_says_whose_a_record_is_makes_records_the_unit(data: dict[str, Any]) -> None:
    unit = "the unit is a record: a person with m records is protected only at mε"
    assert stated_unit(made({}, data=data)) == unit
    assert stated_unit(made(GAUSSIAN, data=data, delta=1e-6)) == f"{unit} and a larger δ"
    assert stated_unit(made({}, data={"split": "in-order"})) is None


def test_a_simulated_split_says_at_whose_place_a_record_is_replaced() -> None:
    said = stated_unit(made({}, data={"split": {"dirichlet": 0.5, "cv": 0.0}}))
    assert said is not None
    assert said.endswith("ε is of one record replaced at the owner that it went to")


def test_older_manifests_state_delta_in_their_scenario() -> None:
    old = made(GAUSSIAN)
    del old["summary"]["delta"]
    assert label([old]).delta == 1e-6
    del old["scenario"]["privacy"]["mechanism"]
    assert label([old]).delta == 0
    old["scenario"]["privacy"]["mechanism"] = "none"
    assert label([old]).delta is None
