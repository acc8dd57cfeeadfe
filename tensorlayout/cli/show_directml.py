"""``show`` of a DirectML tensor descriptor: its sizes and strides in words, and its bytes."""

from __future__ import annotations

import re

from tensorlayout.cli.answers import Facts, refuse
from tensorlayout.directml import DataType, TensorDesc, calc_buffer_tensor_size
from tensorlayout.errors import shown
from tensorlayout.layout import Layout
from tensorlayout.layout.drawing.content import count_of

_NAME = re.compile(r"\b([A-Za-z_]\w*) ?=")
_NUMBERS = re.compile(r"-?\d{1,20}(?:(?: ?, ?| )-?\d{1,20})*")
_BYTES = {"total": "total_tensor_size_in_bytes", "alignment": "guaranteed_base_offset_alignment"}
_WORDS = ("sizes", "strides", "type", *_BYTES)

# The letters of DirectML's dimensions, where there are as many as images have.
_LETTERS = {4: "NCHW", 5: "NCDHW"}


def described_desc(text: str) -> tuple[Facts, Layout]:
    """Return what a descriptor says, by name, and its layout.

    The text has ``sizes=…`` and, in any order, ``strides=…``, ``type=…`` (a DML_TENSOR_DATA_TYPE),
    ``total=…`` and ``alignment=…`` (both in bytes). CommandError that names the word at fault.
    """
    words = _words(" ".join(text.split()))  # no pattern meets runs of blanks
    if "sizes" not in words:
        refuse(f"a DirectML descriptor needs sizes, as in sizes=1,3,4,4, got {shown(text)}")
    desc = _desc(words)
    return _facts(desc, typed="type" in words), desc.layout


def _words(text: str) -> dict[str, str]:
    """Return the text behind each name."""
    found: dict[str, str] = {}
    before, *rest = _NAME.split(text)
    if before.strip():
        refuse(f"expected name=value, got {shown(before.strip())} in {shown(text)}")
    for name, value in zip(rest[::2], rest[1::2], strict=True):
        came = shown(f"{name}={value.strip()}")
        if name not in _WORDS:
            refuse(f"a DirectML descriptor has {', '.join(_WORDS)}, got {came}")
        if name in found:
            refuse(f"{name} is there twice, at last in {came}")
        found[name] = value.strip(", ")
    return found


def _desc(words: dict[str, str]) -> TensorDesc:
    sizes = _numbers("sizes", words["sizes"])
    strides = _numbers("strides", words["strides"]) if "strides" in words else None
    members = {of: _number(name, words[name]) for name, of in _BYTES.items() if name in words}
    # Without a type the bytes are not known, and the least element breaks no rule of theirs.
    kind = words.get("type", "UINT8")
    try:
        return TensorDesc(
            int(kind) if len(kind) < 20 and kind.isdecimal() else kind.upper(),
            sizes,
            strides,
            **members,
        )
    except (ValueError, TypeError, OverflowError) as error:
        spelt = " ".join(f"{name}={value}" for name, value in words.items())
        refuse(f"{str(error).removeprefix('TensorDesc: ')}, in {shown(spelt)}")


def _numbers(name: str, text: str) -> list[int]:
    bare = text[1:-1].strip() if text[:1] + text[-1:] in ("()", "[]", "{}") else text
    if _NUMBERS.fullmatch(bare) is None:
        came = shown(f"{name}={text}")
        refuse(f"{name} is numbers with commas between, as in 1,3,4,4, got {came}")
    return [int(number) for number in re.split(r" ?, ?| ", bare)]


def _number(name: str, text: str) -> int:
    numbers = _numbers(name, text)
    if len(numbers) != 1:
        refuse(f"{name} is a number of bytes, got {shown(f'{name}={text}')}")
    return numbers[0]


def _facts(desc: TensorDesc, *, typed: bool) -> Facts:
    layout, given = desc.layout, "in elements: packed, as none are given"
    words = [f"sizes={','.join(map(str, desc.sizes))}"]
    if desc.strides is not None:
        words.append(f"strides={','.join(map(str, desc.strides))}")
        given = "in elements"
    if typed:
        words.append(f"type={desc.data_type.name}")
    return [
        ("descriptor", " ".join(words)),
        ("data type", _type(desc.data_type) if typed else "not given"),
        ("sizes", f"{desc.sizes}, {count_of(layout.size, 'element')}"),
        ("strides", f"{layout.strides}, {given}"),
        ("order", _order(layout)),
        ("slots", _slots(layout)),
        ("broadcast", _broadcast(layout)),
        *_bytes(desc, typed=typed),
        ("layout", str(layout)),
    ]


def _type(kind: DataType) -> str:
    if kind.bits < 8:
        return f"{kind.name}, {8 // kind.bits} elements in a byte"
    return f"{kind.name}, {kind.dtype.name}, {count_of(kind.bits // 8, 'byte')} an element"


def _order(layout: Layout) -> str:
    order = layout.minor_to_major
    letters = _LETTERS.get(len(order), "")
    named = "".join(letters[d] for d in reversed(order)) if letters else ""
    return f"minor to major {order}" + (f": {letters} stored as {named}" if named else "")


def _slots(layout: Layout) -> str:
    """The slots that the strides reach, and those that no element has."""
    reach = count_of(layout.required_size, "slot")
    if layout.is_broadcast or layout.is_overlapping:
        return reach
    unused = layout.required_size - layout.size
    return f"{reach}, {unused} of them without an element" if unused else f"{reach}, all with one"


def _broadcast(layout: Layout) -> str:
    pairs = zip(layout.shape, layout.strides, strict=True)
    repeated = [d for d, (n, s) in enumerate(pairs) if s == 0 and n > 1]
    if repeated:
        many = "s" * (len(repeated) > 1)
        return f"dimension{many} {', '.join(map(str, repeated))} (stride 0): elements share slots"
    return "none, but elements share slots" if layout.is_overlapping else "none"


def _bytes(desc: TensorDesc, *, typed: bool) -> Facts:
    if not typed:
        kinds = ("UINT8", "FLOAT16", "FLOAT32", "FLOAT64")
        sizes = {kind: calc_buffer_tensor_size(kind, desc.sizes, desc.strides) for kind in kinds}
        each = ", ".join(f"{size} of {kind}" for kind, size in sizes.items())
        return [("minimum size", f"bytes: {each}")]
    least = calc_buffer_tensor_size(desc.data_type, desc.sizes, desc.strides)
    facts = [("minimum size", count_of(least, "byte"))]
    total = desc.total_tensor_size_in_bytes
    beyond = f", {total - least} more than the minimum" if total > least else ", the minimum"
    facts.append(("total size", f"{count_of(total, 'byte')}{beyond}"))
    if desc.guaranteed_base_offset_alignment:
        bound = count_of(desc.guaranteed_base_offset_alignment, "byte")
        facts.append(("alignment", f"offsets are multiples of {bound}"))
    return facts
