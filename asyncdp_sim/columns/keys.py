"""Columns by which rows of several tables are found, and the domain of names."""

from asyncdp_sim.columns.entry import COUNT, NUMBER, TICKS, Column


def one_of(names: list[str]) -> str:
    """Return the domain of names."""
    return f"one of {', '.join(names)}"


REPLICATE = Column("replicate", "Which repetition of the scenario, from 1", domain=NUMBER)
OWNER = Column("owner", "The owner's number, the same in all tables", domain=NUMBER)
TICK = Column("tick", "When the update was made, as an integer", TICKS, COUNT)
EVENT_TICK = Column("tick", "When it happened, as an integer", TICKS, COUNT)
COORDINATE = Column("coordinate", "Which coordinate of the model, from 0", domain=COUNT)
