"""Warnings of the cells of a sweep: records merged, then put into words."""

import pickle

import pytest

from asyncdp_sim.core.messages import Ends, FormattedMessage, Listed, Noted, gathered, revived
from asyncdp_sim.privacy.guarantee import BROKEN, reason
from asyncdp_sim.sentences.warnings import EndedEarly, TargetReached

HORIZON = "the time horizon was reached"


def words(warnings):
    return [each.describe() for each in gathered(warnings)]


def noted(*sentences):
    return [Noted.from_sentence(sentence) for sentence in sentences]


def short(replicates, low, high, why=HORIZON, released=0, **fates):
    named = tuple((name.replace("_", " "), count) for name, count in fates.items())
    return EndedEarly(replicates, 8, 50, Ends(low, high), why, released, named)


def test_what_every_cell_says_is_said_once():
    assert words([noted("a"), noted("a")]) == ["a"]
    several = [noted("b 1"), noted("b 2", "c"), noted("b 1", "c"), noted("b 1"), noted("b 1", "c")]
    assert words(several) == ["cells 0, 2 to 4: b 1", "cell 1: b 2", "cells 1, 2, 4: c"]


def test_runs_that_ended_early_are_one_note_per_reason():
    data = Noted.from_sentence("data")
    spent = short(8, 3, 4, "budgets are spent")
    first = short(8, 9, 20, released=200, collided=100)
    second = short(2, 3, 12, released=100, collided=10, were_discarded=40)
    assert words([[data], [data, first], [data, spent], [data, second]]) == [
        "data",
        "cells 1, 3: 2 to 8 of 8 replicates ended before T = 50 updates (3 to 20): the time "
        "horizon was reached; of the released answers, 10 to 50 % collided, 0 to 40 % were "
        "discarded",
        f"cell 2: {spent.describe()}",
    ]


def test_a_note_of_one_kind_of_run_keeps_its_numbers():
    said = short(8, 3, 4, released=200, collided=100)
    assert said.describe() == (
        f"8 of 8 replicates ended before T = 50 updates (3 to 4): {HORIZON}; of 200 "
        "released answers, 100 collided"
    )
    assert words([[said], [said]]) == [said.describe()]
    assert words([[said], []]) == [f"cell 0: {said.describe()}"]
    plain = [[short(8, 3, 4)], [short(8, 3, 5)]]
    assert words(plain) == [f"cells 0, 1: {short(8, 3, 5).describe()}"]


def test_ends_that_are_alike_are_both_said_of_one_cell_alone():
    assert "(3 to 3)" in short(8, 3, 3).describe()
    both = "cells 0, 1: 7 to 8 of 8 replicates ended before T = 50 updates (3): "
    assert words([[short(8, 3, 3)], [short(7, 3, 3)]]) == [both + HORIZON]


def test_targets_that_were_reached_sooner_or_later_are_one_note():
    cells = [[TargetReached(8, 8, Ends(12, 40))], [TargetReached(5, 8, Ends(9, 31))]]
    both = "cells 0, 1: 5 to 8 of 8 replicates reached run.target, after 9 to 40 updates"
    assert words(cells) == [both]


def exceeded(largest, owner=3):
    sentence = f"{BROKEN}the declared bound is exceeded: {{largest:.4g}} at owner {{owner}}"
    return reason(sentence, largest=largest, owner=owner)


def silent(owners):
    return reason(
        "ε = ∞ for {owners}: {owners:their} answers are exact", owners=Listed.from_numbers(owners)
    )


def test_many_notes_that_differ_in_numbers_are_one():
    said = [[exceeded(largest)] for largest in (9.5, 83.25, 1200.0, 70.0, 71.0, 72.0)]
    assert words([*said, []]) == [
        "cells 0 to 5: not private: the declared bound is exceeded: 9.5 to 1200 at owner 3"
    ]
    assert len(gathered(said[:5])) == 5


def test_owners_and_numbers_in_sentences_become_ranges():
    said = [
        [Noted.from_sentence(FormattedMessage("{rows} rows of {who}", rows=n, who="V2"))]
        for n in range(3, 9)
    ]
    assert words(said) == ["cells 0 to 5: 3 to 8 rows of V2"]
    assert words([[silent([n])] for n in range(1, 7)]) == [
        "cells 0 to 5: ε = ∞ for owner 1 to 6: its answers are exact"
    ]


def test_numbers_stand_in_fields_beside_the_words():
    [both] = gathered([[exceeded(n)] for n in range(6, 12)])
    content = both.content()
    assert (content["kind"], content["cells"]) == ("noted", [0, 1, 2, 3, 4, 5])
    assert content["values"] == {"largest": [6, 11], "owner": [3, 3]}


RECORDS = (
    exceeded(9.5),
    silent(range(1, 10)),
    reason("timing: {why}", why="a trigger {of braces}"),
    short(8, 3, 3, released=200, collided=100, were_lost=1),
    Noted.from_sentence(FormattedMessage("{codes} codes", codes=Ends(0, 2)), "of a table: {}"),
    Noted.from_sentence("a plain line {with braces}"),
)


@pytest.mark.parametrize("record", RECORDS, ids=lambda each: each.describe()[:20])
def test_a_record_is_read_back_as_it_was(record):
    manifest = {"warnings": [record.describe()], "warning_fields": [record.content()]}
    assert revived(manifest) == [record]
    assert pickle.loads(pickle.dumps(record)) == record


def test_manifests_without_fields_and_of_other_fields_keep_their_lines():
    line = exceeded(9.5).describe()
    others = ([], [exceeded(9.6).content()], [{"kind": "unheard-of"}], [None])
    for fields in ({}, *({"warning_fields": each} for each in others)):
        [known] = revived({"warnings": [line], **fields})
        assert known == Noted.from_sentence(line)
        assert known.describe() == line


def test_a_sentence_with_its_numbers_is_a_text_as_any_other():
    said = FormattedMessage("{n} rows", n=3)
    assert said == "3 rows"
    assert pickle.loads(pickle.dumps(said)).fields == {"n": 3}


def test_cells_without_a_result_say_nothing():
    assert words([noted("a"), None]) == ["cell 0: a"]
