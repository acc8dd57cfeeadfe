"""Functions on tensors: tensors described, validated once, then found again; where results go.

Each function calls `run` with its descriptor and the members that its arguments are.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Any, cast

from tensorlayout.devices import Device, as_device
from tensorlayout.directml import constants, tables
from tensorlayout.directml.members import Member
from tensorlayout.directml.operator_desc import OperatorDesc
from tensorlayout.directml.operators import Operator
from tensorlayout.directml.tensor_desc import TensorDesc, desc_of
from tensorlayout.errors import refuse, under
from tensorlayout.functions import arguments
from tensorlayout.functions.creation import empty
from tensorlayout.functions.manipulation import reshape
from tensorlayout.plan import one_device
from tensorlayout.tensor import Tensor, TensorSpec

HIGHEST = tables.HIGHEST  # the feature level of functions that are given none

specs_of = attrgetter("spec")
_KEPT = 4096  # validated operators
_TENSORS, _INTEGERS, _NUMBERS = {Tensor}, {int}, {int, float}
_SEQUENCES = {tuple, list, constants.Size2D, constants.ScaleBias}
# What is found again by its value and type: it cannot change, and is no other where it is equal.
_BY_VALUE = {
    *(int, str, bool, type(None), Device, *constants.PREFIXES),
    *(type(kind.dtype) for kind in constants.DataType if kind.bits >= 8),
}
_NEGATIVE_ZERO = repr(-0.0)  # equal to the other zero, so never kept
_OUT = Member("out", "out", "Tensors", optional=True)  # of several outputs


class _Numbers(tuple[float, ...]):
    """Numbers that are not all integers: another type, so that (1.0,) does not find (1,)."""


def run(
    desc: type[OperatorDesc],
    values: tuple[Any, ...],
    out: Any,
    feature_level: str | int,
    asking: dict[str, Any] | None = None,
) -> Tensor:
    """Carry out an operator on the arguments of its function, into `out` or new tensors.

    `values`: those of the members that are neither outputs nor data types, in their order, tensors
    for descriptors. `asking`: what new outputs are to be: `device`, and see `OperatorDesc._asked`.
    """
    names: tuple[str, ...] = ()
    if asking is not None:
        names, values = (*asking,), (*values, *asking.values())
    if out is not None:
        values = (*values, out)
    given: list[Tensor] = []
    operator: Operator | None
    try:
        operator = _known(desc, feature_level, names, *_keyed(values, given))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        operator = None  # what is wrong is said of what came itself
    if operator is None:
        operator, given = _made(desc, feature_level, names, *values)
    result: Tensor = operator._run(given)
    return result


# The same for operators with other outputs than one.
run_pair: Callable[..., tuple[Tensor, Tensor]] = cast("Any", run)
run_several: Callable[..., tuple[Tensor, ...]] = cast("Any", run)


def _keyed(values: Iterable[Any], given: list[Tensor]) -> list[Any]:
    """What stands for arguments in a key; their tensors are added to `given`.

    TypeError for what may change, or is another where it is equal.
    """
    key: list[Any] = []
    for x in values:
        kind = type(x)
        if kind is Tensor:
            given.append(x)
            key.append(x.spec)
        elif kind in _BY_VALUE:
            key.append(x)
        elif kind in _SEQUENCES:
            kinds = set(map(type, x))
            if kinds == _TENSORS:
                given += x
                key.append(tuple(map(specs_of, x)))
            elif kinds <= _INTEGERS:
                key.append(tuple(x))
            elif kinds <= _NUMBERS and _NEGATIVE_ZERO not in map(repr, x):
                key.append(_Numbers(x))
            else:
                raise TypeError
        elif kind is float and repr(x) != _NEGATIVE_ZERO:
            key.append(x)
        else:
            raise TypeError
    return key


def _made(
    desc: type[OperatorDesc], level: Any, names: tuple[str, ...], *values: Any
) -> tuple[Operator, list[Any]]:
    """The validated operator of a call, and its tensors; specs may stand for these.

    `values`: of the members, of what `names` says, and ``out``, if that is given.
    """
    name, tensors, rest = desc.operator, list[Any](), iter(values)
    given: dict[str, Any] = {}
    for member in desc._given:
        value = next(rest)
        described = member in desc._tensor_members and not (value is None and member.optional)
        given[member.name] = _described(name, member, value, tensors) if described else value
    asking = {word: next(rest) for word in names}
    device = asking.pop("device", None)
    for out in rest:
        outputs = desc._outputs
        if len(outputs) == 1:
            given[outputs[0].name] = _described(name, outputs[0], out, tensors)
            continue
        descs = _described(name, _OUT, out, tensors)
        if len(descs) != len(outputs):
            refuse(name, f"out must be {len(outputs)} tensors, got {len(descs)}")
        given |= zip((output.name for output in outputs), descs, strict=True)
    described_as = desc._with_asked(given, asking) if asking else desc(**given)
    level = tables.as_level(level, name)
    operator = Operator(described_as.validate(level), level)
    operator._device = None if device is None else as_device(device, f"{name}: device")
    if tensors:
        where = under(name, one_device, [getattr(x, "spec", x) for x in tensors])
        if operator._device not in (None, where):
            refuse(name, f"device must be that of the tensors, {where}, got {operator._device}")
    return operator, tensors


@functools.lru_cache(maxsize=_KEPT, typed=True)
def _known(*call: Any) -> Operator:
    return _made(*call)[0]


def _described(name: str, member: Member, given: Any, tensors: list[Any]) -> Any:
    """The descriptor of a tensor, or those of a sequence of tensors, at least one."""
    if member.kind != "Tensors":
        return _desc(name, member.spelling, given, tensors)
    if type(given) is not tuple or set(map(type, given)) != {TensorSpec}:
        given = under(name, arguments.tensors, given, member.spelling)
    return tuple(_desc(name, f"{member.spelling}[{i}]", x, tensors) for i, x in enumerate(given))


def _desc(name: str, member: str, x: Any, tensors: list[Any]) -> TensorDesc:
    """The descriptor of a tensor; ValueError as the rules of tensors say."""
    found = x if type(x) is TensorSpec else under(name, arguments.tensor, x, member)
    tensors.append(found)
    try:
        return desc_of(getattr(found, "spec", found))
    except (TypeError, ValueError) as error:
        msg = f"{name}: {member}: {str(error).partition(': ')[2]}"
        raise type(error)(msg) from None


# --- where results go -----------------------------------------------------------------------------


def target(out: Tensor | None, desc: TensorDesc | None, like: Tensor | None = None) -> Tensor:
    """`out`, or a new tensor: packed in the order of `like` if that has as many dimensions."""
    if out is not None:
        return out
    assert desc is not None
    order = device = None
    if like is not None:
        layout, device = like.spec.layout, like.spec.device
        order = layout.minor_to_major if len(layout.shape) == len(desc.sizes) else None
    return empty(desc.sizes, dtype=desc.data_type.dtype, device=device, layout=order)


def copied(view: Tensor, out: Tensor | None, desc: TensorDesc | None) -> Tensor:
    """The elements of a view in `out` or in a new tensor, packed in the order of the view."""
    result = target(out, desc, view)
    result[...] = view
    return result


def delivered(result: Tensor, out: Tensor) -> Tensor:
    """A result, worked out in a tensor of its own, copied into `out`."""
    out[...] = result
    return out


def seen_as(x: Tensor, sizes: tuple[int, ...]) -> Tensor:
    """A view with dimensions split, or with sizes of 1 added or dropped: those always exist."""
    return reshape(x, sizes, copy=False)
