// Writes one bit pattern of 1 to 16 bytes to every element of a layout. The plan has merged
// dimensions, made strides positive, and fused contiguous runs into elements as wide as possible.
//
// fill_flat     Fills one run of bytes. Consecutive threads write consecutive packs of 16 bytes, 4
//               per thread, 256 packs apart. The first block also writes the bytes before the
//               first multiple of 16 and after the last one. Coalesced at any address.
// fill_strided  Fills elements of any strides in the order of memory, 4 per thread, 256 elements
//               apart. Coalesced if the fastest dimension is contiguous; 16 bytes per thread if
//               rows are aligned.
//
// Bytes moved per element: its own, once. Additional blocks write padding (padding.cuh); a launch
// without elements writes only padding.
#include "padding.cuh"

constexpr int PER_THREAD = 4;

// ---- Flat ---------------------------------------------------------------------------------------

struct FlatFill {
    void* to;
    uint64_t bits[2];  // repeated to 16 bytes
    Padding padding;
    int64_t bytes;
};

DEVICE uint8_t byte_of(const uint64_t (&bits)[2], uint32_t at) {
    return static_cast<uint8_t>((at & 8 ? bits[1] : bits[0]) >> (at & 7) * 8);
}

// Returns 16 bytes of the repeating pattern, from byte `first` on.
DEVICE Bits<16> from_byte(const uint64_t (&bits)[2], uint32_t first) {
    const uint64_t low = first & 8 ? bits[1] : bits[0], high = first & 8 ? bits[0] : bits[1];
    const uint32_t shift = (first & 7) * 8;
    if (shift == 0) return {{low, high}};
    return {{low >> shift | high << (64 - shift), high >> shift | low << (64 - shift)}};
}

DEVICE void flat(const FlatFill& p) {
    if (write_padding(p.padding, p.to)) return;
    uint8_t* const to = static_cast<uint8_t*>(p.to);
    const int64_t until_aligned = -reinterpret_cast<int64_t>(p.to) & 15;
    const int64_t head = until_aligned < p.bytes ? until_aligned : p.bytes;
    const int64_t packs = (p.bytes - head) / 16;
    const Bits<16> pack = from_byte(p.bits, static_cast<uint32_t>(head));
    Bits<16>* const packed = reinterpret_cast<Bits<16>*>(to + head);
    const int64_t first = static_cast<int64_t>(blockIdx.x) * (PER_THREAD * THREADS) + threadIdx.x;
#pragma unroll
    for (int k = 0; k < PER_THREAD; ++k)
        store_if(first + k * THREADS < packs, packed + (first + k * THREADS), pack);
    if (blockIdx.x != 0) return;
    if (threadIdx.x < head) store(to + threadIdx.x, byte_of(p.bits, threadIdx.x));
    const int64_t rest = head + packs * 16 + threadIdx.x;
    if (rest < p.bytes) store(to + rest, byte_of(p.bits, static_cast<uint32_t>(rest & 15)));
}

// ---- Strided ------------------------------------------------------------------------------------

template <int Rank, class Index>
struct StridedFill {
    void* to;
    uint64_t bits[2];
    Padding padding;
    Index count;
    Walk<Rank, Index, 1> walk;  // strides in units of WIDTH
};

template <int Rank, class Index, int Width>
DEVICE void strided(const StridedFill<Rank, Index>& p) {
    if (write_padding(p.padding, p.to)) return;
    using Count = Unsigned<Index>;
    const Bits<Width> value = low_bits<Width>(p.bits);
    const Count first = static_cast<Count>(blockIdx.x) * (PER_THREAD * THREADS) + threadIdx.x;
#pragma unroll
    for (int k = 0; k < PER_THREAD; ++k) {
        const bool inside = first + k * THREADS < static_cast<Count>(p.count);
        Index at[1];
        p.walk.offsets(inside ? first + k * THREADS : 0, at);
        store_if(inside, static_cast<Bits<Width>*>(p.to) + at[0], value);
    }
}

// ---- Kernels ------------------------------------------------------------------------------------

#ifdef TENSORLAYOUT_SIMULATOR
#elif defined(RANK)
SHAPES(RANK = 1 2 3 4 0, INDEX = int32_t int64_t, WIDTH = 1 2 4 8 16)
KERNEL(fill_strided, StridedFill<RANK, INDEX>) { strided<RANK, INDEX, WIDTH>(p); }
#else
SHAPES()
KERNEL(fill_flat, FlatFill) { flat(p); }
#endif
