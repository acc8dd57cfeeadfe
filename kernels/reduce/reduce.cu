// Reductions along any dimensions of any layout. The plan chooses the kernel, the number of threads
// that share a result, and the number of chunks into which the elements of a result are divided.
// The reductions themselves are in reductions.cuh.
//
// The threads of a block form a box of four sides, from the slowest to the fastest z, y, x, w.
// z and x count results (x along the dimension that is fastest in memory, if it is not reduced).
// y and w count elements of the same results. Consecutive threads therefore read consecutive
// memory, whichever dimensions are reduced.
//
// reduce_rows      Packs of LENGTH elements of one result, 4 packs per thread at a time. Coalesced
//                  along rows. In long rows, the elements before and after the aligned packs are
//                  read one by one. LENGTH 1 accepts any strides, and is coalesced if the fastest
//                  dimension is contiguous.
// reduce_short     All elements of one result per thread, in packs or one by one: rows of at most 64
//                  bytes, or up to 16 rows. Consecutive threads write consecutive results.
// reduce_columns   Packs of elements of different results: 16 bytes, or fewer if their states do
//                  not fit in registers. Coalesced along columns, however few they are: rows of 3
//                  channels are read as rows of 12 or 48 and folded at the end. If such rows are
//                  wide, reduce_partials folds them.
// reduce_partials  Joins the partial results of all chunks, for each result. A separate launch.
//
// The threads of a block join their states, those of a warp by shuffles, others in shared memory; each
// step halves the number of states.
// The plan and the alignment of addresses fix the order in which elements are combined, so the same
// call gives the same bits.
//
// Bytes moved per element: its own, once. A chunk of a result also writes 8 to 24 bytes, which are
// read once.
// Best: rows or columns that begin at multiples of 16 bytes. Worst: short rows of 1-byte elements,
// which a thread reads one by one, and fastest dimensions that are not contiguous.
//
// With CHAIN, the elements are not in memory: a chain of functions, as in fuse.cu, computes each
// element from OPERANDS operands when it is read (chained.cuh).
#define LEAST_BLOCKS 2

#include "indexing.cuh"
#include "memory.cuh"
#include "operations.cuh"
#include "reductions.cuh"

#ifndef OPERANDS
#define OPERANDS 1
#endif
#ifndef NUMBERS
#define NUMBERS 1  // of a chain; without CHAIN, neither they nor places are used
#endif

struct Steps {
    int64_t source, other;  // other: in the memory of the result, or in positions
};

// Parameters of all kernels except reduce_partials.
struct Frame {
    void* to;           // the lowest slot of the results
    const void* from[OPERANDS];  // the first element
    void* partials;     // null if there is one chunk
    Scalar numbers[NUMBERS];
    Walk<4, int32_t, OPERANDS> places;
    Finish finish;
    int64_t results;    // number of results
    int64_t first_result, first_position;
    int64_t groups;     // of results, along z
    int64_t columns;    // along x, in packs
    int64_t rows;       // along y
    int64_t chunk;      // rows per block
    int64_t run;        // elements of a row whose packs the kernel aligns; 0 if all are aligned
    int64_t rest;       // elements after the last folded row
    int64_t position_step;  // from an element of a row, or from a row of a fold, to the next
    Steps x, w, rest_at;
    Divisor<int32_t> tiles, column_tiles;  // blocks per chunk; per group
    Divisor<int32_t> size_w, size_x, size_y;
    Divisor<int32_t> channels;  // reduce_columns: results per row
    int32_t size_z;
    int32_t fold;       // rows that are read as one
    int32_t doublings_y, doublings_w;  // of the lanes that shuffles join, along y and w
};

template <int Rank, class Index>
struct Reduction {
    Frame frame;
    Walk<Rank, Index, 2> groups;  // strides in the source, and in the result
    Walk<Rank, Index, 2> rows;    // in the source, and of positions
};

#ifdef CHAIN
#include "chained.cuh"
#else

// Pointer to an element.
template <class T> using From = const T*;

template <class T> DEVICE From<T> first_of(const Frame& p) {
    return static_cast<const T*>(p.from[0]);
}
template <class T> DEVICE uint64_t number_of(const T* from) {
    return reinterpret_cast<uint64_t>(from) / sizeof(T);
}

#endif

#ifdef TENSORLAYOUT_SIMULATOR

struct Path {
    const void* walk;
    Steps (*find)(const void*, uint64_t);
};
static Steps steps_at(const Path& path, uint64_t n) { return path.find(path.walk, n); }

template <int Rank, class Index>
static Path path_of(const Walk<Rank, Index, 2>& walk) {
    return {&walk, [](const void* walk, uint64_t n) -> Steps {
                Index at[2];
                static_cast<const Walk<Rank, Index, 2>*>(walk)->offsets(
                    static_cast<Unsigned<Index>>(n), at);
                return {at[0], at[1]};
            }};
}
template <class> using NumberOf = uint64_t;

#else

template <int Rank, class Index>
DEVICE Steps steps_at(const Walk<Rank, Index, 2>& walk, Unsigned<Index> n) {
    Index at[2];
    walk.offsets(n, at);
    return {at[0], at[1]};
}
template <int Rank, class Index>
DEVICE const Walk<Rank, Index, 2>& path_of(const Walk<Rank, Index, 2>& walk) { return walk; }

template <class Path> struct NumberOfPath;
template <int Rank, class Index> struct NumberOfPath<Walk<Rank, Index, 2>> {
    using type = Unsigned<Index>;
};
template <class Path> using NumberOf = typename NumberOfPath<Path>::type;

#endif

// ---- Where a thread is --------------------------------------------------------------------------

struct Spot {
    uint32_t chunk, column_tile, tile;  // of the block
    uint32_t w, x, y, z;                // of the thread
    bool inside;                        // false for threads beyond the box
};

DEVICE Spot spot_of(const Frame& p) {
    Spot spot;
    spot.chunk = p.tiles.divide(blockIdx.x);
    const uint32_t tile = blockIdx.x - spot.chunk * p.tiles.divisor;
    spot.tile = p.column_tiles.divide(tile);
    spot.column_tile = tile - spot.tile * p.column_tiles.divisor;
    uint32_t rest = threadIdx.x, slower = p.size_w.divide(rest);
    spot.w = rest - slower * p.size_w.divisor;
    rest = slower;
    slower = p.size_x.divide(rest);
    spot.x = rest - slower * p.size_x.divisor;
    rest = slower;
    spot.z = p.size_y.divide(rest);
    spot.y = rest - spot.z * p.size_y.divisor;
    spot.inside = spot.z < static_cast<uint32_t>(p.size_z);
    return spot;
}

// ---- Threads of a block, together ---------------------------------------------------------------

// Shared memory for N states per thread, word by word: neighbouring threads access different banks.
// The padding in PITCH also avoids bank conflicts when consecutive threads read the N states of
// one thread.
template <class State, int N>
struct Shelf {
    static constexpr int COUNT = Words<State>::COUNT;
    static constexpr int PITCH = THREADS + 16 / N;
    static constexpr int SIZE = N * COUNT * PITCH;
    uint64_t* words;

    DEVICE void save(const State& state, int n, uint32_t slot, bool active) const {
        uint64_t saved[COUNT];
        Words<State>::save(state, saved);
#pragma unroll
        for (int w = 0; w < COUNT; ++w)
            store_shared_if(active, words + (w * N + n) * PITCH + slot, saved[w]);
    }
    DEVICE State restore(int n, uint32_t slot, bool active) const {
        uint64_t saved[COUNT];
#pragma unroll
        for (int w = 0; w < COUNT; ++w)
            saved[w] = load_shared_if(active, words + (w * N + n) * PITCH + slot);
        return Words<State>::restore(saved);
    }
};

// Returns the state of the thread that is `lanes` further in the warp.
template <class State>
DEVICE State state_further(const State& state, uint32_t lanes) {
    uint64_t words[Words<State>::COUNT];
    Words<State>::save(state, words);
#pragma unroll
    for (uint64_t& word : words) word = shuffle_down(word, lanes);
    return Words<State>::restore(words);
}

// Joins the states of `lanes` threads, which are `apart` threads from each other, into lane 0: first
// by shuffles those of 2**`doublings` threads, which are in one warp.
template <class F, int N, class State>
COMMON void join_lanes(State (&states)[N], Shelf<State, N> shelf, uint32_t lane, uint32_t lanes,
                       uint32_t apart, bool inside, int32_t doublings) {
    for (int32_t k = doublings - 1; k >= 0; --k)
#pragma unroll
        for (int n = 0; n < N; ++n)
            states[n] = F::join(states[n], state_further(states[n], apart << k));
    lanes >>= doublings;
    if (lanes == 1) return;
    inside = inside && (lane & ((1u << doublings) - 1)) == 0;
    lane >>= doublings;
    apart <<= doublings;
    uint32_t half = 1;
    while (half * 2 < lanes) half *= 2;
    barrier();
#pragma unroll
    for (int n = 0; n < N; ++n) shelf.save(states[n], n, threadIdx.x, inside);
    barrier();
    for (; half > 0; half /= 2) {
        const bool joins = inside && lane < half && lane + half < lanes;
#pragma unroll
        for (int n = 0; n < N; ++n) {
            const State other = shelf.restore(n, threadIdx.x + half * apart, joins);
            if (joins) states[n] = F::join(states[n], other);
            shelf.save(states[n], n, threadIdx.x, joins);
        }
        barrier();
    }
}

// Returns true if folded rows are wider than a block. Each row of a fold then writes its own
// partial result, like a chunk.
DEVICE bool is_spread(const Frame& p) { return p.fold > 1 && p.column_tiles.divisor > 1; }

// Writes the partial state of a result or, if there is one chunk, the result. `at`: its slot.
template <class F, class State>
COMMON void write(const Frame& p, State state, int64_t at, uint32_t chunk) {
    if (!p.partials) return store_result(p.to, at, F::finish(state, p.finish), p.finish.stored);
    constexpr int COUNT = Words<State>::COUNT;
    const uint32_t chunks = gridDim.x / p.tiles.divisor * (is_spread(p) ? p.fold : 1);
    uint64_t words[COUNT];
    Words<State>::save(state, words);
#pragma unroll
    for (int w = 0; w < COUNT; ++w)
        store(static_cast<uint64_t*>(p.partials) +
                  (static_cast<int64_t>(w) * chunks + chunk) * p.results + at,
              words[w]);
}

// A pack in the registers of a thread. Small elements are kept in words of 4 bytes, because NVRTC
// 12.9 would use a register for each byte.
template <class T, int Length>
struct Held {
    using Word = choose<(sizeof(T) < 4 && sizeof(T) * Length >= 4), uint32_t, T>;
    static constexpr int EACH = sizeof(Word) / sizeof(T);
    Pack<Word, Length / EACH> words;

#ifdef CHAIN
    DEVICE void load(bool active, const From<T>& from) {
        const Made<T, Length> made(active, from);
#pragma unroll
        for (int j = 0; j < Length; ++j) {
            if constexpr (EACH == 1) {
                words.at[j] = made.at(j);
            } else {
                if (j % EACH == 0) words.at[j / EACH] = 0;
                const uint32_t bits = static_cast<uint32_t>(word_of(made.at(j)));
                words.at[j / EACH] |= bits << (j % EACH * 8 * sizeof(T));
            }
        }
    }
#else
    DEVICE void load(bool active, const T* from) {
        words = load_if(active, reinterpret_cast<const Pack<Word, Length / EACH>*>(from));
    }
#endif
    DEVICE T at(int j) const {
        if constexpr (EACH == 1) return words.at[j];
        else return from_word<T>(words.at[j / EACH] >> (j % EACH * 8 * sizeof(T)));
    }
};

constexpr int BATCH = 4;  // packs that a thread reads at a time

// Returns the state of the first `valid` packs.
template <class F, class T, int Length>
DEVICE typename F::State state_of(const Held<T, Length> (&packs)[BATCH], int valid,
                                  const int64_t (&positions)[BATCH], int64_t step) {
    T x[BATCH][Length];
#pragma unroll
    for (int k = 0; k < BATCH; ++k)
#pragma unroll
        for (int j = 0; j < Length; ++j) x[k][j] = packs[k].at(j);
    return F::of(x, valid, positions, step);
}

// ---- Rows ---------------------------------------------------------------------------------------

// The number of elements before the first aligned pack of a row, and the number of its packs.
struct Row {
    int64_t head, packs;
};

template <class T, int Length>
DEVICE Row row_of(const Frame& p, const From<T>& from) {
    if (Length == 1 || p.run == 0) return {0, p.rows};
    int64_t head = -static_cast<int64_t>(number_of(from)) & (Length - 1);
    if (head > p.run) head = p.run;
    return {head, (p.run - head) / Length};
}

template <class F, int Length, class Path>
COMMON void rows(const Frame& p, const Path& groups, const Path& walk) {
    using T = typename F::Element;
    using State = typename F::State;
    using Number = NumberOf<Path>;
    SHARED(uint64_t, words, (Shelf<State, 1>::SIZE));
    const Shelf<State, 1> shelf{words};

    const Spot spot = spot_of(p);
    const int64_t column = static_cast<int64_t>(spot.column_tile) * p.size_x.divisor + spot.x;
    const uint64_t first_group = static_cast<uint64_t>(spot.tile) * p.size_z;
    const uint64_t group = first_group + spot.z;
    const bool inside =
        spot.inside && column < p.columns && group < static_cast<uint64_t>(p.groups);
    const From<T> from = first_of<T>(p) +
                         steps_at(groups, static_cast<Number>(inside ? group : 0)).source +
                         column * p.x.source + spot.w * p.w.source;

    const Row row = row_of<T, Length>(p, from);
    const int64_t first = p.first_position + spot.w * p.w.other;
    const int64_t begin = spot.chunk * p.chunk, stop = begin + p.chunk;
    const Number end = static_cast<Number>(stop < row.packs ? stop : row.packs);
    State states[1] = {F::none()};
    for (Number n = static_cast<Number>(begin) + spot.y; n < end; n += BATCH * p.size_y.divisor) {
        Held<T, Length> packs[BATCH];
        int64_t positions[BATCH];
        int valid = 0;
#pragma unroll
        for (int k = 0; k < BATCH; ++k) {
            const Number mine = n + k * p.size_y.divisor;
            const bool reads = mine < end;
            valid += reads;
            const Steps at = steps_at(walk, reads ? mine : 0);
            positions[k] = first + at.other + row.head * p.position_step;
            packs[k].load(reads && inside, from + row.head + at.source);
        }
        states[0] = F::join(states[0], state_of<F>(packs, inside ? valid : 0, positions,
                                                   p.position_step));
    }
    if constexpr (Length > 1) {
        // Blocks of the first chunk read the elements before and after the packs.
        const int64_t ends = spot.chunk == 0 && inside && p.run ? p.run - row.packs * Length : 0;
        for (int64_t n = spot.y; n < ends; n += p.size_y.divisor) {
            const int64_t element = n < row.head ? n : n + row.packs * Length;
            const T x[1][1] = {{load(from + element)}};
            const int64_t positions[1] = {first + element * p.position_step};
            states[0] = F::join(states[0], F::of(x, 1, positions, 0));
        }
    }

    const uint32_t size_w = p.size_w.divisor, size_x = p.size_x.divisor;
    join_lanes<F>(states, shelf, spot.y, p.size_y.divisor, size_x * size_w, spot.inside,
                  p.doublings_y);
    join_lanes<F>(states, shelf, spot.w, size_w, 1, spot.inside && spot.y == 0, p.doublings_w);
    barrier();
    const bool leads = spot.inside && spot.y == 0 && spot.w == 0;
    shelf.save(states[0], 0, spot.z * size_x + spot.x, leads);
    barrier();
    // Consecutive threads write consecutive results.
    for (uint32_t n = threadIdx.x; n < p.size_z * size_x; n += THREADS) {
        const uint32_t z = p.size_x.divide(n), x = n - z * size_x;
        const int64_t own = static_cast<int64_t>(spot.column_tile) * size_x + x;
        const uint64_t group = first_group + z;
        if (own >= p.columns || group >= static_cast<uint64_t>(p.groups)) continue;
        const State found = shelf.restore(0, n, true);
        const Steps at = steps_at(groups, static_cast<Number>(group));
        write<F>(p, found, p.first_result + at.other + own * p.x.other, spot.chunk);
    }
}

// Each thread has a result; w: the reduced dimension that it reads in the inner loop.
template <class F, int Length, class Path>
COMMON void short_rows(const Frame& p, const Path& groups, const Path& walk) {
    using T = typename F::Element;
    using Number = NumberOf<Path>;
    const Number group = static_cast<Number>(blockIdx.x) * THREADS + threadIdx.x;
    if (group >= static_cast<Number>(p.groups)) return;
    const Steps own = steps_at(groups, group);
    const int32_t size_w = static_cast<int32_t>(p.size_w.divisor);
    typename F::State state = F::none();
    for (int32_t n = 0; n < p.rows; ++n) {
        Steps at{0, 0};
        if (n > 0) at = steps_at(walk, static_cast<Number>(n));
        From<T> from = first_of<T>(p) + own.source + at.source;
        int64_t position = p.first_position + at.other;
        for (int32_t left = size_w; left > 0; left -= BATCH) {
            Held<T, Length> packs[BATCH];
            int64_t positions[BATCH];
#pragma unroll
            for (int k = 0; k < BATCH; ++k) {
                packs[k].load(k < left, from);
                positions[k] = position;
                from = from + p.w.source;
                position += p.w.other;
            }
            const int valid = left < BATCH ? left : BATCH;
            state = F::join(state, state_of<F>(packs, valid, positions, p.position_step));
        }
    }
    write<F>(p, state, p.first_result + own.other, 0);
}

// ---- Columns ------------------------------------------------------------------------------------

// Returns the number of elements of a pack, each of a different result: 16 bytes, or as many as
// there are registers for.
template <class F>
DEVICE constexpr int length_of_columns() {
    int length = 16 / sizeof(typename F::Element);
    while (length * Words<typename F::State>::REGISTERS > 16) length /= 2;
    return length;
}

template <class F, class Path>
COMMON void columns(const Frame& p, const Path& groups, const Path& walk) {
    constexpr int Length = length_of_columns<F>(), Rows = 4;
    using T = typename F::Element;
    using State = typename F::State;
    using Number = NumberOf<Path>;
    SHARED(uint64_t, words, (Shelf<State, Length>::SIZE));
    const Shelf<State, Length> shelf{words};

    const Spot spot = spot_of(p);
    const uint32_t size_x = p.size_x.divisor, size_z = static_cast<uint32_t>(p.size_z);
    const int64_t column = static_cast<int64_t>(spot.column_tile) * size_x + spot.x;
    const uint64_t first_group = static_cast<uint64_t>(spot.tile) * size_z;
    const uint64_t group = first_group + spot.z;
    const bool inside =
        spot.inside && column < p.columns && group < static_cast<uint64_t>(p.groups);
    const From<T> from = first_of<T>(p) + column * Length +
                         steps_at(groups, static_cast<Number>(inside ? group : 0)).source;

    const int64_t begin = spot.chunk * p.chunk, stop = begin + p.chunk;
    const Number end = static_cast<Number>(stop < p.rows ? stop : p.rows);
    // Positions from the first row of a fold to the row of element j of the pack.
    int64_t further[Length];
#pragma unroll
    for (int j = 0; j < Length; ++j)
        further[j] = p.fold == 1 ? 0
                                 : p.channels.divide(static_cast<uint32_t>(column) * Length + j) *
                                       p.position_step;
    State states[Length];
#pragma unroll
    for (int j = 0; j < Length; ++j) states[j] = F::none();
    for (Number n = static_cast<Number>(begin) + spot.y; inside && n < end;
         n += Rows * p.size_y.divisor) {
        Held<T, Length> packs[Rows];
        int64_t positions[Rows];
        int valid = 0;
#pragma unroll
        for (int k = 0; k < Rows; ++k) {
            const Number mine = n + k * p.size_y.divisor;
            const bool reads = mine < end;
            valid += reads;
            const Steps at = steps_at(walk, reads ? mine : 0);
            positions[k] = p.first_position + at.other;
            packs[k].load(reads, from + at.source);
        }
#pragma unroll
        for (int j = 0; j < Length; ++j) {
            T x[Rows][1];
            int64_t there[Rows];
#pragma unroll
            for (int k = 0; k < Rows; ++k) {
                x[k][0] = packs[k].at(j);
                there[k] = positions[k] + further[j];
            }
            states[j] = F::join(states[j], F::of(x, valid, there, 0));
        }
    }
    if (p.rest != 0 && spot.chunk == 0 && spot.y == 0 && inside) {
#pragma unroll
        for (int j = 0; j < Length; ++j) {
            const bool reads = column * Length + j < p.rest;
            const T x[1][1] = {{load_if(reads, from + p.rest_at.source + j)}};
            const int64_t positions[1] = {p.first_position + p.rest_at.other + further[j]};
            states[j] = F::join(states[j], F::of(x, reads, positions, 0));
        }
    }

    join_lanes<F>(states, shelf, spot.y, p.size_y.divisor, size_x, spot.inside, p.doublings_y);
    barrier();
#pragma unroll
    for (int j = 0; j < Length; ++j)
        shelf.save(states[j], j, spot.z * size_x + spot.x, spot.inside && spot.y == 0);
    barrier();
    const uint32_t channels = p.channels.divisor;
    if (is_spread(p)) {
        for (uint32_t n = threadIdx.x; n < size_z * size_x * Length; n += THREADS) {
            const uint32_t z = p.size_x.divide(n / Length), in_tile = n - z * size_x * Length;
            const int64_t element =
                static_cast<int64_t>(spot.column_tile) * size_x * Length + in_tile;
            if (first_group + z >= static_cast<uint64_t>(p.groups) || element >= p.columns * Length)
                continue;
            const State found = shelf.restore(n % Length, n / Length, true);
            const uint32_t row = p.channels.divide(static_cast<uint32_t>(element));
            const int64_t own = element - static_cast<int64_t>(row) * channels;
            const Steps at = steps_at(groups, static_cast<Number>(first_group + z));
            write<F>(p, found, p.first_result + at.other + own * p.x.other,
                     spot.chunk * p.fold + row);
        }
        return;
    }
    for (uint32_t n = threadIdx.x; n < size_z * channels; n += THREADS) {
        const uint32_t z = p.channels.divide(n), channel = n - z * channels;
        const int64_t own = static_cast<int64_t>(spot.column_tile) * channels + channel;
        if (first_group + z >= static_cast<uint64_t>(p.groups) || own * p.fold >= p.columns * Length)
            continue;
        State found = F::none();
        for (int row = 0; row < p.fold; ++row) {
            const uint32_t element = channel + row * channels;
            const State part =
                shelf.restore(element % Length, z * size_x + element / Length, true);
            found = F::join(found, part);
        }
        const Steps at = steps_at(groups, static_cast<Number>(first_group + z));
        write<F>(p, found, p.first_result + at.other + own * p.x.other, spot.chunk);
    }
}

// ---- Chunks -------------------------------------------------------------------------------------

struct Partials {
    void* to;
    const void* from;  // words, in the row-major order word, chunk, result
    Finish finish;
    int64_t results;
    int64_t chunks;
    Divisor<int32_t> size_x;  // results per block
    int32_t size_y;           // threads per result
    int32_t doublings;        // of those that shuffles join
};

template <class F>
COMMON void partials(const Partials& p) {
    using State = typename F::State;
    constexpr int COUNT = Words<State>::COUNT;
    SHARED(uint64_t, words, (Shelf<State, 1>::SIZE));
    const uint32_t size_x = p.size_x.divisor, y = p.size_x.divide(threadIdx.x);
    const uint32_t x = threadIdx.x - y * size_x;
    const int64_t result = static_cast<int64_t>(blockIdx.x) * size_x + x;
    const bool inside = y < static_cast<uint32_t>(p.size_y) && result < p.results;
    State states[1] = {F::none()};
    for (int64_t chunk = y; inside && chunk < p.chunks; chunk += p.size_y) {
        uint64_t saved[COUNT];
#pragma unroll
        for (int w = 0; w < COUNT; ++w)
            saved[w] = load(static_cast<const uint64_t*>(p.from) +
                            (w * p.chunks + chunk) * p.results + result);
        states[0] = F::join(states[0], Words<State>::restore(saved));
    }
    const Shelf<State, 1> shelf{words};
    join_lanes<F>(states, shelf, y, p.size_y, size_x, y < static_cast<uint32_t>(p.size_y),
                  p.doublings);
    if (inside && y == 0)
        store_result(p.to, result, F::finish(states[0], p.finish), p.finish.stored);
}

// ---- Kernels ------------------------------------------------------------------------------------
// For a GPU, macros choose one kernel. The simulator compiles all kernels for an element type.

#if defined(TENSORLAYOUT_SIMULATOR) && defined(ELEMENT)

constexpr bool REAL = is_floating<ELEMENT>;
constexpr bool ORDERED = REAL || is_integer<ELEMENT>;
constexpr bool NARROW = !is_same<Narrow<ELEMENT>::type, wide<ELEMENT>> && !is_integer<ELEMENT>;

#define FUNCTORS(_)                                                                           \
    _(sum, !is_same<ELEMENT COMMA bool8>) _(wide_sum, NARROW) _(product, true)                \
    _(least, ORDERED) _(greatest, ORDERED) _(least_number, REAL) _(greatest_number, REAL)     \
    _(first_least, ORDERED) _(first_greatest, ORDERED) _(nonzero, true) _(variance, REAL)
#define COMMA ,

#define NAME_OF(name, defined) #name " "
SIMULATOR_OPERATIONS(FUNCTORS(NAME_OF))
#define NUMBER_OF(name, defined) number_of_##name,
enum { FUNCTORS(NUMBER_OF) };

// Functors whose states have the same number of words share one functor, Any, so that the kernels
// are compiled once for all of them. Each call of Any selects the chosen functor. This takes 1.8 s
// instead of 3.5 (float; 2026-11-21, 2-core AMD EPYC (Zen 4), g++ 12.2).
template <int Count>
struct Saved {
    uint64_t words[Count];
};

template <int Count>
struct Words<Saved<Count>> {
    static constexpr int COUNT = Count;
    static constexpr int REGISTERS = Count == 2 && !is_complex<ELEMENT> ? 4 : Count;
    static void save(const Saved<Count>& state, uint64_t (&words)[Count]) {
        for (int w = 0; w < Count; ++w) words[w] = state.words[w];
    }
    static Saved<Count> restore(const uint64_t (&words)[Count]) {
        Saved<Count> state;
        for (int w = 0; w < Count; ++w) state.words[w] = words[w];
        return state;
    }
};

template <class F>
struct One {
    using Functor = F;
    using State = typename F::State;
    static constexpr int COUNT = Words<State>::COUNT;
    static_assert(Words<State>::REGISTERS == Words<Saved<COUNT>>::REGISTERS);

    static Saved<COUNT> save(const State& state) {
        Saved<COUNT> saved;
        Words<State>::save(state, saved.words);
        return saved;
    }
    static State restore(const Saved<COUNT>& saved) { return Words<State>::restore(saved.words); }
};

// Number of words in a functor's state; 0 if no functor has this name.
template <template <class> class Functor, bool defined>
static constexpr int count_of() {
    if constexpr (defined) return One<Functor<ELEMENT>>::COUNT;
    return 0;
}
#define COUNT_OF(name, defined) count_of<reductions::name, (defined)>(),
static constexpr int COUNTS[] = {FUNCTORS(COUNT_OF)};

static constexpr bool has_count(int count) {
    for (int each : COUNTS)
        if (each == count) return true;
    return false;
}

// Calls work(One<F>()) for the chosen functor, whose state has `Count` words.
template <int Count, template <class> class Functor, bool defined, class Work>
static void call_if_counted(const Work& work) {
    if constexpr (count_of<Functor, defined>() == Count) work(One<Functor<ELEMENT>>());
}
#define CASE_OF(name, defined) \
    case number_of_##name: return call_if_counted<Count, reductions::name, (defined)>(work);
template <int Count, class Work>
static void with_chosen(const Work& work) {
    switch (simulator::operation) { FUNCTORS(CASE_OF) }
}

template <int Count>
struct Finished {
    const Saved<Count>& state;
    const Finish& how;
};

template <int Count>
struct Any {
    using Element = ELEMENT;
    using State = Saved<Count>;

    static COMMON State none() {
        State found;
        with_chosen<Count>([&](auto one) { found = one.save(decltype(one)::Functor::none()); });
        return found;
    }
    static COMMON State join(const State& x, const State& y) {
        State found;
        with_chosen<Count>([&](auto one) {
            found = one.save(decltype(one)::Functor::join(one.restore(x), one.restore(y)));
        });
        return found;
    }
    template <int Rows, int Length>
    static COMMON State of(const ELEMENT (&x)[Rows][Length], int rows,
                           const int64_t (&positions)[Rows], int64_t step) {
        State found;
        with_chosen<Count>([&](auto one) {
            found = one.save(decltype(one)::Functor::of(x, rows, positions, step));
        });
        return found;
    }
    static Finished<Count> finish(const State& x, const Finish& how) { return {x, how}; }
};

template <int Count>
static COMMON void store_result(void* to, int64_t at, const Finished<Count>& found, int stored) {
    with_chosen<Count>([&](auto one) {
        using F = typename decltype(one)::Functor;
        store_result(to, at, F::finish(one.restore(found.state), found.how), stored);
    });
}

// Calls work.run<F>(), where F is the Any that stands for the chosen functor.
template <class Work> static __attribute__((noinline)) void run_chosen(const Work& work) {
    switch (COUNTS[simulator::operation]) {
        case 1: return work.template run<Any<1>>();
        case 2: if constexpr (has_count(2)) return work.template run<Any<2>>(); break;
        case 3: if constexpr (has_count(3)) return work.template run<Any<3>>(); break;
    }
    simulator::report("has no functor for this type");
    simulator::leave();
}

struct Both {
    const Frame& frame;
    Path groups, walk;
};
template <int Length>
struct RowsWork : Both {
    template <class F> void run() const { rows<F, Length>(frame, groups, walk); }
};
template <int Length>
struct ShortWork : Both {
    template <class F> void run() const { short_rows<F, Length>(frame, groups, walk); }
};
struct ColumnsWork : Both {
    template <class F> void run() const { columns<F>(frame, groups, walk); }
};
struct PartialsWork {
    const Partials& p;
    template <class F> void run() const { partials<F>(p); }
};

#define RUN_PARTIALS() run_chosen(PartialsWork{p})
#define RUN_ON_PATHS(...) run_chosen(__VA_ARGS__{{p.frame, path_of(p.groups), path_of(p.rows)}})
#define RUN_ROWS(length) RUN_ON_PATHS(RowsWork<length>)
#define RUN_SHORT(length) RUN_ON_PATHS(ShortWork<length>)
#define RUN_COLUMNS() RUN_ON_PATHS(ColumnsWork)

#elif !defined(TENSORLAYOUT_SIMULATOR)

using Chosen = reductions::OPERATION<ELEMENT>;
#define RUN_PARTIALS() partials<Chosen>(p)
#define RUN_ROWS(length) rows<Chosen, length>(p.frame, p.groups, p.rows)
#define RUN_SHORT(length) short_rows<Chosen, length>(p.frame, p.groups, p.rows)
#define RUN_COLUMNS() columns<Chosen>(p.frame, p.groups, p.rows)

// LONGEST: the number of elements in 16 bytes, which the plan defines.
#if !defined(RANK)
SHAPES()
BLOCK_KERNEL(reduce_partials, Partials) { RUN_PARTIALS(); }
#elif !defined(LENGTH)
SHAPES(RANK = 2 4 0, INDEX = int32_t int64_t)
BLOCK_KERNEL(reduce_columns, Reduction<RANK, INDEX>) { RUN_COLUMNS(); }
#elif !defined(SHORT)
SHAPES(RANK = 2 4 0, INDEX = int32_t int64_t, LENGTH = 1 LONGEST)
BLOCK_KERNEL(reduce_rows, Reduction<RANK, INDEX>) { RUN_ROWS(LENGTH); }
#else
SHAPES(RANK = 2 4 0, INDEX = int32_t int64_t, LENGTH = 1 LONGEST, SHORT = 1)
BLOCK_KERNEL(reduce_short, Reduction<RANK, INDEX>) { RUN_SHORT(LENGTH); }
#endif

#endif
