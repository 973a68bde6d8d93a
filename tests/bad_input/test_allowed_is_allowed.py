"""Messages of refusal: the allowed value differs from the given one, and is accepted."""

import re

import pytest

from tests.bad_input.transcript import transcript as transcripts
from tests.cli.scenes import ON_A_TABLE, rates

CONTRADICTION = re.compile(r"given ([^;]+); allowed is (?:at most |at least )?\1(?![\w.])")


@pytest.mark.parametrize("preprocessing", ["none", "pca", "eigen-uncentred"])
@pytest.mark.parametrize("given", [2, 4, 5])
def test_features_with_an_intercept(preprocessing, given, here, command):
    """Found by attack: "given 3; allowed is 3", where an intercept counted as a feature."""
    rates(here / "rates.csv")
    (here / "table.toml").write_text(ON_A_TABLE, encoding="utf-8")
    said = (f"data.preprocessing={preprocessing}", "model.intercept=true", f"data.features={given}")
    words = [word for setting in said for word in ("--set", setting)]
    ended = command("check", "table.toml", *words)
    if ended.code == 0:
        assert given <= 3
        return
    assert CONTRADICTION.search(ended.err) is None
    [allowed] = re.findall(
        r"allowed is (?:at most )?(\d+), .* and one for model.intercept", ended.err
    )
    command.done("check", "table.toml", *words, "--set", f"data.features={allowed}")


def test_no_refused_case_of_the_suite_contradicts_itself():
    cases = transcripts.FILES.glob("*.toml")
    lines = [line for file in cases for line in transcripts.transcript(file).expected]
    assert len(lines) > 300
    assert [line for line in lines if CONTRADICTION.search(line)] == []
