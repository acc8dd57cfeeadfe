"""Fixtures of the tests of the CUDA backend."""

import gc

import pytest


@pytest.fixture(scope="module", autouse=True)
def _few_objects_to_collect():
    """Leave what is there already out of collections: tests of memory collect again and again."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()
