"""What `help` says of each public callable suffices to call it: held against its signature.

Doctest runs the examples where they stand; here each must run without its module's names.
"""

import builtins
import doctest
import inspect
import io
import re
import types

import numpy as np
import pytest

import tensorlayout as tl
from tensorlayout import directml, xla
from tensorlayout.directml import OperatorDesc

SPACES = {"tl": tl, "linalg": tl.linalg, "fft": tl.fft, "directml": directml, "xla": xla}
CLASSES = (tl.Layout, tl.Trace)
FUNCTIONS = (types.FunctionType, classmethod)
OTHER_ERRORS = {"AxisError", "LinAlgError", "ShapeSyntaxError"}

# A statement, not the word alone.
DTYPES = re.compile(r"[Aa]ny dtypes?\b|dtypes?: \w|`dtype`|dtype (of|that)|data types?\b|[Ii]ntegers\b")
LAYOUT = re.compile(
    r"packed( in the|, or)|row-major|[Vv]iews?\b|in the form of|the form (of|that)|slots of|`layout`"
    r"|[Ii]n place|Layout of the result"
)
GIVES_TENSORS = re.compile(r"Tensor|Result\b|Unique")


def public():
    for space, module in SPACES.items():
        for name in sorted(set(module.__all__)):
            value = getattr(module, name)
            if callable(value) and not isinstance(value, np.dtype):
                yield f"{space}.{name}", value
    for cls in CLASSES:
        for name in dir(cls):
            member = inspect.getattr_static(cls, name)
            if not name.startswith("_") and not isinstance(member, types.MemberDescriptorType):
                yield f"{cls.__name__}.{name}", member


PUBLIC = dict(public())


@pytest.fixture(params=PUBLIC, ids=PUBLIC)
def named(request):
    return request.param, PUBLIC[request.param]


def parameters(value):
    if not isinstance(value, FUNCTIONS):
        return []
    found = inspect.signature(getattr(value, "__func__", value)).parameters.values()
    return [p for p in found if p.name not in ("self", "cls")]


def own_doc(value):
    """Not that of `object` or of the base, which `inspect.getdoc` would find."""
    return inspect.cleandoc(value.__doc__ or "")


def missing(name, value):
    """What a reader of the docstring alone would have to look up elsewhere."""
    doc = own_doc(value)
    said = " ".join(doc.split(">>>")[0].split())
    short = getattr(value, "__name__", name.rpartition(".")[2])
    summary, *rest = doc.split("\n")
    if not re.fullmatch(r"\S+( \S+)+[.:]", summary) or (rest and rest[0]):
        yield "a summary of one line"
    examples = doctest.DocTestParser().get_examples(doc)
    if not any(re.search(rf"\b{short}\b", e.source) for e in examples):
        yield "an example that uses it"
    if not any(e.want for e in examples):
        yield "an example that shows something"
    taken = parameters(value)
    for p in taken:
        if p.kind is p.POSITIONAL_ONLY or p.kind is p.VAR_POSITIONAL:
            continue
        if not re.search(rf"\b{p.name}\b", said):
            yield f"the parameter {p.name}"
    if taken and not re.search(r"\b[A-Z]\w*Error\b", said):
        yield "errors"
    for error in set(re.findall(r"\b[A-Z]\w*Error\b", said)):
        if not hasattr(builtins, error) and error not in OTHER_ERRORS:
            yield f"an error that there is, not {error}"
    if isinstance(value, type) and issubclass(value, OperatorDesc) and value is not OperatorDesc:
        if not set(re.findall(r"`(\w+)`", said)) & set(directml.__all__):
            yield "the function whose arguments are the members"
    if isinstance(value, types.FunctionType) and "." not in value.__qualname__:
        signature = inspect.signature(value)
        given = str([p.annotation for p in taken])
        if "Tensor" in given and not DTYPES.search(said):
            yield "dtypes"
        if GIVES_TENSORS.search(str(signature.return_annotation)) and not LAYOUT.search(said):
            yield "the layout of the result, or that it is a view"


def test_says_what_a_caller_must_know(named):
    assert list(missing(*named)) == []


def test_examples_run_at_a_fresh_prompt(named):
    name, value = named
    found = doctest.DocTestParser().get_doctest(own_doc(value), {}, name, None, None)
    log = io.StringIO()
    doctest.DocTestRunner().run(found, out=log.write)
    assert log.getvalue() == ""
