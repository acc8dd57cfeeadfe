// Computes each element of the result from the operands' elements at the same index, which are
// converted on load. The plan chooses the kernel and merges dimensions.
//
// elementwise_flat     The result is one contiguous run. Each operand is contiguous along it, or is
//                      one value. Consecutive threads process consecutive packs of PACK elements,
//                      16 bytes of the widest type. Coalesced. Worst case: memories whose alignment
//                      does not allow packs.
// elementwise_rows     The fastest dimension is contiguous in the result, and contiguous or of
//                      stride 0 in each operand. Packs run along the rows; a repeated operand is
//                      read once per pack. Coalesced. Worst case: rows shorter than a warp's packs.
// elementwise_tiles    Boxes of up to three dimensions (tiles.cuh). Operands whose fastest
//                      dimension differs from the result's are first read in the order of their own
//                      memory into tiles in shared memory. Then threads walk the result's memory,
//                      read these operands from the tiles, and read all others from global memory.
//                      Coalesced for all. Worst case: as for copy_tiles; also tiles of several wide
//                      types, which make the boxes small.
// elementwise_strided  Any strides, in the result's order. A thread processes one element at a
//                      time. Coalesced as far as the fastest dimension is contiguous. Worst case:
//                      an operand with another fastest dimension: a sector of 32 bytes per element.
// elementwise_bounded  Tiled layouts whose tiles have tails (bounded.cuh), in the result's order;
//                      in the order of its storage if all layouts have the same form. Packs where
//                      the tails allow them. Tails are not read; padding with a defined value is
//                      written there. Worst case: as for elementwise_strided.
//
// Each element after the last whole pack of a row, or of the run, has a thread of its own. These
// threads come after the threads of all packs, so that few warps have both.
//
// A thread processes at least 4 elements, and issues all their loads before it uses the first. The
// bytes moved per element are those of the result and of each operand, once. An operand that is
// repeated along rows is read once per pack, mostly from a cache. Scalars are kernel parameters.
//
// The result may occupy exactly the memory of an operand: a thread reads an element before it
// overwrites it, and a block reads its whole box, which is also the operand's box, before it
// writes. Further blocks of the same launch write the padding of the result (padding.cuh); the
// padding of operands is not read.
#include "operations.cuh"

// On a GPU the macro OPERATION names the functor. The simulator compiles one function with all
// functors for COMPUTE, and this function selects one at run time. FIRST, SECOND, THIRD: the types
// of the operands, as they are stored; COMPUTE: the type that they are converted to; RESULT: the
// type of the functor's result.
#if defined(THIRD)
constexpr int OPERANDS = 3;
using Elements = Types<FIRST, SECOND, THIRD>;
#elif defined(SECOND)
constexpr int OPERANDS = 2;
using Elements = Types<FIRST, SECOND>;
#else
constexpr int OPERANDS = 1;
using Elements = Types<FIRST>;
#endif

#ifndef TENSORLAYOUT_SIMULATOR

template <class... T> DEVICE RESULT apply(const Scalar*, T... operands) {
    return RESULT(call<functions::OPERATION, COMPUTE>(operands...));
}

#else

// ---- Which functors there are, by what they are defined for -------------------------------------

enum Kinds { BOOLEAN = 1, INTEGER = 2, REAL = 4, COMPLEX = 8, MIXED = 16, NARROW = 32 };

constexpr Kinds KIND = is_same<COMPUTE, AnyInteger>  ? MIXED
                       : is_same<COMPUTE, bool8>     ? BOOLEAN
                       : is_narrow<COMPUTE>          ? NARROW
                       : is_complex<COMPUTE>         ? COMPLEX
                       : is_floating<COMPUTE>        ? REAL
                                                     : INTEGER;

constexpr int floating_point = REAL | COMPLEX;
constexpr int real_numeric = INTEGER | REAL;
constexpr int numeric = INTEGER | REAL | COMPLEX;
constexpr int integer_or_boolean = BOOLEAN | INTEGER;
constexpr int any = BOOLEAN | INTEGER | REAL | COMPLEX | MIXED;
constexpr int ordered = INTEGER | REAL | MIXED;

// `positive` only converts, so it is defined for every type.
#define FUNCTORS_OF_1(_)                                                                        \
    _(abs, numeric) _(acos, floating_point) _(acosh, floating_point) _(asin, floating_point)    \
    _(asinh, floating_point) _(atan, floating_point) _(atanh, floating_point)                   \
    _(bitwise_invert, integer_or_boolean) _(ceil, real_numeric) _(conj, numeric)                \
    _(cos, floating_point) _(cosh, floating_point) _(exp, floating_point)                       \
    _(expm1, floating_point) _(floor, real_numeric) _(imag, numeric) _(isfinite, numeric)       \
    _(isinf, numeric) _(isnan, numeric) _(log, floating_point) _(log10, floating_point)         \
    _(log1p, floating_point) _(log2, floating_point) _(logical_not, BOOLEAN)                    \
    _(negative, numeric) _(positive, any | NARROW) _(real, numeric)                             \
    _(reciprocal, floating_point)                                                               \
    _(round, numeric) _(sign, numeric) _(signbit, REAL) _(sin, floating_point)                  \
    _(sinh, floating_point) _(sqrt, floating_point) _(square, numeric) _(tan, floating_point)   \
    _(tanh, floating_point) _(trunc, real_numeric)

#define FUNCTORS_OF_2(_)                                                                        \
    _(add, numeric) _(atan2, REAL) _(bitwise_and, integer_or_boolean)                           \
    _(bitwise_left_shift, INTEGER) _(bitwise_or, integer_or_boolean)                            \
    _(bitwise_right_shift, INTEGER) _(bitwise_xor, integer_or_boolean) _(copysign, REAL)        \
    _(divide, floating_point) _(equal, any) _(floor_divide, real_numeric) _(greater, ordered)   \
    _(greater_equal, ordered) _(hypot, REAL) _(less, ordered) _(less_equal, ordered)            \
    _(logaddexp, REAL) _(logical_and, BOOLEAN) _(logical_or, BOOLEAN) _(logical_xor, BOOLEAN)   \
    _(maximum, real_numeric) _(minimum, real_numeric) _(multiply, numeric) _(nextafter, REAL)   \
    _(not_equal, any) _(pow, numeric) _(remainder, real_numeric) _(subtract, numeric)

#define FUNCTORS_OF_3(_)                                                                        \
    _(clip, real_numeric) _(scale_bias, REAL) _(where, BOOLEAN | INTEGER | REAL | COMPLEX)

#if defined(THIRD)
#define FUNCTORS FUNCTORS_OF_3
#elif defined(SECOND)
#define FUNCTORS FUNCTORS_OF_2
#else
#define FUNCTORS FUNCTORS_OF_1
#endif

#define NAME_OF(name, kinds) #name " "
SIMULATOR_OPERATIONS(FUNCTORS(NAME_OF))

#define NUMBER_OF(name, kinds) number_of_##name,
enum { FUNCTORS(NUMBER_OF) };

// Functors whose result type is not RESULT are compiled into another shared object.
template <template <class> class Functor, bool defined, class... T>
DEVICE RESULT apply_if_defined(T... operands) {
    if constexpr (defined) {
        using Given = decltype(call<Functor, COMPUTE>(operands...));
        using Stored = choose<is_same<Given, bool>, bool8, Given>;
        if constexpr (is_same<Stored, RESULT>) return RESULT(call<Functor, COMPUTE>(operands...));
    }
    simulator::report("has no functor for these types");
    simulator::leave();
}

#define CASE_OF(name, kinds)  \
    case number_of_##name:    \
        return apply_if_defined<functions::name, ((kinds) & KIND) != 0>(operands...);

template <class... T> COMMON RESULT apply(const Scalar*, T... operands) {
    switch (simulator::operation) { FUNCTORS(CASE_OF) }
    __builtin_unreachable();
}

#endif

#include "elementwise.cuh"

// ---- Kernels ------------------------------------------------------------------------------------

#ifdef TENSORLAYOUT_SIMULATOR
#elif defined(ROOM)
SHAPES(PACKED = 0 1, ROOM = 24576 49152)
BLOCK_KERNEL(elementwise_tiles, TiledElementwise) { tiles_in<PACKED, ROOM>(p); }
#elif defined(BOUNDED)
SHAPES(INDEX = int32_t int64_t, BOUNDED = 1 4/WIDEST 16/WIDEST)
KERNEL(elementwise_bounded, BoundedElementwise<INDEX>) { bounded<BOUNDED>(p); }
#elif !defined(RANK)
SHAPES(PACK = 1 4/WIDEST 16/WIDEST)
KERNEL(elementwise_flat, FlatElementwise) { flat<PACK>(p); }
#elif defined(PACK)
SHAPES(RANK = 2 3 4 0, INDEX = int32_t int64_t, PACK = 4/WIDEST 16/WIDEST, WHERE PACK > 1)
KERNEL(elementwise_rows, StridedElementwise<RANK, INDEX>) { strided<RANK, INDEX, PACK>(p); }
#else
SHAPES(RANK = 1 2 3 4 0, INDEX = int32_t int64_t)
KERNEL(elementwise_strided, StridedElementwise<RANK, INDEX>) { strided<RANK, INDEX, 1>(p); }
#endif
