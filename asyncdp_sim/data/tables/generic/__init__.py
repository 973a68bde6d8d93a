"""The user's own table, with an encoding for each column."""

from asyncdp_sim.data.tables.generic.table_data import TableData

__all__ = ["TableData"]
