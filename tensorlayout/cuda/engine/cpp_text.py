"""The text of kernels: its definitions, and the values of constant expressions in it.

Of C++, what our kernels use where host and device have to agree: structs, enums, ``constexpr`` and
``#define`` constants, templates of types and integers, with specialisations. What else a file has
is passed over until somebody asks for it, and then refused by a ValueError. Branches of ``#if`` are
not told apart: a name that several of them define has to be given by the caller.
"""

from __future__ import annotations

import ctypes
import functools
import keyword
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

from tensorlayout.support.kernel_sources import kernel_directory

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/|\\\n", re.DOTALL)
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"\n]+)"', re.MULTILINE)
_DEFINITION = re.compile(
    r"""^(?:template\s*<(?P<parameters>[^;{}]*)>\s*)?(?:
        struct\s+(?P<struct>\w+)\s*(?:<(?P<pattern>[^;{}]*)>\s*)?[{;]
        | enum\s+(?P<enum>\w*)\s*(?::\s*(?P<type>\w+)\s*)?\{(?P<enumerators>[^{}]*)\};
        | constexpr\s+\w+\s+(?P<constants>\w+\s*=[^;]*);
        | \#[ \t]*define[ \t]+(?P<macro>\w+)[ \t]+(?P<meaning>[^\n]*)$
    )""",
    re.MULTILINE | re.VERBOSE,
)
_NEXT_CONSTANT = re.compile(r",\s*(?=\w+\s*=[^=])")
_OPERAND = re.compile(r"\s*(\w+|[-+!(])")
_OPERATOR = re.compile(r"\s*(<<|>>|[<>=!]=|&&|\|\||[-+*/%<>&|])")
_IN_PYTHON = {"&&": "and", "||": "or", "/": "//"}


class Parameter(NamedTuple):
    """A template's parameter: "class", "int", …; the name; the default value, or ""."""

    kind: str
    name: str
    default: str


@dataclass(frozen=True, slots=True)
class Definition:
    """Something that has a name.

    `kind`: struct, enum or constant. `pattern`: the arguments of a specialisation. `text`: the body
    of a struct, the underlying type of an enum, or the value of a constant.
    """

    file: File
    kind: str
    name: str
    parameters: tuple[Parameter, ...]
    pattern: tuple[str, ...]
    text: str


class File:
    """A ``.cu`` or ``.cuh`` file, by its path inside the folder of kernels or an absolute one."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.text = _COMMENT.sub("", (kernel_directory() / path).read_text("utf-8"))
        paths = (f"include/{name}" for name in _INCLUDE.findall(self.text))
        self._included = [path for path in paths if (kernel_directory() / path).is_file()]
        self._own: dict[str, list[Definition]] = {}
        for found in _DEFINITION.finditer(self.text):
            for each in self._definitions(found):
                self._own.setdefault(each.name, []).append(each)

    def definitions(self, name: str) -> list[Definition]:
        """What has this name: here, or else in the first included file that knows it."""
        found = self._own.get(name)
        if found is None:
            files = map(file_of, self._included)
            found = self._own[name] = next(filter(None, (f.definitions(name) for f in files)), [])
        return found

    def _definitions(self, found: re.Match[str]) -> Iterator[Definition]:
        parameters = tuple(_parameters(found["parameters"] or ""))

        def made(kind: str, name: str, text: str, pattern: tuple[str, ...] = ()) -> Definition:
            return Definition(self, kind, name, parameters, pattern, text.strip())

        if found["struct"]:
            declared = found[0].endswith(";")
            body = "" if declared else self.text[found.end() : closing(self.text, found.end() - 1)]
            yield made("struct", found["struct"], body, tuple(split(found["pattern"] or "")))
        elif found["enumerators"] is not None:
            yield made("enum", found["enum"], found["type"] or "int")
            before = "-1"
            for each in split(found["enumerators"]):
                name, _, value = (word.strip() for word in each.partition("="))
                before = value or f"{before} + 1"
                yield made("constant", name, before)
        elif found["macro"]:
            yield made("constant", found["macro"], found["meaning"])
        else:
            for each in _NEXT_CONSTANT.split(found["constants"]):
                name, _, value = each.partition("=")
                yield made("constant", name.strip(), value)


@functools.cache
def file_of(path: str) -> File:
    """The file, read once."""
    return File(path)


def closing(text: str, start: int, opens: str = "([{", closes: str = ")]}") -> int:
    """Where the bracket that opens at `start` is closed."""
    depth = 0
    for at in range(start, len(text)):
        depth += (text[at] in opens) - (text[at] in closes)
        if not depth:
            return at
    raise ValueError(f"a bracket is not closed: {text[start : start + 60]!r}")


def _parted(text: str, sign: str) -> tuple[str, str, str]:
    """What is before the first such sign outside of round brackets, the sign, and what follows."""
    depth = 0
    for at, each in enumerate(text):
        depth += (each == "(") - (each == ")")
        if each == sign and not depth:
            return text[:at], sign, text[at + 1 :]
    return text, "", ""


def split(text: str) -> list[str]:
    """What is between the commas that are outside of all brackets."""
    found, depth, start = [], 0, 0
    for at, sign in enumerate(text):
        depth += (sign in "([{<") - (sign in ")]}>")
        if sign == "," and not depth:
            found.append(text[start:at].strip())
            start = at + 1
    return [each for each in (*found, text[start:].strip()) if each]


def _parameters(text: str) -> Iterator[Parameter]:
    for each in split(text):
        declared, _, default = each.partition("=")
        kind, _, name = declared.strip().rpartition(" ")
        yield Parameter(kind, name, default.strip())


def refuse(file: File, what: str) -> NoReturn:
    """A ValueError that names the file."""
    raise ValueError(f"cuda: {file.path}: cannot read {what}")


_SCALARS: dict[str, Any] = {
    **{f"{sign}int{bits}_t": getattr(ctypes, f"c_{sign}int{bits}")
       for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "bool": ctypes.c_bool,
    "int": ctypes.c_int32,
    "float": ctypes.c_float,
    "double": ctypes.c_double,
}  # fmt: skip

_STATEMENT = re.compile(r"[^;{]*[;{]")
_CONSTANT = re.compile(r"static\s+constexpr\s+\w+\s+(\w+)\s*=(.*)", re.DOTALL)
_TYPE = re.compile(r"(?:const\s+)?(\w+)\s*")
_DECLARATOR = re.compile(r"(\**)\s*(?:const\s+)?(\w+)\s*((?:\[[^\]]*\]\s*)*)")

# Structs of the same members are one class, whichever file asks first.
_classes: dict[tuple[Any, ...], Any] = {}


@functools.cache
def _evaluated(numbers: str) -> int:
    return int(eval(numbers))


def _statements(body: str) -> Iterator[str]:
    """What ends with a semicolon; definitions of functions are left out."""
    body, at = re.sub(r"^\s*#.*", "", body, flags=re.MULTILINE), 0
    while found := _STATEMENT.match(body, at):
        at = found.end()
        if body[at - 1] == "{":
            at = closing(body, at - 1) + 1
        elif found[0].strip() != ";":
            yield found[0][:-1].strip()


class NameScope:
    """Where names are looked up: `names` and `given` first, then the definitions that `file` sees.

    `names` are of this text alone, as template parameters are; what is `given` holds in all that
    the text mentions, too. Both are integers, types of ctypes, or texts, which have no value.
    """

    def __init__(
        self,
        file: File,
        names: Mapping[str, Any],
        given: Mapping[str, Any],
    ) -> None:
        self.file, self.names, self._given = file, {**given, **names}, given

    def value(self, text: str) -> int:
        """The value of a constant expression. ValueError for what is not one.

        Operators bind as in Python: comparisons are neither chained nor mixed with ``&`` and ``|``.
        No value is negative where it is divided.
        """
        if text.isdigit():
            return int(text)
        condition, question, rest = _parted(text, "?")
        if question:
            yes, _, no = _parted(rest, ":")
            return self.value(yes if self.value(condition) else no)
        words, at = [], 0
        while text[at:].strip():
            value, at = self._operand(text, at)
            words.append(str(value))
            if found := _OPERATOR.match(text, at):
                words.append(_IN_PYTHON.get(found[1], found[1]))
                at = found.end()
        try:
            return _evaluated(" ".join(words))
        except SyntaxError:
            refuse(self.file, f"the expression {text!r}")

    def _operand(self, text: str, at: int) -> tuple[int, int]:
        """The value of what begins at `at`, and where it ends."""
        found = _OPERAND.match(text, at)
        if not found:
            refuse(self.file, f"the expression {text!r}")
        word, at = found[1], found.end()
        if word == "(":
            end = closing(text, at - 1)
            return self.value(text[at:end]), end + 1
        if word in "-+!":
            value, at = self._operand(text, at)
            return {"-": -value, "+": value, "!": int(not value)}[word], at
        if word in ("sizeof", "defined"):
            end = closing(text, at)
            inside = text[at + 1 : end].strip()
            is_size = word == "sizeof"
            return ctypes.sizeof(self.type(inside)) if is_size else inside in self.names, end + 1
        return (
            (int(word.rstrip("uUlL"), 0), at) if word[0].isdigit() else self._named(word, text, at)
        )

    def _named(self, name: str, text: str, at: int) -> tuple[int, int]:
        """The value of a name before `at`, with the template arguments that follow it there."""
        known = self.names.get(name)
        if known is not None:
            return (
                (known, at) if isinstance(known, int) else refuse(self.file, f"{name} as a number")
            )
        found, arguments = self.file.definitions(name), []
        if found and found[0].parameters:
            end = closing(text, at, "<", ">")
            arguments, at = split(text[at + 1 : end]), end + 1
        definition, scope = self.definition(name, "constant", arguments)
        return scope.value(definition.text), at

    def type(self, text: str) -> Any:
        """The ctypes type that a type's name means here. ValueError for one that is not known."""
        text = text.removeprefix("const ").strip()
        if text.endswith("*"):
            return ctypes.c_uint64
        name, _, rest = text.partition("<")
        name = name.strip()
        known = self.names.get(name, _SCALARS.get(name))
        if isinstance(known, type):
            return known
        found = self.file.definitions(name)
        if found and found[0].kind == "enum":
            return _SCALARS[found[0].text]
        definition, inside = self.definition(name, "struct", split(rest.removesuffix(">")))
        fields = tuple(inside._fields(definition.text))
        key = definition.file.path, name, fields
        if key not in _classes:
            _classes.setdefault(key, type(name, (ctypes.Structure,), {"_fields_": fields}))
        return _classes[key]

    def _fields(self, body: str) -> Iterator[tuple[str, Any]]:
        """The members of a struct; functions, names of types and constants are none."""
        for statement in _statements(body):
            known = _CONSTANT.fullmatch(statement)
            if known:
                self.names[known[1]] = self.value(known[2])
            elif not statement.startswith(("using ", "static_assert")):
                yield from self._members(statement)

    def _members(self, statement: str) -> Iterator[tuple[str, Any]]:
        found = _TYPE.match(statement)
        if not found:
            refuse(self.file, f"the member {statement!r}")
        end = found.end()
        if statement.startswith("<", end):
            end = closing(statement, end, "<", ">") + 1
        kind, declared = statement[:end], statement[end:].strip()
        for each in split(declared):
            part = _DECLARATOR.fullmatch(each)
            if not part:
                refuse(self.file, f"the member {statement!r}")
            made = ctypes.c_uint64 if part[1] else self.type(kind)
            for size in reversed(re.findall(r"\[([^\]]*)\]", part[3])):
                made = made * self.value(size)
            yield part[2] + "_" * keyword.iskeyword(part[2]), made

    def definition(
        self, name: str, kind: str, arguments: list[str]
    ) -> tuple[Definition, NameScope]:
        """What `name` with these template arguments is, and the scope of its text."""
        found = [each for each in self.file.definitions(name) if each.kind == kind]
        general = [each for each in found if not each.pattern]
        if not general:
            refuse(self.file, f"{name}: no such {kind} is here or in the headers")
        if len({each.text for each in general if each.text}) > 1:
            refuse(self.file, f"{name}: it is defined in several ways")
        primary = max(general, key=lambda each: len(each.text))  # others announce it
        bound = dict(self._bound(primary, arguments))
        special = (each for each in found if each.pattern)
        fitting = ((each, self._fitting(each, list(bound.values()))) for each in special)
        text, names = next((each for each in fitting if each[1] is not None), (primary, bound))
        if not text.text:
            refuse(self.file, f"{name}: it is nothing for these arguments")
        return text, self._elsewhere(text.file, names or {})

    def _elsewhere(self, file: File, names: Mapping[str, Any]) -> NameScope:
        return NameScope(file, names, self._given)

    def _bound(self, primary: Definition, arguments: list[str]) -> Iterator[tuple[str, Any]]:
        there = self._elsewhere(primary.file, {})
        for k, parameter in enumerate(primary.parameters):
            scope, text = (self, arguments[k]) if k < len(arguments) else (there, parameter.default)
            if not text:
                refuse(self.file, f"{primary.name} without an argument for {parameter.name}")
            find = scope.type if parameter.kind == "class" else scope.value
            yield parameter.name, find(text)

    def _fitting(self, special: Definition, given: list[Any]) -> dict[str, Any] | None:
        """The parameters of a specialisation, if it is for these arguments."""
        own = [parameter.name for parameter in special.parameters]
        there = self._elsewhere(special.file, {})
        bound = {}
        for text, value in zip(special.pattern, given, strict=True):
            if text in own:
                bound[text] = value
            elif (there.value(text) if isinstance(value, int) else there.type(text)) != value:
                return None
        return bound
