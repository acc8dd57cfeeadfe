"""Functions on tensors: tensors described, validated once, then found again.

Each function calls `run` with its descriptor and the members that its arguments are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Any, cast

from tensorlayout.devices import Device, as_device
from tensorlayout.directml import constants, tables
from tensorlayout.directml.constants import within
from tensorlayout.directml.members import Member
from tensorlayout.directml.operator_desc import OperatorDesc
from tensorlayout.directml.operators import Operator
from tensorlayout.directml.tensor_desc import TensorDesc, desc_of
from tensorlayout.errors import REFUSALS, named
from tensorlayout.functions import arguments
from tensorlayout.functions.manipulation import reshape
from tensorlayout.plan import one_device
from tensorlayout.tensor import Tensor

HIGHEST = tables.HIGHEST  # the feature level of functions that are given none

specs_of = attrgetter("spec")
_TENSORS, _INTEGERS, _NUMBERS = {Tensor}, {int}, {int, float}
_SEQUENCES = {tuple, list, constants.Size2D, constants.ScaleBias}
# What is found again by its value and type, since it cannot change.
_BY_VALUE = {
    *(str, bool, type(None), Device, *constants.PREFIXES),
    *(type(kind.dtype) for kind in constants.DataType if kind.bits >= 8),
}

# Validated operators, by the calls that they carry out.
_operators: dict[tuple[Any, ...], Operator] = {}
_MOST = 4096


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
    call = values if asking is None else (*values, *asking.values())
    if out is not None:
        call = (*call, out)
    tensors: list[Any] = []
    key = operator = None
    try:
        try:
            key = (desc, feature_level, type(feature_level), *_keyed(call, tensors))
            operator = _operators.get(key)
        except (TypeError, ValueError):  # of what may change, nothing is kept
            key = None
        if operator is None:
            seen = len(tensors)
            operator, tensors = _made(desc, values, out, feature_level, asking or {})
            if key is not None and len(tensors) == seen:  # no tensor stands for a number
                if len(_operators) == _MOST:
                    _operators.clear()
                _operators[key] = operator
        result: Tensor = operator._run(tensors)
        return result
    except REFUSALS as error:
        raise named(desc.operator, error) from error.__cause__


# The same for operators with other outputs than one.
run_pair: Callable[..., tuple[Tensor, Tensor]] = cast("Any", run)
run_several: Callable[..., tuple[Tensor, ...]] = cast("Any", run)


def _keyed(values: Iterable[Any], tensors: list[Any]) -> list[Any]:
    """What stands for arguments in a key; their tensors are added to `tensors`.

    TypeError or ValueError for what may change. Types tell values apart that are equal, texts the
    zeros.
    """
    key: list[Any] = []
    for x in values:
        kind = type(x)
        if kind is Tensor:
            tensors.append(x)
            key.append(x.spec)
        elif kind is int:
            key.append(x)
        elif kind is float:
            key.append(repr(x))
        elif kind in _BY_VALUE:
            key.append((kind, x))
        elif kind in _SEQUENCES:
            kinds = set(map(type, x))
            if kinds == _TENSORS:
                tensors += x
                key.append(tuple(map(specs_of, x)))
            elif kinds <= _INTEGERS:
                key.append(tuple(x))
            elif kinds <= _NUMBERS:
                key.append(tuple(map(repr, x)))
            else:
                raise TypeError
        else:
            raise TypeError
    return key


def _made(
    desc: type[OperatorDesc],
    values: tuple[Any, ...],
    out: Any,
    level: str | int,
    asking: dict[str, Any],
) -> tuple[Operator, list[Tensor]]:
    """The validated operator of a call, and its tensors."""
    tensors: list[Tensor] = []
    given: dict[str, Any] = {}
    for member, value in zip(desc._given, values, strict=True):
        is_tensor = member in desc._tensor_members and not (value is None and member.optional)
        given[member.name] = _described(member, value, tensors) if is_tensor else value
    if out is not None:
        outputs = desc._outputs
        outs = (out,) if len(outputs) == 1 else arguments.tensors(out, "out")
        if len(outs) != len(outputs):
            raise ValueError(f"out must be {len(outputs)} tensors, got {len(outs)}")
        for member, x in zip(outputs, outs, strict=True):
            given[member.name] = _described(member, x, tensors)
    wanted = {word: value for word, value in asking.items() if word != "device"}
    described = desc._with_asked(given, wanted) if wanted else desc(**given)
    operator = Operator(described.validate(level), tables.as_level(level))
    device = asking.get("device")
    operator._device = None if device is None else as_device(device, "device")
    if tensors:
        where = one_device([x.spec for x in tensors])
        if operator._device not in (None, where):
            came = operator._device
            raise ValueError(f"device must be that of the tensors, {where}, got {came}")
    return operator, tensors


def _described(member: Member, given: Any, tensors: list[Tensor]) -> Any:
    """The descriptor of a tensor, or those of a sequence of tensors, at least one."""
    if member.kind == "TensorDesc":
        return _desc(member.spelling, given, tensors)
    given = arguments.tensors(given, member.spelling)
    return tuple(_desc(f"{member.spelling}[{i}]", x, tensors) for i, x in enumerate(given))


def _desc(member: str, x: Any, tensors: list[Tensor]) -> TensorDesc:
    tensors.append(arguments.tensor(x, member))
    return within(member, desc_of, tensors[-1].spec)


def seen_as(x: Tensor, sizes: tuple[int, ...]) -> Tensor:
    """A view with dimensions split, or with sizes of 1 added or dropped: those always exist."""
    return reshape(x, sizes, copy=False)
