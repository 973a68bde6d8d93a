"""After the number 1, nouns and verbs of messages are in the singular."""

import pytest

from asyncdp_sim.core.errors import Fault
from asyncdp_sim.core.messages import FormattedMessage
from asyncdp_sim.core.words import agreed, aligned
from tests.together import together


@together
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 missing values became 0", "1 missing value became 0"),
        ("1 missing or unseen values became 0", "1 missing or unseen value became 0"),
        ("1 independent columns of the public rows", "1 independent column of the public rows"),
        ("1 rows belong to no owner", "1 row belongs to no owner"),
        ("in 1 replicates, 1 queries, 1 classes", "in 1 replicate, 1 query, 1 class"),
        ("T = 1 updates", "T = 1 update"),
        *((text, text) for text in (
            "21 rows are", "0.1 rows", "1,001 rows", "1 of 3 owners gain", "1 or more rows",
            "owner 1 answers", "ε = 0.1 columns", "rows 1 to 3", "version1 rows",
            "allowed is 1 beside values",
        )),
    ],
)  # fmt: skip
def test_one_is_singular(text: str, expected: str) -> None:
    assert agreed(text) == expected


def test_messages_refusals_and_tables_agree() -> None:
    assert FormattedMessage("{n} rows are lost", n=1) == "1 row is lost"
    assert FormattedMessage("{n} rows are lost", n=2) == "2 rows are lost"
    assert str(Fault("data", "1 values", "allowed is 2")) == "data: given 1 value; allowed is 2"
    assert aligned([["1 runs"], ["2 runs"]]) == [" 1 run", "2 runs"]
