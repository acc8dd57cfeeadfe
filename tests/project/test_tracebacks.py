"""Tracebacks of the namespaces beside `tensorlayout`: they end at the user's line.

Every public function, constructor, method and property of these namespaces is called with wrong
arguments of many kinds. `test_errors.py` does the same for the functions of `tensorlayout`.
"""

import functools
import inspect
import itertools
import pickle
import traceback
from pathlib import Path

import pytest

import tensorlayout as tl
from tensorlayout import cuda, directml, errors, formats, xla

pytestmark = pytest.mark.cpu

PACKAGE = str(Path(tl.__file__).parent)
SPACES = [directml, xla, formats, cuda]
SPACES += [getattr(space, name) for space in SPACES for name in space.__all__]
SPACES = [space for space in SPACES if inspect.ismodule(space)]

WRONG = (object(), None, "f32[", b"", -1, 10**40, 1.5, (), (-1,), [object()], {"a": 1}, tl.ones(2))

SHAPES = [
    xla.parse_shape(text)
    for text in ("f32[3,5]{1,0:T(2,2)}", "(f32[2],s8[])", "token[]", "f32[?]", "u4[<=8]{0:E(4)}")
]
DESC = directml.TensorDesc("FLOAT32", (2, 3), (5, 1))
OPERATOR = directml.ElementWiseIdentityOperatorDesc(input=DESC, output=DESC)
MODULE = xla.parse_hlo("HloModule m f { y = s8[] parameter(1) ROOT x = s8[] parameter(0) }")
PADDED = xla.PaddedLayout2017((0, 1), (3, 5), xla.PaddingValue2017.ZERO_PAD)

# Objects whose methods and properties are called.
OBJECTS = [
    *(*SHAPES, SHAPES[0].layout, xla.Tile((2, 4)), xla.SplitConfig(0, (4,)), PADDED),
    *(MODULE, MODULE.entry, MODULE.entry.root, DESC, OPERATOR, directml.compile(OPERATOR)),
    *(*xla.PrimitiveType, *directml.DataType, *directml.support("CAST").values()),
]
# First arguments that are right where many functions want them.
RIGHT = (SHAPES[0], SHAPES[0].layout, tl.Layout((2, 3)), tl.ones((2, 3)), [tl.ones(2)], DESC)


def members(item):
    """Bound methods, and functions that read properties, of an object or a class."""
    kind = item if inspect.isclass(item) else type(item)
    for name in dir(kind):
        member = inspect.getattr_static(kind, name)
        if name.startswith("_"):
            continue
        if isinstance(member, (property, functools.cached_property)) and kind is not item:
            yield name, functools.partial(getattr, item, name)
        elif isinstance(member, (classmethod, staticmethod)) or (
            inspect.isfunction(member) and kind is not item
        ):
            yield name, getattr(item, name)


def callables():
    """Each public callable and its name."""
    for space in SPACES:
        for name in space.__all__:
            value = getattr(space, name)
            if callable(value):
                yield f"{space.__name__}.{name}", value
            if inspect.isclass(value):
                for member, call in members(value):
                    yield f"{space.__name__}.{name}.{member}", call
    for item in OBJECTS:
        for member, call in members(item):
            yield f"{type(item).__name__}.{member}", call


def calls(name, function):
    """Calls with wrong arguments: too few, too many, of no right class, or so after a right one."""
    if isinstance(function, functools.partial):  # a property
        yield function
        return
    yield functools.partial(function, *[None] * 40)
    yield functools.partial(function, no_such_argument=1)
    on_cuda = name.startswith("tensorlayout.cuda")  # no call there may succeed
    wrong, first = (WRONG[:1], ()) if on_cuda else (WRONG, RIGHT)
    if not on_cuda:
        yield function
    for count, item in itertools.product(range(1, 5), wrong):
        yield functools.partial(function, *[item] * count)
    for count, right, item in itertools.product((1, 2, 4), first, wrong[:4]):
        yield functools.partial(function, right, *[item] * count)


def raised(call):
    """The error of a call, if it is one that the package raises on purpose."""
    try:
        call()
    except (*errors.REFUSALS, RuntimeError) as error:
        return error
    except (AttributeError, KeyError):  # an argument of a wrong class that nothing checks
        pass
    return None


def frames_of(error):
    stack = traceback.extract_tb(error.__traceback__)
    return [frame for frame in stack if PACKAGE in frame.filename or frame.filename == "<string>"]


def test_at_most_two_frames_of_the_package():
    untried, long = set(), {}
    for name, function in callables():
        refusals = [error for call in calls(name, function) if (error := raised(call)) is not None]
        if not refusals and not isinstance(function, functools.partial):
            untried.add(name)
        many = [repr(error)[:80] for error in refusals if len(frames_of(error)) > 2]
        long |= {name: many[0]} if many else {}
    assert untried == set()
    assert long == {}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: directml.join([tl.ones(2), tl.ones((3, 3))], axis=0),
            "ValueError: JOIN: InputTensors[1]: DimensionCount must be 1, got 2",
        ),
        (
            lambda: directml.TensorDesc("FLOAT32", (2, 3), (5,)),
            "ValueError: TensorDesc: Strides must be as many as Sizes, 2, got 1",
        ),
        (
            lambda: xla.parse_shape("f32["),
            "ShapeSyntaxError: shape text: expected a size, '<=' or '?', got the end of the text,"
            " at column 5\n  f32[",
        ),
        (
            lambda: xla.XlaLayout(tail_padding_alignment=0),
            "ValueError: tail_padding_alignment: must be at least 1, got 0",
        ),
        (
            lambda: xla.permutations.permute([1], [3]),
            "ValueError: permute: p: must be a permutation of 0 to 0, got (3,)",
        ),
        (
            lambda: SHAPES[1].order,
            "ValueError: shape: must be an array, got (f32[2]{0}, s8[])",
        ),
        (
            lambda: SHAPES[0].validate(3),
            "TypeError: Shape.validate() takes 1 positional argument but 2 were given",
        ),
        (
            lambda: xla.layout_util.make_ascending_layout(10**40),
            "OverflowError: Python int too large to convert to C ssize_t",
        ),
    ],
)
def test_messages_are_those_of_the_code_inside(call, message):
    error = raised(call)
    assert f"{type(error).__name__}: {error}".startswith(message)
    assert len(frames_of(error)) <= 2


def test_guarded_functions_and_classes_are_found_by_pickle():
    for value in (directml.join, directml.scatter_elements, xla.parse_shape, xla.Shape, DESC):
        result = pickle.loads(pickle.dumps(value))
        assert result is value or value is DESC
    assert directml.join.__doc__
    assert inspect.signature(directml.join).parameters.keys() >= {"inputs", "axis"}


def test_errors_of_a_visitor_keep_their_frames():
    def visit(index):
        raise ValueError("of the user")

    with pytest.raises(ValueError, match="of the user") as caught:
        xla.shape_util.for_each_index(SHAPES[0], visit)
    assert traceback.extract_tb(caught.value.__traceback__)[-1].name == "visit"
