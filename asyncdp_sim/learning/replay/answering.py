"""Owners' answers to an algorithm: what gives them, and whose streams they draw from."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from asyncdp_sim.learning.algorithms import Array, Steps, Turn
from asyncdp_sim.learning.answers import Answers, OnceAnswers
from asyncdp_sim.learning.reply import Reply
from asyncdp_sim.streams import Scope


class OwnAnswers(Answers):
    """The answers of owners that each have streams of their own, whoever answers before them.

    Row j of owner h's ``("client", h, "batch")`` and ``"noise"`` is that of its own j-th answer:
    with several servers, the order in which all owners answer is nobody's to say.
    """

    def __init__(self, reply: Reply, replicates: Sequence[Scope], size: int) -> None:
        self._n_owners = len(reply.noise.scale)
        owners = range(1, self._n_owners + 1)
        super().__init__(reply, [s.within("client", h) for s in replicates for h in owners], size)

    def give(self, turn: Turn, points: Array) -> Array:
        """Return the answers that the servers' clients compute, shape (r, size)."""
        own = turn.replicates * self._n_owners + turn.owners
        return super().give(replace(turn, rows=own), points)


def answers_of(steps: Steps, reply: Reply, replicates: Sequence[Scope]) -> Answers:
    """Return what gives the owners' answers to an algorithm."""
    if steps.several_servers:
        return OwnAnswers(reply, replicates, steps.answer_size)
    kind = OnceAnswers if steps.answers_once else Answers
    return kind(reply, replicates, steps.answer_size, steps.local)


def put_in_besides(steps: Steps, state: Any, turn: Turn, answers: Answers) -> None:
    """Let an algorithm take what else this turn needs: answers that did not arrive in it."""
    also = steps.besides(state, turn)
    if also is not None:
        steps.put_in(state, also, answers.give(also, steps.query(state, also)))
