// Quantizes tensors in blocks of elements that share a scale, and dequantizes them. SOURCE,
// ELEMENT, SCALE and RESULT are types. Blocks have 32 elements if scales are powers of two,
// otherwise 16. BITS is the size of an element in memory: 8, or 4 or 6, with the first element in
// the lowest bits. TILED: scales are stored in tiles; walks then compute the number of a scale,
// whose digits determine its slot.
//
// quantize_rows     Elements and scales in one launch, with blocks along the fastest dimension of
//                   the source. Each thread has 4 packs, 256 packs apart (one in more than four
//                   dimensions). A pack has PACK elements: 16 bytes or more, or the fewest that
//                   fill whole bytes. The packs of a block are adjacent. Each thread leaves its
//                   largest magnitude in shared memory, and reads those of its block. Scales also
//                   go through shared memory, so that each warp writes adjacent scales. Worst:
//                   short lines, whose last block has threads without elements.
//
// quantize_columns  The same along any other dimension. Each thread has one block, whose elements
//                   it keeps in registers. Coalesced where the source's fastest dimension is that
//                   of the results. Elements of 4 bits share bytes with the next block, so a thread
//                   writes one half of each of two blocks. Worst: few blocks; a source whose
//                   fastest dimension is not that of the results.
//
// dequantize        Each thread has 4 packs of PACK elements of the result (16 bytes, or one
//                   element), 256 packs apart (one pack in more than four dimensions). Coalesced
//                   where the fastest dimension is the same in both. The threads of a block read
//                   its scale in one access. Worst: other orders.
//
// Bytes moved per element: its own in both memories, and one for each block.

// Minimum number of blocks per multiprocessor. A thread of quantize_columns has 32 elements in
// flight.
#ifdef SOURCE
#define LEAST_BLOCKS (sizeof(SOURCE) == 8 ? 1 : 2)
#else
#define LEAST_BLOCKS 2
#endif

#include "indexing.cuh"
#include "memory.cuh"
#include "narrow.cuh"

template <class Scale> constexpr int BLOCK_SIZE = is_same<Scale, float8_e8m0fnu> ? 32 : 16;

// ---- Scales -------------------------------------------------------------------------------------

// Parameters of scales that are powers of two: the exponent of the largest element, and the
// fraction from which on a magnitude counts as the next power.
struct Powers {
    int32_t emax;
    uint32_t carries_from;
};

// Scale of a block, and the factor that its elements are multiplied by.
struct Shared {
    uint8_t bits;
    bool broken;  // the block has a NaN
    float factor;
};

DEVICE uint32_t magnitude(float value) { return bits_as<uint32_t>(value) & 0x7fffffff; }

template <class Scale>
DEVICE Shared shared_of(uint32_t largest, const Powers& powers, float whole, float largest_element) {
    if constexpr (is_same<Scale, float8_e8m0fnu>) {
        if (largest > 0x7f800000) return {0xff, true, 0.0f};
        const int32_t field = static_cast<int32_t>(largest >> 23);
        int32_t power = field - powers.emax;
        power += (largest & 0x7fffff) >= powers.carries_from && field > 0;
        power = power < 0 ? 0 : power > 254 ? 254 : power;
        // 2**(127 - power); for the largest power it is a denormal.
        const uint32_t inverse = power < 254 ? static_cast<uint32_t>(254 - power) << 23 : 0x400000;
        return {static_cast<uint8_t>(power), false, bits_as<float>(inverse)};
    } else {
        const float wanted = bits_as<float>(largest) / largest_element / whole;
        if (wanted != wanted) return {Scale::NAN_BITS, true, 0.0f};
        const Scale scale = Scale::template rounded<true>(wanted);
        const float step = scale;
        return {scale.bits, false, step == 0 ? 0.0f : 1.0f / whole / step};
    }
}

// Encodes an element: rounds to nearest, ties to even, and saturates at the largest element.
template <class Element>
DEVICE uint8_t encoded(float value, const Shared& shared) {
    const float scaled = shared.broken ? 0.0f : value * shared.factor;
    if constexpr (is_same<Element, int8_t>) {
        constexpr float most = 127.0f / 64, whole = 0x1.8p23f;  // floats near it are integers
        const float near = scaled > most ? most : scaled < -most ? -most : scaled;
        return static_cast<uint8_t>(static_cast<int8_t>((near * 64 + whole) - whole));
    } else {
        return Element::template rounded<true>(scaled).bits;
    }
}

// ---- Slots --------------------------------------------------------------------------------------

// Smallest number of elements that fills whole bytes.
template <int Bits> constexpr int WHOLE = Bits == 6 ? 4 : 8 / Bits;

// Return the byte in which a slot begins, and the bit within the byte.
template <int Bits, class Index>
DEVICE Index byte_of(Index slot) {
    if constexpr (Bits == 6) return (slot >> 2) * 3 + ((slot & 3) * 6 >> 3);
    else return Bits == 4 ? slot >> 1 : slot;
}
template <int Bits, class Index>
DEVICE int bit_of(Index slot) {
    return static_cast<int>(slot & (WHOLE<Bits> - 1)) * Bits % 8;
}

// Stores the first `present` of adjacent codes, and zeros in the rest of their last byte.
template <int Bits, int Count>
DEVICE void store_codes(bool inside, uint8_t* to, const uint8_t (&codes)[Count], int present) {
    constexpr int SIZE = Count * Bits / 8, PIECE = SIZE & -SIZE;
    uint8_t bytes[SIZE] = {};
#pragma unroll
    for (int i = 0; i < Count; ++i) {
        const int at = i * Bits / 8, bit = i * Bits % 8;
        bytes[at] |= static_cast<uint8_t>(codes[i] << bit);
        if (bit + Bits > 8) bytes[at + 1] |= static_cast<uint8_t>(codes[i] >> (8 - bit));
    }
#pragma unroll
    for (int j = 0; j < SIZE; j += PIECE) {
        Pack<uint8_t, PIECE> piece;
#pragma unroll
        for (int i = 0; i < PIECE; ++i) piece.at[i] = bytes[j + i];
        const bool some = inside && j * 8 < present * Bits;
        store_if(some, reinterpret_cast<Pack<uint8_t, PIECE>*>(to + (some ? j : 0)), piece);
    }
}

// Loads adjacent codes from a slot on: codes that fill whole bytes, or one code at any bit.
template <int Bits, int Count, class Index>
DEVICE Pack<uint8_t, Count> load_codes(bool inside, const uint8_t* data, Index slot) {
    Pack<uint8_t, Count> codes;
    const uint8_t* const from = data + byte_of<Bits>(slot);
    if constexpr (Bits == 8) {
        return load_if(inside, reinterpret_cast<const Pack<uint8_t, Count>*>(from));
    } else if constexpr (Count == 1) {
        const int bit = bit_of<Bits>(slot);
        uint32_t both = load_if(inside, from);
        if constexpr (Bits == 6) {
            const bool goes_on = inside && bit > 2;
            both |= static_cast<uint32_t>(load_if(goes_on, from + (goes_on ? 1 : 0))) << 8;
        }
        codes.at[0] = static_cast<uint8_t>(both >> bit & ((1 << Bits) - 1));
    } else {
        constexpr int SIZE = Count * Bits / 8, PIECE = SIZE & -SIZE;
        uint8_t bytes[SIZE];
#pragma unroll
        for (int j = 0; j < SIZE; j += PIECE) {
            const auto* const place = reinterpret_cast<const Pack<uint8_t, PIECE>*>(from + (inside ? j : 0));
            const auto piece = load_if(inside, place);
#pragma unroll
            for (int i = 0; i < PIECE; ++i) bytes[j + i] = piece.at[i];
        }
#pragma unroll
        for (int i = 0; i < Count; ++i) {
            const int at = i * Bits / 8, bit = i * Bits % 8;
            const uint32_t both = bytes[at] | (bit + Bits > 8 ? bytes[at + 1] << 8 : 0);
            codes.at[i] = static_cast<uint8_t>(both >> bit & ((1 << Bits) - 1));
        }
    }
    return codes;
}

// Maximum number of digits of the number of a scale in tiles.
constexpr int DIGITS = 6;

template <bool Tiled, class Index>
DEVICE Index slot_of(const Walk<DIGITS, Index, 1>& tiles, Index number) {
    if constexpr (Tiled) {
        Index at[1];
        tiles.offsets(static_cast<Unsigned<Index>>(number), at);
        return at[0];
    } else {
        return number;
    }
}

// ---- Quantising ---------------------------------------------------------------------------------

template <int Rank, class Index>
struct Quantized {
    void* data;
    void* scales;
    const void* from;
    const void* whole;          // scale of the whole tensor; powers of two have none
    Walk<Rank, Index, 4> walk;  // strides of data, source, scales, and of the place in a line
    Walk<DIGITS, Index, 1> tiles;
    Index count;                // packs, or blocks
    Index size;                 // of a line
    Index data_step, step;      // strides along a block, in data and source
    Powers powers;
    float largest_element;
    int32_t has_whole;
};

template <class Source, class Element, class Scale, int Bits, bool Tiled, int Packed, int Rank, class Index>
DEVICE void quantized_rows(const Quantized<Rank, Index>& p) {
    constexpr int COUNT = PER_WALK<Rank>, GROUP = BLOCK_SIZE<Scale> / Packed;
    constexpr int READ = GROUP < 4 ? GROUP : 4;
    using Count = Unsigned<Index>;
    constexpr int BLOCKS = COUNT * THREADS / GROUP;
    SHARED(uint32_t, magnitudes, COUNT * THREADS);
    SHARED(uint8_t, scales, BLOCKS);
    const Count first = static_cast<Count>(blockIdx.x) * (COUNT * THREADS) + threadIdx.x;
    const float whole = load_if(p.has_whole != 0, static_cast<const float*>(p.whole));
    Index at[COUNT][4];
    bool active[COUNT], inside[COUNT];
    constexpr int MOST = 16 / sizeof(Source), LOADED = Packed < MOST ? Packed : MOST;
    Source held[COUNT][Packed];
#pragma unroll
    for (int k = 0; k < COUNT; ++k) {
        active[k] = first + k * THREADS < static_cast<Count>(p.count);
        p.walk.offsets(active[k] ? first + k * THREADS : 0, at[k]);
        inside[k] = active[k] && at[k][3] < p.size;
        const Source* const from = static_cast<const Source*>(p.from) + (inside[k] ? at[k][1] : 0);
        if constexpr (Packed > WHOLE<Bits>) {
#pragma unroll
            for (int j = 0; j < Packed; j += LOADED) {
                const Source* const place = from + (inside[k] ? j : 0);
                const auto some = load_if(inside[k], reinterpret_cast<const Pack<Source, LOADED>*>(place));
#pragma unroll
                for (int i = 0; i < LOADED; ++i) held[k][j + i] = some.at[i];
            }
        } else {
#pragma unroll
            for (int i = 0; i < Packed; ++i) {
                const bool present = inside[k] && (i == 0 || i < p.size - at[k][3]);
                held[k][i] = load_if(present, from + (present ? i * p.step : 0));
            }
        }
    }
#pragma unroll
    for (int k = 0; k < COUNT; ++k) {
        uint32_t largest = 0;
#pragma unroll
        for (int i = 0; i < Packed; ++i) {
            const uint32_t each = magnitude(as_float(held[k][i]));
            largest = each > largest ? each : largest;
        }
        store_shared(magnitudes + k * THREADS + threadIdx.x, largest);
    }
    barrier();
#pragma unroll
    for (int k = 0; k < COUNT; ++k) {
        const uint32_t* const group = magnitudes + (k * THREADS + threadIdx.x) / GROUP * GROUP;
        uint32_t largest = 0;
#pragma unroll
        for (int j = 0; j < GROUP; j += READ) {
            const auto some = load_shared(reinterpret_cast<const Pack<uint32_t, READ>*>(group + j));
#pragma unroll
            for (int i = 0; i < READ; ++i) largest = some.at[i] > largest ? some.at[i] : largest;
        }
        const Shared shared = shared_of<Scale>(largest, p.powers, whole, p.largest_element);
        uint8_t codes[Packed];
#pragma unroll
        for (int i = 0; i < Packed; ++i)
            codes[i] = encoded<Element>(as_float(held[k][i]), shared);
        uint8_t* const to = static_cast<uint8_t*>(p.data) + (inside[k] ? byte_of<Bits>(at[k][0]) : 0);
        const Index left = Packed > WHOLE<Bits> ? Packed : p.size - at[k][3];
        store_codes<Bits>(inside[k], to, codes, left < Packed ? static_cast<int>(left) : Packed);
        const int block = (k * THREADS + static_cast<int>(threadIdx.x)) / GROUP;
        store_shared_if(threadIdx.x % GROUP == 0, scales + block, shared.bits);
    }
    barrier();
#pragma unroll
    for (int from = 0; from < BLOCKS; from += THREADS) {
        const int block = from + static_cast<int>(threadIdx.x);
        const Count pack = static_cast<Count>(blockIdx.x) * (COUNT * THREADS) + block * GROUP;
        const bool writes = block < BLOCKS && pack < static_cast<Count>(p.count);
        Index to[4];
        p.walk.offsets(writes ? pack : 0, to);
        uint8_t* const place = static_cast<uint8_t*>(p.scales) + slot_of<Tiled>(p.tiles, to[2]);
        store_if(writes, place, load_shared_if(writes, scales + (writes ? block : 0)));
    }
}

template <class Source, class Element, class Scale, int Bits, bool Tiled, int Rank, class Index>
DEVICE void quantized_columns(const Quantized<Rank, Index>& p) {
    constexpr int SIZE = BLOCK_SIZE<Scale>;
    using Count = Unsigned<Index>;
    const Count number = static_cast<Count>(blockIdx.x) * THREADS + threadIdx.x;
    const bool active = number < static_cast<Count>(p.count);
    const float whole = load_if(p.has_whole != 0, static_cast<const float*>(p.whole));
    Index at[4];
    p.walk.offsets(active ? number : 0, at);
    const Index left = active ? p.size - at[3] : 0;  // elements of the block
    float values[SIZE];
#pragma unroll
    for (int k = 0; k < SIZE; ++k) {
        const Index place = k < left ? at[1] + k * p.step : 0;
        values[k] = as_float(load_if(k < left, static_cast<const Source*>(p.from) + place));
    }
    uint32_t largest = 0;
#pragma unroll
    for (int k = 0; k < SIZE; ++k)
        largest = magnitude(values[k]) > largest ? magnitude(values[k]) : largest;
    const Shared shared = shared_of<Scale>(largest, p.powers, whole, p.largest_element);
    if constexpr (Bits == 4) {
        // A byte has elements of two threads' blocks, so each thread writes half of both blocks.
        constexpr int WORDS = SIZE / 8, HALF = THREADS / 2;
        SHARED(uint32_t, codes, WORDS * THREADS);
        uint32_t words[WORDS] = {};
#pragma unroll
        for (int k = 0; k < SIZE; ++k)
            words[k / 8] |= static_cast<uint32_t>(encoded<Element>(values[k], shared)) << k % 8 * 4;
#pragma unroll
        for (int w = 0; w < WORDS; ++w) store_shared(codes + w * THREADS + threadIdx.x, words[w]);
        barrier();
        const int thread = static_cast<int>(threadIdx.x), pair = thread % HALF * 2, half = thread / HALF;
        const Count others = static_cast<Count>(blockIdx.x) * THREADS + pair;
        const bool writes = others < static_cast<Count>(p.count);
        Index to[4];
        p.walk.offsets(writes ? others : 0, to);
        const Index present = writes ? p.size - to[3] : 0;
#pragma unroll
        for (int w = 0; w < WORDS / 2; ++w) {
            const int word = half * (WORDS / 2) + w;
            const uint32_t* const read = codes + word * THREADS + pair;
            const auto two = load_shared(reinterpret_cast<const Pack<uint32_t, 2>*>(read));
#pragma unroll
            for (int i = 0; i < 8; ++i) {
                const Index k = word * 8 + i;
                const Index place = k < present ? byte_of<4>(to[0] + k * p.data_step) : 0;
                const uint32_t both = (two.at[0] >> 4 * i & 15) | (two.at[1] >> 4 * i & 15) << 4;
                store_if(k < present, static_cast<uint8_t*>(p.data) + place, static_cast<uint8_t>(both));
            }
        }
    } else {
#pragma unroll
        for (int k = 0; k < SIZE; ++k) {
            const Index place = k < left ? at[0] + k * p.data_step : 0;
            const uint8_t code = encoded<Element>(values[k], shared);
            store_if(k < left, static_cast<uint8_t*>(p.data) + place, code);
        }
    }
    const Index place = slot_of<Tiled>(p.tiles, active ? at[2] : 0);
    store_if(active, static_cast<uint8_t*>(p.scales) + place, shared.bits);
}

// ---- And back -----------------------------------------------------------------------------------

template <int Rank, class Index>
struct Dequantized {
    void* to;
    const void* data;
    const void* scales;
    const void* whole;
    Walk<Rank, Index, 4> walk;  // strides of the result, data, scales, and of the place in a line
    Walk<DIGITS, Index, 1> tiles;
    Index count;                // packs
    Index size;                 // of a line
    Index first;                // first slot, counted from the byte that `data` points to
    int32_t has_whole;
};

template <class Element>
DEVICE float decoded(uint8_t bits) {
    if constexpr (is_same<Element, int8_t>) return static_cast<float>(static_cast<int8_t>(bits)) / 64;
    else return Element{bits};
}

template <class Element, class Scale, class Result, int Bits, bool Tiled, int Packed, int Rank, class Index>
DEVICE void dequantized(const Dequantized<Rank, Index>& p) {
    constexpr int COUNT = PER_WALK<Rank>;
    using Count = Unsigned<Index>;
    const Count first = static_cast<Count>(blockIdx.x) * (COUNT * THREADS) + threadIdx.x;
    const float given = load_if(p.has_whole != 0, static_cast<const float*>(p.whole));
    const float whole = p.has_whole ? given : 1.0f;
    Index at[COUNT][4];
    bool inside[COUNT];
    Pack<uint8_t, Packed> codes[COUNT];
    uint8_t scales[COUNT];
#pragma unroll
    for (int k = 0; k < COUNT; ++k) {
        const bool active = first + k * THREADS < static_cast<Count>(p.count);
        p.walk.offsets(active ? first + k * THREADS : 0, at[k]);
        inside[k] = active && at[k][3] < p.size;
        const Index first = Bits == 8 ? 0 : p.first;
        const Index slot = inside[k] ? first + at[k][1] : 0;
        codes[k] = load_codes<Bits, Packed>(inside[k], static_cast<const uint8_t*>(p.data), slot);
        const Index block = slot_of<Tiled>(p.tiles, inside[k] ? at[k][2] : 0);
        scales[k] = load_if(inside[k], static_cast<const uint8_t*>(p.scales) + block);
    }
#pragma unroll
    for (int k = 0; k < COUNT; ++k) {
        const float scale = Scale{scales[k]};
        Pack<Result, Packed> found;
#pragma unroll
        for (int i = 0; i < Packed; ++i)
            found.at[i] = convert<Result>(decoded<Element>(codes[k].at[i]) * scale * whole);
        Result* const to = static_cast<Result*>(p.to) + (inside[k] ? at[k][0] : 0);
        store_if(inside[k], reinterpret_cast<Pack<Result, Packed>*>(to), found);
    }
}

// ---- Kernels ------------------------------------------------------------------------------------

// LONGEST: the number of elements in 16 bytes, or twice the smallest number that fills whole bytes;
// the plan computes it.

#ifdef TENSORLAYOUT_SIMULATOR
#elif defined(RESULT)
SHAPES(WITH RESULT, RANK = 2 4 0, INDEX = int32_t int64_t, PACK = 1 LONGEST)
KERNEL(dequantize, Dequantized<RANK, INDEX>) { dequantized<ELEMENT, SCALE, RESULT, BITS, TILED, PACK>(p); }
#elif defined(PACK)
SHAPES(WITH SOURCE, WHERE BITS != 6, RANK = 2 4 0, INDEX = int32_t int64_t, PACK = 8/BITS LONGEST)
SHAPES(WITH SOURCE, WHERE BITS == 6, RANK = 2 4 0, INDEX = int32_t int64_t, PACK = 4 LONGEST)
BLOCK_KERNEL(quantize_rows, Quantized<RANK, INDEX>) {
    quantized_rows<SOURCE, ELEMENT, SCALE, BITS, TILED, PACK>(p);
}
#else
SHAPES(WITH SOURCE, WHERE BITS != 6, RANK = 2 4 0, INDEX = int32_t int64_t)
BLOCK_KERNEL(quantize_columns, Quantized<RANK, INDEX>) {
    quantized_columns<SOURCE, ELEMENT, SCALE, BITS, TILED>(p);
}
#endif
