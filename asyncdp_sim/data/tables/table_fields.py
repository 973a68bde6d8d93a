"""The fields that all kinds of tabular data share, and what these say before a file is read."""

from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator
from typing_extensions import override

from asyncdp_sim.data.dataset import SYNTHETIC
from asyncdp_sim.data.kind import DataKind
from asyncdp_sim.data.splits import InOrder, Split, SplitKind
from asyncdp_sim.data.tables.held_out import HeldOutShare
from asyncdp_sim.data.tables.preprocessing import EigenUncentred, Preprocessing, WithOnes
from asyncdp_sim.errors import Fault
from asyncdp_sim.faults import faults_of
from asyncdp_sim.spec import about

Features = Annotated[int, Field(ge=1, le=100_000)]
PublicRecords = Annotated[int, Field(ge=0)]


class TableFields(DataKind):
    """The fields of a table of any kind."""

    path: Annotated[
        str | None,
        about("The table's file; absent, a synthetic twin is drawn", example="table.csv"),
    ] = None
    features: Annotated[
        Features, about("p: features that the encoded columns are projected to", "features")
    ]
    public_records: Annotated[
        PublicRecords,
        about(
            "The last rows of the table, known to the learner, which fit the projection; at least "
            "features, or 0 and more with preprocessing none",
            "records",
        ),
    ]
    public_overlap: Annotated[
        bool,
        about("Whether owners may hold public rows too (as published). Those records have ε = ∞"),
    ] = False
    preprocessing: Annotated[Preprocessing, about("What becomes of the encoded columns")] = (
        EigenUncentred()
    )
    split: Annotated[Split, about("Which rows each owner holds")] = InOrder()
    held_out: HeldOutShare = 0.0
    score_on: Annotated[
        Literal["participants", "all"],
        about(
            "Whose rows f, θ* and ψ are of: the owners' (participants), or, as published of "
            "hospitals, those of no owner and the public ones too (all). Only the owners train"
        ),
    ] = "participants"

    @property
    @override
    def file(self) -> str | None:
        return self.path

    @override
    def read_for(self, labels: int, *, intercept: bool) -> Self:
        if not intercept:
            return self
        return self.model_copy(
            update={"preprocessing": WithOnes(kind="with-ones", other=self.preprocessing)}
        )

    @property
    @override
    def has_columns(self) -> bool:
        return True

    @property
    @override
    def synthetic(self) -> bool:
        return self.file is None

    @property
    def public_file(self) -> str | None:
        """The file whose last rows are public, if any."""
        return self.path

    @property
    @override
    def holds_out(self) -> bool:
        return self.held_out > 0

    @property
    @override
    def origin(self) -> str:
        if self.path is None:
            return f"{SYNTHETIC} twin of {self.kind}"
        return f"{self.kind} table {Path(self.path).name}"

    @property
    @override
    def split_column(self) -> str | None:
        return self.split.of_column

    @property
    @override
    def says_records(self) -> bool:
        return self.split_column is not None or self.split.by_target

    @property
    def target_column(self) -> str:
        """The column of the file that the target is made of."""
        return ""

    @override
    def says_whose(self, column: str) -> bool:
        by_target = self.split.by_target and column == self.target_column
        return by_target or super().says_whose(column)

    @override
    def owner_names(self) -> tuple[str, ...]:
        column = self.split_column
        if column is None or self.path is None:
            return ()
        values = self._column(column)
        return self._by_column.named(values[: max(len(values) - self._held_back, 0)])

    @property
    def chosen_by(self) -> int | None:
        """The seed by which public rows are chosen; None where they are the last ones."""
        return None

    @property
    def _held_back(self) -> int:
        """How many of the file's last rows are no owner's."""
        return 0 if self.public_overlap else self.public_records

    @property
    def _by_column(self) -> SplitKind:
        """How the rows are split."""
        return self.split

    @abstractmethod
    def _column(self, name: str) -> Sequence[object]:
        """Read a raw column of the file, over all rows of the table, None where empty.

        Raises
        ------
        DataError
            If the file cannot be read, or has no such column.
        """

    @override
    def twin(self) -> Self | None:
        return self.model_copy(update={"path": None})

    @model_validator(mode="after")
    def _public_rows_span_the_features(self) -> Self:
        if self.preprocessing.fitted and self.public_records < self.features:
            allowed = (
                f"allowed is at least features = {self.features} "
                f'with preprocessing = "{self.preprocessing.kind}"'
            )
            raise faults_of([Fault("public_records", str(self.public_records), allowed)])
        return self
