"""Whoever hears everything: the observer of a claim that names none."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from typing_extensions import override

from asyncdp_sim.errors import Fault
from asyncdp_sim.privacy.accountants.own import Accountant
from asyncdp_sim.privacy.observers.kind import Learned, ObserverKind
from asyncdp_sim.trace import Trace


class TranscriptObserver(ObserverKind):
    """It hears every answer, who sent it and when: so does whoever all others collude with."""

    by_count = True
    knows_parts = True

    kind: Literal["transcript"] = "transcript"

    @override
    def words(self) -> str:
        return "whoever hears every answer, who sent it and when"

    @override
    def misfits(self, scenario: Any) -> list[Fault]:
        return []

    @override
    def learned(self, accountant: Accountant, traces: Sequence[Trace]) -> Learned:
        """Return what all answers cost that were released, by the accountant."""
        released = np.stack([trace.released for trace in traces])
        return Learned(accountant.spent(released), accountant.zcdp(released))
