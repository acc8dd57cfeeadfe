// Copies from and to slots of fewer bits than a byte, packed low bits first. An element of the other side
// is a byte, whose low bits count; or, where both are packed, a slot of as many bits.
//
// pack_flat        One run on both sides: 16 elements a thread, read 16 bytes wide and written as the bytes
//                  they are packed to: 2, 4 or 8, and three words of 4 for slots of 6 bits. Coalesced on
//                  both sides; worst: 6 bits, whose words lie 12 bytes apart, so that three stores of a
//                  warp touch the same sectors.
// unpack_flat      The other way.
// pack_elements    From any layout into one that covers its block: a thread composes whole words of the
//                  destination, slot by slot, and writes the padding among them. Coalesced in the
//                  destination, and in the source where the fastest digit is contiguous there: then
//                  up to 16 elements are read at once. Worst: a source in another order, one sector for
//                  each element.
// unpack_elements  From any layout into any, in the destination's order, 4 elements a thread, 256 threads
//                  apart. Coalesced in the destination; worst as before.
//
// Bytes moved per element: its own, once on each side. No two threads write to one byte.
#include "bounded.cuh"
#include "padding.cuh"

// ---- One run ------------------------------------------------------------------------------------

// Elements that a thread moves.
constexpr int RUN = 16;

struct FlatSlots {
    void* to;
    const void* from;
    int64_t runs;   // of 16 elements
    int32_t tail;   // elements behind the last run
    uint32_t kept;  // bits of the last byte packed to that are another's
};

// Four numbers of so many bits, from bytes to side by side and back, halving by halving.
template <int Bits> DEVICE uint32_t together(uint32_t octets) {
    constexpr uint32_t low = ((1u << Bits) - 1) * 0x00010001u;
    const uint32_t pairs = (octets & low) | (octets >> (8 - Bits) & low << Bits);
    return (pairs & 0xFFFF) | pairs >> 16 << 2 * Bits;
}
template <int Bits> DEVICE uint32_t apart(uint32_t numbers) {
    constexpr uint32_t low = ((1u << Bits) - 1) * 0x00010001u;
    constexpr uint32_t both = (1u << 2 * Bits) - 1;
    const uint32_t pairs = (numbers & both) | (numbers >> 2 * Bits & both) << 16;
    return (pairs & low) | (pairs & low << Bits) << (8 - Bits);
}

// What 16 numbers are packed to: a word, or three.
template <int Bits> struct Packed { using Word = uint16_t; static constexpr int words = 1; };
template <> struct Packed<2> { using Word = uint32_t; static constexpr int words = 1; };
template <> struct Packed<4> { using Word = uint64_t; static constexpr int words = 1; };
template <> struct Packed<6> { using Word = uint32_t; static constexpr int words = 3; };

using Run = Pack<uint32_t, 4>;

template <int Bits> DEVICE void pack_flat_of(const FlatSlots& p) {
    using Word = typename Packed<Bits>::Word;
    constexpr int words = Packed<Bits>::words;
    const int64_t run = static_cast<int64_t>(blockIdx.x) * THREADS + threadIdx.x;
    const bool whole = run < p.runs;
    const Run octets = load_if(whole, static_cast<const Run*>(p.from) + run);
    uint64_t parts[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) parts[k] = together<Bits>(octets.at[k]);
    Word* const to = static_cast<Word*>(p.to) + run * words;
    if constexpr (words == 1) {
        const uint64_t all = parts[0] | parts[1] << 4 * Bits | parts[2] << 8 * Bits
                             | parts[3] << 12 * Bits;
        store_if(whole, to, static_cast<Word>(all));
    } else {
        store_if(whole, to, static_cast<Word>(parts[0] | parts[1] << 24));
        store_if(whole, to + 1, static_cast<Word>(parts[1] >> 8 | parts[2] << 16));
        store_if(whole, to + 2, static_cast<Word>(parts[2] >> 16 | parts[3] << 8));
    }
    if (run != p.runs || p.tail == 0) return;
    // The one thread behind the runs.
    const uint8_t* const from = static_cast<const uint8_t*>(p.from) + run * RUN;
    uint8_t* const rest = static_cast<uint8_t*>(p.to) + run * (2 * Bits);
    uint32_t held = 0;
    int filled = 0, at = 0;
    for (int k = 0; k < p.tail; ++k) {
        held |= (load(from + k) & ((1u << Bits) - 1)) << filled;
        filled += Bits;
        if (filled < 8) continue;
        store(rest + at++, static_cast<uint8_t>(held));
        held >>= 8;
        filled -= 8;
    }
    if (filled) {
        if (p.kept) held |= load(rest + at) & p.kept;
        store(rest + at, static_cast<uint8_t>(held));
    }
}

template <int Bits> DEVICE void unpack_flat_of(const FlatSlots& p) {
    using Word = typename Packed<Bits>::Word;
    constexpr int words = Packed<Bits>::words;
    const int64_t run = static_cast<int64_t>(blockIdx.x) * THREADS + threadIdx.x;
    const bool whole = run < p.runs;
    const Word* const from = static_cast<const Word*>(p.from) + run * words;
    Run octets;
    if constexpr (words == 1) {
        const uint64_t all = load_if(whole, from);
#pragma unroll
        for (int k = 0; k < 4; ++k)
            octets.at[k] = apart<Bits>(static_cast<uint32_t>(all >> 4 * Bits * k));
    } else {
        const uint32_t one = load_if(whole, from);
        const uint32_t two = load_if(whole, from + 1);
        const uint32_t three = load_if(whole, from + 2);
        octets.at[0] = apart<Bits>(one);
        octets.at[1] = apart<Bits>(one >> 24 | two << 8);
        octets.at[2] = apart<Bits>(two >> 16 | three << 16);
        octets.at[3] = apart<Bits>(three >> 8);
    }
    store_if(whole, static_cast<Run*>(p.to) + run, octets);
    if (run != p.runs) return;
    const uint8_t* const rest = static_cast<const uint8_t*>(p.from) + run * (2 * Bits);
    uint32_t held = 0;
    int filled = 0, at = 0;
    for (int k = 0; k < p.tail; ++k) {
        if (filled < Bits) {
            held |= static_cast<uint32_t>(load(rest + at++)) << filled;
            filled += 8;
        }
        store(static_cast<uint8_t*>(p.to) + run * RUN + k,
              static_cast<uint8_t>(held & ((1u << Bits) - 1)));
        held >>= Bits;
        filled -= Bits;
    }
}

// ---- Any layouts --------------------------------------------------------------------------------

// The number in a slot; of 8 bits the whole byte. Eight slots take as many bytes as a slot has bits.
template <class Index> DEVICE uint32_t number_in(const void* from, Index slot, int bits, bool active) {
    const uint8_t* const at = static_cast<const uint8_t*>(from) + (slot >> 3) * bits
                              + ((static_cast<int>(slot & 7) * bits) >> 3);
    const int shift = static_cast<int>(slot & 7) * bits & 7;
    uint32_t octets = load_if(active, at);
    octets |= static_cast<uint32_t>(load_if(active && shift + bits > 8, at + 1)) << 8;
    return octets >> shift & ((1u << bits) - 1);
}

template <class Index>
struct PackElements {
    void* to;
    const void* from;
    BoundedWalk<Index, 2> walk;  // in the order of the destination's slots
    Index slots, octets;         // of the destination
    Index first;                 // the slot of the source that the walk begins with
    int32_t bits, from_bits;     // of a slot
    int32_t per;                 // slots that a thread fills: whole words
    uint32_t padding;            // what a slot of padding holds
    uint32_t kept;               // bits of the last byte that are another's
};

// Bytes of a word, the last ones only as many as there are.
template <int Word, class Index>
DEVICE void store_octets(const PackElements<Index>& p, Unsigned<Index> at, uint32_t octets) {
    using Count = Unsigned<Index>;
    const Count end = static_cast<Count>(p.octets);
    uint8_t* const to = static_cast<uint8_t*>(p.to);
    if (p.kept && at < end && at + Word >= end)
        octets |= (load(to + (end - 1)) & p.kept) << 8 * static_cast<int>(end - 1 - at);
    const bool whole = at + Word <= end;
    store_if(whole, static_cast<Bits<Word>*>(p.to) + at / Word, static_cast<Bits<Word>>(octets));
    if constexpr (Word > 1)
        for (int k = 0; k < Word; ++k)
            store_if(!whole && at + k < end, to + (at + k), static_cast<uint8_t>(octets >> 8 * k));
}

template <class Index, int Word, int Wide>
DEVICE void pack_elements_of(const PackElements<Index>& p) {
    using Count = Unsigned<Index>;
    const Count thread = static_cast<Count>(blockIdx.x) * THREADS + threadIdx.x;
    const Count first = thread * p.per, slots = static_cast<Count>(p.slots);
    Count octet = thread * (p.per * p.bits / 8);
    uint64_t held = 0;
    int filled = 0;
    for (int k = 0; k < p.per; k += Wide) {
        const bool inside = first + k < slots;
        Index at[2];
        const Standing standing = p.walk.find(inside ? (first + k) / Wide : 0, at);
        const bool read = inside && standing == AN_ELEMENT;
        Pack<uint8_t, Wide> numbers;
        if constexpr (Wide == 1)
            numbers.at[0] = static_cast<uint8_t>(number_in(p.from, p.first + at[1], p.from_bits, read));
        else numbers = load_if(read, reinterpret_cast<const Pack<uint8_t, Wide>*>(
                                   static_cast<const uint8_t*>(p.from) + p.first) + at[1]);
#pragma unroll
        for (int n = 0; n < Wide; ++n) {
            uint64_t number = numbers.at[n];
            if (!read) number = inside && standing == IN_PADDING ? p.padding : 0;
            held |= (number & ((1u << p.bits) - 1)) << filled;
            filled += p.bits;
            if (filled < 8 * Word) continue;  // the same in all threads
            store_octets<Word>(p, octet, static_cast<uint32_t>(held));
            octet += Word;
            held >>= 8 * Word;
            filled -= 8 * Word;
        }
    }
}

constexpr int PER_THREAD = 4;

template <class Index>
struct UnpackElements {
    void* to;
    const void* from;
    Padding padding;  // of a strided destination
    BoundedWalk<Index, 2> walk;
    Index count;
    Index first;
    int32_t bits;
    uint32_t filler;  // what a slot of padding among the elements holds
};

template <class Index>
DEVICE void unpack_elements_of(const UnpackElements<Index>& p) {
    if (write_padding(p.padding, p.to)) return;
    using Count = Unsigned<Index>;
    const Count first = static_cast<Count>(blockIdx.x) * (PER_THREAD * THREADS) + threadIdx.x;
    Index at[PER_THREAD][2];
    Standing standing[PER_THREAD];
    uint32_t numbers[PER_THREAD];
#pragma unroll
    for (int k = 0; k < PER_THREAD; ++k) {
        const bool inside = first + k * THREADS < static_cast<Count>(p.count);
        standing[k] = p.walk.find(inside ? first + k * THREADS : 0, at[k]);
        if (!inside) standing[k] = NOWHERE;
        const bool read = standing[k] == AN_ELEMENT;
        numbers[k] = number_in(p.from, p.first + at[k][1], p.bits, read);
    }
#pragma unroll
    for (int k = 0; k < PER_THREAD; ++k) {
        if (standing[k] == IN_PADDING) numbers[k] = p.filler;
        uint8_t* const to = static_cast<uint8_t*>(p.to) + at[k][0];
        store_if(standing[k] != NOWHERE, to, static_cast<uint8_t>(numbers[k]));
    }
}

// ---- Kernels ------------------------------------------------------------------------------------

#ifdef TENSORLAYOUT_SIMULATOR
#elif defined(PACKED)
SHAPES(PACKED = 1 2 4 6)
KERNEL(pack_flat, FlatSlots) { pack_flat_of<PACKED>(p); }
#elif defined(UNPACKED)
SHAPES(UNPACKED = 1 2 4 6)
KERNEL(unpack_flat, FlatSlots) { unpack_flat_of<UNPACKED>(p); }
#elif defined(WORD)
SHAPES(INDEX = int32_t int64_t, WORD = 1 4, WIDE = 1)
SHAPES(INDEX = int32_t int64_t, WORD = 4, WIDE = 4 8 16)
KERNEL(pack_elements, PackElements<INDEX>) { pack_elements_of<INDEX, WORD, WIDE>(p); }
#else
SHAPES(INDEX = int32_t int64_t)
KERNEL(unpack_elements, UnpackElements<INDEX>) { unpack_elements_of<INDEX>(p); }
#endif
