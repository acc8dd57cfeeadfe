// A chain of elementwise functions, conversions and choices in one pass: computes an element of the
// result from one element of each operand. Every step is rounded to the dtype of its own result, as
// if it had been stored and loaded again. The result therefore has the same bits as separate calls
// of the functions.
//
// The loops are those of elementwise.cu, which describes the purpose, the coalescing and the worst
// case of each. Here they have at most MOST_TENSORS operands, fewer for walks over many axes
// (tensorlayout/cuda/fuse.py). Bytes moved per element: those of the result and of each operand
// once, and none of intermediate values.
//
// The plan defines OPERANDS, the number of operands in memory; ELEMENTS, their types; NUMBERS, the
// number of Python scalars, which are parameters; RESULT; and CHAIN, the text of one function:
//     COMMON bool8 chain(const Scalar* numbers, float v0, half v1) {
//         const float v2(scalar_as<float>(numbers[0]));
//         const float v3(call<functions::multiply, float>(v0, v1));
//         const bool8 v4(call<functions::less, float>(v3, v2));
//         return v4;
//     }

// Minimum number of blocks per multiprocessor with many operands. Without it, NVRTC 13.5 spills a
// few registers to fit more.
#if OPERANDS > 3
#define LEAST_BLOCKS 1
#endif

#include "operations.cuh"

using Elements = Types<ELEMENTS>;

CHAIN

template <class... T> DEVICE RESULT apply(const Scalar* numbers, T... operands) {
    return chain(numbers, operands...);
}

#include "elementwise.cuh"

// ---- Kernels ------------------------------------------------------------------------------------

#ifdef TENSORLAYOUT_SIMULATOR
#elif defined(ROOM)
SHAPES(PACKED = 0 1, ROOM = 24576 49152)
BLOCK_KERNEL(fuse_tiles, TiledElementwise) { tiles_in<PACKED, ROOM>(p); }
#elif defined(BOUNDED)
SHAPES(INDEX = int32_t int64_t, BOUNDED = 1 4/WIDEST 16/WIDEST)
KERNEL(fuse_bounded, BoundedElementwise<INDEX>) { bounded<BOUNDED>(p); }
#elif !defined(RANK)
SHAPES(PACK = 1 4/WIDEST 16/WIDEST)
KERNEL(fuse_flat, FlatElementwise) { flat<PACK>(p); }
#elif defined(PACK)
SHAPES(RANK = 2 3 4, INDEX = int32_t int64_t, PACK = 4/WIDEST 16/WIDEST, WHERE PACK > 1)
SHAPES(RANK = 0, INDEX = int32_t int64_t, PACK = 4/WIDEST 16/WIDEST, WHERE PACK > 1,
       WHERE OPERANDS <= 4)
KERNEL(fuse_rows, StridedElementwise<RANK, INDEX>) { strided<RANK, INDEX, PACK>(p); }
#else
SHAPES(RANK = 1 2 3 4, INDEX = int32_t int64_t)
SHAPES(RANK = 0, INDEX = int32_t int64_t, WHERE OPERANDS <= 4)
KERNEL(fuse_strided, StridedElementwise<RANK, INDEX>) { strided<RANK, INDEX, 1>(p); }
#endif
