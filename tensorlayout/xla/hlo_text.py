"""Parser of HLO text, as JAX's ``compile().as_text()`` and XLA's dumps have it.

It reads what determines the places of values and their connections. Of other attributes, and of
values of constants, only brackets, quotes and comments are checked. The time is linear in the
length of the text, and nested brackets are kept on a list instead of Python's stack, so that no
text is slow or exceeds the recursion limit.
"""

from __future__ import annotations

import re
import sys
from functools import partial
from itertools import chain
from typing import NoReturn

from tensorlayout.errors import truncate
from tensorlayout.xla.hlo import HloComputation, HloInstruction, HloModule
from tensorlayout.xla.shape_comparison import compatible
from tensorlayout.xla.shapes import Shape
from tensorlayout.xla.text import (
    BLANK,
    COMMENT,
    Scanner,
    ShapeSyntaxError,
    caret_excerpt,
    parse_shape,
    pattern_with_trailing_blanks,
)

# Possessive quantifiers, because backtracking would make some texts take quadratic time.
_WHITE = r"[ \t\r\n]"
_STRING = r'"(?:[^"\\]++|\\(?s:.))*+"'
_NAME = r"[A-Za-z_][A-Za-z0-9_.\-]*+"

# A keyword must end at a blank, a comment or %, so that HloModules or ENTRYx are not cut in two.
_MODULE = pattern_with_trailing_blanks(rf"HloModule(?=[ \t\r\n/%]){BLANK}%?({_NAME})")
_COMPUTATION = pattern_with_trailing_blanks(rf"(ENTRY(?=[ \t\r\n/%]){BLANK})?%?({_NAME})")
_INSTRUCTION = pattern_with_trailing_blanks(rf"(ROOT(?=[ \t\r\n/%]){BLANK})?%?({_NAME})")
_OPCODE = pattern_with_trailing_blanks(rf"({_NAME}){BLANK}(\()")
_ATTRIBUTE = pattern_with_trailing_blanks(rf",{BLANK}({_NAME}){BLANK}=")
_ONE_NAME = pattern_with_trailing_blanks(rf"%?({_NAME})")
_PARAMETER = pattern_with_trailing_blanks(rf"%?{_NAME}{BLANK}:")
# Nine digits are enough. int() is slow for very many digits, and raises its own error beyond 4300.
_NUMBER = pattern_with_trailing_blanks(r"([0-9]{1,9})(?![0-9])")
# The title of a stack-frame table stands alone on its line, so a computation may have such a name.
_TABLE = pattern_with_trailing_blanks(
    r"(?:FileNames|FunctionNames|FileLocations|StackFrames)(?=[ \t]*+\r?\n|[ \t]*+\Z)"
)
_QUOTED = pattern_with_trailing_blanks(_STRING)
# An array, or the beginning of a tuple or buffer. A brace after an array begins a layout only if a
# number or a colon follows; otherwise it may begin the body of a computation.
_SHAPE = re.compile(
    rf"b?\(|[A-Za-z_]\w*+{_WHITE}*+\[[^][(){{}}\"]*+\](?:{_WHITE}*+\{{(?={_WHITE}*+[-0-9:])[^{{}}]*+\}})?+",
    re.ASCII,
)

# Text between two brackets, and values outside of brackets.
# A slash counts as text only if it begins no comment, because brackets in comments do not count.
_BETWEEN_BRACKETS = re.compile(rf'(?:[^"()\[\]{{}}/]++|{_STRING}|{COMMENT}|/(?![/*]))*+')
# Only after blanks on the same line: a brace on the next line may open something else.
_MESH_AXES = re.compile(r" +\{")
_UNBRACKETED_VALUE = re.compile(rf'(?:[^"()\[\]{{}}/, \t\r\n]++|{_STRING}|/(?![/*]))*+')
_CLOSING = {"(": ")", "[": "]", "{": "}"}

# Attributes whose values are names of computations.
_CALL_ATTRIBUTES = frozenset(
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
    """Error for text that is not an HLO module; the message has the rule, the line and a caret.

    `line` counts from 1, `column` the characters of that line from 0.

    >>> from tensorlayout.xla import HloSyntaxError, parse_hlo
    >>> try:
    ...     parse_hlo("HloModule m" + chr(10) + "f { x = f32[2,x] parameter(0) }")
    ... except HloSyntaxError as error:
    ...     print(error.line, error.column, error.rule)
    2 14 expected a size, '<=' or '?', got 'x'
    """

    def __init__(self, rule: str, line: int, column: int, shown: str) -> None:
        """Take a `rule` that ends in the received text, and the line `shown` with a caret."""
        self.rule = rule
        self.line = line
        self.column = column
        self.shown = shown
        super().__init__(f"HLO text: {rule}, at line {line}, column {column + 1}\n{shown}")

    def __reduce__(self) -> tuple[type[HloSyntaxError], tuple[str, int, int, str]]:
        return HloSyntaxError, (self.rule, self.line, self.column, self.shown)


def parse_hlo(text: str) -> HloModule:
    """Parse an HLO module.

    `text`: a module, as from JAX's ``compile().as_text()`` or an XLA dump. Arrays without a layout
    become row-major. Without an ``ENTRY`` the last computation is the entry; without a ``ROOT`` the
    last instruction is the root.

    Raises `HloSyntaxError` (a ValueError), with line, column and a caret, for any other text;
    `TypeError` if `text` is not a str. These are checked:

    - brackets, quotes, comments and every shape;
    - names: unique, and defined before they are used as operands or callees;
    - parameters: numbered from 0 on;
    - shapes that occur twice: operands, the signature of a computation,
      ``entry_computation_layout``.

    Not checked: whether an opcode exists, and whether its shape follows from its operands.
    Computations written inside an attribute are not supported and raise the error, too.

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
    return _HloReader(text).read_module()


class _HloReader(Scanner):
    """Position in a text, and the computations read so far."""

    source_name = "HLO text"

    def __init__(self, text: str) -> None:
        super().__init__(text)
        # Shapes by text, because most occur several times.
        # Keys are the text and whether a missing layout becomes row-major.
        self.parsed_shapes: dict[tuple[str, bool], Shape] = {}
        self.computations: dict[str, HloComputation] = {}

    # --- pieces ----------------------------------------------------------------------------------

    def raise_expected(self, expected: str, position: int | None = None) -> NoReturn:
        # The scanner's own message would blame the first thing that it did not expect; an unclosed
        # string is the real fault.
        error_position = self.position if position is None else position
        if self.text.startswith('"', error_position) and not _QUOTED.match(
            self.text, error_position
        ):
            expected = "'\"' at the end of a string"
        super().raise_expected(expected, position)

    def raise_syntax_error(self, rule: str, position: int) -> NoReturn:
        # Lines are counted only here, for an error, and not while reading.
        start = self.text.rfind("\n", 0, position) + 1
        end = self.text.find("\n", position)
        line = self.text[start : len(self.text) if end < 0 else end]
        number = self.text.count("\n", 0, position) + 1
        raise HloSyntaxError(
            rule, number, position - start, caret_excerpt(line, position - start)
        ) from None

    def position_after_bracket(self, open_position: int) -> int:
        """Return the position after the bracket that closes the one at `open_position`."""
        # A list instead of recursion: the open brackets, innermost last. Each round skips the text
        # up to the next bracket, which must open a new level or close the innermost one.
        text, open_positions, position = self.text, [open_position], open_position + 1
        while open_positions:
            match = _BETWEEN_BRACKETS.match(text, position)
            position = match.end() if match else position
            sign = text[position : position + 1]
            closing = _CLOSING[text[open_positions[-1]]]
            if sign in _CLOSING:
                open_positions.append(position)
            elif sign == closing:
                open_positions.pop()
            else:
                line = text.count("\n", 0, open_positions[-1]) + 1
                self.raise_expected(
                    f"{closing!r} for the {text[open_positions[-1]]!r} of line {line}", position
                )
            position += 1
        return position

    def read_attribute_value(self) -> str:
        """Read an attribute's value, which ends at a comma or blank outside brackets.

        Only brackets and quotes are checked. The axes of a mesh follow a blank: ``mesh['x'=2,'y'=2]
        {'x'}``.
        """
        start = end = self.position
        while True:
            match = _UNBRACKETED_VALUE.match(self.text, end)
            end = match.end() if match else end
            # A value such as {1,0} or f32[2]{0} alternates between plain text and brackets.
            if self.text[end : end + 1] not in tuple(_CLOSING):
                break
            end = self.position_after_bracket(end)
        if end == start or self.text.startswith('"', end):
            self.raise_expected("a value", end)
        # Other values end at a blank; only the list of a mesh's axes continues after it.
        if self.text[end - 1] in "])" and (axes := _MESH_AXES.match(self.text, end)):
            end = self.position_after_bracket(axes.end() - 1)
        self.skip_to(end)
        return self.text[start:end]

    def read_attributes_and_positions(self) -> tuple[dict[str, str], dict[str, int]]:
        """Return the values by name, and their positions."""
        values: dict[str, str] = {}
        positions: dict[str, int] = {}
        begin = self.position
        while match := self.try_match(_ATTRIBUTE):
            name, position = match[1], self.position
            if name in values:
                self.raise_expected(f"each attribute once, not {name!r} again", begin)
            values[name], positions[name] = self.read_attribute_value(), position
            begin = self.position
        # The pattern needs a name and "=", so a comma that is left is followed by something else.
        if self.skip_if_next(","):
            self.raise_expected("an attribute such as dimensions={1,0} after ','")
        return values, positions

    # --- shapes ----------------------------------------------------------------------------------

    def read_shape(self, *, default_layout: bool = True) -> Shape:
        start = self.position
        match = _SHAPE.match(self.text, start) or self.raise_expected(
            "a shape such as f32[2,3]{1,0}"
        )
        end = (
            self.position_after_bracket(match.end() - 1) if match[0].endswith("(") else match.end()
        )
        self.skip_to(end)
        shape_text = self.text[start:end]
        cached_shape = self.parsed_shapes.get((shape_text, default_layout))
        if cached_shape is not None:
            return cached_shape
        try:
            # The position in the shape's text plus its start is the position in the module.
            shape = parse_shape(shape_text, default_layout=default_layout)
            shape.validate(allow_missing_layouts=True)
        except ShapeSyntaxError as error:
            self.raise_syntax_error(error.rule, start + error.column)
        except ValueError as error:
            self.raise_syntax_error(
                f"expected a valid shape, got {truncate(shape_text)} ({error})", start
            )
        return self.parsed_shapes.setdefault((shape_text, default_layout), shape)

    def read_parameter_shape(self) -> tuple[Shape, int]:
        """Return a shape, which may be preceded by a name, and its position."""
        self.try_match(_PARAMETER)
        position = self.position
        # Signatures may leave layouts open. A default layout would claim more than the text says.
        return self.read_shape(default_layout=False), position

    def check_shape_agrees(self, shape: Shape, position: int, instruction: HloInstruction) -> None:
        # Equal texts give one object, so most comparisons end at once.
        if shape is not instruction.shape and not compatible(shape, instruction.shape):
            rule = (
                f"expected the shape of {instruction.name}, "
                f"{truncate(instruction.shape.to_string())}"
            )
            self.raise_syntax_error(f"{rule}, got {truncate(shape)}", position)

    def read_signature_with_positions(self) -> list[tuple[Shape, int]]:
        """Read parameters and result, as in ``(x: f32[2])->f32[]``, with their positions."""
        self.expect_sign("(")
        parameters = self.read_list(self.read_parameter_shape, ")", sys.maxsize)
        self.expect_sign("->")
        result_position = self.position
        return [*parameters, (self.read_shape(default_layout=False), result_position)]

    def check_signature(
        self,
        signature: list[tuple[Shape, int]],
        computation: HloComputation,
        signature_position: int,
    ) -> None:
        """Raise an error if a signature does not match its computation."""
        parameters = computation.parameters
        if len(signature) != len(parameters) + 1:
            rule = f"expected {len(parameters)} parameters, as {computation.name} has"
            self.raise_syntax_error(f"{rule}, got {len(signature) - 1}", signature_position)
        for (shape, position), instruction in zip(
            signature, (*parameters, computation.root), strict=True
        ):
            self.check_shape_agrees(shape, position, instruction)

    # --- modules ---------------------------------------------------------------------------------

    def read_module(self) -> HloModule:
        name = self.expect_match(_MODULE, "HloModule and a name")[1]
        attributes, positions = self.read_attributes_and_positions()
        entry: HloComputation | None = None
        while self.position < len(self.text):
            if self.try_match(_TABLE):
                self.skip_table_rows()
                continue
            position = self.position
            computation, is_entry = self.read_computation()
            if is_entry and entry is not None:
                self.raise_expected(f"one ENTRY, which is {entry.name}", position)
            entry = computation if is_entry else entry
        if not self.computations:
            self.raise_expected("a computation")
        computations = tuple(self.computations.values())
        entry = entry or computations[-1]
        shapes, result = [p.shape for p in entry.parameters], entry.root.shape
        # This attribute comes before the computations that it describes. It is skipped as text at
        # first, and read by going back to it once they are known. Nothing is read after that.
        position = positions.get(_ENTRY_LAYOUT, -1)
        if position >= 0:
            self.position = position
            self.expect_sign("{")
            signature = self.read_signature_with_positions()
            self.expect_sign("}")
            self.check_signature(signature, entry, position)
            *shapes, result = (shape for shape, _ in signature)
        return HloModule(name, computations, entry, tuple(shapes), result, attributes)

    def skip_table_rows(self) -> None:
        """Skip the rows of a stack-frame table: a number each, then a string or braces."""
        while self.try_match(_NUMBER):
            if self.is_next("{"):
                self.skip_to(self.position_after_bracket(self.position))
            else:
                self.expect_match(_QUOTED, "a string or '{'")

    def read_computation(self) -> tuple[HloComputation, bool]:
        """Return a computation, and whether it is marked as the entry."""
        match = self.expect_match(
            _COMPUTATION, "a computation such as ENTRY %main (x: f32[]) -> f32[] {"
        )
        name, signature_position = match[2], self.position
        if name in self.computations:
            self.raise_expected(f"one computation of the name {truncate(name)}", match.start(2))
        signature = self.read_signature_with_positions() if self.is_next("(") else None
        self.expect_sign("{", f" after the name of the computation {truncate(name)}")
        instructions: dict[str, HloInstruction] = {}
        root: HloInstruction | None = None
        while not self.is_next("}"):
            position = self.position
            instruction, is_root = self.read_instruction(instructions)
            if is_root and root is not None:
                self.raise_expected(f"one ROOT, which is {truncate(root.name)}", position)
            root = instruction if is_root else root
        if not instructions:
            self.raise_expected("an instruction")
        self.expect_sign("}")
        self.read_attributes_and_positions()
        instruction_tuple = tuple(instructions.values())
        # Parameters may stand in any order in the text; only their numbers count.
        numbers = sorted(n for i in instruction_tuple if (n := i.parameter_number) is not None)
        if numbers != list(range(len(numbers))):
            rule = "expected parameters numbered from 0 on, each once"
            self.raise_syntax_error(
                f"{rule}, got {truncate(', '.join(map(str, numbers)))}", match.start(2)
            )
        computation = HloComputation(name, instruction_tuple, root or instruction_tuple[-1])
        if signature is not None:
            self.check_signature(signature, computation, signature_position)
        self.computations[name] = computation
        return computation, match[1] is not None

    # --- instructions ----------------------------------------------------------------------------

    def read_instruction(
        self, previous_instructions: dict[str, HloInstruction]
    ) -> tuple[HloInstruction, bool]:
        """Append an instruction to `previous_instructions`; return whether it is the root."""
        match = self.expect_match(
            _INSTRUCTION, "an instruction such as %y = f32[] add(%x, %x), or '}'"
        )
        name = match[2]
        if name in previous_instructions:
            self.raise_expected(f"one instruction of the name {truncate(name)}", match.start(2))
        self.expect_sign("=", f" after the name {truncate(name)}")
        shape = self.read_shape()
        opcode_match = self.expect_match(_OPCODE, "an opcode and '('")
        opcode = opcode_match[1]
        operands: tuple[str, ...] = ()
        number: int | None = None
        if opcode == "parameter":
            number = int(
                self.expect_match(_NUMBER, "the number of a parameter, of at most 9 digits")[1]
            )
            self.expect_sign(")")
        elif opcode == "constant":
            # Literals can be huge and have no influence on layouts: only their brackets are
            # matched.
            self.skip_to(self.position_after_bracket(opcode_match.start(2)))
        else:
            operands = tuple(
                self.read_list(partial(self.read_operand, previous_instructions), ")", sys.maxsize)
            )
        values, positions = self.read_attributes_and_positions()
        # The attributes have been read as text; those that name computations are read again by
        # position.
        callees = (
            self.read_callees(values[n], positions[n]) for n in values if n in _CALL_ATTRIBUTES
        )
        calls = tuple(chain.from_iterable(callees))
        result = HloInstruction(name, opcode, shape, operands, calls, values, number)
        previous_instructions[name] = result
        return result, match[1] is not None

    def read_operand(self, previous_instructions: dict[str, HloInstruction]) -> str:
        """Read the name of an operand defined above, after its shape if the text has one."""
        shape_position = self.position
        shape = self.read_shape() if _SHAPE.match(self.text, shape_position) else None
        position = self.position
        name: str = self.expect_match(_ONE_NAME, "the name of an operand")[1]
        if name not in previous_instructions:
            self.raise_expected("the name of an instruction above", position)
        if shape is not None:
            self.check_shape_agrees(shape, shape_position, previous_instructions[name])
        return name

    def read_callees(self, value: str, position: int) -> list[str]:
        """Return the computations named by the value of an attribute."""
        # Going back keeps positions for errors exact, which parsing the copied text would not.
        resume_position, self.position = self.position, position
        names = (
            self.read_list(self.read_callee, "}", sys.maxsize)
            if self.skip_if_next("{")
            else [self.read_callee()]
        )
        if self.position < position + len(value):
            self.raise_expected("the name of a computation, or names in braces", position)
        self.position = resume_position
        return names

    def read_callee(self) -> str:
        """Return the name of a computation, which must be defined above."""
        position = self.position
        name: str = self.expect_match(_ONE_NAME, "the name of a computation, or names in braces")[1]
        if name not in self.computations:
            self.raise_expected(f"the name of a computation above, not {truncate(name)}", position)
        return name
