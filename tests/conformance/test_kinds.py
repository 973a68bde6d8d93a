"""A member of a family cannot leave open what the rest of the house asks of it."""

from abc import abstractmethod
from typing import Annotated, ClassVar, Literal

import pytest
from pydantic import Field

from asyncdp_sim.core.specification import Variant, kind_of, members


class Family(Variant):
    """A family with one trait and one method."""

    loud: ClassVar[bool]

    @abstractmethod
    def speak(self) -> str:
        """Say something."""


class Dog(Family):
    """A whole member."""

    loud = True
    kind: Literal["dog"] = "dog"

    def speak(self) -> str:
        return "wow"


def test_a_whole_member_is_made():
    assert Dog().speak() == "wow"
    assert (members(Dog), members(Annotated[Dog, Field()])) == ((Dog,), (Dog,))
    assert kind_of(Dog) == "dog"


def test_a_member_that_leaves_something_open_fails_when_it_is_defined():
    with pytest.raises(TypeError, match="Cat leaves open: loud, speak"):

        class Cat(Family):
            kind: Literal["cat"] = "cat"

    class Sized(Family):
        size: ClassVar[int]

    with pytest.raises(TypeError, match="Puppy leaves open: size"):

        class Puppy(Sized, Dog):
            kind: Literal["puppy"] = "puppy"
