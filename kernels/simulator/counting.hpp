// Counting of accesses by whole warps. The lanes of a warp are matched by call site and by how
// often each thread has passed it.
#pragma once

#include "launch.hpp"

namespace simulator {

struct Access {
    Kind kind;
    uint64_t address;
    uint32_t bytes, alignment;
    Place place;
    Manner manner;
    const void* value;  // of a store that others repeat, else null
};

struct WarpAccess {
    uint32_t lanes;
    uint64_t address[32];
};

constexpr uint32_t WARPS = (THREADS + 31) / 32, SITES = 512;

struct Site {
    Place place;  // file: null if free
    Kind kind;
    uint32_t bytes;
    uint32_t passes, capacity;
    uint32_t thread_passes[THREADS];
    WarpAccess* warps;  // [pass][warp]
};

static Site sites[SITES];

// Where this thread's next access at a place belongs: one of its warp.
static WarpAccess& next_access(const Access& a) {
    uint32_t slot = (a.place.line * 31u + a.kind * 7u + a.bytes) % SITES;
    for (uint32_t tried = 0;; ++tried, slot = (slot + 1) % SITES) {
        Site& site = sites[slot];
        if (!site.place.file) {
            site.place = a.place;
            site.kind = a.kind;
            site.bytes = a.bytes;
        }
        if (site.place.line == a.place.line && site.kind == a.kind && site.bytes == a.bytes &&
            site.place.file == a.place.file)
            break;
        if (tried == SITES) {
            report("accesses at more than %u places: too many to count", SITES);
            leave();
        }
    }
    Site& site = sites[slot];
    const uint32_t pass = site.thread_passes[threadIdx.x]++;
    if (pass >= site.passes) site.passes = pass + 1;
    if (pass >= site.capacity) {
        const uint32_t more = site.capacity ? 2 * site.capacity : 8;
        const size_t size = WARPS * sizeof(WarpAccess);
        void* grown = realloc(site.warps, more * size);
        if (!grown) {
            report("no memory to count %u passes", more);
            leave();
        }
        site.warps = static_cast<WarpAccess*>(grown);
        memset(site.warps + site.capacity * WARPS, 0, (more - site.capacity) * size);
        site.capacity = more;
    }
    return site.warps[pass * WARPS + threadIdx.x / 32];
}

static void count(const Access& a) {
    WarpAccess& warp = next_access(a);
    warp.lanes |= 1u << threadIdx.x % 32;
    warp.address[threadIdx.x % 32] = a.address;
}

static void sort(uint64_t* values, int n) {  // by insertion: nearly always in order already
    for (int i = 1; i < n; ++i)
        for (int j = i; j > 0 && values[j - 1] > values[j]; --j) {
            const uint64_t swapped = values[j];
            values[j] = values[j - 1];
            values[j - 1] = swapped;
        }
}

// Distinct sectors against what the distinct bytes would fill.
static void tally_global(Tally& tally, const uint64_t* addresses, int n, uint32_t bytes) {
    uint64_t distinct = 0, sectors = 0, sector_end = 0;
    for (int i = 0; i < n; ++i) {
        if (i && addresses[i] == addresses[i - 1]) continue;
        ++distinct;
        const uint64_t first = addresses[i] / 32, last = (addresses[i] + bytes - 1) / 32;
        const uint64_t from = first < sector_end ? sector_end : first;
        if (last + 1 > from) sectors += last + 1 - from, sector_end = last + 1;
    }
    tally.units += sectors;
    tally.ideal += (distinct * bytes + 31) / 32;
}

// 32 banks of 4 bytes; 8-byte accesses go by half warps, 16-byte ones by quarters. A wavefront
// brings one word of each bank, to all lanes that want it.
static void tally_shared(Tally& tally, const WarpAccess& warp, uint32_t bytes) {
    const int lanes = bytes <= 4 ? 32 : bytes <= 8 ? 16 : 8;
    for (int first = 0; first < 32; first += lanes) {
        uint64_t words[32];
        int n = 0;
        for (int lane = first; lane < first + lanes; ++lane)
            if (warp.lanes >> lane & 1)
                for (uint32_t at = 0; at < bytes; at += 4)
                    words[n++] = (warp.address[lane] + at) / 4;
        if (n == 0) continue;
        sort(words, n);
        uint32_t per_bank[32] = {}, most = 0, distinct = 0;
        for (int i = 0; i < n; ++i) {
            if (i && words[i] == words[i - 1]) continue;
            ++distinct;
            const uint32_t here = ++per_bank[words[i] % 32];
            if (here > most) most = here;
        }
        tally.units += most;
        tally.ideal += (distinct + 31) / 32;
    }
}

static void tally_block() {
    for (Site& site : sites) {
        for (uint32_t i = 0; i < site.passes * WARPS; ++i) {
            WarpAccess& warp = site.warps[i];
            if (!warp.lanes) continue;
            uint64_t addresses[32];
            int n = 0;
            for (int lane = 0; lane < 32; ++lane)
                if (warp.lanes >> lane & 1) addresses[n++] = warp.address[lane];
            Tally& tally = launch->tallies[site.kind];
            tally.accesses += 1;
            tally.lanes += n;
            tally.bytes += static_cast<uint64_t>(n) * site.bytes;
            if (site.kind == LOAD || site.kind == STORE) {
                sort(addresses, n);
                tally_global(tally, addresses, n, site.bytes);
            } else {
                tally_shared(tally, warp, site.bytes);
            }
            warp.lanes = 0;
        }
        if (site.passes) memset(site.thread_passes, 0, sizeof site.thread_passes);
        site.passes = 0;
    }
}

}  // namespace simulator
