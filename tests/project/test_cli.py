"""The command line: `show`, `info`, the way in, and every refusal; the demo has its own tests."""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import tensorlayout as tl
from tensorlayout import Layout, devices
from tensorlayout.cli import info, main, make_parser, show

_TABLES = "slots by index", "memory, "  # how they begin
POSIX = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a POSIX system")


def run(*arguments, cwd, **streams):
    """The real entry point, in a process of its own, with the package that is under test."""
    roots = [str(Path(tl.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, roots))}
    command = [sys.executable, "-m", "tensorlayout", *arguments]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams}
    return subprocess.run(
        command, cwd=cwd, env=environment, text=True, timeout=60, check=False, **streams
    )


def refusal(capsys, *arguments):
    """The one line of stderr with which a command ends."""
    try:
        ended = main(arguments)
    except SystemExit as end:  # from argparse
        ended = end.code
    assert ended == 2
    complaint = capsys.readouterr().err
    assert complaint.count("\n") == 1
    assert "Traceback" not in complaint
    return complaint


def facts(said):
    return dict(re.findall(r"^(\w[\w ]*?)  +(.*)$", said, re.MULTILINE))


def test_arguments(capsys):
    for arguments in ([], ["nonsense"], ["show"], ["demo", "--nonsense"]):
        assert "--help" in refusal(capsys, *arguments)


# The arguments of `show`, and what its complaint says.
REFUSED = """
(2,3):(3 | layout text: must have the form
(2,3):(3,1) 2,3 | already has a shape
NHWC 1,2 | names 4 dimensions (N, C, H, W), the shape has 2
NHWC 1,2,x,3 | a shape is sizes with commas between
f32[2 | shape text: expected ']' or ',', got the end of the text, at column 6
strides=3,1 | needs sizes, as in sizes=1,3,4,4, got 'strides=3,1'
sizes=2 sizes=3 | sizes occurs twice, last in 'sizes=3'
sizes=2 stride=1 | has sizes, strides, type, total, alignment, got 'stride=1'
sizes=2,3 strides=1 | Strides must be as many as Sizes, 2, got 1, in 'sizes=2,3
sizes=2 type=FLOAT33 | DataType must be one of FLOAT32, FLOAT16
sizes=2 total=4,5 | total is a number of bytes, got 'total=4,5'
"""


def test_show_refuses(capsys):
    for row in REFUSED.strip().splitlines():
        arguments, complaint = row.split(" | ")
        assert complaint in refusal(capsys, "show", *arguments.split()), arguments


class TestShowXla:
    def test_facts(self):
        said = show.describe_layout_text("f32[3,5]{1,0:T(2,2)L(32)S(1)}", width=100)
        assert facts(said) == {
            "shape": "f32[3,5]{1,0:T(2,2)L(32)S(1)}",
            "element type": "f32, float32, stored in 32 bits",
            "sizes": "(3, 5), 15 elements",
            "order": "minor to major (1, 0); in JAX major_to_minor=(0, 1)",
            "tiles": "(2,2) on (3, 5) make (2, 3, 2, 2)",
            "tail": "slots up to a multiple of 32",
            "memory space": "1",
            "slots": "32, of which 17 padding",
            "bytes": "128; the elements alone 60: 2.13 times",
            "layout": "(3,5):(2*12+2*2,3*4+2*1)",
        }
        assert said.splitlines()[-4:] == [
            "memory, 32 slots (A is the first element):",
            "Offset: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28"
            " 29 30 31",
            "Value:  A B F G C D H I E x  J  x  K  L  x  x  M  N  x  x  O  x  x  x  x  x  x  x  x"
            "  x  x  x",
            "x: padding, which holds anything",
        ]


class TestShowDirectml:
    def test_facts(self):
        said = show.describe_layout_text(
            "type=FLOAT32 sizes=1,3,2,2 total=64 strides=14,1,7,3", width=100
        )
        assert facts(said) == {
            "descriptor": "sizes=1,3,2,2 strides=14,1,7,3 type=FLOAT32",
            "data type": "FLOAT32, float32, 4 bytes an element",
            "sizes": "(1, 3, 2, 2), 12 elements",
            "strides": "(14, 1, 7, 3), in elements",
            "order": "minor to major (1, 3, 2, 0): NCHW stored as NHWC",
            "slots": "13 slots, 1 of them without an element",
            "broadcast": "none",
            "minimum size": "52 bytes",
            "total size": "64 bytes, 12 more than the minimum",
            "layout": "(1,3,2,2):(14,1,7,3)",
        }
        assert said.splitlines()[-4:] == [
            "memory, 13 slots (A is the first element):",
            "Offset: 0 1 2 3 4 5 6 7 8 9 10 11 12",
            "Value:  A E I B F J x C G K  D  H  L",
            "x: no element of this layout",
        ]


# What is shown, and a line of it.
LINES = """
sizes=2,3 | strides (3, 1), in elements: packed, as none are given
sizes=2,3 | data type not given
strides=5,1 sizes=2,3 | minimum size bytes: 8 of UINT8, 16 of FLOAT16, 32 of FLOAT32, 64 of FLOAT64
sizes=(2,3), strides=[0, 1] | broadcast dimension 0 (stride 0): elements share slots
sizes=3,3 strides=1,1 | broadcast none, but elements share slots
sizes=3 type=DML_TENSOR_DATA_TYPE_FLOAT16 | minimum size 8 bytes
sizes=3 type=10 | data type UINT64, uint64, 8 bytes an element
sizes=3 type=INT4 | data type INT4, 2 elements in a byte
sizes=3 type=INT8 alignment=16 | alignment offsets are multiples of 16 bytes
sizes=1,2,3,4,5 | order minor to major (4, 3, 2, 1, 0): NCDHW stored as NCDHW
(0,3):(3,1) | memory: no slots
(0,3):(3,1) | required size 0 slots: there are no elements
(4,5):(10,2) | padding none; 19 slots between the elements belong to others
(3,3):(1,1) | flags overlapping
(4,5):(-5,-1)+19 | flags packed, covers a block
(3,5):(2*12+2*2,3*4+2*1) | parts (2*12+2*2, 3*4+2*1), extent*stride in elements
(2,3):(1,2) | 1: 1 3 5
(2,3):(0,1) | elements share slots: a slot shows the first of its elements
(1000000,1000000):(0,1) | *: shared by several elements
(3000000000,3000000000):(3000000000,1) | order minor to major (1, 0)
NHWC 1,2,2,3 | Value: A G B H C I D J E K F L
NHWC 1,2,2,3 | layout (1,2,2,3):(12,1,6,2), NHWC
(2,3):(1,2) | layout (2,3):(1,2), F
(2,3):(3,1) | layout (2,3):(3,1)
f32[2,3,4,5]{1,3,2,0} | layout (2,3,4,5):(60,1,15,3), NHWC
sizes=2,3,4,5 strides=60,1,15,3 | layout (2,3,4,5):(60,1,15,3), NHWC
s4[1000,1]{1,0:T(8,128)E(4)} | bytes 64000; the elements alone 500: 128 times
f32[2,3,4]{2,1,0:T(*,2,3)} | slots 36, of which 12 padding
(f32[2], (token[], bf16[5,9]{1,0:T(8,128)})) | part 1,1 bf16[5,9]{1,0:T(8,128)}, 2048 bytes
(f32[2], (token[], bf16[5,9]{1,0:T(8,128)})) | bytes 2056 in arrays
() | bytes 0 in arrays
token[] | shape token[]
f32[?,3] | shape f32[?,3]{1,0}
u8[0,3] | memory: no slots
pred[] | Value: A
"""


class TestShow:
    def test_facts(self):
        said = show.describe_layout_text("(2,3):(1,3)+1 padded=(3,5) padding=ZERO", width=100)
        assert facts(said) == {
            "layout": "(2,3):(1,3)+1 padded=(3,5) padding=ZERO",
            "shape": "(2, 3), 6 elements",
            "strides": "(1, 3), in elements",
            "offset": "slot 1 holds the element at index (0, ...)",
            "order": "minor to major (0, 1)",
            "required size": "16 slots; the elements and their padding begin at slot 1",
            "padding": "9 slots up to the sizes (3, 5), holding ZERO",
            "flags": "padded, covers a block",
            "form": "(2,3):(1,3) padded=(3,5) padding=ZERO",
        }
        assert said.splitlines()[-4:] == [
            "Offset: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15",
            "Value:  x A D 0 B E 0 C F 0  0  0  0  0  0  0",
            "0: padding",
            "x: no element of this layout",
        ]

    def test_sizes_with_tiles_are_a_layout(self):
        said = show.describe_layout_text("[3,5]{1,0:T(2,2)}", width=100)
        assert said == show.describe_layout_text("(3,5):(2*12+2*2,3*4+2*1)", width=100)
        assert said == show.describe_layout_text("{1,0:T(2,2)}", "3,5", width=100)
        rows = show.describe_layout_text("(3,5):(5,1)", width=100)
        assert rows == show.describe_layout_text("[3,5]{1,0}", width=100)

    @pytest.mark.parametrize(
        "text",
        [
            "():()",
            "(4,5):(-10,2)+30",
            "(3,5):(2*12+2*2,3*4+2*1)",
            "(2,3):(1,3) padded=(3,5) padding=0x3f800000:float32",
        ],
    )
    def test_memory_is_the_table_broken_into_lines(self, text):
        for width in (20, 100):
            lines = show.layout_memory_table(tl.Layout.parse(text), width)
            assert max(map(len, lines[1:])) <= max(width, 40)
            joined = {"Offset:": [], "Value:": []}
            for line in lines[1:]:
                head, *words = line.split()
                joined.get(head, []).extend(words)
            expected = [line.split()[1:] for line in tl.Layout.parse(text).table().splitlines()]
            assert list(joined.values()) == expected

    def test_first_part_of_large_layouts(self):
        layout = tl.Layout.parse("(40,40):(-40,2)+1700")
        lines = show.layout_memory_table(layout, 10_000)
        assert lines[0].startswith(f"memory, the first 96 of {layout.required_size} slots")
        assert lines[1].split()[1:] == list(map(str, range(96)))
        assert lines[2].split()[1:] == layout.table().splitlines()[1].split()[1:97]

    def test_lines(self):
        for row in LINES.strip().splitlines():
            text, line = row.split(" | ")
            lines = show.describe_layout_text(text, width=100).splitlines()
            assert line in [" ".join(item.split()) for item in lines], text

    def test_width_is_the_terminals(self, monkeypatch):
        monkeypatch.setenv("COLUMNS", "30")
        lines = show.describe_layout_text("(9,9):(9,1)").splitlines()
        grid, table = (next(n for n, s in enumerate(lines) if s.startswith(w)) for w in _TABLES)
        assert table - grid == 12  # its head, ten lines and an empty one
        assert max(map(len, (*lines[grid:table], *lines[table + 1 :]))) <= 30

    def test_labels_and_shape_in_one(self):
        for text in ("NHWC 1,2,2,3", " NHWC  (1, 2, 2, 3) ", "{1,3,2,0} 1,2,2,3"):
            assert show.describe_layout_text(text) == show.describe_layout_text("NHWC", "1,2,2,3")

    def test_svg(self, tmp_path, capsys):
        file = tmp_path / "a.svg"
        for layout, *arguments in (
            (Layout.tiled((3, 5), [(2, 2)]), "(3,5):(2*12+2*2,3*4+2*1)"),
            (Layout.tiled((3, 5), [(2, 2)]), "{1,0:T(2,2)}", "3,5"),
            (Layout.tiled((3, 5), [(2, 2)]), "f32[3,5]{1,0:T(2,2)}"),
            (Layout((2, 3), (0, 1)), "sizes=2,3 strides=0,1"),
        ):
            assert main(["show", *arguments, "--svg", str(file)]) == 0
            assert "slots by index" in capsys.readouterr().out or "sizes" in arguments[0]
            assert file.read_text("utf-8") == layout.draw().svg

    def test_svg_with_the_colours_of_another_layout(self, tmp_path, capsys):
        file = tmp_path / "a.svg"
        expected = Layout((3, 2, 3), (1, 9, 3)).draw(color_by=Layout((2, 3, 3))).svg
        for text in ("(2,3,3):(9,3,1)", "CHW 2,3,3", "f32[2,3,3]"):
            options = ["--color-by", text, "--svg"]
            assert main(["show", "(3,2,3):(1,9,3)", *options, str(file)]) == 0
            assert file.read_text("utf-8") == expected
        by_rows = Layout((2, 3), (1, 2)).draw(color_by=Layout((2, 3))).svg
        for text in ("C", "row_major", "HW"):  # of the shape that is drawn
            assert main(["show", "F", "2,3", "--color-by", text, "--svg", str(file)]) == 0
            assert file.read_text("utf-8") == by_rows
        file.unlink()
        for text, reason in (
            ("NHWC", "'NHWC' names 4 dimensions"),
            ("s4[2,9]{1,0:E(4)}", "--color-by: must have slot_bits=None as this layout, got 4"),
        ):
            options = ["--color-by", text, "--svg", str(file)]
            assert reason in refusal(capsys, "show", "(2,3):(3,1)", *options)
        assert "needs --svg" in refusal(capsys, "show", "(2,3):(3,1)", "--color-by", "(6,):(1,)")
        assert not list(tmp_path.iterdir())

    def test_no_picture_of_what_has_no_layout(self, tmp_path, capsys):
        for text in ("(f32[2], s8[3])", "f32[3,?]"):
            complaint = refusal(capsys, "show", text, "--svg", str(tmp_path / "a.svg"))
            assert complaint.startswith("tensorlayout: error: show: ")
        assert not list(tmp_path.iterdir())

    def test_svg_to_the_standard_output(self, tmp_path, capsys, monkeypatch):
        monkeypatch.chdir(tmp_path)
        layout = Layout.row_major((100, 100))
        assert main(["show", str(layout), "--svg", "-"]) == 0
        written = capsys.readouterr().out
        assert written.isascii()
        written, drawn = map(ElementTree.fromstring, (written, layout.draw().svg))
        assert ElementTree.tostring(written) == ElementTree.tostring(drawn)
        assert not list(tmp_path.iterdir())

    def test_where_no_file_can_be(self, tmp_path, capsys):
        assert main(["show", "(2,3):(1,2)", "--svg", str(tmp_path / "no" / "a.svg")]) == 2
        assert "cannot write" in capsys.readouterr().err


def test_the_console_command(capsys, monkeypatch):
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))
    module, _, name = project["project"]["scripts"]["tensorlayout"].partition(":")
    entry = getattr(importlib.import_module(module), name)
    monkeypatch.setattr(sys, "argv", ["/usr/bin/tensorlayout", "show", "(2,3):(3,1)"])
    assert entry() == 0
    assert "6 elements" in capsys.readouterr().out
    assert make_parser().prog == "tensorlayout"
    monkeypatch.setattr(sys, "argv", ["/here/tensorlayout/__main__.py"])
    assert make_parser().prog == "python -m tensorlayout"


class TestCompletion:
    def test_bash_completes_commands_options_and_files(self, tmp_path):
        pytest.importorskip("shtab", reason="optional: shtab")
        (tmp_path / "photo.jpg").write_bytes(b"")
        printed = run("--print-completion", "bash", cwd=tmp_path)
        assert (printed.returncode, printed.stderr) == (0, "")
        (tmp_path / "c.bash").write_text(printed.stdout)
        for words, result in (
            (["d"], "demo"),
            (["demo", "--rep"], "--repeat --report"),
            (["demo", "ph"], "photo.jpg"),
            (["--print-completion", "z"], "zsh"),
        ):
            line = " ".join(["COMP_WORDS=(tensorlayout", *words])
            script = f"source c.bash; {line}); COMP_CWORD={len(words)}; _shtab_tensorlayout;"
            command = ["bash", "-c", f'{script} echo "${{COMPREPLY[@]}}"']
            done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
            assert done.stdout.strip() == result

    def test_without_shtab(self, capsys, monkeypatch):
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
        result = refusal(capsys, "--print-completion", "bash")
        assert "pip install shtab" in result


def test_info_imports_neither_torch_nor_cupy(capsys):
    before = set(sys.modules)
    assert main(["info"]) == 0
    said = capsys.readouterr().out
    assert not {"torch", "cupy"} & (set(sys.modules) - before)
    facts = dict(line.split(maxsplit=1) for line in said.splitlines())
    assert facts["tensorlayout"] == tl.__version__
    assert facts["numpy"] == np.__version__
    assert facts["devices"].startswith("cpu")
    assert facts["CUDA"].startswith("none; cuda") == ("cuda" not in facts["devices"])
    assert re.search(r"^default device +(cpu|cuda:\d+)$", said, re.MULTILINE)
    assert "hits" in said
    assert info.installed_version("no-such-distribution") is None


def test_info_says_what_a_default_device_that_is_not_here_is(capsys, monkeypatch):
    monkeypatch.setenv("TENSORLAYOUT_DEFAULT_DEVICE", "abacus")
    devices._device_from_environment.cache_clear()
    assert main(["info"]) == 0
    devices._device_from_environment.cache_clear()
    none = r"default device +none; TENSORLAYOUT_DEFAULT_DEVICE must .* 'abacus'"
    assert re.search(none, capsys.readouterr().out)


def test_demo_in_the_current_folder(tmp_path):
    image = pytest.importorskip("PIL.Image", reason="optional: pillow, for the demo")
    image.new("RGB", (9, 9), "red").save(tmp_path / "ünïcode.png")
    done = run("demo", "ünïcode.png", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    written = {p.stem for p in (tmp_path / "tensorlayout-demo").iterdir()}
    assert written == {"directml", "layouts", "mosaic", "normalised", "statistics"}


@POSIX
def test_a_full_disk_is_one_line_and_status_1(tmp_path):
    with Path("/dev/full").open("w") as full:
        done = run("show", "(9,9):(9,1)", cwd=tmp_path, stdout=full)
    complaint = "tensorlayout: error: cannot write the results: No space left on device\n"
    assert (done.returncode, done.stderr) == (1, complaint)


@POSIX
def test_reader_that_goes_away(tmp_path):
    reads, writes = os.pipe()
    os.close(reads)
    done = run("show", "(9,9):(9,1)", cwd=tmp_path, stdout=writes)
    os.close(writes)
    assert done.stderr == ""


def test_interrupt_ends_quietly(monkeypatch, capsys):
    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr(info, "version_report", interrupted)
    assert main(["info"]) == 130
    assert capsys.readouterr().err == ""
