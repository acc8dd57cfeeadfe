"""Orders of dimensions, minor to major: checks, names, and orders after a change of rank.

Names of orders are labels such as NHWC, words such as "row_major", and memory formats and layouts
of other libraries.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from tensorlayout.errors import short_repr
from tensorlayout.layout.checks import check_integers, raise_argument_error
from tensorlayout.layout.tiling import COMBINE

Order = tuple[int, ...]

# Families of letters, in the logical order of shapes. PyTorch, TensorFlow, JAX and oneDNN agree on
# those of images, batches and filters.
_FAMILIES = (
    "NCTDHWL",  # operands of convolutions
    "BCTDHWL",
    "GOIDHWL",  # filters of convolutions
    "PZYX",  # dimensions 0, 1, … in the documents of XLA
    "TCZYX",  # microscopy
    "RC",  # rows and columns
    "KN",  # the right operand of a matrix product
    "BMKN",  # operands of matrix products
    "BHSD",  # attention, in cuDNN
    "KCTRS",  # filters in cuDNN
    "NKZPQ",  # results of convolutions in cuDNN
)
_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"  # oneDNN names dimensions by the first letters

# The letters of images, by rank, in which `Layout.labels` spells its order.
OWN_LABELS = ("", "W", "HW", "CHW", "NCHW", "NCDHW")

_CHANNELS = {
    "channels_first": {4: "NCHW", 5: "NCDHW"},
    "channels_last": {4: "NHWC", 5: "NDHWC"},
    "channels_last_3d": {5: "NDHWC"},
}


def row_major_order(rank: int) -> Order:
    """Return the row-major order: the last dimension is the most minor."""
    return tuple(range(rank - 1, -1, -1))


def order_or_row_major(minor_to_major: Sequence[int] | None, rank: int) -> Order:
    """Return the checked order; None means row-major."""
    return row_major_order(rank) if minor_to_major is None else check_order(minor_to_major, rank)


def check_order(minor_to_major: Sequence[int], rank: int, name: str = "minor_to_major") -> Order:
    """Return `minor_to_major` as a tuple. Raises ValueError unless it is a permutation."""
    order = check_integers(name, minor_to_major)
    if len(order) != rank or sorted(order) != list(range(rank)):
        allowed = f"a permutation of 0 to {rank - 1}" if rank else "()"
        raise_argument_error(
            name, f"must be {allowed} for a shape of rank {rank}, got {short_repr(order)}"
        )
    return order


def order_of_strides(
    sizes: Sequence[int], strides: Sequence[int], stored: Order | None = None
) -> Order:
    """Return the order that strides imply, starting from the order `stored` (default row-major).

    Dimensions of stride 0 or of size 1 (with padding) keep their places: their strides say nothing.
    """
    order = list(row_major_order(len(sizes)) if stored is None else stored)
    places = [p for p, d in enumerate(order) if sizes[d] > 1 and strides[d]]
    steps = [abs(strides[order[p]]) for p in places]
    if steps == sorted(steps):
        return tuple(order)
    # The sort is stable: dimensions of equal strides, such as those of sliding windows, keep the
    # stored order.
    ranked = sorted((order[p] for p in places), key=lambda d: abs(strides[d]))
    for place, dim in zip(places, ranked, strict=True):
        order[place] = dim
    return tuple(order)


def permute_order(order: Order, dims: Sequence[int]) -> Order:
    """Return the order of a transpose, whose dimension ``i`` is the input's ``dims[i]``."""
    number = {old: new for new, old in enumerate(dims)}
    return tuple(number[d] for d in order)


def drop_dims_from_order(order: Order, dropped: Sequence[int]) -> Order:
    """Return the order of the remaining dimensions after `dropped` ones are removed."""
    remaining_order = [d for d in order if d not in dropped]
    return tuple(map(sorted(remaining_order).index, remaining_order))


def insert_dim_in_order(order: Order, dim: int) -> Order:
    """Return the order with a new dimension of size 1 at `dim`.

    A column-major order stays column-major. Otherwise a new first dimension is the slowest (a batch
    around the old ones), and any other one is the next faster than its predecessor.
    """
    moved = [d + (d >= dim) for d in order]
    rank = len(order)
    if rank > 1 and order == tuple(range(rank)):
        return tuple(range(rank + 1))
    if dim == 0:
        return (*moved, 0)
    moved.insert(moved.index(dim - 1), dim)
    return tuple(moved)


# --- names ----------------------------------------------------------------------------------------


def order_of_labels(labels: str, rank: int) -> Order:
    """Return the minor-to-major order for labels or a word and a shape of `rank`.

    The letters determine a family, and the family determines the order of the shape (``NCHW``).
    """
    name = normalize_foreign_order(labels)
    if not isinstance(name, str):
        raise_argument_error("labels", f"must be text, got {short_repr(name)}", TypeError)
    word = name.lower()
    if word in ("c", "row_major", "contiguous_format"):
        return row_major_order(rank)
    if word in ("f", "column_major"):
        return tuple(range(rank))
    if word in _CHANNELS:
        named = _CHANNELS[word]
        if rank not in named:
            means = " or ".join(f"{text} of rank {n}" for n, text in named.items())
            _raise_label_error(f"{short_repr(name)} is {means}, the shape has {rank} dimensions")
        return _order_of_letters(named[rank])
    if not _is_label_text(name):
        words = ", ".join(("C", "F", "row_major", "column_major", *_CHANNELS))
        rule = f"must be different letters of one case, slowest first, or one of {words}"
        _raise_label_error(f"{rule}, got {short_repr(name)}", name.upper(), rank)
    letters = word.upper()
    logical = _letters_in_family_orders(letters)
    if not logical:
        families_text = f"{', '.join(_FAMILIES)}, or the first letters of the alphabet (AB, ABC, …)"
        _raise_label_error(
            f"the letters must belong to one family of {families_text}, got {short_repr(name)}"
        )
    if len(logical) > 1:
        readings = " or ".join(logical)
        _raise_label_error(f"{short_repr(name)} is ambiguous, the shape may be {readings}")
    if len(name) != rank:
        count = f"{len(name)} dimension{'s' * (len(name) > 1)}"
        means = f"{short_repr(name)} names {count} ({', '.join(logical[0])})"
        _raise_label_error(
            f"{means}, the shape has {rank}", _add_or_drop_batch_letter(name, rank), rank
        )
    return _order_of_letters(letters)


def normalize_foreign_order(spec: Any) -> Any:
    """Return another library's memory format as text or a tuple; other objects unchanged."""
    # Recognised by attributes, so that the libraries need not be imported.
    if hasattr(spec, "minor_to_major") and hasattr(spec, "tiles"):  # XLA
        return str(spec)
    if type(spec).__name__ == "memory_format":  # PyTorch
        return str(spec).removeprefix("torch.")
    if hasattr(spec, "sharding") and hasattr(spec, "layout"):  # JAX
        spec = spec.layout
        if not hasattr(spec, "major_to_minor"):
            raise_argument_error(
                "layout", f"a Format must hold a Layout, got one of {short_repr(spec)}"
            )
    major_to_minor = getattr(spec, "major_to_minor", None)
    if major_to_minor is None:
        return spec
    order = tuple(reversed(major_to_minor))
    tiles = getattr(spec, "tiling", None)
    if not tiles:
        return order
    sizes = (["*" if n == COMBINE else str(n) for n in tile] for tile in tiles)
    cut = "".join(f"({','.join(words)})" for words in sizes)
    return f"{{{','.join(map(str, order))}:T{cut}}}"


def _is_label_text(text: str) -> bool:
    plain = text.isascii() and text.isalpha() and (text.isupper() or text.islower())
    return plain and len(set(text)) == len(text)


def _letters_in_family_orders(letters: str) -> list[str]:
    """Return the different orders that families give to upper-case letters."""
    letter_set = set(letters)
    exact = [
        family for family in (*_FAMILIES, _ALPHABET[: len(letters)]) if set(family) == letter_set
    ]
    # A family of exactly these letters decides alone: RC is a matrix, not a part of KCTRS.
    families = exact or [family for family in _FAMILIES if letter_set <= set(family)]
    return list(dict.fromkeys("".join(sorted(letters, key=family.index)) for family in families))


def _order_of_letters(letters: str) -> Order:
    (logical,) = _letters_in_family_orders(letters)
    return tuple(map(logical.index, reversed(letters)))


def _add_or_drop_batch_letter(labels: str, rank: int) -> str:
    """Return labels with a batch letter added or removed, for a suggestion in an error."""
    batch = next((n for n in "NnBb" if n in labels), "")
    if len(labels) > rank:
        return labels.replace(batch, "")
    return labels if batch else ("N" if labels.isupper() else "n") + labels


def _raise_label_error(wrong: str, fitting: str = "", rank: int = -1) -> NoReturn:
    """Raise the error for labels; suggest `fitting` if it is valid for `rank`."""
    fix, such = "a letter for each dimension", ""
    letters = fitting.upper()
    if (
        len(letters) == rank
        and _is_label_text(fitting)
        and len(_letters_in_family_orders(letters)) == 1
    ):
        fix, such = repr(fitting), f" such as {_order_of_letters(letters)}"
    raise_argument_error(
        "labels", f"{wrong}; give {fix}, or the dimensions from minor to major{such}"
    )
