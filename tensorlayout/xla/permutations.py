"""Permutations, and common factors of two lists of sizes, as in XLA's utilities."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from itertools import accumulate
from typing import TypeVar

from tensorlayout.errors import raise_named_error, short_repr
from tensorlayout.layout import check_integer, check_integers
from tensorlayout.support.spellings import make_module_dir
from tensorlayout.xla.calling import require

__all__ = [
    "common_factors",
    "compose_permutations",
    "inverse_permutation",
    "is_identity_permutation",
    "is_permutation",
    "move_single_element",
    "permute",
    "permute_inverse",
]
__dir__ = make_module_dir(globals())

_ItemT = TypeVar("_ItemT")
# Limit for sizes whose products are compared: Python's integers grow with each factor.
_MAX_SIZES = 1024


def is_permutation(p: Sequence[int]) -> bool:
    """Return whether `p` contains each of 0 to n - 1 once; True for an empty list.

    >>> is_permutation([3, 1, 0, 2]), is_permutation([1, 1])
    (True, False)
    """
    entries = check_integers("is_permutation: p", p)
    return sorted(entries) == list(range(len(entries)))


def is_identity_permutation(p: Sequence[int]) -> bool:
    """Return whether `p` is 0, 1, …, n - 1."""
    entries = check_integers("is_identity_permutation: p", p)
    return entries == tuple(range(len(entries)))


def checked_permutation(name: str, p: Sequence[int], length: int | None = None) -> tuple[int, ...]:
    """Return `p` as a tuple; ValueError unless it is a permutation of `length` entries."""
    entries = check_integers(name, p)
    length = len(entries) if length is None else length
    if sorted(entries) != list(range(length)):
        raise_named_error(
            name, f"must be a permutation of 0 to {length - 1}, got {short_repr(entries)}"
        )
    return entries


def permute(values: Sequence[_ItemT], p: Sequence[int]) -> list[_ItemT]:
    """Return the values in another order: ``out[i] = values[p[i]]``.

    Raises `ValueError` unless `p` is a permutation with as many entries as `values`.

    >>> permute([10, 20, 30], [1, 2, 0])
    [20, 30, 10]
    """
    return [values[i] for i in checked_permutation("permute: p", p, len(values))]


def permute_inverse(values: Sequence[_ItemT], p: Sequence[int]) -> list[_ItemT]:
    """Return the values in the order before `permute`: ``out[p[i]] = values[i]``.

    Raises `ValueError` unless `p` is a permutation with as many entries as `values`.

    >>> permute_inverse(["a", "b", "c"], [2, 0, 1])
    ['b', 'c', 'a']
    """
    return permute(values, inverse_permutation(p))


def inverse_permutation(p: Sequence[int]) -> list[int]:
    """Return the inverse of a permutation: ``out[p[i]] = i``.

    Raises `ValueError` if `p` is not a permutation.

    >>> inverse_permutation([1, 2, 0])
    [2, 0, 1]
    """
    entries = checked_permutation("inverse_permutation: p", p)
    # The stable sort of 0 to n - 1 by p is the inverse: p[out[k]] = k.
    return sorted(range(len(entries)), key=entries.__getitem__)


def compose_permutations(p1: Sequence[int], p2: Sequence[int]) -> list[int]:
    """Return the composition of two permutations: ``out[i] = p1[p2[i]]``.

    Raises `ValueError` if `p1` or `p2` is not a permutation, or their lengths differ.

    >>> compose_permutations([1, 3, 2, 0], [2, 1, 3, 0])
    [2, 3, 0, 1]
    """
    return permute(checked_permutation("compose_permutations: p1", p1), p2)


def move_single_element(p: Sequence[_ItemT], source: int, target: int) -> list[_ItemT]:
    """Return a copy of `p` with the entry at `source` moved to `target`.

    >>> move_single_element([0, 1, 2, 3, 4], 1, 3)
    [0, 2, 3, 1, 4]
    """
    source = check_integer("move_single_element: source", source)
    target = check_integer("move_single_element: target", target)
    is_in_range = min(source, target) >= 0 and max(source, target) < len(p)
    require(is_in_range, f"move_single_element: must be from 0 to {len(p) - 1}", source, target)
    entries = list(p)
    entries.insert(target, entries.pop(source))
    return entries


def common_factors(a: Sequence[int], b: Sequence[int]) -> list[tuple[int, int]]:
    """Return where the shortest consecutive groups of equal products begin in `a` and `b`.

    The last pair is the two lengths. Equal lists have one group per entry; an entry of 1 without a
    partner is a group with an empty other side. With a 0 among entries that differ, what is left
    behind the equal ones in front is one group, if its products agree; else all is one group.

    ValueError where the products differ.

    >>> common_factors([2, 6], [4, 3]), common_factors([2, 3], [2, 3])
    ([(0, 0), (2, 2)], [(0, 0), (1, 1), (2, 2)])
    """
    first = check_integers("common_factors: a", a)
    second = check_integers("common_factors: b", b)
    is_short = max(len(first), len(second)) <= _MAX_SIZES
    require(
        is_short, f"common_factors: at most {_MAX_SIZES} sizes are allowed", len(first), len(second)
    )
    equal = math.prod(first) == math.prod(second)
    require(equal, "common_factors: the products must be equal", first, second)
    ends = (len(first), len(second))
    equal_count = 0
    # Equal entries in front are groups of one each. This includes zeros, after which all products
    # are 0.
    while equal_count < min(ends) and first[equal_count] == second[equal_count]:
        equal_count += 1
    starts = [(i, i) for i in range(equal_count)]
    # With zeros in front the products of all entries agree even if those of the rest do not.
    rest_product = math.prod(first[equal_count:])
    if rest_product != math.prod(second[equal_count:]):
        return [(0, 0), ends]
    # With a 0, products do not tell where groups end.
    if rest_product == 0:
        return [*starts, (equal_count, equal_count), ends]
    return starts + [
        (equal_count + i, equal_count + j)
        for i, j in _equal_product_bounds(first[equal_count:], second[equal_count:])
    ]


def _equal_product_bounds(a: Sequence[int], b: Sequence[int]) -> list[tuple[int, int]]:
    """Return the position pairs up to which the products of `a` and `b` are equal.

    Sizes of 1 repeat a product; the ends that have it are paired as far as they go.
    """
    # A group ends wherever both lists reach the same product: [2, 6] reaches 1, 2, 12 and [4, 3]
    # reaches 1, 4, 12, so only 1 and 12 are bounds. Sizes of at least 1 never decrease a product,
    # so sorting products keeps the order of the positions.
    products_a, products_b = ([*accumulate(sizes, operator.mul, initial=1)] for sizes in (a, b))
    bounds = []
    for product in sorted({*products_a} & {*products_b}):
        i, j = products_a.index(product), products_b.index(product)
        ones_a, ones_b = products_a.count(product) - 1, products_b.count(product) - 1
        steps = range(max(ones_a, ones_b) + 1)
        # One step for each entry of 1 on the longer side. The shorter side stays at its last one,
        # so that the surplus ones are groups with an empty other side.
        bounds += [(i + min(k, ones_a), j + min(k, ones_b)) for k in steps]
    return bounds
