"""Text that anybody may have written: how deep its tables and lists may go."""

import json

import pytest

from asyncdp_sim.core.files import DEEPEST, from_json, from_toml


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a": ', "}")])
def test_json_goes_so_deep_and_no_deeper(opening, closing, *, binary):
    def nested(deep: int) -> str | bytes:
        text = opening * deep + "0" + closing * deep
        return text.encode() if binary else text

    inside = 1 + DEEPEST  # of the outermost
    assert from_json(nested(inside)) == json.loads(nested(inside))
    for deep in (inside + 1, 10**5):
        with pytest.raises(ValueError, match=f"nested more than {DEEPEST} deep"):
            from_json(nested(deep))


def test_much_that_lies_flat_is_not_deep():
    flat = [[number, {"brackets in a text": "[{" * 200}] for number in range(300)]
    assert from_json(json.dumps(flat)) == flat


def test_toml_goes_so_deep_and_no_deeper():
    assert from_toml(f"a = {'[' * DEEPEST}{']' * DEEPEST}")["a"] is not None
    with pytest.raises(ValueError, match=f"nested more than {DEEPEST} deep"):
        from_toml(f"a = {'[' * (DEEPEST + 1)}{']' * (DEEPEST + 1)}")
