"""A small scenario that hides whole owners, in plain tables."""

from typing import Any

RECORDS = [10, 20, 40]
WHOLE_OWNERS: dict[str, Any] = {
    "schema": 1,
    "id": "whole-owners",
    "run": {"seed": 4, "updates": 8, "replicates": 3, "record_every": 2},
    "owners": {"count": 3, "records": RECORDS},
    "data": {"kind": "gaussian", "features": 2},
    "model": {"kind": "ridge", "regularisation": 0.1},
    "protocol": {"kind": "rounds"},
    "algorithm": {"kind": "parameter-server", "step": 0.2},
    "privacy": {
        "epsilon": 2.0, "delta": 1e-6, "mechanism": "gaussian", "unit": "owner",
        "sensitivity": {"kind": "clip", "bound": 0.5}, "budget": "horizon",
    },
}  # fmt: skip
