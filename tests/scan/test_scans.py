"""Running sums and products, and differences: long lines, rounding, and no copies.

Values in every layout and dtype: `ops/reducing_cases.py`; errors: `project/test_errors.py`.
"""

import numpy as np
import pytest
from reducing_oracle import SCANS, scanned_by_numpy
from tensors import BFLOAT16, as_dtype, asarray, close, host, same

import tensorlayout as tl

pytestmark = pytest.mark.usefixtures("device")


@pytest.mark.parametrize("name", SCANS)
@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
@pytest.mark.parametrize("shape", [(40, 1100), (2, 30000)])
def test_long_lines(name, dtype, shape):
    values = np.random.default_rng(3).integers(-1, 2, shape) * 0.5 + 1
    array = values.astype(as_dtype(dtype))
    for order in ((1, 0), (0, 1)):
        x = asarray(array, layout=order)
        for y, b in ((x, array), (x.T, array.T)):
            expected = scanned_by_numpy(name, b, 1, False)
            close(getattr(tl, name)(y, axis=1), expected, f"{order} {y.shape}", ulps=1)


def test_each_sum_is_rounded_once():
    same(
        tl.cumulative_sum(tl.asarray([2.0**24, 1, 1, 1], dtype=tl.float32)),
        np.array([2**24, 2**24, 2**24 + 2, 2**24 + 4], np.float32),
    )
    same(
        tl.cumulative_sum(tl.asarray([256, 1, 1, 1], dtype=tl.bfloat16)),
        np.array([256, 256, 258, 260], BFLOAT16),
    )
    tenth = tl.full((50000,), 0.1, dtype=tl.float32)
    exact = np.arange(1, 50001) * float(np.float32(0.1))
    np.testing.assert_allclose(host(tl.cumulative_sum(tenth)), exact, 2.0**-24 * 1.01)


def test_one_record_a_call_and_no_copy():
    x = asarray(np.ones((3, 4, 5), np.float32), layout=(1, 0, 2))
    with tl.trace() as seen:
        tl.cumulative_sum(x, axis=1)
        tl.cumulative_prod(x, axis=2, include_initial=True)
    assert [(r.name, r.kind) for r in seen] == [
        ("cumulative_sum", "compute"),
        ("cumulative_prod", "compute"),
    ]
    assert seen.bytes_copied == 0


def test_differences_with_more_of_another_dtype():
    x = tl.asarray([[1, 4], [9, 16]], layout="WH")
    same(tl.diff(x, prepend=tl.asarray([[0.5], [0.5]])), np.array([[0.5, 3], [8.5, 7]]))
