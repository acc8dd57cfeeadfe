"""``--print-completion``: the completion of the command for a shell, by shtab."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
from collections.abc import Iterator
from typing import Any

SHELLS = ("bash", "zsh", "fish", "tcsh")
FILES, FOLDERS = {"images", "json", "layout", "svg"}, {"out", "report"}  # by name of the argument


class PrintCompletion(argparse.Action):
    """An option that prints the completion and ends."""

    def __call__(self, parser: argparse.ArgumentParser, _: Any, shell: Any, *__: Any) -> None:
        """Print it, or complain that shtab is missing or too old."""
        if importlib.util.find_spec("shtab") is None:
            parser.error("--print-completion needs shtab: pip install 'tensorlayout[completion]'")
        shtab: Any = importlib.import_module("shtab")
        if shell not in shtab.SUPPORTED_SHELLS:
            parser.error(f"--print-completion: this shtab does not know {shell}, a newer one does")
        for action in _actions(parser):
            if action.dest in FILES | FOLDERS:
                files = action.dest in FILES
                action.complete = shtab.FILE if files else shtab.DIRECTORY  # type: ignore[attr-defined]
        parser.prog = "tensorlayout"
        print(shtab.complete(parser, shell))
        parser.exit()


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """All arguments, those of the commands too."""
    for action in parser._actions:
        yield action
        if isinstance(action.choices, dict):
            for command in action.choices.values():
                yield from _actions(command)
