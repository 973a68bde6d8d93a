"""Hooks by which a network tells whoever trains a model inside it."""

from dataclasses import dataclass
from typing import Protocol


class Learning(Protocol):
    """Trains a model live, inside the simulation."""

    def read(self, owner: int, message: int, peer: int = 0) -> None:
        """Form the query for ``owner`` (from 1) from the model as it is now.

        ``peer`` says whose model, where there are several; see :data:`~.vocabulary.EXCHANGES`.
        """

    def apply(self, owner: int, message: int, peer: int = 0) -> None:
        """Use the owner's answer to the query of this message for the next update."""

    def update(self) -> None:
        """Note that the answers used since the last update make the next one."""

    def withholds(self, owner: int, message: int) -> bool:
        """Return whether the owner keeps its answer to this query, which is ready, to itself.

        Asked where the network says that owners may; :meth:`forget` follows if it does.
        """

    def reached(self) -> bool:
        """Return whether the model is now as it was wanted; asked after updates that may end it."""

    def server_step(self, server: int) -> None:
        """Note that one of several servers (from 1) makes its next step."""

    def broadcast(self) -> object:
        """Return what is needed later to form queries from the model as it is now."""

    def take(self, owner: int, message: int, sent: object) -> None:
        """Form the query of this message from what :meth:`broadcast` returned."""

    def again(self, message: int, former: int) -> None:
        """Ask in this message what the former one asked."""

    def forget(self, message: int) -> None:
        """Note that the query of this message will not be answered."""


@dataclass(frozen=True)
class Broadcast:
    """A query sent to all owners: its message number, when it was read, and of which model."""

    message: int
    read_tick: int
    read_k: int
    sent: object
