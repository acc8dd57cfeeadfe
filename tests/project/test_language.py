"""Docstrings begin with a verb or a noun, and names say what they hold."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("tensorlayout", "tests", "benchmarks", "examples", "docs")

# A docstring that begins so is a clause without a subject: "What is carried out", "Whether it is".
OPENERS = {"How", "That", "Those", "What", "When", "Where", "Whether", "Which", "Who"}

# Participles and pronouns say nothing about a value or an action.
VARIABLES = {"came", "each", "found", "given", "made", "taken", "told"}
FUNCTIONS = {"again", "anew", "beside", "counted", "cut", "found", "given", "made", "making"}
FUNCTIONS |= {"ordered", "said", "saying", "shown", "taken", "told", "turned"}

# "file: name", each with its reason.
EXCEPTIONS = {"tests/xla/jax_functions.py: counted"}  # the name is in a file that XLA wrote


def bad_names(node: ast.AST) -> str | None:
    """Return the banned name or opening word of a definition, None if there is none."""
    match node:
        case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name) if name in VARIABLES:
            return name
        case ast.FunctionDef(name=name) if name.lstrip("_") in FUNCTIONS:
            return name
    if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
        words = (ast.get_docstring(node) or "-").split()
        if words[0].rstrip(",:.") in OPENERS:
            return f"{words[0]} ({getattr(node, 'name', 'module')})"
    return None


def test_openers_and_names():
    faults = set()
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if name := bad_names(node):
                    faults.add(f"{path.relative_to(ROOT)}: {name}")
    assert sorted(faults - EXCEPTIONS) == []
    assert sorted(EXCEPTIONS - faults) == [], "no longer needed"
    assert len(EXCEPTIONS) <= 20


def test_banned_words_are_noticed():
    source = "def cut(each):\n    found = [made for made in each]"
    names = {bad_names(node) for node in ast.walk(ast.parse(source))}
    assert names == {None, "cut", "each", "found", "made"}
    assert bad_names(ast.parse('"""What is left."""')) == "What (module)"
