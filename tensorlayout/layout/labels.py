"""Orders of dimensions by name: labels such as NHWC, words, and what other libraries call them."""

from __future__ import annotations

from typing import Any, NoReturn

from tensorlayout.layout.order import Order, descending
from tensorlayout.layout.tiling import COMBINE
from tensorlayout.words import shown

# Letters in the logical order of shapes, by who writes them; the first that has all of a label's
# counts. PyTorch, TensorFlow, JAX and oneDNN agree on images, batches of them, and filters.
_LOGICAL = (
    "NCTDHWL",  # what convolutions take
    "BCTDHWL",
    "GOIDHWL",  # their filters
    "RC",  # rows and columns
    "BMKN",  # operands of matrix products
    "BHSD",  # attention, in cuDNN
    "KCTRS",  # filters in cuDNN, and what comes of them
    "NKZPQ",
    "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
)

_ROW_MAJOR = ("c", "row_major", "contiguous_format")
_COLUMN_MAJOR = ("f", "column_major")
_CHANNELS = {
    "channels_first": {4: "NCHW", 5: "NCDHW"},
    "channels_last": {4: "NHWC", 5: "NDHWC"},
    "channels_last_3d": {5: "NDHWC"},
}
_WORDS = "C, F, row_major, column_major, channels_first, channels_last, channels_last_3d"


def order_of_labels(labels: str, rank: int) -> Order:
    """The order, minor to major, that labels or a word name for a shape of `rank` dimensions.

    One letter a dimension, in one case, from the slowest in memory to the fastest. The letters fix
    the logical order of the shape, too: the conventional one (``NCHW``), else the alphabetical one.

    >>> order_of_labels("NHWC", 4)
    (1, 3, 2, 0)
    >>> order_of_labels("acdb", 4)
    (1, 3, 2, 0)
    """
    name = in_our_words(labels)
    if not isinstance(name, str):
        msg = f"labels: must be text, got {shown(name)}"
        raise TypeError(msg)
    word = name.lower()
    if word in _ROW_MAJOR:
        return descending(rank)
    if word in _COLUMN_MAJOR:
        return tuple(range(rank))
    if word in _CHANNELS:
        named = _CHANNELS[word]
        if rank not in named:
            means = " or ".join(f"{text} of rank {n}" for n, text in named.items())
            _refuse(f"{shown(name)} is {means}, the shape has {rank} dimensions")
        return _order(named[rank])
    if not _are_labels(name):
        rule = f"must be different letters of one case, slowest first, or one of {_WORDS}"
        _refuse(f"{rule}, got {shown(name)}", name.upper(), rank)
    if len(name) != rank:
        count = f"{len(name)} dimension{'s' * (len(name) > 1)}"
        means = f"{shown(name)} names {count} ({', '.join(_logical(word.upper()))})"
        _refuse(f"{means}, the shape has {rank}", _fitted(name, rank), rank)
    return _order(word.upper())


def in_our_words(given: Any) -> Any:
    """What an object of another library asks for, as text or a tuple; all else as it is.

    PyTorch's memory formats are words. JAX's `Layout` is an order, with tiles XLA's text of both;
    `Format` is one for a device. An `XlaLayout` is its text. ValueError for a Format of no Layout.
    """
    if hasattr(given, "minor_to_major") and hasattr(given, "tiles"):
        return str(given)
    if type(given).__name__ == "memory_format":
        return str(given).removeprefix("torch.")
    if hasattr(given, "sharding") and hasattr(given, "layout"):
        given = given.layout
        if not hasattr(given, "major_to_minor"):
            msg = f"layout: a Format must hold a Layout, got one of {shown(given)}"
            raise ValueError(msg)
    major_to_minor = getattr(given, "major_to_minor", None)
    if major_to_minor is None:
        return given
    order = tuple(reversed(major_to_minor))
    tiles = getattr(given, "tiling", None) or ()
    if not tiles:
        return order
    sizes = (["*" if n == COMBINE else str(n) for n in tile] for tile in tiles)
    cut = "".join(f"({','.join(words)})" for words in sizes)
    return f"{{{','.join(map(str, order))}:T{cut}}}"


def _are_labels(text: str) -> bool:
    plain = text.isascii() and text.isalpha() and (text.isupper() or text.islower())
    return plain and len(set(text)) == len(text)


def _logical(letters: str) -> str:
    """Upper-case letters in the order in which a shape has their dimensions."""
    known = next(family for family in _LOGICAL if set(letters) <= set(family))
    return "".join(sorted(letters, key=known.index))


def _order(letters: str) -> Order:
    return tuple(map(_logical(letters).index, reversed(letters)))


def _fitted(labels: str, rank: int) -> str:
    """Labels with a batch more or less, which may fit a rank that they do not."""
    batch = next((n for n in "NnBb" if n in labels), "")
    if len(labels) > rank:
        return labels.replace(batch, "")
    return labels if batch else ("N" if labels.isupper() else "n") + labels


def _refuse(wrong: str, fitting: str = "", rank: int = -1) -> NoReturn:
    """The error for labels, with those that were meant where they can be guessed."""
    fix, such = "a letter for each dimension", ""
    if len(fitting) == rank and _are_labels(fitting):
        fix, such = repr(fitting), f" such as {_order(fitting.upper())}"
    msg = f"labels: {wrong}; give {fix}, or a sequence minor_to_major{such}"
    raise ValueError(msg)
