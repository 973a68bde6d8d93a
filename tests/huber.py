"""The custom loss of ``docs/kinds``: its classes, which the tests of losses try like the others."""

from typing import Any

from asyncdp_sim.core.plugins import Place
from tests.documents.parts import ROOT

KINDS = ROOT / "docs" / "kinds"


def _class(name: str) -> Any:
    place = Place(str(KINDS / "huber.py"), name)
    place.execute()
    return place.found()


Huber = _class("Huber")
HuberLoss = _class("HuberLoss")
