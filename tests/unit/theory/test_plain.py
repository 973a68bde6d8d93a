"""Formulas and reasons as a person reads them; manifests keep what they recorded."""

import re
from pathlib import Path

import asyncdp_sim.theory.predict
from asyncdp_sim.theory.prediction import phrases, plain

FOLDER = Path(asyncdp_sim.theory.predict.__file__).parent


def test_every_recorded_phrase_is_one_of_a_prediction():
    text = "".join(file.read_text("utf-8") for file in sorted(FOLDER.glob("*.py")))
    joined = re.sub(r'"\s*\n\s*f?"', "", text)
    assert [phrase for phrase in phrases() if phrase not in joined] == []


def test_a_phrase_within_a_text_is_replaced_and_the_rest_stays():
    said = "other updates between read and apply: none, because of the lock"
    assert plain(said) == "number of other updates between read and use: none, because of the lock"
    assert plain("links fail") == "links fail"
    assert not any(phrase in clear for phrase in phrases() for clear in phrases().values())
