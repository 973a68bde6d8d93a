"""Observers that ε is stated against: one file per kind."""

from typing import Annotated

from asyncdp_sim.core.specification import FAMILY_IN_TABLES
from asyncdp_sim.privacy.observers.kind import (
    AggregateObserver,
    Listener,
    ObserverKind,
    TranscriptObserver,
)
from asyncdp_sim.privacy.observers.model import ModelObserver
from asyncdp_sim.privacy.observers.node import NodeObserver

Observer = Annotated[
    TranscriptObserver | NodeObserver | ModelObserver | AggregateObserver, FAMILY_IN_TABLES
]
"""Every observer, named by its kind alone or by a table; a new one is added here."""
