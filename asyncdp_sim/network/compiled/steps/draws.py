"""Draws by NumPy's own algorithms.

The one generator takes the state of a stream, draws, and hands it back. A stream is seeded when it
is first drawn from.
"""

from typing import Any

import numpy as np

from asyncdp_sim.network.compiled.steps.seeds import seed
from asyncdp_sim.network.compiled.steps.step import step
from asyncdp_sim.network.compiled.world import (
    BURSTS,
    CONSTANT,
    EXPONENTIAL,
    GAMMA,
    INSTANT,
    LOGNORMAL,
)
from asyncdp_sim.units import LAST_TICK, TICKS_PER_UNIT

_INCREMENT = 2
"""Place of a state's odd half of an increment, which is 0 before the stream is seeded."""
_BAD = 4
"""Place where a chain of bursts remembers whether it is in its bad state."""


@step
def is_instant(d: Any, stage: int, owner: int) -> bool:
    """Whether an owner's stage takes no event."""
    at = d.stages[stage]
    return bool(d.laws[at.law + at.law_each * owner].code == INSTANT)


@step
def drawn(d: Any, generator: Any, stage: int, owner: int) -> int:
    """Return the next duration of an owner's stage, in ticks."""
    at = d.stages[stage]
    law = d.laws[at.law + at.law_each * owner]
    if law.code <= CONSTANT:
        return int(law.extra)
    words = d.streams[at.stream + at.stream_each * owner]
    take(d, words, stage, owner)
    if law.code == EXPONENTIAL:
        units = generator.exponential(law.first)
    elif law.code == LOGNORMAL:
        units = generator.lognormal(law.first, law.second)
    elif law.code == GAMMA:
        units = generator.gamma(law.first, law.second)
    else:
        units = generator.uniform(law.first, law.second)
    copy(d.memory, words)
    return int(law.extra) + int(min(np.rint(min(units, 1e10) * TICKS_PER_UNIT), LAST_TICK))


@step
def chance(d: Any, generator: Any, stage: int, owner: int) -> bool:
    """Return whether something happens that has a chance; what has none is not drawn."""
    at = d.stages[stage]
    law = d.laws[at.law + at.law_each * owner]
    if law.code == INSTANT:
        return False
    words = d.streams[at.stream + at.stream_each * owner]
    begins = words[_INCREMENT] == 0
    take(d, words, stage, owner)
    likely = law.first
    if law.code == BURSTS:
        bad = words[_BAD] != 0
        if begins:
            bad = generator.random() < law.first / (law.first + law.second)
        else:
            bad ^= generator.random() < (law.second if bad else law.first)
        words[_BAD] = bad
        likely = law.fourth if bad else law.third
    happens = bool(generator.random() < likely)
    copy(d.memory, words)
    return happens


@step
def take(d: Any, words: Any, stage: int, owner: int) -> None:
    """Let the generator draw from a stream."""
    if words[_INCREMENT] == 0:
        seed(d, stage, owner, 1)
    copy(words, d.memory)


@step
def copy(source: Any, target: Any) -> None:
    """Copy the state of a generator."""
    for i in range(4):
        target[i] = source[i]
