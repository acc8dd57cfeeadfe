"""A trace as a page of HTML and as JSON for Perfetto."""

import json
from html.parser import HTMLParser

import pytest

import tensorlayout as tl


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


def test_an_empty_trace_has_a_page():
    assert Page(tl.Trace().to_html()).stack == []
    assert json.loads(tl.Trace().to_perfetto())["traceEvents"] == []


def test_perfetto_events(seen):
    found = json.loads(seen.to_perfetto())
    assert found.keys() == {"traceEvents", "displayTimeUnit"}
    for event, record in zip(found["traceEvents"], seen, strict=True):
        assert event["name"] == record.name
        assert event["cat"] == record.kind
        assert event["args"]["line"] == record.where
        assert (event["ph"], event["dur"]) == ("X", record.seconds * 1e6)
        assert (event["pid"], event["tid"]) == (0, seen[0].thread)
    times = [event["ts"] for event in found["traceEvents"]]
    assert times[0] == 0
    assert times[1] >= found["traceEvents"][0]["dur"]
