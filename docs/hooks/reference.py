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


def entry_of(name: str) -> str:
    """The directives that mkdocstrings carries out: for a name, and for the members of a class."""
    value = value_of(name)
    entry = f"::: {name}\n    options: {{members: false, heading_level: 2}}\n"
    if isinstance(value, enum.EnumMeta):
        return f"{entry}\nMembers: {', '.join(f'`{member}`' for member in value.__members__)}.\n"
    members = members_of(value) if isinstance(value, type) else ()
    listed = (f"::: {name}.{m}\n    options: {{heading_level: 3}}\n" for m in members)
    return "\n".join([entry, *listed])


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Hook that MkDocs calls for each page."""
    listed = page.meta.get("names")
    if not listed:
        return markdown
    names = [name for name in names_of(listed) if not inspect.ismodule(value_of(name))]
    table = ["", "| name | |", "| --- | --- |", *map(row_of, names), ""]
    entries = [entry_of(name) for name in names if is_documented(value_of(name))]
    return "\n".join([markdown, *table, *entries])
