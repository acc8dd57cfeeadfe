"""Traces: what each operation did, to which layouts, with how many bytes; as HTML and as JSON."""

import _thread
import contextvars
import json
import re
import threading
import time
from html.parser import HTMLParser

import numpy as np
import pytest

import tensorlayout as tl
from tensorlayout import Layout
from tensorlayout.functions import dispatch
from tensorlayout.tracing.table import fold_repeats

pytestmark = pytest.mark.usefixtures("device")


def test_views_runs_and_layout_conversions_are_told_apart():
    x = tl.zeros((3, 4), dtype=tl.float32)
    with tl.trace() as seen:
        y = tl.permute_dims(x, (1, 0))
        z = y + y
        tl.to_layout(z, (1, 0))
        tl.to_layout(x, (1, 0), copy=True)
        x[0]
    assert [(r.name, r.kind) for r in seen] == [
        ("permute_dims", "view"),
        ("add", "compute"),
        ("to_layout", "relayout"),
        ("to_layout", "copy"),
        ("__getitem__", "view"),
    ]


def test_memory_that_is_left_as_it_is_was_not_written():
    with tl.trace() as seen:
        x = tl.empty((3, 4), dtype=tl.int32)
        tl.empty_like(x)
        tl.zeros_like(x)
    assert [record.bytes_written for record in seen] == [0, 0, 48]
    assert [record.kind for record in seen] == ["compute"] * 3


@pytest.mark.parametrize(
    ("call", "copied"),
    [
        (lambda x: tl.reshape(x, (6,)), 0),
        (lambda x: tl.reshape(x.T, (6,)), 48),
        (lambda x: tl.concat([x, x]), 96),
        (lambda x: tl.astype(x, tl.float32), 24),
        (lambda x: tl.flip(x), 0),
        (lambda x: x.T * 2, 0),
    ],
    ids=["reshape", "reshape of a transpose", "concat", "astype", "flip", "multiply"],
)
def test_what_operations_copy_is_recorded(call, copied):
    x = tl.zeros((2, 3), dtype=tl.float64)
    with tl.trace() as seen:
        call(x)
    assert seen.bytes_copied == copied


def test_nothing_is_read_of_no_elements_wherever_they_begin():
    layouts = Layout.parse("(0,3):(3,1)+6"), Layout.parse("(3,4):(9,-1)+10")
    for layout, octets in zip(layouts, (0, 48), strict=True):
        x = tl.from_storage(np.zeros(40, "f4"), layout, dtype=tl.float32)
        with tl.trace() as seen:
            tl.trunc(x)
        assert [record.bytes_read for record in seen] == [octets]


def test_an_assignment_is_recorded_with_what_was_written():
    x, y = tl.zeros((4, 4), dtype=tl.int16), tl.ones((2, 2), dtype=tl.int16)
    with tl.trace() as seen:
        x[::2, ::2] = y
    view, write = seen
    assert view.kind == "view"
    assert (write.name, write.kind, write.bytes_read, write.bytes_written) == (
        "__setitem__",
        "copy",
        8,
        8,
    )
    assert write.output == tl.Layout((2, 2), (8, 2))


def test_blocks_nest_and_the_innermost_records():
    x = tl.zeros((2,))
    with tl.trace() as outer:
        x + 1
        with tl.trace() as inner:
            x + 2
        x + 3
    assert (len(outer), len(inner)) == (2, 1)


def test_other_threads_are_not_recorded():
    x = tl.zeros((2,))
    with tl.trace() as seen:
        thread = threading.Thread(target=lambda: x + 1)
        thread.start()
        thread.join()
    assert len(seen) == 0


def test_off_means_no_observer_even_after_an_error():
    def failing():
        with tl.trace():
            tl.zeros((2,)) + tl.zeros((3,))

    with pytest.raises(ValueError, match="could not be broadcast"):
        failing()
    assert not dispatch.watched


def without_kernels(text):
    """The lines of a table; on CUDA kernels stand below what launched them."""
    return [line for line in text.splitlines() if not line.startswith("  ")]


def test_the_table_has_a_line_for_each_record_and_one_of_totals():
    x = tl.zeros((2, 3), dtype=tl.float32)
    with tl.trace() as seen:
        tl.to_layout(x, "WH")
    head, line, totals = without_kernels(str(seen))
    words = ["line", "operation", "kind", "dtype", "read", "written", "us", "GB/s"]
    assert head.split()[:8] == words
    assert head.split()[-1] == "layouts"  # on a GPU, times of the device are in between
    assert "test_tracing.py:" in line.split()[0]
    assert line.split()[1:6] == ["to_layout", "relayout", "float32", "24", "24"]
    assert line.endswith("  (2,3) -> F (2,3)")
    begin = "1 operation (1 relayout): 24 bytes read, 24 written (24 in copies and relayouts), "
    assert totals.startswith(begin)
    assert repr(seen) == str(seen)


def rows(seen):
    """Return operation, kind, bytes read and layouts of each row of a table."""
    result = []
    for line in without_kernels(str(seen))[1:-1]:
        text = line.replace(" \N{MULTIPLICATION SIGN} ", " x ")
        _, operation, kind, _, read, *_, layouts = re.split("  +", text)
        result.append((operation, kind, int(read), layouts))
    return result


def test_equal_records_of_a_line_are_one_row():
    pictures = [tl.zeros((4, 5, 3), dtype=tl.int8) for _ in range(26)]
    with tl.trace() as seen:
        planes = [tl.permute_dims(x, (2, 0, 1)) for x in pictures]
        batch = tl.stack(planes)
        batch + batch
        batch + batch
    assert len(seen) == 26 + 26 + 1 + 2
    assert rows(seen) == [
        ("26 x permute_dims", "view", 0, "(4,5,3) -> HWC (3,4,5)"),
        ("26 x stack", "view", 0, "HWC (3,4,5) -> NHWC (1,3,4,5)"),
        ("stack", "copy", 1560, "26 x NHWC (1,3,4,5) -> NHWC (26,3,4,5)"),
        # The same call in another line is another row.
        ("add", "compute", 3120, "NHWC (26,3,4,5), NHWC (26,3,4,5) -> NHWC (26,3,4,5)"),
        ("add", "compute", 3120, "NHWC (26,3,4,5), NHWC (26,3,4,5) -> NHWC (26,3,4,5)"),
    ]


def test_the_body_of_a_loop_is_a_row_for_each_of_its_calls():
    x = tl.zeros((5, 2, 3), dtype=tl.float32)
    with tl.trace() as seen:
        x * 2
        for n in range(5):
            y = x[n]
            y = y * 2
            tl.to_layout(y, "F")
        tl.exp(x)
    assert rows(seen) == [
        ("multiply", "compute", 120, "(5,2,3) -> (5,2,3)"),
        ("5 x __getitem__", "view", 0, "(5,2,3) -> (2,3)"),
        ("5 x multiply", "compute", 120, "(2,3) -> (2,3)"),
        ("5 x to_layout", "relayout", 120, "(2,3) -> F (2,3)"),
        ("exp", "compute", 120, "(5,2,3) -> (5,2,3)"),
    ]
    assert sum(record.bytes_read for record in seen) == 480
    assert [record.output.offset for record in seen.filter("view")] == [0, 6, 12, 18, 24]


def test_what_repeats_is_folded():
    def folded(letters):
        groups = fold_repeats(letters, key=str.lower)
        assert sorted(letter for group in groups for letter in group) == sorted(letters)
        return "".join(f"{len(group)}{group[0]}" for group in groups)

    assert folded("") == ""
    assert folded("abc") == "1a1b1c"
    assert folded("aaab") == "3a1b"
    assert folded("aAbab") == "2a1b1a1b"
    assert folded("xababa") == "1x2a2b1a"
    assert folded("aabaabaab") == "6a3b"
    assert folded("abcdefghijklmnop" * 2) == "".join(f"2{c}" for c in "abcdefghijklmnop")
    assert folded("abcdefghijklmnopq" * 2) == "".join(f"1{c}" for c in "abcdefghijklmnopq" * 2)


def test_long_texts_are_cut_in_rows_and_whole_in_records():
    @tl.fuse
    def normalise(x):
        return tl.exp(tl.sin(tl.cos(tl.tan(tl.sqrt(abs(x))))))

    layout = "{2,1,0:T(8,128)(2,1)}"
    x = tl.zeros((2000, 3000, 5), dtype=tl.bfloat16, layout=layout)[:16, :16]
    name = "/home/ada/a/very/long/path/of/a/program.py"
    with tl.trace() as seen:
        exec(compile("y = normalise(x[:8])", name, "exec"), {"normalise": normalise, "x": x})
    *_, line, _ = without_kernels(str(seen))
    assert line.split("  ")[0] == "…y/long/path/of/a/program.py:1"
    assert "normalise(abs, s… cos, sin, exp)" in line
    assert seen[-1].called == "normalise(abs, sqrt, tan, cos, sin, exp)"
    assert seen[-1].where == f"{name}:1"
    assert seen[-1].layouts in seen.to_html().replace("&gt;", ">")
    assert line.endswith("  (8,16,5):(384000,8*256+2*1,2) -> (8,16,5)")


@pytest.mark.cpu
def test_the_prompt_shows_the_beginning_of_a_long_table():
    with tl.trace() as seen:
        for size in range(1, 302):
            tl.zeros((size,), device="cpu")
    lines = repr(seen).split("\n")
    assert lines[-2:] == ["… and 103 more lines; print() shows all", seen.totals]
    assert (len(lines), len(str(seen).split("\n"))) == (201, 303)


def run(code, **space):
    with tl.trace() as seen:
        exec(compile(code, "/home/ada/<b>page</b>.py", "exec"), space)
    return seen


@pytest.fixture
def seen():
    x = tl.zeros((2, 3), dtype=tl.float32, layout="{1,0:T(2,2)}")
    return run("y = tl.reshape(x, (6,))\nz = y + 1\n", tl=tl, x=x)


class Page(HTMLParser):
    """The tags that are open, those that have been, and the text outside of styles."""

    VOID = ("meta", "br")

    def __init__(self, text):
        super().__init__()
        self.stack, self.tags, self.attributes, self.words = [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in self.VOID:
            self.stack.append(tag)

    def handle_endtag(self, tag):
        assert self.stack.pop() == tag

    def handle_data(self, data):
        if "style" not in self.stack:
            self.words.append(data)


def test_a_file_whose_name_is_not_utf_8():
    with tl.trace() as seen:
        exec(compile("tl.zeros((2, 3)).copy()", "b\udcff\ud800é.py", "exec"), {"tl": tl})
    for text in (seen.to_html(), str(seen), str(seen.by_line()), seen[0].where):
        assert "b\\udcff\\ud800é.py:1" in text.encode("utf-8").decode("utf-8")
    assert seen.filter(file="\ud800é.py")[0].file == "b\udcff\ud800é.py"


def test_a_call_without_python_frames_is_a_copy_without_lines():
    x = tl.ones((3, 4)).T
    with tl.trace() as seen:
        context = contextvars.copy_context()
        # No frame of the threading module: the record's stack is empty.
        _thread.start_new_thread(context.run, (tl.reshape, x, (12,)))
        for _ in range(60_000):
            if len(seen):
                break
            time.sleep(0.001)
    assert seen[0].stack == ()
    assert [record.name for record in seen.copies] == ["reshape"]
    assert not seen.filter(file=".py")
    assert not seen.filter(line=1)


def test_a_page_is_whole_and_needs_nothing_else(seen):
    text = seen.to_html()
    page = Page(text)
    assert page.stack == []
    assert not {"script", "link", "img", "iframe"} & set(page.tags)
    assert not {"src", "href", "onclick"} & {name for name, _ in page.attributes}
    assert "//" not in text.replace("<!DOCTYPE html>", "")
    assert "@import" not in text
    assert "url(" not in text
    assert ("name", "viewport") in page.attributes
    assert "prefers-color-scheme: dark" in text


def test_a_page_says_what_the_trace_says_and_escapes_names(seen):
    said = " ".join(Page(seen.to_html()).words)
    for words in (
        "2 operations (1 relayout, 1 compute)",
        "/home/ada/<b>page</b>.py:1",
        "/home/ada/<b>page</b>.py:2",
        "(2,3):(2,2*4+2*1) order=(1,0) -> (6,):(1,)",
        "24 bytes read, 24 written",
    ):
        assert words in said, words
    assert said.count("/home/ada/<b>page</b>.py:1") == 2  # by line, and in order
    assert said.index("page</b>.py:1") < said.index("page</b>.py:2")


def test_a_page_folds_exact_repeats():
    x = tl.zeros((2, 3), dtype=tl.float32)
    with tl.trace() as seen:
        for _ in range(4):
            x + 1
        [x[n] for n in range(2)]  # of different offsets
    text = seen.to_html()
    assert "4 \N{MULTIPLICATION SIGN} add" in text
    assert "96 bytes read, 96 written" in text
    assert text.count("</b> __getitem__") == 4  # by line, and in order
    for words in ("(2,3):(3,1) -> (3,):(1,)<", "(2,3):(3,1) -> (3,):(1,)+3<"):
        assert text.replace("&gt;", ">").count(words) == 2


def test_an_empty_trace_has_a_page():
    assert Page(tl.Trace().to_html()).stack == []
    assert json.loads(tl.Trace().to_perfetto())["traceEvents"] == []


def test_perfetto_events(seen):
    result = json.loads(seen.to_perfetto())
    assert result.keys() == {"traceEvents", "displayTimeUnit"}
    for event, record in zip(result["traceEvents"], seen, strict=True):
        assert event["name"] == record.name
        assert event["cat"] == record.kind
        assert event["args"]["line"] == record.where
        assert (event["ph"], event["dur"]) == ("X", record.seconds * 1e6)
        assert (event["pid"], event["tid"]) == (0, seen[0].thread)
    times = [event["ts"] for event in result["traceEvents"]]
    assert times[0] == 0
    assert times[1] >= result["traceEvents"][0]["dur"]
