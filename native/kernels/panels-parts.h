#pragma once
// Thread: any

// Shared by the products of quantised weights (panels.cpp) and of floats (float-panels.cpp, float-rows.cpp).

#include "panels-lanes.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#if defined(GGML_LANES_512) || defined(GGML_LANES_256)

namespace ggml::cpu::panels {

// Prefetches a range of memory in n_steps steps, into the cache that Hint selects.
template <decltype(_MM_HINT_T0) Hint> class Prefetching {
  public:
    // Whether it also prefetches the range after this one.
    static constexpr bool asks_for_two = false;

    Prefetching(const char * data, int64_t size, int64_t n_steps, const char * /* behind */ = nullptr)
        : at_(data), due_(data), end_(data + size), part_(size / n_steps + 1) {}

    void step() {
        for (due_ = std::min(due_ + part_, end_); at_ < due_; at_ += 64) _mm_prefetch(at_, Hint);
    }

  private:
    const char *at_, *due_, *end_;
    int64_t     part_;
};

// Inlines every call within a function. Beyond the compiler's own limit, arrays indexed in each() would be in memory.
#    if defined(__GNUC__)
#        define GGML_FLATTEN __attribute__((flatten))
#        define GGML_APART __attribute__((noinline))
#    else
#        define GGML_FLATTEN
#        define GGML_APART
#    endif

// Calls body with the constants 0, 1 ... N - 1, so that indexed arrays stay in registers.
template <class Body, int... I> inline void each(std::integer_sequence<int, I...>, const Body & body) {
    (body(std::integral_constant<int, I>()), ...);
}

template <int N, class Body> inline void each(const Body & body) {
    each(std::make_integer_sequence<int, N>(), body);
}

// Stores all lanes except the first `skip`, which belong to the previous panel.
inline void store_behind(int skip, float * to, Floats values) {
    if (skip == 0) return store(to, values);
    float lanes[kLanes];
    store(lanes, values);
    memcpy(to + skip, lanes + skip, (kLanes - skip) * sizeof(float));
}

}  // namespace ggml::cpu::panels

#endif
