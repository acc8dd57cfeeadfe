"""The text of kernels: its definitions, and the values of constant expressions in it.

Of C++, what our kernels use where host and device have to agree: structs, enums, ``constexpr`` and
``#define`` constants, templates of types and integers, with specialisations. What else a file has
is passed over until somebody asks for it, and then refused by a ValueError. Branches of ``#if`` are
not told apart: a name that several of them define has to be given by the caller.
"""

from __future__ import annotations

import ctypes
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

from tensorlayout.kernels_path import kernel_directory
from tensorlayout.layout.once import once

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
_TOKEN = re.compile(r"\s*(\w+|<<|>>|[<>=!]=|&&|\|\||[^\w\s])")

# By how tightly they bind.
_BINARY: tuple[dict[str, Callable[[int, int], int]], ...] = (
    {"||": lambda x, y: int(bool(x or y))},
    {"&&": lambda x, y: int(bool(x and y))},
    {"|": operator.or_},
    {"&": operator.and_},
    {"==": operator.eq, "!=": operator.ne},
    {"<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge},
    {"<<": operator.lshift, ">>": operator.rshift},
    {"+": operator.add, "-": operator.sub},
    {"*": operator.mul, "/": operator.floordiv, "%": operator.mod},
)


class Parameter(NamedTuple):
    """Of a template: "class", "int", …; the name; the default value, or ""."""

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


@once
def file_of(path: str) -> File:
    """The file, read once."""
    return File(path)


def closing(text: str, start: int) -> int:
    """Where the bracket that opens at `start` is closed."""
    depth = 0
    for at in range(start, len(text)):
        depth += (text[at] in "([{") - (text[at] in ")]}")
        if not depth:
            return at
    msg = f"a bracket is not closed: {text[start : start + 60]!r}"
    raise ValueError(msg)


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
    msg = f"cuda: {file.path}: cannot read {what}"
    raise ValueError(msg)


class Scope:
    """Where names are looked up: `names` and `given` first, then the definitions that `file` sees.

    `names` are of this text alone, as template parameters are; what is `given` holds in all that
    the text mentions, too. Both are integers, types of ctypes, or texts, which have no value.
    """

    def __init__(
        self,
        file: File,
        names: Mapping[str, Any],
        given: Mapping[str, Any],
        type_of: Callable[[Scope, str], Any],
    ) -> None:
        self.file, self.names = file, {**given, **names}
        self._given, self._type_of = given, type_of

    def value(self, text: str) -> int:
        """The value of a constant expression. ValueError for what is not one."""
        return int(text) if text.isdigit() else _Expression(self, text).value()

    def type(self, text: str) -> Any:
        """The ctypes type that a type's name means here. ValueError for one that is not known."""
        return self._type_of(self, text)

    def definition(self, name: str, kind: str, arguments: list[str]) -> tuple[Definition, Scope]:
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

    def _elsewhere(self, file: File, names: Mapping[str, Any]) -> Scope:
        return Scope(file, names, self._given, self._type_of)

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


class _Expression:
    """A constant expression; no value is negative where it is divided."""

    def __init__(self, scope: Scope, text: str) -> None:
        self._scope, self._text = scope, text
        self._tokens = [*_TOKEN.finditer(text)]
        self._at = 0

    def value(self) -> int:
        found = self._choice()
        return found if self._at == len(self._tokens) else self._refuse()

    def _refuse(self) -> NoReturn:
        refuse(self._scope.file, f"the expression {self._text!r}")

    def _peek(self) -> str:
        return self._tokens[self._at][1] if self._at < len(self._tokens) else ""

    def _take(self, *wanted: str) -> str:
        found = self._peek()
        if not found or (wanted and found not in wanted):
            self._refuse()
        self._at += 1
        return found

    def _choice(self) -> int:
        found = self._binary(0)
        if self._peek() != "?":
            return found
        self._take()
        yes = self._choice()
        self._take(":")
        no = self._choice()
        return yes if found else no

    def _binary(self, level: int) -> int:
        if level == len(_BINARY):
            return self._unary()
        found = self._binary(level + 1)
        while self._peek() in _BINARY[level]:
            apply = _BINARY[level][self._take()]
            other = self._binary(level + 1)
            found = int(apply(found, other))
        return found

    def _unary(self) -> int:
        token = self._take()
        if token == "(":
            found = self._choice()
            self._take(")")
            return found
        if token in ("-", "!", "+"):
            of = self._unary()
            return {"-": -of, "!": int(not of), "+": of}[token]
        if token in ("sizeof", "defined"):
            inside = self._bracket("(", ")")
            if token == "defined":
                return int(inside in self._scope.names)
            return ctypes.sizeof(self._scope.type(inside))
        if token[0].isdigit():
            return int(token.rstrip("uUlL"), 0)
        return self._named(token) if token.isidentifier() else self._refuse()

    def _named(self, name: str) -> int:
        known = self._scope.names.get(name)
        if known is not None:
            return known if isinstance(known, int) else self._refuse()
        found = self._scope.file.definitions(name)
        arguments = split(self._bracket("<", ">")) if found and found[0].parameters else []
        definition, scope = self._scope.definition(name, "constant", arguments)
        return scope.value(definition.text)

    def _bracket(self, opening: str, closing: str) -> str:
        """The text between the bracket that comes and the one that closes it."""
        self._take(opening)
        start, depth = self._tokens[self._at - 1].end(), 1
        while depth:
            token = self._take()
            depth += (token == opening) - (token == closing)
        return self._text[start : self._tokens[self._at - 1].start(1)].strip()
