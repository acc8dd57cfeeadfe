"""`explain`: the steps of calls, with their layouts, bytes and kernels."""

import pickle

import pytest

import tensorlayout as tl
from tensorlayout.layout import Layout

pytestmark = pytest.mark.usefixtures("device")

TILES = "{1,0:T(2,2)}"


def rows(result):
    """Return the facts that a test compares: the call's name, and kind and bytes of each step."""
    return [
        (call.name, [(s.kind, s.bytes_read, s.bytes_written) for s in call.steps])
        for call in result
    ]


def test_one_step_of_each_call():
    x = tl.ones((2, 3), dtype=tl.float32)
    assert rows(tl.explain(tl.concat, [x, x])) == [("concat", [("join", 48, 48)])]
    result = tl.explain(lambda: tl.reshape(x + x.T.T, (6,)))
    assert rows(result) == [
        ("T", [("view", 0, 0)]),
        ("T", [("view", 0, 0)]),
        ("add", [("elementwise", 48, 24)]),
        ("reshape", [("view", 0, 0)]),
    ]


def test_tiled_operands_are_copied():
    x = tl.to_layout(tl.ones((4, 6), dtype=tl.int16), TILES)
    [call] = tl.explain(tl.cumulative_sum, x, axis=1, dtype=tl.int16)
    assert [step.kind for step in call.steps] == ["copy", "scan"]
    assert call.steps[0].inputs[0].layout == x.layout
    assert call.steps[0].result.layout == call.steps[1].inputs[0].layout == Layout.row_major((4, 6))


def test_a_destination_without_strides_is_written_from_a_copy():
    x = tl.to_layout(tl.ones((4, 6), dtype=tl.int16), TILES)
    [call] = tl.explain(x.__setitem__, tl.asarray([3, 1]), 3)
    kinds = [step.kind for step in call.steps]
    assert kinds == ["copy", "scatter", "assign"]  # what is not written is kept
    assert call.steps[-1].result.layout == x.layout


def test_extremes_of_truths_are_those_of_bytes():
    calls = tl.explain(tl.nanmax, tl.ones((10, 10), dtype=tl.bool))
    assert [(step.kind, step.bytes_written) for call in calls for step in call.steps] == [
        ("copy", 100),
        ("reduce", 1),
        ("copy", 1),
    ]


def test_a_result_that_is_made_before_it_is_written():
    x, out = tl.ones((3, 4)), tl.zeros((4,))
    total = tl.fuse(lambda x: tl.sum(x + 1, axis=0))
    [call] = tl.explain(total, x, out=out)
    assert [(step.kind, step.bytes_written) for step in call.steps] == [
        ("fuse", 32),
        ("assign", 32),
    ]
    assert out.tolist() == [6.0] * 4


def test_several_results():
    x, parts = tl.ones((4, 6), dtype=tl.float32), [1, 3]
    *_, call = tl.explain(tl.directml.split, x, parts, 0)
    assert rows([call]) == [("SPLIT", [("split", 96, 96)])]
    assert call.steps[0].inputs == (x.spec,)


def test_an_explanation_is_pickled():
    result = tl.explain(tl.exp, tl.ones(3))
    assert pickle.loads(pickle.dumps(result)) == result


def test_memory_that_is_only_allocated_counts_no_bytes():
    assert rows(tl.explain(tl.empty, (3, 4))) == [("empty", [("create", 0, 0)])]


def test_errors_are_those_of_the_call():
    with pytest.raises(ValueError, match="concat"):
        tl.explain(tl.concat, [tl.ones(2), tl.ones((2, 2))])
    assert repr(tl.explain(lambda: None)) == "no operation"


def test_a_trace_around_it_sees_nothing():
    with tl.trace() as seen:
        tl.explain(tl.exp, tl.ones(3))
    assert [record.name for record in seen] == ["ones"]


def test_kernels_that_were_launched():
    x = tl.ones((2, 3), dtype=tl.float32, device=tl.default_device())
    [call] = tl.explain(tl.concat, [x, x])
    launched = ("join_parts",) if x.device.kind == "cuda" else ()
    assert call.kernels == launched
    assert str(call).count("launched: join_parts") == len(launched)
