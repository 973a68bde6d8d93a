"""The reference: every field, kind and column, looked up, as pages, and as a JSON schema."""

from asyncdp_sim.reference.lookup import entries, look_up
from asyncdp_sim.reference.pages import page_text, pages, topics
from asyncdp_sim.reference.schema import schema_text, write_beside

__all__ = [
    "entries",
    "look_up",
    "page_text",
    "pages",
    "schema_text",
    "topics",
    "write_beside",
]
