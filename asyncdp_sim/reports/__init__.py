"""Reports: one self-contained page of a result or a sweep."""

from asyncdp_sim.reports.page import LARGEST, page, write_report

__all__ = ["LARGEST", "page", "write_report"]
