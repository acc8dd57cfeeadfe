"""Completeness of each public docstring, compared with the signature.

Doctest runs the examples where they stand; here each must run without its module's names.
"""

import builtins
import doctest
import inspect
import io
import re
import types

import numpy as np

import tensorlayout as tl
from tensorlayout import directml, formats, xla
from tensorlayout.directml import OperatorDesc

SPACES = {"tl": tl, "linalg": tl.linalg, "fft": tl.fft, "directml": directml, "xla": xla}
SPACES |= {"formats": formats}
SPACES |= {f"formats.{name}": vars(formats)[name] for name in formats.__all__ if name != "written"}
CLASSES = (tl.Layout, tl.Trace)
OTHER_ERRORS = {"AxisError", "CopyError", "LinAlgError", "HloSyntaxError", "ShapeSyntaxError"}

# Statements, not the words alone.
DTYPES = re.compile(r"[Aa]ny dtype|dtypes?: \w|`dtype`|dtype (of|that)|(data|element) type")
LAYOUT = re.compile(
    r"packed( in the|, or)|row-major|[Vv]iews?\b|in the form of|the form (of|that)|slots of"
    r"|`layout`|[Ii]n place|Layout of the result"
)
GIVES_TENSORS = re.compile(r"Tensor\b|Result\b|Unique")


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


def own_doc(value):
    """Not that of the base, which `inspect.getdoc` would find."""
    return inspect.cleandoc(value.__doc__ or "")


def missing(name, value):
    """Yield the facts that a docstring lacks."""
    doc = own_doc(value)
    said = " ".join(doc.partition(">>>")[0].split())
    summary, *rest = doc.split("\n")
    if not re.fullmatch(r"\S+( \S+)+[.:]", summary) or (rest and rest[0]):
        yield "a summary of one line"
    examples = doctest.DocTestParser().get_examples(doc)
    short = getattr(value, "__name__", name.rpartition(".")[2])
    if not any(re.search(rf"\b{short}\b", example.source) for example in examples):
        yield "an example that uses it"
    if not any(example.want for example in examples):
        yield "an example that shows something"
    errors = set(re.findall(r"\b[A-Z]\w*Error\b", said))
    for error in errors:
        if error not in OTHER_ERRORS and not hasattr(builtins, error):
            yield f"an error that there is, not {error}"
    if not isinstance(value, type):
        yield from missing_of_function(said, getattr(value, "__func__", value), errors)
    elif issubclass(value, OperatorDesc) and value is not OperatorDesc:
        members_of = set(re.findall(r"what `(\w+)` takes", said))
        if not members_of or not members_of <= set(directml.__all__):
            yield "the function whose arguments are the members"


def missing_of_function(said, function, errors):
    if not callable(function):  # a property
        return
    signature = inspect.signature(function)
    parameters = [p for p in signature.parameters.values() if p.name not in ("self", "cls")]
    for p in parameters:
        positional = p.kind in (p.POSITIONAL_ONLY, p.VAR_POSITIONAL)
        operand = p is parameters[0] and "Tensor" in str(p.annotation)
        if not positional and not operand and not re.search(rf"\b{p.name}\b", said):
            yield f"the parameter {p.name}"
    if parameters and not errors:
        yield "errors"
    if any("Tensor" in str(p.annotation) for p in parameters) and not DTYPES.search(said):
        yield "dtypes"
    if GIVES_TENSORS.search(str(signature.return_annotation)) and not LAYOUT.search(said):
        yield "the layout of the result, or that it is a view"


def test_says_what_a_caller_must_know():
    lacking = {name: list(missing(name, value)) for name, value in PUBLIC.items()}
    assert {name: needs for name, needs in lacking.items() if needs} == {}


def test_examples_run_at_a_fresh_prompt():
    log = io.StringIO()
    for name, value in PUBLIC.items():
        result = doctest.DocTestParser().get_doctest(own_doc(value), {}, name, None, None)
        doctest.DocTestRunner().run(result, out=log.write)
    assert log.getvalue() == ""
