"""Data: real tables and synthetic ones, encoded, projected and split over the owners."""

from typing import Annotated

from asyncdp_sim.core.specification import FAMILY
from asyncdp_sim.data.dataset import SYNTHETIC, Dataset
from asyncdp_sim.data.fraud_data import FraudData
from asyncdp_sim.data.gaussian import GaussianData
from asyncdp_sim.data.hospital_data import HospitalData
from asyncdp_sim.data.lending_data import LendingData
from asyncdp_sim.data.tables.rows import Swap
from asyncdp_sim.data.tables.table_data import TableData

DataSpec = Annotated[LendingData | HospitalData | FraudData | TableData | GaussianData, FAMILY]
