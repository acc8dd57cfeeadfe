"""Einstein's notation: which dimensions of the operands the letters of `einsum` name."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from tensorlayout.plan.library import Shape

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


@lru_cache(4096)
def fitted(subscripts: str, shapes: tuple[Shape, ...]) -> tuple[str, Shape]:
    """The subscripts with an output and a letter for every dimension, and the result's shape.

    As NumPy reads them: sizes of 1 broadcast, and dimensions of ``...`` that the output leaves out
    are summed, too. ValueErrors for what does not fit say why; each operand has its term.
    """
    inputs, arrow, output = subscripts.replace(" ", "").partition("->")
    terms = inputs.split(",")
    for letter in "".join(term.replace("...", "", 1) for term in (*terms, output)):
        if letter not in _LETTERS:
            msg = f"{letter!r} is no letter, and no part of one '->' or of a term's one '...'"
            raise ValueError(msg)
    ranks = [len(term.replace("...", "")) for term in terms]
    rest = [len(shape) - rank for shape, rank in zip(shapes, ranks, strict=True)]
    for term, shape, unnamed in zip(terms, shapes, rest, strict=True):
        if unnamed < 0 or (unnamed and "..." not in term):
            msg = f"{term!r} does not name the dimensions of shape {shape}"
            raise ValueError(msg)
    free = "".join(letter for letter in _LETTERS if letter not in subscripts)
    most = max(rest)
    if most > len(free):
        msg = f"there are {len(free)} letters left for the {most} dimensions of '...'"
        raise ValueError(msg)
    others = free[:most]
    named = [
        term.replace("...", others[most - unnamed :])
        for term, unnamed in zip(terms, rest, strict=True)
    ]
    sizes = _sizes(named, shapes, others)
    if arrow:
        kept = output.replace("...", others)
    else:
        kept = others + "".join(letter for letter in sorted(sizes) if inputs.count(letter) == 1)
    for letter in kept:
        if letter not in sizes or kept.count(letter) > 1:
            msg = f"{letter!r} is in no operand, or more than once in the output"
            raise ValueError(msg)
    return f"{','.join(named)}->{kept}", tuple(sizes[letter] for letter in kept)


def _sizes(named: Sequence[str], shapes: Sequence[Shape], others: str) -> dict[str, int]:
    """The size of each letter: equal in one operand, equal or 1 in several."""

    def same(letter: str, first: int, second: int) -> None:
        if first != second:
            msg = f"{'...' if letter in others else letter!r} names sizes {first} and {second}"
            raise ValueError(msg)

    sizes: dict[str, int] = {}
    for term, shape in zip(named, shapes, strict=True):
        own: dict[str, int] = {}
        for letter, size in zip(term, shape, strict=True):
            same(letter, own.setdefault(letter, size), size)
        for letter, size in own.items():
            if sizes.get(letter, 1) == 1:
                sizes[letter] = size
            elif size != 1:
                same(letter, sizes[letter], size)
    return sizes
