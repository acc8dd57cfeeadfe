"""Which line called: the frames outside of this package, found while somebody asks."""

from __future__ import annotations

import functools
import os
import sys
from pathlib import Path
from typing import NamedTuple

_PACKAGE = f"{Path(__file__).parents[1]}{os.sep}"
_STDLIB = f"{Path(os.__file__).parent}{os.sep}"
_INSTALLED = ("site-packages", "dist-packages")


class Line(NamedTuple):
    """A line of a file, and the function that it is in.

    >>> str(Line("/usr/lib/python3/site-packages/scipy/fft/_a.py", 7, "fft"))
    'scipy/fft/_a.py:7'
    """

    file: str
    number: int
    function: str

    def __str__(self) -> str:
        """The file as it is short: below the current folder, or below that of libraries.

        What of a name is no Unicode is escaped, so that the text can be written anywhere.
        """
        name = _short(self.file).encode("utf-8", "backslashreplace").decode("utf-8")
        return f"{name}:{self.number}"


def _short(file: str) -> str:
    for folder in _INSTALLED:
        _, found, inside = file.rpartition(f"{os.sep}{folder}{os.sep}")
        if found:
            return inside
    try:
        return file.removeprefix(_STDLIB).removeprefix(f"{Path.cwd()}{os.sep}")
    except OSError:  # the folder has been removed
        return file


def stack() -> tuple[Line, ...]:
    """The line that called this package, and, where that is a library's, who called that.

    The last one is the first outside of installed libraries, where there is one.
    """
    found: list[Line] = []
    frame = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if found or not code.co_filename.startswith(_PACKAGE):
            found.append(Line(code.co_filename, frame.f_lineno or 0, code.co_name))
            if not _is_library(code.co_filename):
                return tuple(found)
        frame = frame.f_back  # type: ignore[assignment]
    return tuple(found[:1])


@functools.lru_cache(maxsize=1024)
def _is_library(file: str) -> bool:
    parts = file.split(os.sep)
    installed = any(folder in parts for folder in _INSTALLED)
    return installed or file.startswith((_PACKAGE, _STDLIB, "<frozen "))
