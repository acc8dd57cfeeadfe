"""Modules of HLO: what JAX gives, one as TPUs have them, what is refused and how, mutations."""

import contextlib
import pickle
import random
import re
import sys
import time

import jax_functions
import pytest

from tensorlayout.cli import main, show
from tensorlayout.cli.answers import CommandError
from tensorlayout.xla import HloSyntaxError, parse_hlo

TEXTS = {path.stem: path.read_text("utf-8") for path in sorted(jax_functions.DATA.glob("*.hlo"))}
TILED = TEXTS["tiled"]

# Where XLA prints an instruction on a line of its own: the name, the shape, the opcode, the rest.
LINE = re.compile(r" +(ROOT )?%?(\S+) = (.+?) ([a-z][a-z0-9-]*)\((.*)")


def lines_of(text):
    """Parse each line of a text with regular expressions alone."""
    results, computation = [], None
    for line in text.splitlines():
        if line.endswith(" {"):
            computation = line.removeprefix("ENTRY ").split()[0].lstrip("%")
        elif match := LINE.match(line):
            root, name, shape, opcode, rest = match.groups()
            plain = opcode in ("constant", "parameter")
            operands = re.sub(r"/\*.*?\*/|\w+\[[^]]*\](\{[^}]*\})? ", "", rest.partition(")")[0])
            names = [] if plain else re.findall(r"[\w.-]+", operands)
            results.append((computation, name, shape, opcode, tuple(names), bool(root)))
    return results


def held_by(module):
    return [
        (c.name, i.name, str(i.shape), i.opcode, i.operands, i is c.root)
        for c in module.computations
        for i in c.instructions
    ]


def must_be_what_lines_say(text):
    assert held_by(parse_hlo(text)) == lines_of(text)


@pytest.mark.parametrize("name", [name for name in TEXTS if name != "tiled"])
def test_every_line_of_what_jax_wrote(name):
    text = TEXTS[name]
    must_be_what_lines_say(text)
    module = parse_hlo(text)
    assert f"ENTRY {module.entry.name} " in text.replace("%", "")
    parameters = ", ".join(map(str, module.parameter_shapes))
    layout = f"entry_computation_layout={{({parameters})->{module.result_shape}}}"
    assert layout in re.sub(r"/\*index=\d+\*/", "", text)


def test_what_jax_gives_today():
    jax = pytest.importorskip("jax", reason="optional: JAX")
    for function, arguments in jax_functions.functions(jax).values():
        for text in jax_functions.texts(jax, function, arguments):
            must_be_what_lines_say(text)
            shapes = parse_hlo(text).parameter_shapes
            assert [s.dimensions for s in shapes] == [x.shape for x in arguments]
            assert [s.element_type.dtype for s in shapes] == [x.dtype for x in arguments]


def test_a_module_as_tpus_have_them():
    module, again = parse_hlo(TILED), pickle.loads(pickle.dumps(parse_hlo(TILED)))
    assert {module: 1}[again] == 1
    assert module.name == "jit_step.3"
    assert [c.name for c in module.computations] == [
        *("sum.1", "fused.2", "body", "condition", "left", "right", "main.4")
    ]
    assert module.entry is module.by_name["main.4"]
    assert [p.name for p in module.entry.parameters] == ["big", "some", "which"]
    shapes = ["bf16[99,300]{1,0:T(8,128)(2,1)}", "f32[<=5]{0:T(256)}", "u32[]{:T(128)}"]
    assert list(map(str, module.parameter_shapes)) == shapes
    result = "(bf16[300,99]{0,1:T(8,128)(2,1)}, (f32[5]{0:T(256)S(5)}, ()))"
    assert str(module.result_shape) == result
    assert module.attributes["input_output_alias"] == "{ {0}: (0, {}, may-alias) }"
    by_name = module.entry.by_name
    assert by_name["loop"].calls == ("condition", "body")
    assert by_name["chosen"].calls == ("left", "right")
    assert by_name["chosen"].operands == ("index", "five", "five")
    assert by_name["total"].operands == ("looped", "bare")
    assert by_name["total"].calls == ("sum.1",)
    assert by_name["big"].attributes["metadata"] == r'{op_name="big[{\"\\\"}]" op_type="//"}'
    assert by_name["some"].attributes["frontend_attributes"] == '{kind="a,b}",other="c"}'
    assert by_name["turned"].attributes["control-predecessors"] == "{%made, %token.1}"
    assert str(module.shapes["table"]) == "s4[2,3]{1,0:T(8,128)E(4)}"
    assert str(module.shapes["made"]) == "(opaque[], token[])"
    assert module.shapes["some"].dynamic == (True,)


def test_buffers():
    results = {b.name: (b.bytes, b.padding_bytes) for b in parse_hlo(TILED).buffers()}
    wide = 8 * 13 * 128 * 3 * 2
    scalars = ("body/one", "body/next", "condition/end", "which", "bare", "count", "total", "index")
    assert results == {
        **dict.fromkeys(scalars, (512, 508)),
        **dict.fromkeys(("right/twice", "some", "five", "pinned"), (1024, 1004)),
        "body/moved": (30 // 8 * 8 * 128 * 4 + 8 * 128 * 4, 32 * 128 * 4 - 64 * 30 * 4),
        "body/back": (64 * 128 * 4, 64 * 98 * 4),
        "condition/less": (512, 511),
        "big": (wide, wide - 99 * 300 * 2),
        "table": (8 * 128 // 2, 8 * 128 // 2 - 3),
        "nan": (8, 0),
        "pair{0}": (4, 0),
        "pair{1}": (2, 0),
        "zero": (64 * 128 * 4, 64 * 98 * 4),
        "fused": (300 // 8 * 8 * 128 * 2 + 8 * 128 * 2, 304 * 128 * 2 - 99 * 300 * 2),
        "swapped": (wide, wide - 99 * 300 * 2),
    }


def test_changes_of_layout():
    changes = parse_hlo(TILED).layout_changes()
    results = {c.name: (str(c.source), c.bytes_read, c.bytes_written) for c in changes}
    big, turned = "bf16[99,300]{1,0:T(8,128)(2,1)}", "bf16[99,300]{0,1:T(8,128)(2,1)}"
    rows, columns = 104 * 384 * 2, 304 * 128 * 2
    assert results == {
        "body/moved": ("f32[64,30]{1,0:T(8,128)}", 64 * 128 * 4, 32 * 128 * 4),
        "body/back": ("f32[64,30]{0,1:T(8,128)S(1)}", 32 * 128 * 4, 64 * 128 * 4),
        "pinned": ("f32[5]{0:T(256)}", 1024, 1024),
        "fused": (big, rows, columns),
        "turned": (turned, 0, 0),
        "swapped": (big, rows, rows),
    }


ASYNC = """HloModule transfers
inner { p = f32[4]{0} parameter(0) ROOT n = f32[4]{0} negate(p) }
ENTRY e {
  x = f32[2,3]{1,0:T(2,2)} parameter(0)
  y = f32[4]{0} parameter(1)
  c = (f32[2,3]{1,0:T(2,2)S(1)}, f32[2,3]{1,0:T(2,2)}, u32[]{:S(2)}) copy-start(x)
  d = f32[2,3]{1,0:T(2,2)S(1)} copy-done(c)
  g = (f32[4]{0}, f32[8]{0}) all-gather-start(y), dimensions={0}
  h = f32[8]{0} all-gather-done(g)
  a = ((f32[4]{0}), f32[4]{0}, u32[]) async-start(y), calls=inner
  ROOT b = f32[4]{0} async-done(a), calls=inner
}"""


def test_transfers_hold_their_operands_again():
    module = parse_hlo(ASYNC)
    results = {b.name: b.bytes for b in module.buffers()}
    sizes = {"x": 32, "y": 16, "c{0}": 32, "c{2}": 4, "g{1}": 32, "a{1}": 16, "a{2}": 4}
    assert results == sizes
    (change,) = module.layout_changes()
    assert (change.name, str(change.result)) == ("c", "f32[2,3]{1,0:T(2,2)S(1)}")
    assert (change.bytes_read, change.bytes_written) == (32, 32)


def test_copies_of_tuples_are_no_changes_of_layout():
    result = module_of("x = f32[2] parameter(0)", "t = (f32[2]) tuple(x)", "y = (f32[2]) copy(t)")
    assert parse_hlo(result).layout_changes() == ()


def module_of(*instructions, head="HloModule m"):
    return "\n".join([head, "f {", *instructions, "}"])


X = "x = f32[2,3] parameter(0)"


def test_what_may_be_left_out():
    module = parse_hlo("HloModule m g { x = s8[] constant(1) } f { x = s8[2] parameter(0) }")
    assert {k: str(v) for k, v in module.shapes.items()} == {"g/x": "s8[]", "f/x": "s8[2]{0}"}
    assert module.entry.name == "f"
    assert module.entry.root.name == "x"
    assert str(module.result_shape) == "s8[2]{0}"
    module = parse_hlo(module_of(X, "y = f32[] constant(/*({*/1)"))
    assert module.entry.root.name == "y"


def test_layouts_that_are_left_open():
    head = "HloModule m, entry_computation_layout={(f32[2,3])->f32[2,3]{0,1}}"
    module = parse_hlo(module_of(X, head=head))
    assert [s.layout for s in module.parameter_shapes] == [None]
    assert str(module.result_shape) == "f32[2,3]{0,1}"


def test_blanks_and_comments_stand_between_any_two_words():
    text = "HloModule/*a*/ m // b\n,a/**/=1\r\nENTRY/*{*/%f(/*(*/x : f32 [2])\t->f32[2]{ROOT\n%x=\n"
    text += "f32[2]/*}*/parameter/*(*/(/*)*/0/**/)\n,metadata={/*}*/}}//"
    module = parse_hlo(text)
    assert module.attributes == {"a": "1"}
    assert module.entry.root.attributes == {"metadata": "{/*}*/}"}


SHAPE_OF_X = "expected the shape of x, f32[2,3], got f32[3,2]"
HEAD, ONE = "HloModule m, entry_computation_layout=", "{ x = s8[] constant(1) }"


@pytest.mark.parametrize(
    ("text", "line", "column", "rule"),
    [
        ("", 1, 0, "expected HloModule and a name, got the end of the text"),
        ("HloModule m", 1, 11, "expected a computation, got the end of the text"),
        ("HloModule m, a=1, a=2", 1, 16, "expected each attribute once, not 'a' again, got ','"),
        ("HloModule m, a={(}) f", 1, 17, "expected ')' for the '(' of line 1, got '}'"),
        ("HloModule m /* f", 1, 12, "expected */ at the end of a comment, got '/'"),
        (module_of(X, X), 4, 0, "expected one instruction of the name x, got 'x'"),
        (module_of("x = f33[2] parameter(0)"), 3, 4, "expected a shape: an element type such as"),
        (module_of("x = f32[2]{1} parameter(0)"), 3, 4, "expected a valid shape, got f32[2]{1}"),
        (module_of("x = f32[2] parameter(1)"), 2, 0, "expected parameters numbered from 0 on"),
        (module_of(X, "y = f32[2] copy(z)"), 4, 16, "the name of an instruction above, got 'z'"),
        (module_of(X, "y = f32[2] add(x x)"), 4, 17, "expected ')' or ',', got 'x'"),
        (module_of(X, "y = f32[2] add(x, f32[3,2] x)"), 4, 18, f"{SHAPE_OF_X}{{1,0}}"),
        (
            module_of(X, "y = f32[] call(x), to_apply=g"),
            4,
            28,
            "name of a computation above, not g",
        ),
        (module_of(f"ROOT {X}", "ROOT y = f32[2] copy(x)"), 4, 0, "one ROOT, which is x"),
        (module_of("x = f32[2] constant({1, 2)"), 3, 25, "expected '}' for the '{' of line 3"),
        ("HloModule m f (x: f32[2]) -> f32[2] { x = f32[3] parameter(0) }", 1, 18, "shape of x"),
        (module_of(X, head=f"{HEAD}{{(f32[3,2])->f32[2,3]}}"), 1, 40, SHAPE_OF_X),
        (f"HloModule m ENTRY f {ONE} ENTRY g {ONE}", 1, 45, "one ENTRY, which is f, got 'ENTRY'"),
        ("HloModule m\nFileNames\n1 x", 3, 2, "expected a string or '{', got 'x'"),
        ("HloModule m, a=, b=1", 1, 15, "expected a value, got ','"),
        (f"HloModule m f {ONE} f {ONE}", 1, 39, "expected one computation of the name f, got 'f'"),
        ("HloModule m f { }", 1, 16, "expected an instruction, got '}'"),
        ("HloModule m f (x: s8[], y: s8[]) -> s8[] { x = s8[] parameter(0) }", 1, 14, "got 2"),
        (module_of("x = f32[] parameter(1234567890)"), 3, 20, "of at most 9 digits"),
        (
            module_of(X, "y = s8[] call(x), to_apply=g(x)", head=f"HloModule m g {ONE}"),
            4,
            27,
            "the name of a computation, or names in braces, got 'g'",
        ),
    ],
)
def test_errors_say_what_was_expected_and_where(text, line, column, rule):
    with pytest.raises(HloSyntaxError) as caught:
        parse_hlo(text)
    error = caught.value
    assert rule in error.rule
    assert (error.line, error.column) == (line, column)
    said, shown, caret = str(error).split("\n")
    assert said == f"HLO text: {error.rule}, at line {line}, column {column + 1}"
    assert shown == f"  {text.splitlines()[line - 1] if text else ''}"
    assert caret == f"  {' ' * column}^"
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_no_text_and_no_bytes():
    with pytest.raises(TypeError, match="HLO text: must be a str, got bytes"):
        parse_hlo(b"HloModule m")
    module = parse_hlo(module_of("x = f32[?] parameter(0)", "y = f32[?] copy(x)"))
    for question in (module.buffers, module.layout_changes):
        with pytest.raises(ValueError, match=r"^HLO: . has no bytes, .* not known, got f32"):
            question()


# --- any text: a result or the error, in a time that grows as the text does ---------------------

LETTERS = '(){}[]=,%"/*:<>- \n\\?abfsu0123\x00é\ud800'


def mutated(rng):
    text = rng.choice(list(TEXTS.values()))
    start = rng.randrange(len(text)) if rng.random() < 0.1 else 0
    text = text[start : start + rng.randint(1, 9000)] if rng.random() < 0.2 else text
    for _ in range(rng.randint(1, 4)):
        at, move = rng.randint(0, len(text)), rng.random()
        if move < 0.4:
            middle, end = rng.choice(LETTERS), at
        elif move < 0.7:
            middle, end = "", at + rng.randint(1, 3)
        elif move < 0.72:  # deep, and long
            middle, end = text[at : at + rng.randint(1, 4)] * rng.choice([30, 101, 3000]), at
        else:
            other = rng.choice(list(TEXTS.values()))
            begin = rng.randrange(len(other))
            middle, end = other[begin : begin + rng.randint(1, 12)], at
        text = text[:at] + middle + text[end:]
    return text


def test_mutated_texts_answer_all_questions_or_are_refused():
    rng = random.Random(random.randrange(2**32))
    count, read = 500, 0
    for _ in range(count):
        text, refusals = mutated(rng), []
        begin = time.process_time()
        try:
            module = parse_hlo(text)
            read += 1
        except HloSyntaxError as error:
            refusals.append(str(error))
        else:
            held = [i for c in module.computations for i in c.instructions]
            assert len(module.shapes) == len(held), text
            for question in (module.buffers, module.layout_changes):
                try:
                    question()
                except ValueError as error:
                    refusals.append(f"has no bytes{str(error).partition('has no bytes')[2]}")
        assert time.process_time() - begin < 2
        assert all(len(said) < 2000 for said in refusals), text
        assert all(said.startswith(("HLO text: ", "has no bytes, ")) for said in refusals), text
    assert count // 20 < read < count


def steps_of(text):
    """The bytecodes that a text takes."""
    steps = 0

    def count(frame, event, _):
        nonlocal steps
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        steps += event == "opcode"
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        with contextlib.suppress(HloSyntaxError):
            parse_hlo(text)
    finally:
        sys.settrace(before)
    return steps


GROWING = {
    "instructions": lambda n: module_of(
        X, *(f'y{i} = f32[{i},2] copy(x), metadata={{a="{i}"}}' for i in range(n))
    ),
    "computations": lambda n: "HloModule m " + "".join(f"f{i} {{ {X} }}" for i in range(n)),
    "operands": lambda n: module_of(X, f"y = f32[] add({'f32[2,3] x, ' * n}x)"),
    "strangers": lambda n: module_of(X, f"y = f32[] add({'x, ' * n}z)"),
    "a tuple": lambda n: module_of(f"x = ({'f32[2], ' * n}f32[2]) parameter(0)"),
    "a literal": lambda n: module_of(f"x = f32[9] constant({{{'{1, /*}*/ 2}, ' * n}}})"),
    "brackets": lambda n: module_of(f"x = f32[9] constant({'(' * n}"),
    "shapes": lambda n: module_of(f"x = {'(' * n}{')' * n} tuple()"),
    "braces": lambda n: "HloModule m, a=" + "{" * n + "}" * n,
    "attributes": lambda n: "HloModule m," + ",".join(f"a{i}=1" for i in range(n)),
    "quotes": lambda n: "HloModule m, a={" + '"x' * (n + 1 - n % 2),
    "comments": lambda n: "HloModule m, a={" + "/*" * n,
    "blanks": lambda n: "HloModule m" + " /**/" * n,
    "names": lambda n: "HloModule " + "a" * n,
}


@pytest.mark.parametrize("kind", GROWING)
def test_what_is_twice_as_long_takes_about_twice_the_steps(kind):
    once, twice = (steps_of(GROWING[kind](n)) for n in (200, 400))
    assert twice < 2.5 * once + 1000


@pytest.mark.parametrize("kind", GROWING)
def test_long_texts_take_seconds(kind):
    """Work inside one regular expression, which steps do not count: texts of 100,000 letters."""
    times = 10**5 * 100 // len(GROWING[kind](100))
    begin = time.process_time()
    with contextlib.suppress(HloSyntaxError):
        parse_hlo(GROWING[kind](times))
    assert time.process_time() - begin < 10


# --- the command --------------------------------------------------------------------------------


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "dump.hlo"
    path.write_text(TILED, "utf-8")
    return path


def test_show(file):
    lines = show.describe_layout_text(str(file), width=120).splitlines()
    assert lines[0] == "module         jit_step.3: 7 computations, 45 instructions"
    assert lines[1].startswith("entry          main.4: (bf16[99,300]{1,0:T(8,128)(2,1)}, f32[<=5]")
    assert lines[3] == "buffers, the largest first:"
    assert lines[4].split() == ["bytes", "padding", "name", "opcode", "shape"]
    wide = ["79872", "25.6%", "big", "parameter", "bf16[99,300]{1,0:T(8,128)(2,1)}"]
    assert lines[5].split() == wide
    assert lines[5 + 23].split() == ["328718", "38.7%", "in", "23", "buffers"]
    changes = lines[30:]
    assert changes[0].startswith("instructions that only copy or change a layout")
    assert changes[-1].split() == ["209920", "207872", "in", "6", "instructions"]
    moved = "32768 16384 body/moved copy f32[64,30]{1,0:T(8,128)} f32[64,30]{0,1:T(8,128)S(1)}"
    assert moved.split() in [line.split() for line in changes]


def test_show_reads_the_standard_input(monkeypatch, file, capsys):
    with file.open(encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        assert main(["show", "-"]) == 0
    assert capsys.readouterr().out.startswith("module         jit_step.3: 7 computations")


def test_show_cuts_what_is_wide_and_long(tmp_path):
    names = [f"x{i}{'long' * 20}" for i in range(150)]
    lines = [f"{name} = f32[{i}] constant(0)" for i, name in enumerate(names)]
    (tmp_path / "a.txt").write_text(module_of(*lines), "utf-8")
    said = show.describe_layout_text(str(tmp_path / "a.txt"), width=60).splitlines()
    assert max(map(len, said)) == 60
    assert said[5].startswith("  596     0.0%  x149long")
    assert said[-4].startswith("… and 50 smaller")
    assert said[-3] == "44700     0.0%  in 150 buffers"
    assert said[-1] == "no instruction only copies or changes a layout"


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (None, "show: cannot read .*No such file"),
        (b"HloModule m", r"dump\.hlo: HLO text: expected a computation, got the end of the text"),
        (b"\xff", "dump.hlo: 'utf-8' codec can't decode"),
        (b"HloModule m f { x = f32[?] parameter(0) }", "HLO: x has no bytes"),
    ],
)
def test_show_refuses(tmp_path, content, complaint):
    path = tmp_path / "dump.hlo"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(CommandError, match=complaint):
        show.describe_layout_text(str(path))


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("g=mesh['x'=2,'y'=2] {'x'}, c=1", {"g": "mesh['x'=2,'y'=2] {'x'}", "c": "1"}),
        (
            "g=mesh['a'=8], i=([2]T(1)) {'a':(2)2}",
            {"g": "mesh['a'=8]", "i": "([2]T(1)) {'a':(2)2}"},
        ),
        ("d={1,0}", {"d": "{1,0}"}),
    ],
)
def test_axes_of_a_mesh_belong_to_the_value(text, values):
    module = parse_hlo(f"HloModule m e {{ x = f32[] parameter(0) ROOT y = f32[] copy(x), {text} }}")
    assert dict(module.entry.root.attributes) == values
