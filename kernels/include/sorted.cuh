// Code shared by the sorts in tiles (sort/sort.cu) and by digits (sort/radix.cu): the items that
// they move and compare, and the memories that they write.
#pragma once

#include "memory.cuh"
#include "order.cuh"

enum Gives { values, positions, both };

using Bits = bits_of<ELEMENT>;

// Returns the key by which an item is compared. An item is what the sort moves: the bits of an
// element, because elements that compare equal may differ (zeros, NaN); or the key itself, if only
// positions are wanted. `flip` has all bits set for a descending order, else none.
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

// Memories of a launch; null if the launch does not use them. Results are elements, or positions if
// these are wanted. For positions, all launches but the last also store the items.
struct Memories {
    void* values;
    void* positions;
    void* result;         // int64 positions; null except in the last launch
    const void* from;     // elements, or items of the launch before
    const void* origins;  // their positions; the first launch computes them
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
