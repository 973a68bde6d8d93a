"""Delivery policy: an owner's reaction to what goes wrong on the way to the learner."""

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DeliveryPolicy:
    """The way in which all owners of a network deal with what goes wrong.

    Attributes
    ----------
    attempts : int
        Transmissions that an answer may have, ≥ 1.
    fresh : bool
        Whether each further one sends an answer computed anew.
    timeout_ticks : int or None
        How long the learner waits for a transmission of an answer.
    vanishes : bool
        Whether an owner that is offline when it should listen or send does not.
    locks : bool
        Whether the learner is locked until the exchange ends.
    newest_only : bool
        Whether answers to queries that are not the newest are turned away.
    withholds : bool
        Whether owners may keep answers to themselves.
    answer_ticks, request_ticks : int or None
        Airtime of an answer and of a request; None does not use the channel.
    """

    attempts: int = 1
    fresh: bool = False
    timeout_ticks: int | None = None
    vanishes: bool = False
    locks: bool = False
    newest_only: bool = False
    withholds: bool = False
    answer_ticks: int | None = None
    request_ticks: int | None = None


@dataclass(frozen=True, slots=True)
class LostMessages:
    """For each message of a kind in turn, whether it is lost; None where none ever is."""

    request: Iterator[bool] | None = None
    query: Iterator[bool] | None = None
    answer: Iterator[bool] | None = None
    acknowledgement: Iterator[bool] | None = None
