"""Cases that are tried together: none is lost, and all that fail are told."""

import pytest

from tests.together import together


def test_all_are_tried_and_those_that_fail_are_told_with_their_names():
    tried = []

    @together
    @pytest.mark.parametrize("b", [1, 2, 3], ids=lambda b: f"b{b}")
    @pytest.mark.parametrize(("a", "c"), [(0, 0), pytest.param(2, 2, id="two")], ids=["none", None])
    def test(a: int, b: int, c: int) -> None:
        tried.append((a, b, c))
        assert a + b != 3
        if a + b == 5:
            pytest.fail("five")

    with pytest.raises(BaseExceptionGroup) as found:
        test()
    assert sorted(tried) == sorted((a, b, a) for a in (0, 2) for b in (1, 2, 3))
    assert str(found.value).startswith("3 of 6 cases")
    notes = [error.__notes__ for error in found.value.exceptions]
    assert sorted(notes) == [
        ["in the case none-b3"],
        ["in the case two-b1"],
        ["in the case two-b3"],
    ]
    assert "five" in str(found.value.exceptions[notes.index(["in the case two-b3"])])


@pytest.mark.parametrize("marks", [[], [pytest.mark.parametrize("a", [])]])
def test_no_case_is_no_test(marks):
    def test(a: int) -> None: ...

    for mark in marks:
        test = mark(test)
    with pytest.raises(ValueError, match="has no case"):
        together(test)


@together
@pytest.mark.parametrize("text", ["a", "b"])
def test_a_fixture_is_had_by_all(text, pytestconfig):
    assert (text in "ab", pytestconfig.rootpath.is_dir()) == (True, True)
