"""What errors repeat of what came: short, however much that was, and in our words."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any, NoReturn, TypeVar

_LETTERS = 60  # of a value or a text that is repeated whole
_ROOM = 200  # letters for the items of a sequence, and of a text that errors are about
_BITS = 128  # of an integer that is written out: Python itself refuses 4300 digits
_LEVELS = 3  # of sequences in sequences


def shown(x: Any, most: int = _LETTERS) -> str:
    """`x` as an error repeats it: as it is where that is short, else its begin, or its kind.

    Of a text `most` letters are repeated, of a sequence the first items and how many there are.

    >>> shown(10**5000), shown((0,) * 32000)[:13], shown("word")
    ('an integer of 16610 bits', '(0, 0, 0, 0, ', "'word'")
    """
    return _shown(x, most, 0)


def cut(text: Any, most: int = _ROOM) -> str:
    """The text of `text`, such as a layout's, without quotes: the first `most` letters of it."""
    found = str(text)
    return found if len(found) <= most else f"{found[:most]}…"


class CopyError(RuntimeError):
    """A copy, a change of layout, or an export that `no_copies` refuses; nothing has been moved.

    `record`: what a trace would have of it; its `stack` says which lines called.

    >>> import tensorlayout as tl
    >>> x = tl.zeros((2, 3))
    >>> try:
    ...     with tl.no_copies():
    ...         y = x.copy()
    ... except tl.CopyError as error:
    ...     print(error.record.name, error.record.bytes_written)
    copy 48
    """

    __module__ = "tensorlayout"

    record: Any = None


# What a call may be refused with.
REFUSALS = (
    *(IndexError, NotImplementedError, OverflowError, TypeError, ValueError),
    *(BufferError, MemoryError, CopyError),
)

_Found = TypeVar("_Found")
_Refusal = TypeVar("_Refusal", bound=Exception)


def named(name: str, error: _Refusal) -> _Refusal:
    """`error`, with the name of an operation before what it says, if it has none.

    Whoever finds a fault knows no names; who puts one there raises the same error again.
    """
    if not hasattr(error, "said"):
        vars(error)["said"] = str(error)
        error.args = (f"{name}: {error}",)
    return error


def refuse(name: str, text: str, error: type[Exception] = ValueError) -> NoReturn:
    """Raise an error in the name of an operation."""
    raise named(name, error(text))


def under(name: str, function: Callable[..., _Found], *args: Any, **options: Any) -> _Found:
    """What `function` gives; its errors have this name, in place of one that they have."""
    try:
        return function(*args, **options)
    except REFUSALS as error:
        error.args = (getattr(error, "said", str(error)),)
        vars(error).pop("said", None)
        named(name, error)
        raise


def kind_of(x: Any) -> str:
    """The name of a type, with the library that it is from."""
    kind = type(x)
    where = "" if kind.__module__ == "builtins" else f"{kind.__module__.split('.')[0]}."
    return cut(f"{where}{kind.__name__}", _LETTERS)


def _shown(x: Any, most: int, level: int) -> str:
    if isinstance(x, int) and (bits := int.bit_length(x)) > _BITS:
        return f"an integer of {bits} bits"
    if type(x) is str:
        return cut(repr(cut(x, most)), 2 * most)  # what cannot be printed takes more letters
    if type(x) in (tuple, list):
        return _sequence(x, most, level) if level < _LEVELS else kind_of(x)
    try:
        text = repr(x)
    except Exception:  # whatever the repr of a stranger raises
        return kind_of(x)
    return kind_of(x) if len(text) > most or " at 0x" in text else text


def _sequence(x: Any, most: int, level: int) -> str:
    """The items of a tuple or a list, as many as there is room for."""
    texts: list[str] = []
    room = _ROOM
    for item in islice(x, _ROOM):
        text = _shown(item, most, level + 1)
        room -= len(text) + 2
        if room < 0:
            break
        texts.append(text)
    if len(texts) < len(x):
        texts.append(f"… {len(x)} in all")
    listed = ", ".join(texts)
    if type(x) is list:
        return f"[{listed}]"
    return f"({listed},)" if len(x) == 1 else f"({listed})"
