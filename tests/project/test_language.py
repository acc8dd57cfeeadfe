"""Docstrings and pages are plain English, and names say what they hold."""

import ast
import functools
import json
import re
from collections.abc import Iterator
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

# A sentence that begins so has no subject, or refers to a noun of the sentence before.
HEADLESS = re.compile(r"(?:All else|How|That|Those|What|Where|Whether|Which|Who)\b")

# Idioms that readers of English as a second language, and many others, have to read twice.
IDIOMS = re.compile(
    r"\b(?:all else|anew|as ever|as (?:it lies|they lie)|at hand|besides|by way of|comes? out"
    r"|(?:are|is) told|(?:can|may) be asked for|goe?s? by|ha(?:s|ve) no say|held against"
    r"|in (?:its|other|their) words|nobody|none that|on (?:its|the|their) way|so it is"
    r"|stands? beside"
    r"|what (?:comes|came) of|work(?:s|ed)? out)\b"
)

# "file: words that begin the sentence, or the idiom", each with its reason.
PROSE_EXCEPTIONS: set[str] = set()


@functools.cache
def tree_of(path: Path) -> ast.Module:
    """The syntax tree of a file, which several tests walk."""
    return ast.parse(path.read_text("utf-8"))


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
            for node in ast.walk(tree_of(path)):
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


def pages() -> Iterator[tuple[str, str]]:
    """The name and the prose of each page: what stands outside of code."""
    paths = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    paths += [ROOT / "benchmarks" / "README.md", ROOT / "kernels" / "README.md"]
    for path in sorted(paths):
        fences = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
        yield path.relative_to(ROOT).as_posix(), fences.sub("", path.read_text("utf-8"))
    for path in sorted((ROOT / "docs").rglob("*.ipynb")):
        cells = json.loads(path.read_text("utf-8"))["cells"]
        texts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
        yield path.relative_to(ROOT).as_posix(), "\n\n".join(texts)


def docstrings() -> Iterator[tuple[str, str]]:
    """The name and the prose of each docstring of the package."""
    for path in sorted((ROOT / "tensorlayout").rglob("*.py")):
        for node in ast.walk(tree_of(path)):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
                text = ast.get_docstring(node) or ""
                examples = re.compile(r"^>>> .*(?:\n.+)*", re.MULTILINE)
                yield path.relative_to(ROOT).as_posix(), examples.sub("", text)


def sentences(text: str) -> Iterator[str]:
    """The sentences of a text, without headings, quotations of code, and questions."""
    text = re.sub(r"``?[^`]*``?", "x", text.replace("**", ""))
    text = re.sub(r"^#.*$", "", text, flags=re.MULTILINE)
    for paragraph in re.split(r"\n\s*\n|\n\s*(?:[-*]|\d+\.|\|) ", text):
        line = re.sub(r"\s+", " ", paragraph)
        for sentence in re.split(r"(?<=[.!?:;|]) ", line):
            if not sentence.endswith("?"):
                yield sentence.strip("*| ")


def faults_of(text: str) -> list[str]:
    """The words of each sentence that readers have to read twice."""
    faults = []
    for sentence in sentences(text):
        if HEADLESS.match(sentence):
            faults.append(" ".join(sentence.split()[:5]))
        faults += IDIOMS.findall(sentence)
    return faults


def test_prose():
    faults = {f"{name}: {words}" for name, text in pages() for words in faults_of(text)}
    faults |= {f"{name}: {words}" for name, text in docstrings() for words in faults_of(text)}
    assert sorted(faults - PROSE_EXCEPTIONS) == []
    assert sorted(PROSE_EXCEPTIONS - faults) == [], "no longer needed"
    assert len(PROSE_EXCEPTIONS) <= 20


def test_faults_of_prose_are_noticed():
    text = "What it takes, `What`. It is told.\n- Those of tiles\n\n# What\n\nWhere to begin?"
    assert faults_of(text) == ["What it takes, x.", "is told", "Those of tiles"]
    assert faults_of("When it pays, copy tile by tile. Values are computed anew.") == ["anew"]
