"""What collection leaves in memory stays to the end: garbage collections need not go over it."""

import gc

gc.disable()  # while modules are read and tests collected: all of that stays


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()
