"""Syntax trees of the package's modules, parsed once."""

import ast
from functools import cache
from pathlib import Path

import tensorlayout

PACKAGE = Path(tensorlayout.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


@cache
def nodes_of(path: Path) -> list[ast.AST]:
    return list(ast.walk(tree_of(path)))
