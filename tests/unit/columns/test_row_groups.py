"""Events are written a row group at a time, and the file is that of all of them at once."""

import numpy as np
import pyarrow.parquet as pq
import pytest

from asyncdp_sim.core.streams import Streams
from asyncdp_sim.network import Network, simulate
from asyncdp_sim.results.columns import arrow_table, event_groups
from asyncdp_sim.results.write import PLAIN, write_into

NETWORK = Network(answers_allowed=(9, 9), updates=12, compute={"kind": "constant", "value": 0.1})
NUMBERS = (1, 2, 5)


@pytest.fixture(scope="module")
def traces():
    streams = Streams(3)
    return [simulate(NETWORK, streams.within("replicate", n), events=True) for n in NUMBERS]


def table(columns):
    return arrow_table("events", columns, {})


@pytest.mark.parametrize("rows", [1, 7, 64, 10**6])
def test_groups_one_after_another_are_the_whole_table(rows, traces):
    groups = [table(each) for each in event_groups(traces, NUMBERS, rows)]
    whole = table(next(event_groups(traces, NUMBERS)))
    assert [len(each) for each in groups[:-1]] == [rows] * (len(groups) - 1)
    assert sum(map(len, groups)) == len(whole) > 100
    first = 0
    for each in groups:
        assert each.equals(whole.slice(first, len(each)))
        first += len(each)


def test_a_run_without_events_has_one_group_without_rows(traces):
    for each in traces:
        assert each.events is not None
    empty = simulate(
        NETWORK.model_copy(update={"until": 1e-9}), Streams(3).within("replicate", 1), events=True
    )
    [only] = event_groups([empty], [1])
    assert len(only["tick"]) == 0


def test_a_file_of_groups_has_the_bytes_of_the_whole(traces, tmp_path):
    many = traces * 20
    numbers = range(1, 1 + len(many))
    for rows in (1000, 10**6):
        write_into(tmp_path, "events.parquet", event_groups(many, numbers, rows), {})
        whole = tmp_path / "whole.parquet"
        pq.write_table(
            table(next(event_groups(many, numbers))), whole, compression="zstd", row_group_size=rows
        )
        assert (tmp_path / "events.parquet").read_bytes() == whole.read_bytes()


@pytest.mark.parametrize(("rows", "how"), [(3, "none"), (PLAIN // 8, "zstd")])
def test_a_table_that_is_at_hand_has_the_same_bytes(rows, how, tmp_path):
    columns = {"coordinate": np.arange(rows, dtype=np.int32), "theta": np.array([np.nan] * rows)}
    write_into(tmp_path, "optimum.parquet", columns, {"a": "b"})
    table = arrow_table("optimum", columns, {"a": "b"})
    pq.write_table(table, tmp_path / "x.parquet", compression=how)
    assert (tmp_path / "optimum.parquet").read_bytes() == (tmp_path / "x.parquet").read_bytes()
    assert pq.read_table(tmp_path / "optimum.parquet").equals(table)


def test_a_small_table_is_little_larger_than_compressed(traces, tmp_path):
    columns = next(event_groups(traces, NUMBERS))
    write_into(tmp_path, "events.parquet", columns, {})
    pq.write_table(table(columns), tmp_path / "packed.parquet", compression="zstd")
    sizes = [(tmp_path / f"{name}.parquet").stat().st_size for name in ("events", "packed")]
    assert sizes[0] < 1.2 * sizes[1], sizes
