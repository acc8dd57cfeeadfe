// What sorts in tiles (sort/sort.cu) and by digits (sort/radix.cu) share: what they move and compare, and where
// results go.
#pragma once

#include "memory.cuh"
#include "order.cuh"

enum Gives { values, positions, both };

using Bits = bits_of<ELEMENT>;

// What is moved: elements as they are, since those that compare equal may differ (zeros, NaN); or, if
// only positions are wanted, what elements compare by. `flip`: all bits for a descending order.
template <Gives Wanted>
DEVICE Bits key(Bits item, Bits flip) {
    if constexpr (Wanted == positions) return item;
    else return Bits(order_of(bits_as<ELEMENT>(item)) ^ flip);
}

template <Gives Wanted>
DEVICE Bits item_of(ELEMENT element, Bits flip) {
    if constexpr (Wanted == positions) return Bits(order_of(element) ^ flip);
    else return bits_as<Bits>(element);
}

// The memories of a launch; null where it has none. Results are elements; or, if positions are wanted,
// these, in between with what they sort by.
struct Memories {
    void* values;
    void* positions;
    void* result;         // int64; null in between
    const void* from;     // elements, or what they compare by
    const void* origins;  // their positions; the first launch knows them
    void* scratch;
};

template <Gives Wanted, class Index>
DEVICE void store_sorted(const Memories& to, bool inside, Index at, Bits item, Index position) {
    if constexpr (Wanted == values) {
        store_if(inside, static_cast<Bits*>(to.values) + at, item);
    } else {
        const bool last = to.result != nullptr;
        store_if(inside && last, static_cast<int64_t*>(to.result) + at,
                 static_cast<int64_t>(position));
        store_if(inside && !last, static_cast<Bits*>(to.values) + at, item);
        store_if(inside && !last, static_cast<Index*>(to.positions) + at, position);
    }
}
