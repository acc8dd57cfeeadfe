"""The pages of reference: each lists modules or names, and gets a table and their entries."""

import enum
import functools
import importlib
import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np

# Where users find what the chapters of this package define.
_PUBLIC = {"tensorlayout.functions": "tensorlayout", "tensorlayout.files": "tensorlayout"}

# Members of large classes by purpose. A member without a group fails a test.
GROUPS = {
    "tensorlayout.Layout": """
Create: packed row_major column_major labelled padded pitched tiled scale_factors
Query sizes: ndim size strides required_size nbytes padding_size spare_bits lowest
Query properties: is_row_major is_column_major is_packed is_padded is_strided is_tiled is_broadcast
Query properties: is_overlapping covers_block same_placement
Query slots: offset_of index_of elements
Transform: permute reshape slice expand_dims squeeze flip broadcast_to sliding_window component
Transform: moved at_origin form untiled with_padding_value with_slot_bits
Text and notations: parse labels from_cute to_cute tensor_map
Draw: draw table
""",
    "tensorlayout.Tensor": """
Query: shape ndim size dtype itemsize nbytes device layout strides readonly
Views and shapes: T mT permute transpose swapaxes reshape squeeze ravel flatten diagonal real imag
Views and shapes: view
Copy and convert: copy astype to_device item tolist tobytes
Select, sort and search: take repeat sort argsort searchsorted nonzero argmax argmin
Reduce and accumulate: sum prod max min mean std var all any trace cumsum cumprod
Reduce and accumulate: cumulative_sum cumulative_prod
Compute: dot clip round conj conjugate
Write: fill
""",
}


def groups_of(name: str) -> dict[str, list[str]]:
    """Return the members of a class by heading; empty if the class has no groups."""
    groups: dict[str, list[str]] = {}
    for line in GROUPS.get(name, "").strip().splitlines():
        heading, _, members = line.partition(": ")
        groups.setdefault(heading, []).extend(members.split())
    return groups


def names_of(listed: list[str]) -> Iterator[str]:
    """The public names: those of each module that is listed, and others as they are listed."""
    for entry in listed:
        value = value_of(entry)
        if inspect.ismodule(value):
            space = _PUBLIC.get(entry) or _PUBLIC.get(entry.rpartition(".")[0], entry)
            yield from (f"{space}.{name}" for name in value.__all__)
        else:
            yield entry


def value_of(name: str) -> Any:
    """Return the object that a dotted name of this package denotes."""
    space, _, last = name.rpartition(".")
    if space and hasattr(value_of(space), last):
        return getattr(value_of(space), last)
    return importlib.import_module(name)


def members_of(kind: type) -> Iterator[str]:
    """The public methods and properties of a class, and of its bases."""
    for name in dir(kind):
        member = inspect.getattr_static(kind, name)
        of_functions = (property, functools.cached_property, classmethod, staticmethod)
        if not name.startswith("_") and (
            inspect.isfunction(member) or isinstance(member, of_functions)
        ):
            yield name


def is_documented(value: Any) -> bool:
    """Return True for objects with a docstring of their own; constants and dtypes have none."""
    return callable(value) and not isinstance(value, np.dtype)


def row_of(name: str) -> str:
    """The line of the table: a link and the first line of the docstring, or else the value."""
    value, short = value_of(name), name.rpartition(".")[2]
    if is_documented(value):
        summary = (inspect.getdoc(value) or "").partition("\n")[0]
        return f"| [`{short}`][{name}] | {summary} |"
    shown = repr(value)
    return f"| `{short}`{{ #{name} }} | `{shown if len(shown) < 80 else type(value).__name__}` |"


def member_entry(name: str, member: str, level: int) -> str:
    """Return the directive for a member of a class, with a heading such as ``Tensor.reshape``."""
    heading = f"{name.rpartition('.')[2]}.{member}"
    options = f"heading: {heading}, heading_level: {level}"
    if isinstance(inspect.getattr_static(value_of(name), member), property):
        options += ", separate_signature: false"  # it would repeat the name
    return f"::: {name}.{member}\n    options: {{{options}}}\n"


def entry_of(name: str) -> str:
    """The directives that mkdocstrings carries out: for a name, and for the members of a class."""
    value = value_of(name)
    entry = f"::: {name}\n    options: {{members: false, heading_level: 2}}\n"
    if isinstance(value, enum.EnumMeta):
        return f"{entry}\nMembers: {', '.join(f'`{member}`' for member in value.__members__)}.\n"
    groups = groups_of(name)
    if not groups:
        members = members_of(value) if isinstance(value, type) else ()
        return "\n".join([entry, *(member_entry(name, member, 3) for member in members)])
    parts = [entry, "| purpose | members |", "| --- | --- |"]
    for heading, members in groups.items():
        links = ", ".join(f"[`{member}`][{name}.{member}]" for member in members)
        parts.append(f"| {heading} | {links} |")
    for heading, members in groups.items():
        parts += ["", f"### {heading}", ""]
        parts += [member_entry(name, member, 4) for member in members]
    return "\n".join(parts)


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Hook that MkDocs calls for each page."""
    listed = page.meta.get("names")
    if not listed:
        return markdown
    names = [name for name in names_of(listed) if not inspect.ismodule(value_of(name))]
    table = ["", "| name | |", "| --- | --- |", *map(row_of, names), ""] if len(names) > 1 else [""]
    entries = [entry_of(name) for name in names if is_documented(value_of(name))]
    return "\n".join([markdown, *table, *entries])
