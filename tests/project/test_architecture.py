"""Allowed imports: the picture in docs/design.md, compared with the imports of every module."""

import ast
import json
import re
import sys
from functools import cache
from pathlib import Path

from processes import python
from sources import MODULES, PACKAGE, nodes_of

DESIGN = Path(__file__).parents[2] / "docs" / "design.md"

# Beyond the standard library. ml_dtypes is imported by name, when bfloat16 is first asked for.
FOREIGN = {"dtypes": {"numpy"}}
FOREIGN |= {piece: set() for piece in ("errors", "layout", "devices", "tensor", "plan")}
FOREIGN |= {"cli": {"numpy", "PIL"}}  # of which only its demo uses them
FOREIGN_ABOVE = {"numpy"}

# Where imports by name are allowed: backends, drivers, CuPy, ml_dtypes, Pillow of pictures, the
# libraries that the demo hands memory to, and shtab.
BY_NAME = {
    *("support/lazy_imports.py", "cuda/engine/driver.py", "cuda/engine/warm_up.py"),
    *("cli/demo/pipeline.py", "cli/__init__.py"),
    *("xla/primitive_types.py", "layout/drawing/drawing.py"),
}


def piece_of(path: Path) -> str:
    first = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    return PACKAGE.name if first == "__init__" else first


def module_of(path: Path) -> str:
    parts = (PACKAGE.name, *path.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(parts).removesuffix(".__init__")


@cache
def imported(path: Path) -> set[str]:
    """The dotted names that a module imports, anywhere in it, ``from a import b`` as ``a.b``.

    Those for type checkers alone are left out where a class tells them its methods.
    """
    names = set()
    nodes = [*nodes_of(path)]
    if path.name == "tensor.py":
        ifs = [node for node in nodes if isinstance(node, ast.If)]
        blocks = [node for node in ifs if ast.unparse(node.test) == "TYPE_CHECKING"]
        left_out = {id(inner) for block in blocks for inner in ast.walk(block)}
        nodes = [n for n in nodes if id(n) not in left_out]
    for node in nodes:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}: relative imports hide who knows whom"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def piece_imported(name: str) -> str | None:
    """The piece that an imported name belongs to; None outside the package."""
    first, _, rest = name.partition(".")
    if first != PACKAGE.name:
        return None
    head = rest.partition(".")[0]
    is_piece = (PACKAGE / f"{head}.py").is_file() or (PACKAGE / head).is_dir()
    return head if head and is_piece else "tensorlayout"


def arrows() -> dict[str, set[str]]:
    """The picture: ``piece → piece piece`` lines of the one block in docs/design.md."""
    blocks = re.findall(r"```text\n(.*?)```", DESIGN.read_text("utf-8"), re.DOTALL)
    (picture,) = [block for block in blocks if "→" in block]
    drawn: dict[str, set[str]] = {}
    for line in filter(None, picture.splitlines()):
        left, arrow, right = line.partition("→")
        assert arrow, f"{line!r} has no arrow"
        names = set(right.split()) - {"(nothing)"}
        for piece in left.split():
            assert piece not in drawn, f"{piece} is drawn twice"
            drawn[piece] = names
    return drawn


def reachable(drawn: dict[str, set[str]]) -> dict[str, set[str]]:
    """All pieces that each may know: those its arrows lead to, and theirs."""
    known: dict[str, set[str]] = {}

    def visit(piece: str, path: tuple[str, ...]) -> set[str]:
        assert piece not in path, f"the picture goes round: {' → '.join((*path, piece))}"
        if piece not in known:
            below = [visit(other, (*path, piece)) for other in drawn[piece]]
            known[piece] = drawn[piece].union(*below)
        return known[piece]

    for piece in drawn:
        visit(piece, ())
    return known


def test_the_picture_shows_every_piece():
    assert arrows().keys() == {piece_of(path) for path in MODULES}


def test_each_folder_says_what_may_import_it():
    for path in PACKAGE.glob("*/__init__.py"):
        said = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
        assert re.search(r"^(Above|Below|Anything|Nothing)\b[^.]*\bimports?\b", said, re.M), path


def test_a_module_knows_only_what_the_picture_allows():
    known = reachable(arrows())
    for path in MODULES:
        piece = piece_of(path)
        met = {match for name in imported(path) if (match := piece_imported(name))}
        forbidden = met - known[piece] - {piece}
        assert not forbidden, f"{module_of(path)} must not know {forbidden}"


def test_every_arrow_is_an_import():
    for piece, targets in arrows().items():
        known = {
            piece_imported(name)
            for path in MODULES
            if piece_of(path) == piece
            for name in imported(path)
        }
        assert targets <= known, f"{piece} knows nothing of {targets - known}: arrows to remove"


def test_foreign_modules():
    for path in MODULES:
        allowed = FOREIGN.get(piece_of(path), FOREIGN_ABOVE)
        heads = {name.partition(".")[0] for name in imported(path)}
        foreign = heads - sys.stdlib_module_names - {PACKAGE.name, "__future__"} - allowed
        assert not foreign, f"{module_of(path)} must not import {foreign}"


def test_imports_by_computed_name():
    callers = {
        path.relative_to(PACKAGE).as_posix()
        for path in MODULES
        for node in nodes_of(path)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("import_module", "__import__")
    }
    assert callers <= BY_NAME


def test_modules_do_not_import_in_circles():
    modules = {module_of(path): path for path in MODULES}

    def file_of(name: str) -> str | None:
        return name if name in modules else name.rpartition(".")[0]

    edges = {
        name: {file_of(item) for item in imported(path)} & modules.keys() - {name}
        for name, path in modules.items()
    }
    done: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        assert name not in path, f"a circle of imports: {' → '.join((*path, name))}"
        if name not in done:
            for other in sorted(edges[name]):
                visit(other, (*path, name))
            done.add(name)

    for name in edges:
        visit(name, ())


def modules_after(statement: str) -> set[str]:
    code = f"import json, sys\n{statement}\nprint(json.dumps(sorted(sys.modules)))"
    return set(json.loads(python("-c", code).splitlines()[-1]))


def test_import_loads_the_library_alone():
    loaded = modules_after("import tensorlayout")
    heads = {name.partition(".")[0] for name in loaded}
    unwanted = {"cupy", "torch", "ml_dtypes", "array_api_compat", "array_api_strict", "PIL", "dask"}
    assert heads & unwanted == set()
    assert {"tensorlayout.layout", "tensorlayout.functions.elementwise"} <= loaded
    assert not any(name.startswith("tensorlayout.cli") for name in loaded)


def test_a_first_sum_imports_no_other_family():
    loaded = modules_after("import tensorlayout as tl\nx = tl.asarray([1.0])\nx + x")
    families = {name.split(".")[2] for name in loaded if name.startswith("tensorlayout.cpu.")}
    assert families == {"copy", "elementwise", "engine"}
    late = ("cuda", "directml", "fft", "formats", "xla")
    late += ("layout.digits", "layout.drawing", "layout.tensor_map")
    late += ("interchange.numpy_functions", "interchange.numpy_ufuncs")
    assert not loaded & {f"tensorlayout.{name}" for name in late}


def test_the_command_line_loads_the_demo_when_asked_for():
    show = "from tensorlayout.cli import main\nmain(['show', '(2,3):(3,1)'])\nprint()"
    assert not any(name.startswith("tensorlayout.cli.demo") for name in modules_after(show))


def test_the_layout_runs_without_numpy():
    """Files of `layout` alone, copied out of the package, do not even need the package."""
    blocked = "class N:\n    def find_spec(self, name, path=None, target=None):\n"
    blocked += "        assert name.partition('.')[0] != 'numpy', name\n"
    package = "import sys, types\nsys.meta_path.insert(0, N())\n"
    package += f"t = types.ModuleType('tensorlayout'); t.__path__ = [{str(PACKAGE)!r}]\n"
    package += "sys.modules['tensorlayout'] = t\n"
    code = blocked + package + "from tensorlayout.layout import Layout\nLayout((2, 3)).table()"
    assert not {n for n in modules_after(code) if n.partition(".")[0] == "numpy"}
