"""Small tables, written to files, as specifications of data."""

from asyncdp_sim.data import TableData


def of_frame(folder, frame, name="t.csv", **fields):
    """Write a table; return its specification: of y by one column as it is, if not said else."""
    path = str(folder / name)
    if name.endswith("parquet"):
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False)
    return TableData(path=path, **{"target": "y", "features": 1, "preprocessing": "none"} | fields)
