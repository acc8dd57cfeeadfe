"""``show`` of a DirectML tensor descriptor: sizes and strides in words, and sizes in bytes."""

from __future__ import annotations

import re

from tensorlayout.cli.answers import Facts, format_layout, raise_show_error
from tensorlayout.directml import DataType, TensorDesc, calc_buffer_tensor_size
from tensorlayout.errors import short_repr
from tensorlayout.layout import Layout
from tensorlayout.layout.drawing.content import format_count

_NAME = re.compile(r"\b([A-Za-z_]\w*) ?=")
_NUMBERS = re.compile(r"-?\d{1,20}(?:(?: ?, ?| )-?\d{1,20})*")
_BYTE_FIELDS = {
    "total": "total_tensor_size_in_bytes",
    "alignment": "guaranteed_base_offset_alignment",
}
_FIELD_NAMES = ("sizes", "strides", "type", *_BYTE_FIELDS)

# DirectML names the dimensions of images only.
_DIMENSION_LETTERS = {4: "NCHW", 5: "NCDHW"}


def describe_descriptor(text: str) -> tuple[Facts, Layout]:
    """Return the facts and the layout of a descriptor.

    The text has ``sizes=…`` and, in any order, ``strides=…``, ``type=…`` (a DML_TENSOR_DATA_TYPE),
    ``total=…`` and ``alignment=…`` (both in bytes). CommandError names the wrong word.
    """
    # Runs of blanks would make the patterns backtrack.
    fields = _split_fields(" ".join(text.split()))
    if "sizes" not in fields:
        raise_show_error(
            f"a DirectML descriptor needs sizes, as in sizes=1,3,4,4, got {short_repr(text)}"
        )
    desc = _make_descriptor(fields)
    return _descriptor_facts(desc, has_type="type" in fields), desc.layout


def _split_fields(text: str) -> dict[str, str]:
    """Return the value of each name."""
    fields: dict[str, str] = {}
    # The pattern has a group, so the names stay in the list: text, name, value, name, value.
    leading_text, *names_and_values = _NAME.split(text)
    if leading_text.strip():
        raise_show_error(
            f"expected name=value, got {short_repr(leading_text.strip())} in {short_repr(text)}"
        )
    for name, value in zip(names_and_values[::2], names_and_values[1::2], strict=True):
        received = short_repr(f"{name}={value.strip()}")
        if name not in _FIELD_NAMES:
            raise_show_error(f"a DirectML descriptor has {', '.join(_FIELD_NAMES)}, got {received}")
        if name in fields:
            raise_show_error(f"{name} occurs twice, last in {received}")
        fields[name] = value.strip(", ")
    return fields


def _make_descriptor(fields: dict[str, str]) -> TensorDesc:
    sizes = _parse_numbers("sizes", fields["sizes"])
    strides = _parse_numbers("strides", fields["strides"]) if "strides" in fields else None
    members = {
        member: _parse_byte_count(name, fields[name])
        for name, member in _BYTE_FIELDS.items()
        if name in fields
    }
    # Without a type, the smallest element satisfies all rules about sizes and alignments in bytes.
    kind = fields.get("type", "UINT8")
    try:
        return TensorDesc(
            int(kind) if len(kind) < 20 and kind.isdecimal() else kind.upper(),
            sizes,
            strides,
            **members,
        )
    except (ValueError, TypeError, OverflowError) as error:
        descriptor_text = " ".join(f"{name}={value}" for name, value in fields.items())
        raise_show_error(
            f"{str(error).removeprefix('TensorDesc: ')}, in {short_repr(descriptor_text)}"
        )


def _parse_numbers(name: str, text: str) -> list[int]:
    inner_text = text[1:-1].strip() if text[:1] + text[-1:] in ("()", "[]", "{}") else text
    if _NUMBERS.fullmatch(inner_text) is None:
        received = short_repr(f"{name}={text}")
        raise_show_error(f"{name} is numbers with commas between, as in 1,3,4,4, got {received}")
    return [int(number) for number in re.split(r" ?, ?| ", inner_text)]


def _parse_byte_count(name: str, text: str) -> int:
    numbers = _parse_numbers(name, text)
    if len(numbers) != 1:
        raise_show_error(f"{name} is a number of bytes, got {short_repr(f'{name}={text}')}")
    return numbers[0]


def _descriptor_facts(desc: TensorDesc, *, has_type: bool) -> Facts:
    layout, strides_note = desc.layout, "in elements: packed, as none are given"
    descriptor_words = [f"sizes={','.join(map(str, desc.sizes))}"]
    if desc.strides is not None:
        descriptor_words.append(f"strides={','.join(map(str, desc.strides))}")
        strides_note = "in elements"
    if has_type:
        descriptor_words.append(f"type={desc.data_type.name}")
    return [
        ("descriptor", " ".join(descriptor_words)),
        ("data type", _describe_data_type(desc.data_type) if has_type else "not given"),
        ("sizes", f"{desc.sizes}, {format_count(layout.size, 'element')}"),
        ("strides", f"{layout.strides}, {strides_note}"),
        ("order", _describe_order(layout)),
        ("slots", _describe_slots(layout)),
        ("broadcast", _describe_broadcast(layout)),
        *_byte_size_facts(desc, has_type=has_type),
        ("layout", format_layout(layout)),
    ]


def _describe_data_type(kind: DataType) -> str:
    if kind.bits < 8:
        return f"{kind.name}, {8 // kind.bits} elements in a byte"
    return f"{kind.name}, {kind.dtype.name}, {format_count(kind.bits // 8, 'byte')} an element"


def _describe_order(layout: Layout) -> str:
    order = layout.minor_to_major
    letters = _DIMENSION_LETTERS.get(len(order), "")
    stored_letters = "".join(letters[d] for d in reversed(order)) if letters else ""
    return f"minor to major {order}" + (
        f": {letters} stored as {stored_letters}" if stored_letters else ""
    )


def _describe_slots(layout: Layout) -> str:
    """Describe how many slots the strides reach, and how many of them hold no element."""
    reached_slots = format_count(layout.required_size, "slot")
    if layout.is_broadcast or layout.is_overlapping:
        return reached_slots
    unused = layout.required_size - layout.size
    return (
        f"{reached_slots}, {unused} of them without an element"
        if unused
        else f"{reached_slots}, all with one"
    )


def _describe_broadcast(layout: Layout) -> str:
    pairs = zip(layout.shape, layout.strides, strict=True)
    repeated = [d for d, (n, s) in enumerate(pairs) if s == 0 and n > 1]
    if repeated:
        plural = "s" * (len(repeated) > 1)
        return f"dimension{plural} {', '.join(map(str, repeated))} (stride 0): elements share slots"
    return "none, but elements share slots" if layout.is_overlapping else "none"


def _byte_size_facts(desc: TensorDesc, *, has_type: bool) -> Facts:
    if not has_type:
        kinds = ("UINT8", "FLOAT16", "FLOAT32", "FLOAT64")
        sizes = {kind: calc_buffer_tensor_size(kind, desc.sizes, desc.strides) for kind in kinds}
        size_list = ", ".join(f"{size} of {kind}" for kind, size in sizes.items())
        return [("minimum size", f"bytes: {size_list}")]
    minimum = calc_buffer_tensor_size(desc.data_type, desc.sizes, desc.strides)
    facts = [("minimum size", format_count(minimum, "byte"))]
    total = desc.total_tensor_size_in_bytes
    excess_text = (
        f", {total - minimum} more than the minimum" if total > minimum else ", the minimum"
    )
    facts.append(("total size", f"{format_count(total, 'byte')}{excess_text}"))
    if desc.guaranteed_base_offset_alignment:
        alignment_text = format_count(desc.guaranteed_base_offset_alignment, "byte")
        facts.append(("alignment", f"offsets are multiples of {alignment_text}"))
    return facts
