"""Data: real tables and synthetic ones, encoded, projected and split over the owners."""

from typing import Annotated

from pydantic import Field

from asyncdp_sim.data.dataset import SYNTHETIC, Dataset, Source
from asyncdp_sim.data.fraud import FraudData
from asyncdp_sim.data.gaussian import GaussianData
from asyncdp_sim.data.generic import TableData
from asyncdp_sim.data.hospital import HospitalData
from asyncdp_sim.data.lending import LendingData
from asyncdp_sim.data.splitting import ByColumn
from asyncdp_sim.data.swap import Swap

DataSpec = Annotated[
    LendingData | HospitalData | FraudData | TableData | GaussianData, Field(discriminator="kind")
]

__all__ = [
    "SYNTHETIC",
    "ByColumn",
    "DataSpec",
    "Dataset",
    "FraudData",
    "GaussianData",
    "HospitalData",
    "LendingData",
    "Source",
    "Swap",
    "TableData",
]
