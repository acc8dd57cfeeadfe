"""HLO text read: ``HloModule jit_f, …`` as ``compile().as_text()`` of JAX and XLA's dumps have it.

What says where values are and how they hang together is read; all other attributes and the
values of constants are held to their brackets, quotes and comments, and passed over. Each
letter is looked at a fixed number of times, and brackets in brackets are kept on a list.
"""

from __future__ import annotations

import re
import sys
from functools import partial
from itertools import chain
from typing import NoReturn

from tensorlayout.errors import cut
from tensorlayout.xla.hlo import HloComputation, HloInstruction, HloModule
from tensorlayout.xla.shape_comparison import compatible
from tensorlayout.xla.shapes import Shape
from tensorlayout.xla.text import (
    BLANK,
    COMMENT,
    Scanner,
    ShapeSyntaxError,
    parse_shape,
    pattern,
    pointed,
)

# Nothing here is matched in two ways: quantifiers are possessive.
_WHITE = r"[ \t\r\n]"
_STRING = r'"(?:[^"\\]++|\\(?s:.))*+"'
_NAME = r"[A-Za-z_][A-Za-z0-9_.\-]*+"

_MODULE = pattern(rf"HloModule(?=[ \t\r\n/%]){BLANK}%?({_NAME})")
_COMPUTATION = pattern(rf"(ENTRY(?=[ \t\r\n/%]){BLANK})?%?({_NAME})")
_INSTRUCTION = pattern(rf"(ROOT(?=[ \t\r\n/%]){BLANK})?%?({_NAME})")
_OPCODE = pattern(rf"({_NAME}){BLANK}(\()")
_ATTRIBUTE = pattern(rf",{BLANK}({_NAME}){BLANK}=")
_ONE_NAME = pattern(rf"%?({_NAME})")
_PARAMETER = pattern(rf"%?{_NAME}{BLANK}:")
_NUMBER = pattern(r"([0-9]{1,9})(?![0-9])")
_TABLE = pattern(r"(?:FileNames|FunctionNames|FileLocations|StackFrames)(?=[ \t]*+\r?\n|[ \t]*+\Z)")
_QUOTED = pattern(_STRING)
_SHAPE = re.compile(  # an array, or how all others begin
    rf"b?\(|[A-Za-z_]\w*+{_WHITE}*+\[[^][(){{}}\"]*+\](?:{_WHITE}*+\{{(?={_WHITE}*+[-0-9:])[^{{}}]*+\}})?+",
    re.ASCII,
)

# What stands between two brackets, and in a value that is in none.
_INSIDE = re.compile(rf'(?:[^"()\[\]{{}}/]++|{_STRING}|{COMMENT}|/(?![/*]))*+')
_AXES = re.compile(r" +\{")
_BARE = re.compile(rf'(?:[^"()\[\]{{}}/, \t\r\n]++|{_STRING}|/(?![/*]))*+')
_CLOSING = {"(": ")", "[": "]", "{": "}"}

# The attributes whose values are names of computations.
_CALLS = frozenset(
    {
        "body",
        "branch_computations",
        "called_computations",
        "calls",
        "condition",
        "false_computation",
        "scatter",
        "select",
        "to_apply",
        "true_computation",
    }
)
_ENTRY_LAYOUT = "entry_computation_layout"


class HloSyntaxError(ValueError):
    """A text that is no module of HLO: what was expected, what came, and a caret under it.

    `line` counts from 1, `column` the characters of that line from 0.

    >>> from tensorlayout.xla import HloSyntaxError, parse_hlo
    >>> try:
    ...     parse_hlo("HloModule m" + chr(10) + "f { x = f32[2,x] parameter(0) }")
    ... except HloSyntaxError as error:
    ...     print(error.line, error.column, error.rule)
    2 14 expected a size, '<=' or '?', got 'x'
    """

    def __init__(self, rule: str, line: int, column: int, shown: str) -> None:
        """`rule` ends in what came instead; `shown` is the line with a caret."""
        self.rule = rule
        self.line = line
        self.column = column
        self.shown = shown
        super().__init__(f"HLO text: {rule}, at line {line}, column {column + 1}\n{shown}")

    def __reduce__(self) -> tuple[type[HloSyntaxError], tuple[str, int, int, str]]:
        return HloSyntaxError, (self.rule, self.line, self.column, self.shown)


def parse_hlo(text: str) -> HloModule:
    """The module that a `text` says, as JAX's ``compile().as_text()`` gives it, or a dump of XLA.

    Arrays without a layout get the row-major one. Checked: brackets, quotes and comments; every
    shape; that names are there once, and operands and what is called stand above; that parameters
    are numbered from 0 on; that shapes which the text says twice agree (those of operands, of the
    line above a computation, of ``entry_computation_layout``). Without an ``ENTRY`` the last
    computation is the entry, without a ``ROOT`` the last instruction the root. Not checked: whether
    an opcode exists, and whether its shape follows from its operands.

    HloSyntaxError (a ValueError) for any other text, with line, column and a caret; it is raised,
    too, for computations written inside of an attribute. TypeError for what is no str.

    >>> from tensorlayout.xla import parse_hlo
    >>> module = parse_hlo('''
    ... HloModule jit_f, entry_computation_layout={(f32[2,3]{1,0})->f32[3,2]{0,1}}
    ...
    ... ENTRY %main (x: f32[2,3]) -> f32[3,2] {
    ...   %x = f32[2,3]{1,0} parameter(0), metadata={op_name="x"}
    ...   ROOT %y = f32[3,2]{0,1} bitcast(%x)
    ... }
    ... ''')
    >>> for name, shape in module.shapes.items():
    ...     print(name, shape)
    x f32[2,3]{1,0}
    y f32[3,2]{0,1}
    """
    return _Reader(text).module()


class _Reader(Scanner):
    """A place in a text, and what has been found up to it."""

    text_of = "HLO text"

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.known: dict[tuple[str, bool], Shape] = {}  # by their texts: most come again
        self.computations: dict[str, HloComputation] = {}

    # --- pieces ----------------------------------------------------------------------------------

    def fail(self, expected: str, at: int | None = None) -> NoReturn:
        place = self.at if at is None else at
        if self.text.startswith('"', place) and not _QUOTED.match(self.text, place):
            expected = "'\"' at the end of a string"
        super().fail(expected, at)

    def refuse(self, rule: str, at: int) -> NoReturn:
        start = self.text.rfind("\n", 0, at) + 1
        end = self.text.find("\n", at)
        line = self.text[start : len(self.text) if end < 0 else end]
        number = self.text.count("\n", 0, at) + 1
        raise HloSyntaxError(rule, number, at - start, pointed(line, at - start)) from None

    def closed(self, opened: int) -> int:
        """The place behind the bracket that closes the one at `opened`."""
        text, open_at, at = self.text, [opened], opened + 1
        while open_at:
            found = _INSIDE.match(text, at)
            at = found.end() if found else at
            sign = text[at : at + 1]
            closing = _CLOSING[text[open_at[-1]]]
            if sign in _CLOSING:
                open_at.append(at)
            elif sign == closing:
                open_at.pop()
            else:
                line = text.count("\n", 0, open_at[-1]) + 1
                self.fail(f"{closing!r} for the {text[open_at[-1]]!r} of line {line}", at)
            at += 1
        return at

    def value(self) -> str:
        """The text of an attribute's value, which ends at a comma or a blank outside of brackets.

        It stays there unread: brackets and quotes are whole, nothing else is known of it. Axes of a
        mesh stand behind a blank: ``mesh['x'=2,'y'=2] {'x'}``.
        """
        start = at = self.at
        while True:
            found = _BARE.match(self.text, at)
            at = found.end() if found else at
            if self.text[at : at + 1] not in tuple(_CLOSING):
                break
            at = self.closed(at)
        if at == start or self.text.startswith('"', at):
            self.fail("a value", at)
        if self.text[at - 1] in "])" and (axes := _AXES.match(self.text, at)):
            at = self.closed(axes.end() - 1)
        self.go_to(at)
        return self.text[start:at]

    def attributes(self) -> tuple[dict[str, str], dict[str, int]]:
        """The values by name, and where each stands."""
        values: dict[str, str] = {}
        places: dict[str, int] = {}
        begin = self.at
        while found := self.taken(_ATTRIBUTE):
            name, place = found[1], self.at
            if name in values:
                self.fail(f"each attribute once, not {name!r} again", begin)
            values[name], places[name] = self.value(), place
            begin = self.at
        if self.took(","):
            self.fail("an attribute such as dimensions={1,0} after ','")
        return values, places

    # --- shapes ----------------------------------------------------------------------------------

    def shape(self, *, default_layout: bool = True) -> Shape:
        start = self.at
        begin = _SHAPE.match(self.text, start) or self.fail("a shape such as f32[2,3]{1,0}")
        end = self.closed(begin.end() - 1) if begin[0].endswith("(") else begin.end()
        self.go_to(end)
        words = self.text[start:end]
        found = self.known.get((words, default_layout))
        if found is not None:
            return found
        try:
            shape = parse_shape(words, default_layout=default_layout)
            shape.validate(allow_missing_layouts=True)
        except ShapeSyntaxError as error:
            self.refuse(error.rule, start + error.column)
        except ValueError as error:
            self.refuse(f"expected a valid shape, got {cut(words)} ({error})", start)
        return self.known.setdefault((words, default_layout), shape)

    def parameter(self) -> tuple[Shape, int]:
        """A shape, which may have a name in front, and its place."""
        self.taken(_PARAMETER)
        place = self.at
        return self.shape(default_layout=False), place

    def agree(self, said: Shape, place: int, held: HloInstruction) -> None:
        if said is not held.shape and not compatible(said, held.shape):
            rule = f"expected the shape of {held.name}, {cut(held.shape.to_string())}"
            self.refuse(f"{rule}, got {cut(said)}", place)

    def signature(self) -> list[tuple[Shape, int]]:
        """Parameters, then the result, as in ``(x: f32[2])->f32[]``, with their places."""
        self.sign("(")
        parameters = self.listed(self.parameter, ")", sys.maxsize)
        self.sign("->")
        place = self.at
        return [*parameters, (self.shape(default_layout=False), place)]

    def hold(self, said: list[tuple[Shape, int]], computation: HloComputation, begin: int) -> None:
        """The error where a signature, which began somewhere, is not that of a computation."""
        held = computation.parameters
        if len(said) != len(held) + 1:
            rule = f"expected {len(held)} parameters, as {computation.name} has"
            self.refuse(f"{rule}, got {len(said) - 1}", begin)
        for (shape, place), instruction in zip(said, (*held, computation.root), strict=True):
            self.agree(shape, place, instruction)

    # --- modules ---------------------------------------------------------------------------------

    def module(self) -> HloModule:
        name = self.expect(_MODULE, "HloModule and a name")[1]
        attributes, places = self.attributes()
        entry: HloComputation | None = None
        while self.at < len(self.text):
            if self.taken(_TABLE):
                self.rows()
                continue
            begin = self.at
            computation, is_entry = self.computation()
            if is_entry and entry is not None:
                self.fail(f"one ENTRY, which is {entry.name}", begin)
            entry = computation if is_entry else entry
        if not self.computations:
            self.fail("a computation")
        computations = tuple(self.computations.values())
        entry = entry or computations[-1]
        shapes, result = [p.shape for p in entry.parameters], entry.root.shape
        begin = places.get(_ENTRY_LAYOUT, -1)
        if begin >= 0:
            self.at = begin
            self.sign("{")
            said = self.signature()
            self.sign("}")
            self.hold(said, entry, begin)
            *shapes, result = (shape for shape, _ in said)
        return HloModule(name, computations, entry, tuple(shapes), result, attributes)

    def rows(self) -> None:
        """The rows of a table of stack frames: a number each, and a string or braces."""
        while self.taken(_NUMBER):
            if self.is_next("{"):
                self.go_to(self.closed(self.at))
            else:
                self.expect(_QUOTED, "a string or '{'")

    def computation(self) -> tuple[HloComputation, bool]:
        """A computation, and whether it says that it is the entry."""
        head = self.expect(_COMPUTATION, "a computation such as ENTRY %main (x: f32[]) -> f32[] {")
        name, begin = head[2], self.at
        if name in self.computations:
            self.fail(f"one computation of the name {cut(name)}", head.start(2))
        said = self.signature() if self.is_next("(") else None
        self.sign("{", f" after the name of the computation {cut(name)}")
        found: dict[str, HloInstruction] = {}
        root: HloInstruction | None = None
        while not self.is_next("}"):
            place = self.at
            instruction, is_root = self.instruction(found)
            if is_root and root is not None:
                self.fail(f"one ROOT, which is {cut(root.name)}", place)
            root = instruction if is_root else root
        if not found:
            self.fail("an instruction")
        self.sign("}")
        self.attributes()
        listed = tuple(found.values())
        numbers = sorted(n for i in listed if (n := i.parameter_number) is not None)
        if numbers != list(range(len(numbers))):
            rule = "expected parameters numbered from 0 on, each once"
            self.refuse(f"{rule}, got {cut(', '.join(map(str, numbers)))}", head.start(2))
        computation = HloComputation(name, listed, root or listed[-1])
        if said is not None:
            self.hold(said, computation, begin)
        self.computations[name] = computation
        return computation, head[1] is not None

    # --- instructions ----------------------------------------------------------------------------

    def instruction(self, above: dict[str, HloInstruction]) -> tuple[HloInstruction, bool]:
        """An instruction, which joins those `above`, and whether it says that it is the root."""
        head = self.expect(_INSTRUCTION, "an instruction such as %y = f32[] add(%x, %x), or '}'")
        name = head[2]
        if name in above:
            self.fail(f"one instruction of the name {cut(name)}", head.start(2))
        self.sign("=", f" after the name {cut(name)}")
        shape = self.shape()
        applied = self.expect(_OPCODE, "an opcode and '('")
        opcode = applied[1]
        operands: tuple[str, ...] = ()
        number: int | None = None
        if opcode == "parameter":
            number = int(self.expect(_NUMBER, "the number of a parameter, of at most 9 digits")[1])
            self.sign(")")
        elif opcode == "constant":
            self.go_to(self.closed(applied.start(2)))
        else:
            operands = tuple(self.listed(partial(self.operand, above), ")", sys.maxsize))
        values, places = self.attributes()
        called = (self.called(values[n], places[n]) for n in values if n in _CALLS)
        calls = tuple(chain.from_iterable(called))
        found = HloInstruction(name, opcode, shape, operands, calls, values, number)
        above[name] = found
        return found, head[1] is not None

    def operand(self, above: dict[str, HloInstruction]) -> str:
        """The name of an operand, which must stand above, behind its shape if the text has that."""
        said = self.at
        shape = self.shape() if _SHAPE.match(self.text, said) else None
        place = self.at
        name: str = self.expect(_ONE_NAME, "the name of an operand")[1]
        if name not in above:
            self.fail("the name of an instruction above", place)
        if shape is not None:
            self.agree(shape, said, above[name])
        return name

    def called(self, value: str, place: int) -> list[str]:
        """The computations that the value of an attribute names."""
        behind, self.at = self.at, place
        names = self.listed(self.callee, "}", sys.maxsize) if self.took("{") else [self.callee()]
        if self.at < place + len(value):
            self.fail("the name of a computation, or names in braces", place)
        self.at = behind
        return names

    def callee(self) -> str:
        """The name of a computation, which must stand above."""
        place = self.at
        name: str = self.expect(_ONE_NAME, "the name of a computation, or names in braces")[1]
        if name not in self.computations:
            self.fail(f"the name of a computation above, not {cut(name)}", place)
        return name
