"""The processes of one test run share scores; what needs them all comes last."""

import os

import pytest

from . import shared


@pytest.fixture(scope="session", autouse=True)
def _place_of_scores(tmp_path_factory):
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared.place = tmp_path_factory.getbasetemp().parent


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: item.path.name == "test_spread.py")
