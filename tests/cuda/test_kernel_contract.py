"""Facts that the host reads from the text of kernels: structs, constants, compiled shapes.

The reader knows a few forms of C++ (`structs`); the compiler says what sizes and offsets are.
"""

import ctypes
import re
import subprocess

import pytest

from tensorlayout.cuda.engine import simulator, structs
from tensorlayout.cuda.engine.kernel_shapes import (
    kernel_with_macros,
    kernels_in_file,
    parameter_struct_type,
    simulator_source,
)
from tensorlayout.support.kernel_sources import header_directory, kernel_directory

FILES = sorted(
    path.relative_to(kernel_directory()).as_posix()
    for path in kernel_directory().rglob("*.cu")
    if "\nSHAPES(" in path.read_text("utf-8")
)


def fused(count, numbers):
    """The macros of a chain that gives its first operand back."""
    chain = f"float chain(const Scalar*, float x{', float' * (count - 1)}) {{ return x; }}"
    types = {"OPERANDS": count, "NUMBERS": numbers, "ELEMENTS": ", ".join(["float"] * count)}
    return types | {"CHAIN": chain, "RESULT": "float", "WIDEST": 4}


WIDE = {"COMPUTE": "float", "RESULT": "float", "WIDEST": 4}
BLOCKS = {"ELEMENT": "float4_e2m1fn", "SCALE": "float8_e4m3fn", "TILED": 1, "LONGEST": 4}
SORTED = [{"ELEMENT": "float"}]
# The macros of files that the compiler takes only with types.
MACROS = {
    "scatter/scatter_reduce.cu": [{}, {"ELEMENT": "float"}],
    "elementwise.cu": [
        dict.fromkeys(("FIRST", "SECOND", "THIRD")[:count], "float") | WIDE for count in (1, 2, 3)
    ],
    "fuse.cu": [fused(1, 0), fused(4, 24), fused(12, 24)],
    "quantize.cu": [
        {name: "float", "BITS": bits, **BLOCKS}
        for name, bits in (("SOURCE", 4), ("SOURCE", 8), ("RESULT", 4))
    ],
    "reduce/quantile.cu": [{"ELEMENT": "float", "RESULT": "float"}],
    "reduce/reduce.cu": [{"ELEMENT": "float", "LONGEST": 4}],
    "scan.cu": [{"SOURCE": "float", "RESULT": "float"}],
    "sort/search.cu": [dict.fromkeys(("LINE", "VALUES", "COMPARE"), "float")],
    "sort/radix.cu": SORTED,
    "sort/sort.cu": SORTED,
}
TYPES = {
    file: [tuple((name, str(value)) for name, value in macros.items()) for macros in several]
    for file, several in MACROS.items()
}
# Those without types are compiled together.
UNTYPED = [(file, ()) for file in FILES if () in TYPES.get(file, [()])]
TYPED = [[(file, types)] for file in FILES for types in TYPES.get(file, []) if types]


def facts(result, path=""):
    """Return the byte offset of each member and of its own members: {the member in C++: byte}."""
    for name, kind in result._fields_:
        member, at = path + name.removesuffix("_"), getattr(result, name).offset
        yield member, at
        while issubclass(kind, ctypes.Array):
            yield f"{member}[1]", at + ctypes.sizeof(kind._type_)
            member, kind = f"{member}[0]", kind._type_
        if issubclass(kind, ctypes.Structure):
            for inner, offset in facts(kind, f"{member}."):
                yield inner, at + offset


def check(wanted, flags=()):
    """Hold structures of ctypes against the compiler: {file: {C++ type: structure}}."""
    texts = [(kernel_directory() / file).read_text("utf-8") for file in wanted]
    headers = re.findall('(?m)^#include ".*$', "\n".join(texts))
    lines = headers if len(wanted) > 1 else []  # which are not to be in a namespace
    for number, (file, structures) in enumerate(wanted.items()):
        lines += [f"namespace file{number} {{"] if len(wanted) > 1 else []
        lines += [f'#include "{file}"']
        for name, item in structures.items():
            lines.append(f"static_assert(sizeof({name}) == {ctypes.sizeof(item)});")
            for member, at in facts(item):
                lines.append(f"static_assert(__builtin_offsetof({name}, {member}) == {at});")
        lines += ["}"] if len(wanted) > 1 else []
    done = subprocess.run(
        [*simulator.find_compiler()[0], "-std=c++17", "-fsyntax-only", "-DTENSORLAYOUT_SIMULATOR",
         "-w", *flags, f"-I{kernel_directory()}", f"-I{header_directory()}", "-x", "c++", "-"],
        input="\n".join(lines), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def structures_of(file, types):
    """The parameters of every kernel of a file."""
    operands = sum(name in ("FIRST", "SECOND", "THIRD") for name, _ in types)
    constants = {"OPERANDS": operands} if operands else {}
    constants |= {name: int(value) for name, value in types if name in ("OPERANDS", "NUMBERS")}
    structures = [parameter_struct_type(item, **constants) for item in kernels_in_file(file, types)]
    results = {structure.__name__: structure for structure in structures}
    assert results
    assert max(map(ctypes.sizeof, results.values())) <= 4096  # what a launch takes
    return results


@pytest.mark.parametrize("files", [UNTYPED, *TYPED], ids=lambda item: str(item)[:40])
def test_parameters_are_laid_out_as_by_the_compiler(files):
    flags = [f"-D{name}={value}" for _, types in files for name, value in types]
    check({file: structures_of(file, types) for file, types in files}, flags)


def test_faults_are_laid_out_as_by_the_compiler():
    header = "include/faults.cuh"
    check({header: {"Faults": structs.struct_type(header, "Faults")}})


TEXT = """
#include "indexing.cuh"
constexpr int FEW = 2, MANY = FEW * 3;
template <class T> struct Pair;
template <> struct Pair<int32_t> {
    uint8_t first;  // ;
    double second;
};
template <int N>
struct Row {
    int32_t numbers[N > 4 ? MANY : N + 1], from;
    Walk<N, int64_t, FEW + 1> walk;

    DEVICE int32_t first() const { return numbers[0]; }
};
enum Kind : int32_t { HERE, NEAR, FAR };
struct Mixed {
    Pair<int32_t> pairs[FEW][MANY];
    const void* at;
    Kind kind;
    Row<LENGTH> row;
};
"""


def test_what_can_be_declared(tmp_path):
    file = tmp_path / "made.cu"
    file.write_text(TEXT)
    mixed = structs.struct_type(str(file), "Mixed", LENGTH=3)
    row = structs.struct_type(str(file), "Row<3>")
    assert [name for name, _ in row._fields_] == ["numbers", "from_", "walk"]
    # Pairs of 16 bytes; four numbers, one more, and 4 bytes to align 64-bit sizes and strides.
    assert (mixed.at.offset, mixed.kind.offset, mixed.row.offset) == (12 * 16, 200, 208)
    assert (row.walk.offset, row.walk.size) == (24, 3 * 8 + 3 * 3 * 8)
    assert structs.struct_type(str(file), "Row<5>").numbers.size == 6 * 4
    assert structs.struct_type(str(file), "Row<1 + 2>") is row
    values = [
        structs.constant_value(str(file), name) for name in ("MANY", "NEAR", "FAR", "FEW + FAR")
    ]
    assert values == [6, 1, 2, 4]
    check({str(file): {"Mixed": mixed, "Row<3>": row}}, ["-DLENGTH=3"])


@pytest.mark.parametrize("name", ["Pair<int64_t>", "Row", "Missing", "Row<1, 2>"])
def test_what_is_not_defined_is_refused(tmp_path, name):
    (tmp_path / "made.cu").write_text(TEXT)
    with pytest.raises(ValueError, match=rf"cuda: .*made\.cu: {name} is not defined"):
        structs.struct_type(str(tmp_path / "made.cu"), name)


def test_constants_that_the_caller_gives():
    one, three = (
        structs.struct_type("elementwise.cu", "Memories", OPERANDS=n, NUMBERS=0) for n in (1, 3)
    )
    assert (one.from_.size, three.from_.size) == (8, 24)


SHAPES = """
template <int N> struct Some {
    int32_t numbers[N];
};
template <int N> void work(const Some<N>&, int) {}
SHAPES(SIZE = 1, INDEX = int32_t int64_t, PACK = 8)
SHAPES(SIZE = 8/BYTES 1/BYTES BYTES, INDEX = int32_t int64_t, PACK = SIZE 8, WHERE SIZE > 1)
SHAPES(WITHOUT OTHER, SIZE = 3, INDEX = int8_t, PACK = 1)
SHAPES(WITH OTHER, SIZE = 3, INDEX = int16_t, PACK = 1)
KERNEL(do_some, Some<SIZE>) { work<SIZE>(p, sizeof(INDEX) * PACK); }
BLOCK_KERNEL(do_same, Some<SIZE>) {
    work<SIZE>(p, PACK);
}
SHAPES()
KERNEL(do_one, Some<1>) { work<1>(p, 0); }
"""


def test_shapes_are_those_declared(tmp_path):
    file = tmp_path / "shapes.cu"
    file.write_text(SHAPES)
    symbols = [item.symbol for item in kernels_in_file(str(file), (("BYTES", "4"),))]
    some = [
        *["1_int32_t_8", "1_int64_t_8", "2_int32_t_2", "2_int32_t_8", "2_int64_t_2"],
        *["2_int64_t_8", "4_int32_t_4", "4_int32_t_8", "4_int64_t_4", "4_int64_t_8"],
        "3_int8_t_1",
    ]
    assert symbols == [*(f"{name}_{x}" for name in ("do_some", "do_same") for x in some), "do_one"]
    text = simulator_source(str(file), (("BYTES", "4"),), "int64_t").splitlines()
    assert "BLOCK_KERNEL(do_same_2_int64_t_8, Some<2>) { work<2>(p, 8); }" in text
    assert not any("int32_t" in line for line in text)
    assert text[0] == f'#include "{file}"'
    assert text[-1] == "KERNEL(do_one, Some<1>) { work<1>(p, 0); }"
    other = kernels_in_file(str(file), (("BYTES", "2"), ("OTHER", "float")))
    assert [item.symbol for item in other if item.name == "do_some"] == [
        *["do_some_1_int32_t_8", "do_some_1_int64_t_8", "do_some_4_int32_t_4"],
        *["do_some_4_int32_t_8", "do_some_4_int64_t_4", "do_some_4_int64_t_8"],
        *["do_some_2_int32_t_2", "do_some_2_int32_t_8", "do_some_2_int64_t_2"],
        *["do_some_2_int64_t_8", "do_some_3_int16_t_1"],
    ]
    chosen = kernel_with_macros(
        str(file), "do_some", (("BYTES", "4"),), PACK=8, SIZE=4, INDEX="int32_t"
    )
    assert ctypes.sizeof(parameter_struct_type(chosen)) == 16


@pytest.mark.parametrize("file", FILES)
def test_shapes_have_clauses_that_are_known(file):
    clause = r"WITH(OUT)? \w+|WHERE \w+ (<=|>|==|!=) \d+|\w+ =( \w+(/\w+)?)+"
    text = (kernel_directory() / file).read_text("utf-8")
    for line in re.findall(r"(?m)^SHAPES\(([^)]+)\)", text):
        for part in line.split(","):
            assert re.fullmatch(clause, " ".join(part.split())), part


def test_a_kernel_that_is_not_declared():
    with pytest.raises(
        ValueError, match=r"join.cu declares no kernel join_rows of .*'WIDTH': '16'"
    ):
        kernel_with_macros("join.cu", "join_rows", WIDTH=16, INDEX="int32_t")
    with pytest.raises(ValueError, match=r"join.cu declares no kernel join_columns"):
        kernel_with_macros("join.cu", "join_columns")
