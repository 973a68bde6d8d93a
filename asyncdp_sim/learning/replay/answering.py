"""Owners' answers to an algorithm: what gives them, and whose streams they draw from."""

from collections.abc import Sequence
from typing import Any

from typing_extensions import override

from asyncdp_sim.learning.algorithms import CellRows, Indices, Steps, Turn
from asyncdp_sim.learning.answers import Answers, OnceAnswers
from asyncdp_sim.learning.reply import Reply
from asyncdp_sim.streams import Scope


class OwnAnswers(Answers):
    """The answers of owners that each have streams of their own, whoever answers before them.

    Row j of owner h's ``("client", h, "batch")`` and ``"noise"`` is that of its own j-th answer:
    with several servers, the order in which all owners answer is nobody's to say.
    """

    def __init__(
        self,
        reply: Reply,
        replicates: Sequence[Scope],
        size: int,
        rows_of: CellRows | None = None,
    ) -> None:
        self._n_owners = len(reply.noise.scale) if rows_of is None else rows_of.owners
        owners = range(1, self._n_owners + 1)
        streams = [s.within("client", h) for s in replicates for h in owners]
        super().__init__(reply, streams, size, rows_of=rows_of)

    @override
    def _stream_rows(self, turn: Turn) -> Indices:
        return turn.replicates * self._n_owners + turn.owners


def answers_of(
    steps: Steps, reply: Reply, replicates: Sequence[Scope], rows_of: CellRows | None = None
) -> Answers:
    """Return what gives the owners' answers to an algorithm, in one cell or several."""
    if steps.several_servers:
        return OwnAnswers(reply, replicates, steps.answer_size, rows_of)
    kind = OnceAnswers if steps.answers_once else Answers
    return kind(reply, replicates, steps.answer_size, steps.local, rows_of)


def put_in_besides(steps: Steps, state: Any, turn: Turn, answers: Answers) -> None:
    """Let an algorithm take what else this turn needs: answers that did not arrive in it."""
    also = steps.besides(state, turn)
    if also is not None:
        steps.put_in(state, also, answers.give(also, steps.query(state, also)))
