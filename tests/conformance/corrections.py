"""What is corrected in the official suite while it runs: a pytest plugin.

1. `test_can_cast` looks up pairs of dtypes in a table and compares what it finds with the target.
   For a pair that is not in the table it finds None, and ``None == numpy.dtype("float64")`` is
   True, since NumPy reads None as its default dtype. So complex64 would have to be castable to
   float64, of which the promotion rules know nothing. Here a missing pair is equal to nothing.
2. `test_remainder` is skipped by the suite as "flaky". Here it runs.

Nothing is skipped, and no failure is expected.
"""

import sys

MISSING = object()


def pytest_collection_modifyitems(items):
    helpers = sys.modules["array_api_tests.dtype_helpers"]
    helpers.EqualityMapping.get = _get
    for item in items:
        for node in item.listchain():
            node.own_markers[:] = [m for m in node.own_markers if not _flaky(m)]


def _get(self, key, default=MISSING):
    try:
        return self[key]
    except KeyError:
        return default


def _flaky(mark):
    return mark.name == "skip" and mark.kwargs.get("reason") == "flaky"
