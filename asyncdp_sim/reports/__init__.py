"""Reports: one page of a result or a sweep that stands on its own."""

from asyncdp_sim.reports.page import LARGEST, page, write_report

__all__ = ["LARGEST", "page", "write_report"]
