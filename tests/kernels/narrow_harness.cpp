// The conversions of narrow.cuh over arrays on the host, from and to every type.
#ifndef TENSORLAYOUT_SIMULATOR
#define TENSORLAYOUT_SIMULATOR
#endif
#include "narrow.cuh"

namespace {

#define STANDARD(_)                                                                            \
    _(bool8) _(int8_t) _(int16_t) _(int32_t) _(int64_t) _(uint8_t) _(uint16_t) _(uint32_t)     \
    _(uint64_t) _(half) _(bfloat16) _(float) _(double)
#define COMPLEX(_) _(complex<float>) _(complex<double>)
#define NARROW(_)                                                                              \
    _(float8_e3m4) _(float8_e4m3) _(float8_e4m3b11fnuz) _(float8_e4m3fn) _(float8_e4m3fnuz)    \
    _(float8_e5m2) _(float8_e5m2fnuz) _(float8_e8m0fnu) _(float6_e2m3fn) _(float6_e3m2fn)      \
    _(float4_e2m1fn) _(int1_t) _(int2_t) _(int4_t) _(uint1_t) _(uint2_t) _(uint4_t)

struct Row {
    const char *to, *from;
    void (*loop)(int64_t count, void* out, const void* in);
};
Row table[1400];
int rows = 0;

template <class To, class From> void loop(int64_t count, void* out, const void* in) {
    for (int64_t i = 0; i < count; ++i)
        static_cast<To*>(out)[i] = convert<To>(static_cast<const From*>(in)[i]);
}
template <class To, class From> void add(const char* to, const char* from) {
    table[rows++] = {to, from, loop<To, From>};
}

template <class To> void add_from_all(const char* to) {
#define FROM(T) add<To, T>(to, #T);
    STANDARD(FROM) NARROW(FROM)
}
template <class From> void add_to_standard(const char* from) {
#define TO(T) add<T, From>(#T, from);
    STANDARD(TO) COMPLEX(TO)
}

[[maybe_unused]] const bool filled = [] {
#define ADD(T)                                       \
    add_from_all<T>(#T);                             \
    add_from_all<saturated<T>>("saturated<" #T ">"); \
    add_to_standard<T>(#T);
    NARROW(ADD)
    return true;
}();

}  // namespace

// The rows of the table: type converted to, and from.
extern "C" int row_count() { return rows; }
extern "C" const char* row_text(int row, int column) {
    return column ? table[row].from : table[row].to;
}
extern "C" void run_row(int row, int64_t count, void* out, const void* in) {
    table[row].loop(count, out, in);
}
