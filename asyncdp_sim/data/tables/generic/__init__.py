"""Any table of one's own, each column by an encoding."""

from asyncdp_sim.data.tables.generic.table_data import TableData

__all__ = ["TableData"]
