"""Cases of reads and writes at positions: keys of every form, `take` and its kin.

Of elements below a byte too, whose storage is packed and read without the package.
"""

import math

import numpy as np
from case import Case, Refused, but_signs_of_zeros, packed, same
from casting import cast, promoted
from draws import MOST, NEAR_TIES, padding_bits, padding_mask, places
from moving_cases import anything
from narrow_values import bits_of
from tensors import BFLOAT16, NARROW, as_dtype, kind

import tensorlayout as tl
from tensorlayout import plan
from tensorlayout.layout import PaddingValue
from tensorlayout.tensor import TensorSpec

INTEGERS = ("int8", "int16", "int32", "uint8", "uint16", "uint32", "uint64")


def key_for(draw, shape):
    """A key as text, operands by name, and a function that puts NumPy's arrays into it."""
    spread = draw.choice([(2,), (3,), (1,), (5,), (12,), (2, 1), (2, 3), (0,), ()])
    texts, items, result, dim, dots = [], [], {}, 0, False

    def add(text, item):
        texts.append(text)
        items.append(item)

    def operand(array):
        name = f"k{len(result)}"
        result[name] = draw.holding(array)
        add(name, name)

    while dim < len(shape):
        n = shape[dim]
        choices = ["slice"] * 3 + ["none"] + ["integer"] * 2 * (n > 0) + ["dots"] * (not dots)
        choices += ["positions"] * 2 * (n > 0 or spread == (0,)) + ["mask"]
        choices += ["boolean"] * draw.chance(0.15)
        match draw.choice(choices):
            case "none":
                if len(texts) > 8:
                    continue
                add("None", None)
                continue
            case "dots":
                add("...", ...)
                dots, dim = True, draw.between(dim, len(shape))
                continue
            case "boolean":  # of no dimension, as True, False or a tensor of rank 0
                if len(texts) > 8:
                    continue
                truth = draw.chance(0.7)
                if draw.chance(0.5):
                    add(str(truth), truth)
                else:
                    operand(np.array(truth))
                continue
            case "integer":
                i = draw.between(-n, n - 1)
                add(str(i), i)
            case "slice":
                bounds = [None, None, *range(-4, 5)]
                s = slice(
                    draw.choice(bounds),
                    draw.choice(bounds),
                    draw.choice([None, 1, 1, 2, 3, -1, -2]),
                )
                texts.append(
                    ":".join("" if v is None else str(v) for v in (s.start, s.stop, s.step))
                )
                items.append(s)
            case "mask":
                rank = draw.between(1, len(shape) - dim)
                sizes = shape[dim : dim + rank]
                share = draw.choice((0.0, 0.2, 0.6, 1.0))
                flat = [draw.chance(share) for _ in range(int(np.prod(sizes)))]
                operand(np.array(flat, bool).reshape(sizes))
                dim += rank - 1
            case "positions":
                sizes = draw.choice([spread, spread, (1,) * len(spread)]) if n else (0,)
                few = draw.few or n > 127
                dtype = "int64" if few else draw.choice(("int64", "int64", *INTEGERS))
                least = 0 if dtype.startswith("u") else -n
                flat = [draw.between(least, n - 1) for _ in range(int(np.prod(sizes)))]
                operand(np.array(flat, dtype).reshape(sizes))
        dim += 1
        if draw.chance(0.15):
            break
    if not texts:
        add("...", ...)
    text = ", ".join(texts)

    def key(arrays):
        return tuple(arrays[i] if isinstance(i, str) else i for i in items)

    return text, result, key


def numpys(function):
    try:
        return function()
    except IndexError:
        return Refused(IndexError, ValueError)


def read(draw):
    x = anything(draw)
    text, result, key = key_for(draw, x.layout.shape)
    # A tensor of rank 0 is an integer, unless it is a boolean.
    data = any(o.array.ndim or o.array.dtype == bool for o in result.values())
    data = data or "True" in text or "False" in text

    def expect(a, *arrays):
        return numpys(lambda: np.array(a[key(dict(zip(result, arrays, strict=True)))]))

    return Case(
        "x[…] by data" if data else "x[…]",
        f"x[{text}]",
        {"x": x, **result},
        expect,
        same,
        "packed" if data else None,
        False if data else None if x.layout.is_tiled else True,
    )


def write(draw):
    dtype = draw.dtype()
    x = draw.operand(dtype, draw.shape(), "moved", writable=True)
    text, result, key = key_for(draw, x.layout.shape)
    arrays = {name: o.array for name, o in result.items()}
    there = numpys(lambda: np.array(x.array[key(arrays)]))
    name = "x[…] = y by data" if result else "x[…] = y"
    if isinstance(there, Refused):
        value = {}
        return Case(name, f"x[{text}] = 1", {"x": x, **result}, lambda *_: there, same, writes="x")
    if draw.chance(0.3):
        number = draw.choice((0, 1, True, *(NEAR_TIES if kind(as_dtype(dtype)) in "fc" else ())))
        value, shown = {}, str(number)
        content = np.array(number)
    else:
        other = dtype if draw.few or draw.chance(0.7) else draw.dtype()
        if other.startswith("complex") and not dtype.startswith("complex"):
            other = dtype
        cut = draw.between(0, there.ndim) if draw.chance(0.3) else 0
        shape = tuple(1 if draw.chance(0.15) else n for n in there.shape[cut:])
        if there.ndim and not result and draw.chance(0.1):
            # Sizes that stand before, of which only 1 fits.
            shape = (2 if there.size and draw.chance(0.3) else 1, *[1] * cut, *shape)
        value, shown = {"y": draw.operand(other, shape, "moved")}, "y"
        content = value["y"].array

    def expect(a, *rest):
        try:
            a[key(dict(zip(result, rest, strict=False)))] = cast(np.asarray(content), dtype)
        except ValueError:
            return Refused(ValueError)
        return a

    return Case(name, f"x[{text}] = {shown}", {"x": x, **result, **value}, expect, same, writes="x")


def overlapping_write(draw):
    """A value that is another view of the destination."""
    x = draw.operand(draw.dtype(), draw.shape(1, 3), "moved", writable=True)
    shape = x.layout.shape
    axis = draw.between(0, len(shape) - 1)
    n = shape[axis]
    lead = ":, " * axis
    shift = draw.between(0, n)
    text, to, by = draw.choice(
        [
            (f"x[{lead}{shift}:] = x[{lead}:{n - shift}]", slice(shift, None), slice(0, n - shift)),
            (f"x[{lead}:{n - shift}] = x[{lead}{shift}:]", slice(0, n - shift), slice(shift, None)),
            (f"x[{lead}::-1] = x", slice(None, None, -1), slice(None)),
        ]
    )

    def expect(a):
        before = a.copy()
        front = (slice(None),) * axis
        a[(*front, to)] = before[(*front, by)]
        return a

    return Case("x[…] = x[…]", text, {"x": x}, expect, same, writes="x")


def take(draw):
    x = anything(draw, 1)
    axis = draw.axis(x.layout.ndim)
    n = x.layout.shape[axis]
    sizes = draw.choice([(), (3,), (1,), (7,), (0,), (2, 3), (40,)]) if n else (0,)
    flat = [draw.between(-n, n - 1) for _ in range(int(np.prod(sizes)))]
    only = draw.few or n > 127
    indices = np.array(flat, "int64" if only else draw.choice(["int64", "int32", "int8"]))
    k = draw.holding(indices.reshape(sizes))
    return Case(
        "take",
        f"tl.take(x, k, axis={axis})",
        {"x": x, "k": k},
        lambda a, i: np.array(np.take(a, i, axis)),
        same,
        "packed",
    )


def _along(draw, x):
    """An axis, and positions along it that fit `x`."""
    axis = draw.axis(x.layout.ndim)
    shape = [n if draw.chance(0.8) else 1 for n in x.layout.shape]
    n = x.layout.shape[axis]
    shape[axis] = draw.between(0, 5) if n else 0
    flat = [draw.between(-n, n - 1) for _ in range(int(np.prod(shape)))]
    return axis, draw.holding(np.array(flat, np.int64).reshape(shape))


def take_along_axis(draw):
    x = anything(draw, 1, 4)
    axis, k = _along(draw, x)
    sizes = [n if m == 1 else m for n, m in zip(x.layout.shape, k.layout.shape, strict=True)]
    sizes[axis] = k.layout.shape[axis]
    return Case(
        "take_along_axis",
        f"tl.take_along_axis(x, k, axis={axis})",
        {"x": x, "k": k},
        lambda a, i: np.take_along_axis(a, i, axis),
        same,
        packed(sizes, x.layout.minor_to_major),
    )


def put_along_axis(draw):
    x = draw.operand(draw.dtype(), draw.shape(1, 4), "moved", writable=True)
    axis, k = _along(draw, x)
    sizes = [n if m == 1 else m for n, m in zip(x.layout.shape, k.layout.shape, strict=True)]
    sizes[axis] = k.layout.shape[axis]
    shape = tuple(n if draw.chance(0.8) else 1 for n in sizes)
    y = draw.operand(x.dtype, shape, "moved")

    def expect(a, i, b):
        np.put_along_axis(a, i, b, axis)
        return a

    text = f"tl.put_along_axis(x, k, y, axis={axis})"
    return Case("put_along_axis", text, {"x": x, "k": k, "y": y}, expect, same, writes="x")


COMBINING = {"scatter_add": np.add, "scatter_min": np.minimum, "scatter_max": np.maximum}


def combining(name):
    def make(draw):
        dtype = draw.dtype("numeric" if name == "scatter_add" else "real numeric")
        real = kind(as_dtype(dtype)) in "iu" or name != "scatter_add"
        x = draw.operand(dtype, draw.shape(1, 4), "wild" if real else "mild")
        shape = x.layout.shape
        kind_of = "int64" if draw.few else draw.choice(("int64", "int64", *INTEGERS))
        if len(shape) > 1 and draw.chance(0.5):  # positions of their own for each line
            axis, k = _along(draw, x)
            pairs = zip(shape, k.layout.shape, strict=True)
            there = [n if m == 1 else m for n, m in pairs]
            there[axis % len(shape)] = k.layout.shape[axis]
        else:
            axis = draw.axis(len(shape))
            n = shape[axis]
            spread = draw.choice([(9,), (1,), (0,), (40,)] + [(), (2, 3)] * (len(shape) == 1))
            spread = spread if n else (0,)
            kind_of = kind_of if n <= 127 else "int64"
            least = 0 if kind_of.startswith("u") else -n
            flat = [draw.between(least, n - 1) for _ in range(int(np.prod(spread)))]
            k = draw.holding(np.array(flat, kind_of).reshape(spread))
            at = axis % len(shape)
            there = [*shape[:at], *spread, *shape[at + 1 :]]
        cut = draw.between(0, len(there)) if draw.chance(0.3) else 0
        sizes = tuple(1 if draw.chance(0.15) else n for n in there[cut:])
        narrower = dtype if draw.few else draw.choice((dtype, dtype, dtype, "int8"))
        second = narrower if promoted(dtype, narrower) == dtype else dtype
        operands, shown = {"x": x, "k": k}, "1"
        if draw.chance(0.8):
            operands["y"] = draw.operand(second, sizes, "wild" if real else "mild")
            shown = "y"

        def expect(a, i, b=1):
            result = a.astype(np.float32) if a.dtype == BFLOAT16 else a
            if i.ndim == a.ndim > 1:
                key = list(np.indices(there, sparse=True))
                key[axis] = np.broadcast_to(i, there)
            else:
                key = [slice(None)] * (axis % a.ndim) + [i.astype(np.int64)]
            values = np.array(np.broadcast_to(b, there))  # NumPy 2.4 reads on behind shorter ones
            COMBINING[name].at(result, tuple(key), values.astype(result.dtype))
            return result.astype(a.dtype)

        layout = packed(shape, x.layout.minor_to_major)
        text = f"tl.{name}(x, k, {shown}, axis={axis})"
        return Case(name, text, operands, expect, but_signs_of_zeros, layout)

    return make


# --- elements below a byte -----------------------------------------------------------------------

BELOW_A_BYTE = [name for name in NARROW if bits_of(name) < 8]
ONE_OF_EACH_WIDTH = ["uint1", "int2", "int4", "float6_e2m3fn"]


def octets_of(slots, bits):
    """Return the bytes of slots of so many bits, the first slot in the lowest."""
    digits = np.unpackbits(slots[:, None], axis=1, count=bits, bitorder="little")
    return np.packbits(digits, bitorder="little")


def slots_in(octets, bits):
    """Return the whole slots of so many bits in some bytes, one byte for each."""
    digits = np.unpackbits(octets, bitorder="little")
    digits = digits[: digits.size // bits * bits].reshape(-1, bits)
    return np.packbits(digits, axis=1, bitorder="little").reshape(-1)


class FewBits:
    """Slots below a byte in a storage with more of them before and behind."""

    def __init__(self, draw, writable):
        draw.most = MOST
        self.dtype = as_dtype(draw.choice(ONE_OF_EACH_WIDTH if draw.few else BELOW_A_BYTE))
        self.bits = bits_of(self.dtype.name)
        self.layout = draw.layout(draw.shape(), self.dtype, writable).at_origin
        if not isinstance(self.layout.padding_value, PaddingValue):
            self.layout = self.layout.with_padding_value(PaddingValue.ONE)
        self.first = draw.choice((0, 1, 3)) * (8 // math.gcd(8, self.bits))  # a whole byte
        count = self.first + self.layout.required_size + draw.between(0, 9)
        self.slots = np.array(draw.values(self.dtype, count, "wild")).view(np.uint8)
        if self.padding is not None:
            mask = padding_mask(self.layout)
            self.slots[self.first : self.first + mask.size][mask] = self.padding
        self.one = -1 if self.dtype.name == "int1" else 1  # int1 holds -1 and 0
        self.places = self.first + places(self.layout)
        self.array = self.slots[self.places]

    @property
    def padding(self):
        """Bits that slots of padding hold; None if they may hold anything."""
        layout = self.layout
        result = padding_bits(layout, self.dtype) if layout.is_padded else None
        return result if result is None else result.view(np.uint8)

    def tensor(self):
        """Return a tensor of these slots on the default device."""
        octets = octets_of(self.slots, self.bits)
        layout, device = self.layout.with_slot_bits(self.bits), tl.default_device()
        if device == "cpu":
            self.storage = bytearray(octets)
            return tl.from_storage(self.storage, layout.moved(self.first), dtype=self.dtype)
        from tensorlayout.cuda.engine.memory import view_shifted_by_slots

        self.storage = tl.asarray(octets, device=device)
        return view_shifted_by_slots(
            self.storage, TensorSpec(self.dtype, layout, device), self.first
        )

    def written(self, key, value):
        """Return the slots of the storage after a write, as `known` gives them."""
        self.tensor()[key] = value
        held = self.storage
        octets = held if isinstance(held, bytearray) else np.asarray(held.to_device("cpu"))
        result = self.known(slots_in(np.frombuffer(octets, np.uint8), self.bits))
        return tl.asarray(result, device=tl.default_device())

    def known(self, slots):
        """Return the slots of the storage, with 0 where padding may hold anything."""
        slots = slots[: self.slots.size].copy()
        if self.layout.is_padded and self.padding is None:
            mask = padding_mask(self.layout)
            slots[self.first : self.first + mask.size][mask] = 0
        return slots


def held(x, wanted=""):
    """Return the elements of a tensor as bytes, read from its memory; check its padding.

    `wanted`: the text of the layout that it must have.
    """
    layout, octets = x.layout, plan.base.backend_of(x.device).read_bytes(x)
    assert wanted in ("", str(layout)), f"layout {layout}"
    slots = octets.view(np.uint8)
    if layout.slot_bits is not None:
        slots = slots_in(slots, layout.slot_bits)
    bits = padding_bits(layout, x.dtype) if layout.is_padded else None
    if bits is not None:
        mask = padding_mask(layout)
        assert (slots[: mask.size][mask] == bits.view(np.uint8)).all(), "padding"
    return tl.asarray(np.array(slots[places(layout.at_origin)]), device=tl.default_device())


def _below_a_byte(name, text, x, expect, operands=(), **options):
    names = {"x": x.tensor, "written": x.written, "held": held}
    return Case(
        f"{name} below a byte",
        text,
        dict(operands),
        expect,
        same,
        view=None,
        traced=False,
        names=names,
        **options,
    )


def below_a_byte(draw):
    """A copy, a reshaped copy or a new tensor with slots of fewer bits than a byte."""
    x = FewBits(draw, writable=False)
    shape, dtype = x.layout.shape, x.dtype.name
    target = draw.layout(shape, x.dtype, writable=True).at_origin
    if not isinstance(target.padding_value, PaddingValue):
        target = target.with_padding_value(PaddingValue.ZERO)
    target = target.with_slot_bits(draw.choice((None, x.bits)))
    ones = np.full(shape, x.one).astype(x.dtype).view(np.uint8) & (2**x.bits - 1)
    form = x.layout.form.with_slot_bits(x.bits)
    parsed = f'tl.Layout.parse("{target}")'
    text, wanted, expect = draw.choice(
        [
            (f"tl.to_layout(x(), {parsed})", "", lambda: x.array),
            (f"tl.to_layout(x(), {parsed}, copy=True)", target, lambda: x.array),
            ("x().copy()", form, lambda: x.array),
            ("tl.zeros_like(x())", form, lambda: x.array * 0),
            (f"tl.full_like(x(), {x.one})", form, lambda: ones),
            (f'tl.full({shape}, {x.one}, dtype="{dtype}", layout={parsed})', target, lambda: ones),
            ("tl.reshape(x(), (-1,))", "", lambda: x.array.reshape(-1)),
        ]
    )
    return _below_a_byte("copy", f'held({text}, "{wanted}")', x, expect)


def read_below_a_byte(draw):
    """A view begins with a whole byte, or is refused."""
    x = FewBits(draw, writable=False)
    text, result, key = key_for(draw, x.layout.shape)

    def expect(*arrays):
        there = numpys(lambda: x.places[key(dict(zip(result, arrays, strict=True)))])
        if isinstance(there, Refused):
            return there
        if not result and there.size and int(there.min()) * x.bits % 8 and not x.layout.is_tiled:
            return Refused(ValueError)
        return x.slots[there]

    refusals = (ValueError,) if result or x.layout.is_tiled else ()
    text = f"held(x()[{text}])"
    return _below_a_byte("x[…]", text, x, expect, result, may_refuse=refusals)


def write_below_a_byte(draw):
    """Other slots of a storage stay as they are, those in the same byte too."""
    x = FewBits(draw, writable=True)
    whole = "...", {}, lambda _: ...
    text, operands, key = whole if draw.chance(0.3) else key_for(draw, x.layout.shape)
    arrays = {name: o.array for name, o in operands.items()}
    there = numpys(lambda: x.places[key(arrays)])
    value, shown = {}, str(x.one)
    if not isinstance(there, Refused) and draw.chance(0.7):
        cut = draw.between(0, np.ndim(there)) if draw.chance(0.3) else 0
        sizes = tuple(1 if draw.chance(0.15) else n for n in np.shape(there)[cut:])
        value, shown = {"y": draw.operand(x.dtype, sizes, "moved")}, "y"

    def expect(*_):
        if isinstance(there, Refused):
            return there
        new = value["y"].array if value else np.array(x.one).astype(x.dtype)
        result = x.slots.copy()
        result[there] = new.view(np.uint8) & (2**x.bits - 1)
        return x.known(result)

    text = f"written(np.s_[{text}], {shown})"
    return _below_a_byte("x[…] = y", text, x, expect, {**operands, **value})


CASES = {f.__name__: f for f in (below_a_byte, read_below_a_byte, write_below_a_byte)}
CASES |= {
    f.__name__: f for f in (read, write, overlapping_write, take, take_along_axis, put_along_axis)
}
CASES |= {name: combining(name) for name in COMBINING}
CASES |= {"read again": read, "write again": write}
