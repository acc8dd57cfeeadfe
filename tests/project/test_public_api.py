"""The names of the package: complete, documented, and called as the standard calls them."""

import ast
import importlib
import inspect
import pkgutil
from collections.abc import Iterator

import pytest
from sources import PACKAGE, nodes_of

import tensorlayout as tl
from tensorlayout import functions
from tensorlayout.functions import methods
from tensorlayout.tensor import Tensor

# It spells the signatures of the standard.
array_api_strict = pytest.importorskip("array_api_strict", reason="optional: array-api-strict")

CHAPTERS = {
    info.name: importlib.import_module(f"{functions.__name__}.{info.name}")
    for info in pkgutil.iter_modules(functions.__path__)
}
CHAPTERS = {name: module for name, module in CHAPTERS.items() if hasattr(module, "__all__")}

CHAPTERS["files"] = importlib.import_module("tensorlayout.files")

# What the package offers beside the functions of its chapters.
OWN = {
    *("__array_api_version__", "__version__", "BitPattern", "CopyError", "CopyWarning", "Device"),
    *("Layout", "PaddingValue", "Tensor", "Trace", "coalesce", "default_device", "directml"),
    *(
        "explain",
        "formats",
        "get_num_threads",
        "no_copies",
        "plan",
        "set_default_device",
        "set_num_threads",
    ),
    *("cuda", "trace", "using_device", "xla"),
}
DTYPES = {
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
    *("float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz"),
    *("float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"),
    *("float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn"),
    *("int1", "int2", "int4", "uint1", "uint2", "uint4"),
}


def public_functions() -> Iterator[tuple[str, object]]:
    for module in CHAPTERS.values():
        for name in module.__all__:
            if inspect.isfunction(getattr(module, name)):
                yield f"{module.__name__.rpartition('.')[2]}.{name}", getattr(module, name)


FUNCTIONS = dict(public_functions())
FUNCTIONS |= {f"{s.__name__}.{n}": vars(s)[n] for s in (tl.fft, tl.linalg) for n in s.__all__}


def test_package_all_is_the_union():
    chapters = {name for module in CHAPTERS.values() for name in module.__all__}
    spaces = {name for name in tl.__all__ if inspect.ismodule(getattr(tl, name))} - OWN
    inside = {name for space in spaces for name in getattr(tl, space).__all__}
    listed = set(tl.__all__)
    assert len(listed) == len(tl.__all__), "a name occurs twice"
    assert listed - chapters - spaces - OWN - DTYPES == set(), "listed, but of no chapter"
    assert (chapters | OWN | DTYPES) - inside - listed == set(), "defined, but not listed"


def test_what_the_package_lists_exists():
    assert [name for name in tl.__all__ if getattr(tl, name) is None] == ["newaxis"]
    # NumPy's other names are the same functions.
    names = {n.rpartition(".")[2]: f.__name__ for n, f in FUNCTIONS.items()}
    assert {n for n, own in names.items() if own not in names} == set()


NAMESPACES = [tl, tl.linalg, tl.fft, tl.cuda, tl.directml, tl.formats, tl.xla]
NAMESPACES += [getattr(tl.xla, name) for name in ("index_util", "layout_util", "shape_util")]
NAMESPACES += [tl.xla.permutations, tl.formats.blas, tl.formats.cute]


@pytest.mark.parametrize("namespace", NAMESPACES, ids=lambda namespace: namespace.__name__)
def test_dir_holds_the_public_names_and_nothing_else(namespace):
    names = [name for name in dir(namespace) if name[:2] != "__" or name in namespace.__all__]
    assert names == sorted(namespace.__all__)
    assert dir(namespace) == sorted(dir(namespace))


def test_dir_holds_what_is_imported_at_first_use():
    assert {"bfloat16", "cuda", "directml", "fft", "formats", "linalg", "xla"} <= set(dir(tl))
    assert {"ceil", "math", "np", "xp", "errors"}.isdisjoint(dir(tl.linalg))
    assert {"svd", "norm"} <= set(dir(tl.linalg))


def test_annotations():
    for name, function in FUNCTIONS.items():
        signature = inspect.signature(function)
        assert signature.return_annotation is not signature.empty, name
        for parameter in signature.parameters.values():
            assert parameter.annotation is not parameter.empty, (name, parameter.name)


def standard(name: str) -> object | None:
    """The function of the same name in array-api-strict, which spells the standard's signatures."""
    chapter, _, function = name.rpartition(".")
    spaces = {"tensorlayout.linalg": array_api_strict.linalg}
    spaces |= {"tensorlayout.fft": array_api_strict.fft}
    return getattr(spaces.get(chapter, array_api_strict), function, None)


STANDARD = [name for name in FUNCTIONS if standard(name) is not None]


def test_nothing_of_the_standard_is_missing():
    names = {name for name in array_api_strict.__all__ if "array_api_strict" not in name.lower()}
    assert {n for n in names if not hasattr(tl, n) and "flags" not in n.lower()} == set()


def test_every_call_of_the_standard_is_one_here():
    """Parameters that the standard numbers have the same places, those that it names the names."""
    assert len(STANDARD) > 110
    for name in STANDARD:
        ours = list(inspect.signature(FUNCTIONS[name]).parameters.values())
        by_name = {p.name: p for p in ours if p.kind is not p.POSITIONAL_ONLY}
        places = [p for p in ours if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        theirs = list(inspect.signature(standard(name)).parameters.values())
        for place, wanted in enumerate(theirs):
            if wanted.kind in (wanted.POSITIONAL_ONLY, wanted.POSITIONAL_OR_KEYWORD):
                result = places[place]
            else:
                result = by_name[wanted.name] if wanted.kind is wanted.KEYWORD_ONLY else ours[place]
            if wanted.kind is wanted.POSITIONAL_OR_KEYWORD:
                assert result is by_name[wanted.name], name
            assert result.default is not result.empty or wanted.default is wanted.empty, name
        assert [p.name for p in ours[len(theirs) :] if p.default is p.empty] == [], name


def declared_methods() -> list[str]:
    blocks = [
        node
        for node in nodes_of(PACKAGE / "tensor.py")
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    ]
    return names_in(node for block in blocks for node in block.body)


def names_in(nodes) -> list[str]:
    """The names of methods that are defined, and those that are said to be like another."""
    nodes = list(nodes)
    methods = [node.name for node in nodes if isinstance(node, ast.FunctionDef)]
    alike = [target for node in nodes if isinstance(node, ast.Assign) for target in node.targets]
    return methods + [target.id for target in alike if isinstance(target, ast.Name)]


def test_declared_methods_are_bound():
    # Looked up in the class itself: `object` has some of these names too.
    methods = {name: vars(Tensor)[name] for name in declared_methods()}
    unbound = [n for n, m in methods.items() if not (callable(m) or isinstance(m, property))]
    assert unbound == []


def test_bound_methods_are_declared():
    in_source = {*names_in(nodes_of(PACKAGE / "tensor.py")), *vars(methods.Methods)}
    in_source |= vars(methods.SpecialMethods).keys()
    always = {"__dir__", "__repr__", "__str__", "__format__"}  # object declares them
    always |= {"__reduce__", "__reduce_ex__", "__sizeof__"}
    bound = {name for name, value in vars(Tensor).items() if inspect.isfunction(value)}
    assert bound - in_source - always == set()
    assert "__add__" in bound


def method_signature(owner: type, name: str) -> list[tuple[str, object]]:
    parameters = list(inspect.signature(getattr(owner, name)).parameters.values())[1:]
    return [(p.name, p.kind) for p in parameters]


STRICT_ARRAY = type(array_api_strict.ones(1))
NOT_THE_STANDARDS = {"__buffer__", "__dir__", "__new__", "__class__"}  # array-api-strict's own


def test_method_signatures_are_the_standards():
    for name in ("__array_namespace__", "__dlpack__", "__dlpack_device__"):
        assert method_signature(Tensor, name) == method_signature(STRICT_ARRAY, name)


def test_signature_of_to_device():  # array-api-strict also takes the stream by position
    kinds = [kind for _, kind in method_signature(Tensor, "to_device")]
    assert kinds == [inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.KEYWORD_ONLY]


def test_tensor_has_the_methods_of_the_standard():
    names = {n for n in vars(STRICT_ARRAY) if n.startswith("__")} - NOT_THE_STANDARDS
    assert [name for name in names if not hasattr(Tensor, name)] == []
