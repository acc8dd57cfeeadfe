// Copies from and to slots of fewer bits than a byte, packed low bits first. An element of the
// other side is a byte, of which only the low bits count; where both sides are packed, it is a slot
// of as many bits.
//
// pack_flat        One run on both sides. Each thread reads 16 elements with one access of 16
//                  bytes, and writes their packed bytes: 2, 4 or 8, or three words of 4 bytes for
//                  slots of 6 bits. Coalesced on both sides. Worst: 6 bits, whose words are 12
//                  bytes apart, so that three stores of a warp touch the same sectors.
// unpack_flat      The reverse of pack_flat.
// pack_elements    From any layout into one that covers its block. Each thread composes whole words
//                  of the destination, slot by slot, and writes the padding among them. Coalesced
//                  in the destination. Coalesced in the source where its fastest digit is
//                  contiguous; up to 8 elements are then read at once. Worst: a source in another
//                  order, which reads one sector per element.
// unpack_elements  From any layout into any, in the destination's order, 4 elements a thread, 256
//                  elements apart. Coalesced in the destination. Worst: as pack_elements.
//
// pack_runs        For layouts in which 16 slots of the destination always hold 16 elements of a
//                  run of the source, or the end of a run and padding. A thread reads the 16
//                  elements at once; if they begin inside a word of 16 bytes, it reads two words.
//                  Coalesced in the destination. Worst: unaligned rows, of which every byte is read
//                  twice.
// unpack_runs      Into one block without padding, where the source has runs. Each thread collects
//                  16 elements from as many runs as they are in, and stores them at once. Coalesced
//                  in the destination, and in the source where its runs are as long and aligned.
//                  Worst: runs that begin within the elements of a thread, because the thread
//                  searches for each.
//
// Bytes moved per element: its own, once on each side. No two threads write to one byte.
#ifdef UNPACKED_RUN
#define LEAST_BLOCKS 4  // without it, NVRTC 13.5 spills on sm_120 to fit five
#endif
#include "bounded.cuh"
#include "padding.cuh"

// ---- One run ------------------------------------------------------------------------------------

// The 16 elements that a thread moves.
using Run = Pack<uint32_t, 4>;

struct FlatSlots {
    void* to;
    const void* from;
    int64_t runs;   // of 16 elements
    int32_t tail;   // elements after the last run
    uint32_t kept;  // mask of the bits that the last packed byte must keep
};

// `together` packs four numbers of `Bits` bits from bytes into adjacent bits, and `apart` unpacks
// them. Both take two steps: bytes to pairs, and pairs to all four.
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

// Packed form of 16 numbers: one word, or three.
template <int Bits> struct Packed { using Word = uint16_t; static constexpr int words = 1; };
template <> struct Packed<2> { using Word = uint32_t; static constexpr int words = 1; };
template <> struct Packed<4> { using Word = uint64_t; static constexpr int words = 1; };
template <> struct Packed<6> { using Word = uint32_t; static constexpr int words = 3; };

// Packs a run and stores it.
template <int Bits>
DEVICE void store_packed(void* packed, int64_t run, bool active, const Run& octets) {
    using Word = typename Packed<Bits>::Word;
    constexpr int words = Packed<Bits>::words;
    uint64_t parts[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) parts[k] = together<Bits>(octets.at[k]);
    Word* const to = static_cast<Word*>(packed) + run * words;
    if constexpr (words == 1) {
        const uint64_t all = parts[0] | parts[1] << 4 * Bits | parts[2] << 8 * Bits
                             | parts[3] << 12 * Bits;
        store_if(active, to, static_cast<Word>(all));
    } else {
        store_if(active, to, static_cast<Word>(parts[0] | parts[1] << 24));
        store_if(active, to + 1, static_cast<Word>(parts[1] >> 8 | parts[2] << 16));
        store_if(active, to + 2, static_cast<Word>(parts[2] >> 16 | parts[3] << 8));
    }
}

template <int Bits> DEVICE void pack_flat_of(const FlatSlots& p) {
    const int64_t run = static_cast<int64_t>(blockIdx.x) * THREADS + threadIdx.x;
    const bool whole = run < p.runs;
    store_packed<Bits>(p.to, run, whole, load_if(whole, static_cast<const Run*>(p.from) + run));
    if (run != p.runs || p.tail == 0) return;
    // The one thread after the last run packs the tail.
    const uint8_t* const from = static_cast<const uint8_t*>(p.from) + run * sizeof(Run);
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
        store(static_cast<uint8_t*>(p.to) + run * sizeof(Run) + k,
              static_cast<uint8_t>(held & ((1u << Bits) - 1)));
        held >>= Bits;
        filled -= Bits;
    }
}

// ---- Any layouts --------------------------------------------------------------------------------

// Returns the number in a slot; a slot of 8 bits is a whole byte. Eight slots take `bits` bytes.
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
    int32_t per;                 // slots that a thread fills; they make whole words
    uint32_t padding;            // value of a slot of padding
    uint32_t kept;               // mask of the bits that the last byte must keep
};

// Stores the bytes of a word; of the last word, only those before the destination's end.
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
            if (filled < 8 * Word) continue;  // uniform: the same in all threads
            store_octets<Word>(p, octet, static_cast<uint32_t>(held));
            octet += Word;
            held >>= 8 * Word;
            filled -= 8 * Word;
        }
    }
}

template <class Index>
struct UnpackElements {
    void* to;
    const void* from;
    Padding padding;  // of a strided destination
    BoundedWalk<Index, 2> walk;
    Index count;
    Index first;
    int32_t bits;
    uint32_t filler;  // value of a slot of padding among the elements
};

template <class Index>
DEVICE void unpack_elements_of(const UnpackElements<Index>& p) {
    if (write_padding(p.padding, p.to)) return;
    constexpr int PER_THREAD = 4;
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

// ---- Runs of elements ---------------------------------------------------------------------------

// Returns 64 bits of two consecutive words, from bit `shift` on; `shift` is less than 64. Two
// shifts to the left avoid a shift by 64, which is undefined.
DEVICE uint64_t funnel(uint64_t low, uint64_t high, int shift) {
    return low >> shift | high << 1 << (63 - shift);
}

// Loads a word of memory; if the last word is incomplete, loads its bytes one by one.
template <int Width, class Index>
DEVICE Bits<16> word_in(const void* from, Index octets, Index word, bool active) {
    using Count = Unsigned<Index>;
    const Count first = static_cast<Count>(word) * Width, end = static_cast<Count>(octets);
    const bool whole = active && first + Width <= end;
    Bits<16> found{};
    if constexpr (Width == 16) found = load_if(whole, static_cast<const Bits<16>*>(from) + word);
    else found.at[0] = load_if(whole, static_cast<const Bits<Width>*>(from) + word);
    if (active && !whole) {
#pragma unroll
        for (int k = 0; k < Width; ++k) {
            const uint8_t* const at = static_cast<const uint8_t*>(from) + (first + k);
            found.at[k / 8] |= static_cast<uint64_t>(load_if(first + k < end, at)) << k % 8 * 8;
        }
    }
    return found;
}

template <class Index>
struct PackRuns {
    void* to;
    const void* from;
    BoundedWalk<Index, 2> walk;  // in the order of the destination's slots
    Index runs;
    Index octets;      // of the source
    Index first;       // the slot of the source that the walk begins with
    int32_t tails;     // 1 if any dimension has a tail
    int32_t along;     // index of the bound along which runs go, or -1
    uint32_t padding;  // value of slots of padding, in each byte
};

template <class Index, int Bits>
DEVICE void pack_runs_of(const PackRuns<Index>& p) {
    using Count = Unsigned<Index>;
    const Count run = static_cast<Count>(blockIdx.x) * THREADS + threadIdx.x;
    const bool inside = run < static_cast<Count>(p.runs);
    Index at[2];
    int32_t index[MOST_BOUNDS];
    p.walk.place(inside ? run * 16 : 0, at, index, p.tails);
    int elements = inside ? 16 : 0;
    if (p.tails) {
#pragma unroll
        for (int b = 0; b < MOST_BOUNDS; ++b) {
            const int32_t left = p.walk.bounds.size[b] - index[b];
            if (left < (b == p.along ? elements : 1)) elements = left < 0 ? 0 : left;
        }
    }
    const Index begin = p.first + at[1];
    const int ahead = static_cast<int>(begin & 15);
    const ::Bits<16> low = word_in<16>(p.from, p.octets, begin >> 4, elements > 0);
    const ::Bits<16> high = word_in<16>(p.from, p.octets, (begin >> 4) + 1, ahead + elements > 16);
    uint64_t halves[2] = {low.at[0], low.at[1]};
    if (ahead) {
        const bool later = ahead & 8;
        const int shift = (ahead & 7) * 8;
        const uint64_t middle = later ? high.at[0] : low.at[1];
        halves[0] = funnel(later ? low.at[1] : low.at[0], middle, shift);
        halves[1] = funnel(middle, later ? high.at[1] : high.at[0], shift);
    }
    Run octets;
#pragma unroll
    for (int k = 0; k < 4; ++k) octets.at[k] = static_cast<uint32_t>(halves[k / 2] >> k % 2 * 32);
    if (elements < 16) {
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            const int kept = elements - 4 * k;
            const uint32_t padding = kept >= 4 ? 0 : kept <= 0 ? ~0u : ~0u << 8 * kept;
            octets.at[k] = (octets.at[k] & ~padding) | (p.padding & padding);
        }
    }
    store_packed<Bits>(p.to, run, inside, octets);
}

// Steps that split the number of an element in a block without padding into digits, the fastest
// first. For a dimension with a tail, TO_INDEX first separates its index from the number; after its
// digits, LAST_DIGIT continues with the rest of the number.
enum SplitStep { NEXT_DIGIT, TO_INDEX, LAST_DIGIT };

template <class Index>
struct SplitWalk {
    Divisor<Index> row, run;  // the fastest dimension, if it has a tail, and its fastest digit
    Divisor<Index> size[MOST_DIGITS];
    Index stride[MOST_DIGITS];
    int32_t step[MOST_DIGITS];
    int32_t steps;
    int32_t tail;  // 1 if the fastest dimension has a tail

    // Sets `at` to the place of an element; returns the number of elements from it to the end of
    // its run.
    DEVICE Unsigned<Index> find(Unsigned<Index> number, Index& at) const {
        using Count = Unsigned<Index>;
        Count outer = 0, left = run.divisor;
        if (tail) {
            outer = row.divide(number);
            number -= outer * row.divisor;
            left = row.divisor - number;
        }
        Count rest = run.divide(number);
        const Count along = number - rest * run.divisor;
        left = run.divisor - along < left ? run.divisor - along : left;
        at = static_cast<Index>(along);
        for (int d = 0; d < steps; ++d) {
            if (step[d] == LAST_DIGIT) {
                at += static_cast<Index>(rest) * stride[d];
                rest = outer;
            } else {
                const Count slower = size[d].divide(rest);
                const Count digit = rest - slower * size[d].divisor;
                at += static_cast<Index>(digit) * stride[d];  // the stride of TO_INDEX is 0
                outer = step[d] == TO_INDEX ? slower : outer;
                rest = step[d] == TO_INDEX ? digit : slower;
            }
        }
        return left;
    }
};

template <class Index>
struct UnpackRuns {
    void* to;
    const void* from;
    SplitWalk<Index> walk;
    Index count;
    Index octets;  // of the source
    Index first;   // the slot of the source that the walk begins with
};

// Count of numbers that `numbers_in` extracts from two words of the source; bytes of a word.
template <int Bits> constexpr int NUMBERS = Bits == 6 ? 8 : 16;
template <int Bits> constexpr int WORD_OF = Bits == 6 ? 8 : 2 * Bits;

// Extracts NUMBERS adjacent numbers, from a slot on. Those from `begin` to `end` are valid; the
// others are 0.
template <int Bits, class Index>
DEVICE uint64_t numbers_in(const UnpackRuns<Index>& p, Index slot, int begin, int end) {
    constexpr int width = WORD_OF<Bits>;
    const int past = static_cast<int>(slot & 7) * Bits;
    const Index octet = (slot >> 3) * Bits + (past >> 3);
    const int shift = static_cast<int>(octet & (width - 1)) * 8 + (past & 7);
    const Index word = (octet - (octet & (width - 1))) / width;
    const bool first = begin < end && shift + begin * Bits < 8 * width;
    const bool second = begin < end && shift + end * Bits > 8 * width;
    const uint64_t low = word_in<width>(p.from, p.octets, word, first).at[0];
    const uint64_t high = word_in<width>(p.from, p.octets, word + 1, second).at[0];
    const uint64_t mask = begin < end ? ~uint64_t{0} >> (64 - (end - begin) * Bits) << begin * Bits : 0;
    return mask & (width == 8 ? funnel(low, high, shift) : (low | high << 8 * width % 64) >> shift);
}

DEVICE int between(int number, int least, int most) {
    return number < least ? least : number > most ? most : number;
}

template <class Index, int Bits>
DEVICE void unpack_runs_of(const UnpackRuns<Index>& p) {
    constexpr int numbers = NUMBERS<Bits>, parts = 16 / numbers;
    using Count = Unsigned<Index>;
    const Count run = static_cast<Count>(blockIdx.x) * THREADS + threadIdx.x;
    const Count first = run * 16, count = static_cast<Count>(p.count);
    const int end = first >= count ? 0 : count - first < 16 ? static_cast<int>(count - first) : 16;
    uint64_t held[parts] = {};
    for (int done = 0; done < end;) {
        Index at;
        const Count left = p.walk.find(first + done, at);
        const int next = left < static_cast<Count>(end - done) ? done + static_cast<int>(left) : end;
#pragma unroll
        for (int k = 0; k < parts; ++k)
            held[k] |= numbers_in<Bits>(p, p.first + at - done + k * numbers,
                                        between(done - k * numbers, 0, numbers),
                                        between(next - k * numbers, 0, numbers));
        done = next;
    }
    Run octets;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        const uint64_t part = held[4 * k / numbers];
        octets.at[k] = apart<Bits>(static_cast<uint32_t>(part >> 4 * k % numbers * Bits));
    }
    store_if(end == 16, static_cast<Run*>(p.to) + run, octets);
    if (end == 16) return;
#pragma unroll
    for (int k = 0; k < 16; ++k)
        store_if(k < end, static_cast<uint8_t*>(p.to) + (first + k),
                 static_cast<uint8_t>(octets.at[k / 4] >> k % 4 * 8));
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
SHAPES(INDEX = int32_t int64_t, WORD = 4, WIDE = 4 8)
KERNEL(pack_elements, PackElements<INDEX>) { pack_elements_of<INDEX, WORD, WIDE>(p); }
#elif defined(PACKED_RUN)
SHAPES(INDEX = int32_t int64_t, PACKED_RUN = 1 2 4 6)
KERNEL(pack_runs, PackRuns<INDEX>) { pack_runs_of<INDEX, PACKED_RUN>(p); }
#elif defined(UNPACKED_RUN)
SHAPES(INDEX = int32_t int64_t, UNPACKED_RUN = 1 2 4 6)
KERNEL(unpack_runs, UnpackRuns<INDEX>) { unpack_runs_of<INDEX, UNPACKED_RUN>(p); }
#else
SHAPES(INDEX = int32_t int64_t)
KERNEL(unpack_elements, UnpackElements<INDEX>) { unpack_elements_of<INDEX>(p); }
#endif
