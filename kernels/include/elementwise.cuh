// The loops of elementwise kernels. They combine the elements of any number of operands, in any
// layout, into elements of the result. elementwise.cu describes the use of each loop.
//
// Before it includes this header, a file defines:
//   OPERANDS           number of operands
//   Elements           `Types` of the operands, as they are stored
//   RESULT             type of the result, as it is stored
//   WIDEST             bytes of the widest of all these types
//   apply(numbers, …)  returns an element of the result for one element of each operand
//   NUMBERS            number of additional scalars, which `numbers` points to; 0 if not defined
#pragma once

#include "bounded.cuh"
#include "operations.cuh"
#include "padding.cuh"
#include "tiles.cuh"

#ifndef NUMBERS
#define NUMBERS 0
#endif

// The first member of every kernel's struct.
struct Memories {
    void* to;
    const void* from[OPERANDS];  // null: use the scalar
    Scalar scalar[OPERANDS + NUMBERS];
    Padding padding;
    int32_t step[OPERANDS];  // along a pack: 1, or 0 if one value is repeated
};

// A thread's part of a row: a pack, an element after the last whole pack, or nothing.
struct Share {
    int64_t first;  // element of the row
    int count;
};

template <int Length>
DEVICE Share share_of(int64_t thread, int64_t row) {
    const int64_t packs = row / Length;
    if (thread < packs) return {thread * Length, Length};
    const int64_t element = packs * Length + (thread - packs);
    return {element, element < row};
}

// Returns `count` (Share::count) elements of operand `n`, starting at its element `at`. Returns a
// pack of zeros if `count` is 0.
template <class T, int Length>
COMMON Pack<T, Length> fetch(const Memories& memories, int n, int64_t at, int count) {
    Pack<T, Length> pack{};
    if (count == 0) return pack;
    const T* const from = static_cast<const T*>(memories.from[n]);
    if (from && count == Length && (Length == 1 || memories.step[n]))
        return load(reinterpret_cast<const Pack<T, Length>*>(from + at));
    const T one = from ? load(from + at) : scalar_as<T>(memories.scalar[n]);
#pragma unroll
    for (T& each : pack.at) each = one;
    return pack;
}

using Each = typename Below<OPERANDS>::type;

// A pack of each operand. All packs have the same length.
template <int Length, class = Each, class = Elements> struct Operands;
template <int Length, int... N, class... T>
struct Operands<Length, Numbers<N...>, Types<T...>> : Numbered<N, Pack<T, Length>>... {
    template <int n, class E>
    DEVICE Pack<E, Length>& of() { return Numbered<n, Pack<E, Length>>::pack; }

    // at: offsets in the result and in each operand, in elements.
    template <class Index>
    COMMON void fetch_all(const Memories& memories, const Index (&at)[OPERANDS + 1], int count) {
        ((of<N, T>() = fetch<T, Length>(memories, N, at[N + 1], count)), ...);
    }

    DEVICE RESULT result(const Memories& memories, int j) const {
        return apply(memories.scalar + OPERANDS, Numbered<N, Pack<T, Length>>::pack.at[j]...);
    }

    COMMON void store_result(const Memories& memories, RESULT* to, int count) const {
        if (count == 0) return;
        Pack<RESULT, Length> pack;
#pragma unroll
        for (int j = 0; j < Length; ++j) pack.at[j] = result(memories, j);
        if (count == Length) store(reinterpret_cast<Pack<RESULT, Length>*>(to), pack);
        else store(to, pack.at[0]);
    }
};

COMMON bool padding_written(const Memories& memories) {
    return write_padding(memories.padding, memories.to);
}

// Packs per thread. Kernels with many operands use fewer: enough loads are in flight anyway.
template <int Length> constexpr int PACKS = OPERANDS > 4 ? 1 : Length == 1 ? 4 : Length == 2 ? 2 : 1;

// ---- Flat ---------------------------------------------------------------------------------------

struct FlatElementwise {
    Memories memories;
    int64_t count;
};

template <int Length>
DEVICE void flat(const FlatElementwise& p) {
    if (padding_written(p.memories)) return;
    const int64_t block = blockIdx.x;
    const int64_t begin = block * (PACKS<Length> * THREADS) + threadIdx.x;
    Operands<Length> operands[PACKS<Length>];
    Share share[PACKS<Length>];
#pragma unroll
    for (int k = 0; k < PACKS<Length>; ++k) {
        share[k] = share_of<Length>(begin + k * THREADS, p.count);
        int64_t at[OPERANDS + 1];
        at[0] = share[k].first;
#pragma unroll
        for (int n = 0; n < OPERANDS; ++n) at[n + 1] = p.memories.step[n] ? share[k].first : 0;
        operands[k].fetch_all(p.memories, at, share[k].count);
    }
    RESULT* const to = static_cast<RESULT*>(p.memories.to);
#pragma unroll
    for (int k = 0; k < PACKS<Length>; ++k)
        operands[k].store_result(p.memories, to + share[k].first, share[k].count);
}

// ---- Rows, and any strides ----------------------------------------------------------------------

// Maximum number of dimensions of a walk. It is smaller with many operands, so that the struct fits
// into the parameters of a launch.
constexpr int MOST_WALKED = OPERANDS <= 4 ? MAX_RANK : 4;

// The fastest dimension of the walk counts the packs of a row; its strides lead from pack to pack.
template <int Rank, class Index>
struct StridedElementwise {
    Memories memories;
    Index threads;       // one per pack, then one per element after the last pack of a row
    Index pack_threads;  // threads of packs
    Index packs;         // per row
    Divisor<Index> rest; // elements of a row after the last pack; 1 if none
    Walk<Rank, Index, OPERANDS + 1> walk;
};

// Computes the offsets of a thread's elements in the result and in each operand, and returns the
// number of elements.
template <int Length, int Rank, class Index>
DEVICE int find(const StridedElementwise<Rank, Index>& p, Unsigned<Index> thread,
                Index (&at)[OPERANDS + 1]) {
    const bool inside = thread < static_cast<Unsigned<Index>>(p.threads);
    if (!inside) thread = 0;
    if constexpr (Length > 1) {
        if (thread >= static_cast<Unsigned<Index>>(p.pack_threads)) {
            thread -= static_cast<Unsigned<Index>>(p.pack_threads);
            const Unsigned<Index> row = p.rest.divide(thread);
            p.walk.offsets(row * static_cast<Unsigned<Index>>(p.packs), at);
            const Index ahead =
                p.packs * Length + static_cast<Index>(thread - row * p.rest.divisor);
            at[0] += ahead;
#pragma unroll
            for (int n = 0; n < OPERANDS; ++n)
                if (p.memories.step[n]) at[n + 1] += ahead;
            return inside;
        }
    }
    p.walk.offsets(thread, at);
    return inside ? Length : 0;
}

template <int Rank, class Index, int Length>
DEVICE void strided(const StridedElementwise<Rank, Index>& p) {
    if (padding_written(p.memories)) return;
    using Count = Unsigned<Index>;
    const Count begin = static_cast<Count>(blockIdx.x) * (PACKS<Length> * THREADS) + threadIdx.x;
    Operands<Length> operands[PACKS<Length>];
    RESULT* to[PACKS<Length>];
    int count[PACKS<Length>];
#pragma unroll
    for (int k = 0; k < PACKS<Length>; ++k) {
        Index at[OPERANDS + 1];
        count[k] = find<Length>(p, begin + k * THREADS, at);
        to[k] = static_cast<RESULT*>(p.memories.to) + at[0];
        operands[k].fetch_all(p.memories, at, count[k]);
    }
#pragma unroll
    for (int k = 0; k < PACKS<Length>; ++k)
        operands[k].store_result(p.memories, to[k], count[k]);
}

// ---- Tails of tiles -----------------------------------------------------------------------------

template <class Index>
struct BoundedElementwise {
    Memories memories;
    uint64_t bits[2];  // of the padding value
    BoundedWalk<Index, OPERANDS + 1> walk;  // the fastest dimension counts packs
    Index threads;
};

template <int Length>
COMMON void store_padding(RESULT* to, const uint64_t (&bits)[2]) {
    Pack<RESULT, Length> pack;
#pragma unroll
    for (RESULT& each : pack.at) each = scalar_as<RESULT>(Scalar{{bits[0], bits[1]}});
    store(reinterpret_cast<Pack<RESULT, Length>*>(to), pack);
}

template <int Length, class Index>
DEVICE void bounded(const BoundedElementwise<Index>& p) {
    if (padding_written(p.memories)) return;
    using Count = Unsigned<Index>;
    const Count begin = static_cast<Count>(blockIdx.x) * (PACKS<Length> * THREADS) + threadIdx.x;
    Operands<Length> operands[PACKS<Length>];
    RESULT* to[PACKS<Length>];
    Standing standing[PACKS<Length>];
#pragma unroll
    for (int k = 0; k < PACKS<Length>; ++k) {
        const bool inside = begin + k * THREADS < static_cast<Count>(p.threads);
        Index at[OPERANDS + 1];
        standing[k] = p.walk.find(inside ? begin + k * THREADS : 0, at);
        if (!inside) standing[k] = NOWHERE;
        to[k] = static_cast<RESULT*>(p.memories.to) + at[0];
        operands[k].fetch_all(p.memories, at, standing[k] == AN_ELEMENT ? Length : 0);
    }
#pragma unroll
    for (int k = 0; k < PACKS<Length>; ++k) {
        operands[k].store_result(p.memories, to[k], standing[k] == AN_ELEMENT ? Length : 0);
        if (standing[k] == IN_PADDING) store_padding<Length>(to[k], p.bits);
    }
}

// ---- Tiles --------------------------------------------------------------------------------------

// Finds the operand's element for each element of the result, as an offset in the operand's tile or
// memory, in elements. Two tables in shared memory hold the offsets of the result's rows and of the
// places along its runs.
struct Follower {
    int32_t stride[3];     // along the box's dimensions
    int32_t step;          // from element to element of the result's run, or from period to period
    int32_t rows, places;  // byte offsets of the tables in shared memory
};

// Maximum number of dimensions outside a box. It is limited for the same reason as MOST_WALKED.
constexpr int MOST_OUTER = NUMBERS > 0 ? 4 : OPERANDS <= 3 ? MAX_RANK : 4;

struct TiledElementwise {
    Memories memories;
    Side<3> write, read[OPERANDS];
    Boxes<OPERANDS + 1, 3, MOST_OUTER> boxes;
    Follower followers[OPERANDS];
    int32_t tile[OPERANDS];    // byte offset of the operand's tile in shared memory; -1 if none
    int32_t narrow[OPERANDS];  // 1 if elements of fewer than 4 bytes are read one by one
};

template <class T>
DEVICE T* in_room(char* room, int32_t bytes) { return reinterpret_cast<T*>(room + bytes); }

COMMON void make_follower(const TiledElementwise& p, int n, const Visit& write, uint32_t box,
                          char* room) {
    const Follower& f = p.followers[n];
#pragma unroll 1
    for (uint32_t r = threadIdx.x; r < write.count; r += THREADS) {
        const int32_t(*const strides[1])[3] = {&f.stride};
        uint32_t begin[1];
        begin_of_row(p.boxes, p.write, box, r, strides, begin);
        store_shared(in_room<uint32_t>(room, f.rows) + r, begin[0]);
    }
    if (p.write.linear) return;
#pragma unroll 1
    for (uint32_t i = threadIdx.x; i < p.write.period.divisor(); i += THREADS)
        store_shared(in_room<uint32_t>(room, f.places) + i,
                     further_along(p.boxes, p.write, i, f.stride));
}

// Builds the tables of an operand (`Tables`) or, once all tables are complete, copies its elements
// into its tile. Read: bytes per access.
template <bool Tables, class T, int Read>
COMMON void stage(const TiledElementwise& p, int n, int64_t base, uint32_t box, char* room) {
    constexpr int ELEMENT = sizeof(T);
    const Side<3>& side = p.read[n];
    const T* const from = static_cast<const T*>(p.memories.from[n]) + base;
    const Visit v = visit<ELEMENT, Read>(p.boxes, side, n + 1, box, from, room);
    if constexpr (Tables) {
        const int32_t(&pitch)[3] = p.followers[n].stride;
        make_rows<ELEMENT, Read>(p.boxes, side, n + 1, pitch, box, from, v);
        make_places(p.boxes, side, pitch, room);
    } else {
        Bits<ELEMENT>* const tile = in_room<Bits<ELEMENT>>(room, p.tile[n]);
        read_box<ELEMENT, Read>(side, v, from, tile, Inside{});
    }
}

template <bool Tables, class T>
DEVICE void prepare(const TiledElementwise& p, int n, int64_t base, const Visit& write, uint32_t box,
                    char* room) {
    if (Tables && p.memories.from[n]) make_follower(p, n, write, box, room);
    if (p.tile[n] < 0) return;
    constexpr int WHOLE = sizeof(T) < 4 ? 4 : sizeof(T);
    if (sizeof(T) < 4 && p.narrow[n]) stage<Tables, T, sizeof(T)>(p, n, base, box, room);
    else stage<Tables, T, WHOLE>(p, n, base, box, room);
}

template <class T, class...> struct FirstOf { using type = T; };

template <bool Tables, int... N, class... T>
DEVICE void prepare_all(const TiledElementwise& p, const int64_t (&base)[OPERANDS + 1],
                        const Visit& write, uint32_t box, char* room, Numbers<N...>, Types<T...>) {
    using First = typename FirstOf<T...>::type;
    if constexpr ((is_same<T, First> && ...)) {
        // One copy of the code for operands of one type, which halves the time to compile it.
#pragma unroll 1
        for (int n = 0; n < OPERANDS; ++n) {
            int64_t begin = 0;
#pragma unroll
            for (int k = 0; k < OPERANDS; ++k)
                if (k == n) begin = base[k + 1];
            prepare<Tables, First>(p, n, begin, write, box, room);
        }
    } else {
        (prepare<Tables, T>(p, N, base[N + 1], write, box, room), ...);
    }
}

// The position of a pack of the result: its row, its first element along the run, and the period of
// that element, with the element's place in the period (`rest`).
struct Along {
    uint32_t row, element, period, rest;
    bool inside;
};

template <int Length>
DEVICE Along along_of(const Side<3>& side, const Spot& spot) {
    const uint32_t element = spot.along * Length, period = side.period.divide(element);
    return {spot.row, element, period, side.period.rest(element, period), spot.inside};
}

// Returns the offset of a pack's element `j` in operand `n`.
DEVICE int32_t place_of(const TiledElementwise& p, int n, const Along& at, int j, char* room) {
    const Follower& f = p.followers[n];
    const uint32_t row = load_shared_if(at.inside, in_room<const uint32_t>(room, f.rows) + at.row);
    if (p.write.linear) return static_cast<int32_t>(row + (at.element + j) * f.step);
    const uint32_t* const places = in_room<const uint32_t>(room, f.places) + at.rest;
    return static_cast<int32_t>(row + at.period * f.step + load_shared_if(at.inside, places + j));
}

// Reads a pack of an operand that has no tile; returns zeros for other operands. All threads of a
// warp call it together.
template <class T, int Length>
COMMON Pack<T, Length> fetch_beside(const TiledElementwise& p, int n, int64_t base, const Along& at,
                                    char* room) {
    Pack<T, Length> pack{};
    if (p.tile[n] >= 0) return pack;
    const T* from = static_cast<const T*>(p.memories.from[n]);
    T one;
    if (from) {
        from += base + place_of(p, n, at, 0, room);
        if (Length > 1 && p.memories.step[n])
            return load_if(at.inside, reinterpret_cast<const Pack<T, Length>*>(from));
        one = load_if(at.inside, from);
    } else {
        one = scalar_as<T>(p.memories.scalar[n]);
    }
#pragma unroll
    for (T& each : pack.at) each = one;
    return pack;
}

// Reads a pack of an operand from its tile. The packs of operands without a tile stay unchanged.
template <class T, int Length>
COMMON void take_staged(const TiledElementwise& p, int n, const Along& at, char* room,
                        Pack<T, Length>& pack) {
    if (p.tile[n] < 0) return;
    const T* const tile = in_room<const T>(room, p.tile[n]);
#pragma unroll
    for (int j = 0; j < Length; ++j)
        pack.at[j] = load_shared_if(at.inside, tile + place_of(p, n, at, j, room));
}

template <int Length, int... N, class... T>
COMMON void tiles(const TiledElementwise& p, char* room, Numbers<N...> each, Types<T...> elements) {
    using Word = Pack<RESULT, Length>;
    int64_t base[OPERANDS + 1];
    const uint32_t box = p.boxes.find(base);
    RESULT* const to = static_cast<RESULT*>(p.memories.to) + base[0];
    const Visit write =
        visit<sizeof(RESULT), sizeof(Word)>(p.boxes, p.write, 0, box, to, room);
    prepare_all<true>(p, base, write, box, room, each, elements);
    make_rows<sizeof(RESULT), sizeof(Word)>(p.boxes, p.write, 0, p.boxes.stride[0], box, to, write);
    barrier();
    prepare_all<false>(p, base, write, box, room, each, elements);
    barrier();
    for (uint32_t begin = write.lead + threadIdx.x; begin < write.total; begin += PACKS<Length> * THREADS) {
        Operands<Length> operands[PACKS<Length>];
        Spot spots[PACKS<Length>];
#pragma unroll
        for (int k = 0; k < PACKS<Length>; ++k) {
            Operands<Length>& o = operands[k];
            const uint32_t thread = begin + k * THREADS;
            spots[k] = locate(p.write, write, thread);
            const Along at = along_of<Length>(p.write, spots[k]);
            ((o.template of<N, T>() = fetch_beside<T, Length>(p, N, base[N + 1], at, room)), ...);
        }
#pragma unroll
        for (int k = 0; k < PACKS<Length>; ++k) {
            Operands<Length>& o = operands[k];
            const Along at = along_of<Length>(p.write, spots[k]);
            (take_staged(p, N, at, room, o.template of<N, T>()), ...);
            Word result;
#pragma unroll
            for (int j = 0; j < Length; ++j) result.at[j] = o.result(p.memories, j);
            store_if(at.inside, at_bytes<Word>(to, spots[k].memory), result);
        }
    }
}

// Packed: a thread writes several elements of the result at once, as many as elements of the
// widest type fit in 4 bytes. With more, the lanes of a warp would access tiles of that type
// several words apart, and so the same banks.
template <bool Packed, int Room>
DEVICE void tiles_in(const TiledElementwise& p) {
    SHARED(Bits<16>, room, Room / 16);
    if (padding_written(p.memories)) return;  // in all threads of the block
    constexpr int LENGTH = Packed && WIDEST < 4 ? 4 / WIDEST : 1;
    tiles<LENGTH>(p, reinterpret_cast<char*>(&room), Each{}, Elements{});
}
