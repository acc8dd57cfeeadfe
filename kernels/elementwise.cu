// One value per index from the operands' values at that index, converted on load. Which kernel
// runs, and over which merged dimensions, the plan says.
//
// elementwise_flat     One run of the result. Each operand runs with it, or is one value. Threads
//                      follow each other, a pack each: PACK elements, 16 bytes of the widest type.
//                      Coalesced. Worst: memories whose alignment allows no packs.
// elementwise_rows     The fastest dimension is contiguous in the result, and in each operand
//                      contiguous or of stride 0: packs along the rows, a repeated operand read
//                      once for each pack. Coalesced. Worst: rows shorter than a warp's packs.
// elementwise_tiles    Boxes of up to three dimensions (tiles.cuh). Operands whose fastest dimension
//                      is another than the result's are read along their own memory into tiles in
//                      shared memory; then threads walk the result's memory, take those operands
//                      from the tiles, and read all others where they write. Coalesced for all.
//                      Worst: as copy_tiles; and tiles of several wide types, whose boxes are small.
// elementwise_strided  Any strides, in the result's order, an element a thread at a time.
//                      Coalesced as far as the fastest dimension is contiguous. Worst: an operand
//                      whose fastest dimension is another: a sector of 32 bytes per element.
// elementwise_bounded  Tiled layouts whose tiles have tails (bounded.cuh), in the result's order: over
//                      its storage, if all have one form. Packs where the tails allow them. Nothing
//                      is read in a tail; padding with a value is written there. Worst: as above.
//
// Elements behind the last whole pack of a row, or of the run, have a thread each; those of all rows
// follow each other, behind the packs of all rows, so that few warps have both.
//
// At least 4 elements a thread, whose loads are all under way before the first is used. Bytes moved
// per element: those of the result and of each operand once; of an operand that is repeated along
// rows, once for each pack and mostly from a cache. Scalars are parameters.
//
// A result may be exactly where an operand is: a thread has read what it overwrites, and a block all
// of its box, which is the operand's too. The padding of the result is written by further blocks of
// the same launch (padding.cuh); that of operands is not read.
#include "operations.cuh"

// For a GPU the functor is the macro OPERATION; the simulator has all that there are for COMPUTE and
// picks one at run time, in one function that is compiled once. FIRST, SECOND, THIRD: the types of
// the operands, as they are stored; COMPUTE: what they become; RESULT: what the functor gives.
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

// `positive` of any type is a conversion.
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

// Functors that this result type does not suit are another shared object's.
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
