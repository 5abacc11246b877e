// Measures the limits of this machine: memory bandwidth, and multiply-accumulate operations on bytes per second.
//
//   machine-limits <n_threads>
//
// Each line of standard input runs one round and prints one JSON line with the best of several passes, because other
// processes can only slow a pass down. Each thread reads its memory sequentially, with prefetching into the first and the
// second cache alternately, in huge pages if available, and more memory than the caches hold. Multiplications use the widest
// dot-product instruction of this CPU, or multiply-add of pairs if it has none, on registers only, with enough independent
// sums to hide the latency.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#ifdef __linux__
#include <sys/mman.h>
#endif
#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kHugePage  = size_t{2} << 20;
constexpr size_t kReadBytes = size_t{512} << 20;
constexpr size_t kLine      = 64 / sizeof(uint64_t);
constexpr size_t kAhead     = 65536 / sizeof(uint64_t);
constexpr int    kReadTimes = 2;
constexpr int    kPasses    = 7;
constexpr int    kSums      = 12;  // independent sums: more than the latency in cycles times two issues per cycle
constexpr int    kRepeats   = 20'000'000;

// Keeps the compiler from removing the computation.
volatile uint64_t sink;

// Seconds until all threads have finished. `part` receives the index of its thread.
template <class Part> double seconds_of(int n_threads, const Part& part) {
    const auto               start = Clock::now();
    std::vector<std::thread> threads;
    for (int i = 1; i < n_threads; i++) threads.emplace_back(part, i);
    part(0);
    for (auto& thread : threads) thread.join();
    return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Free {
    void operator()(uint64_t* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<uint64_t, Free>;

// Written once, because untouched memory maps to a single page of zeros.
Memory memory_to_read() {
    Memory memory(static_cast<uint64_t*>(std::aligned_alloc(kHugePage, kReadBytes)));
    if (!memory) return memory;
#ifdef __linux__
    madvise(memory.get(), kReadBytes, MADV_HUGEPAGE);
#endif
    for (size_t i = 0; i < kReadBytes / sizeof(uint64_t); i++) memory.get()[i] = i;
    return memory;
}

// Prefetches into the first cache (locality 3) or the second cache (2).
template <int Locality> double bytes_read_per_second(const uint64_t* memory, int n_threads) {
    const size_t n      = kReadBytes / sizeof(uint64_t);
    const double needed = seconds_of(n_threads, [&](int thread) {
        const size_t first = n * thread / n_threads, last = n * (thread + 1) / n_threads;
        for (int time = 0; time < kReadTimes; time++) {
            uint64_t sum = 0;
            for (size_t i = first; i < last; i += kLine) {
                __builtin_prefetch(memory + i + kAhead, 0, Locality);
                sum += memory[i];
            }
            sink = sum;
        }
    });
    return kReadTimes * static_cast<double>(kReadBytes) / needed;
}

#ifdef __x86_64__

__attribute__((target("avx512f,avx512vnni"))) void multiply_512() {
    __m512i a = _mm512_set1_epi8(3), b = _mm512_set1_epi8(5), sums[kSums];
    for (int i = 0; i < kSums; i++) sums[i] = _mm512_set1_epi32(i);
    for (int i = 0; i < kRepeats; i++) {
        for (auto& sum : sums) sum = _mm512_dpbusd_epi32(sum, a, b);
    }
    alignas(64) int32_t lanes[16];
    for (auto& sum : sums) {
        _mm512_store_si512(lanes, sum);
        sink = static_cast<uint64_t>(lanes[0]);
    }
}

__attribute__((target("avx2,avxvnni"))) void multiply_256() {
    __m256i a = _mm256_set1_epi8(3), b = _mm256_set1_epi8(5), sums[kSums];
    for (int i = 0; i < kSums; i++) sums[i] = _mm256_set1_epi32(i);
    for (int i = 0; i < kRepeats; i++) {
        for (auto& sum : sums) sum = _mm256_dpbusd_avx_epi32(sum, a, b);
    }
    for (auto& sum : sums) sink = static_cast<uint64_t>(_mm256_extract_epi32(sum, 0));
}

// For CPUs without byte dot products, which have 16 registers.
__attribute__((target("avx2"))) void multiply_pairs() {
    const __m256i a = _mm256_set1_epi8(3), b = _mm256_set1_epi8(5);
    __m256i       s0 = a, s1 = a, s2 = a, s3 = a, s4 = a, s5 = a, product;
    for (int i = 0; i < 2 * kRepeats; i++) {
        // Keeps the compiler from hoisting the product out of the loop.
        for (__m256i* const sum : {&s0, &s1, &s2, &s3, &s4, &s5}) {
            asm volatile("vpmaddubsw %3, %2, %1\n\tvpaddw %1, %0, %0" : "+x"(*sum), "=&x"(product) : "x"(a), "x"(b));
        }
    }
    for (const __m256i sum : {s0, s1, s2, s3, s4, s5}) sink = static_cast<uint64_t>(_mm256_extract_epi32(sum, 0));
}

// Multiplications per instruction, and the function that executes kSums * kRepeats of them.
struct Multiply {
    int products;
    void (*run)();
};

Multiply widest() {
    if (__builtin_cpu_supports("avx512vnni")) return {64, multiply_512};
    if (__builtin_cpu_supports("avxvnni")) return {32, multiply_256};
    if (__builtin_cpu_supports("avx2")) return {32, multiply_pairs};
    return {0, nullptr};
}

double products_per_second(int n_threads) {
    const Multiply multiply = widest();
    if (multiply.run == nullptr) return 0;
    const double needed = seconds_of(n_threads, [&](int) { multiply.run(); });
    return static_cast<double>(n_threads) * multiply.products * kSums * kRepeats / needed;
}

#else

double products_per_second(int) { return 0; }

#endif

}  // namespace

int main(int argc, char** argv) {
    const int n_threads = argc == 2 ? std::atoi(argv[1]) : 0;
    if (n_threads < 1) {
        std::fprintf(stderr, "usage: machine-limits <n_threads>\n");
        return 1;
    }
    const Memory memory = memory_to_read();
    if (!memory) {
        std::fprintf(stderr, "machine-limits: there is not enough memory to read\n");
        return 1;
    }
    std::string line;
    while (std::getline(std::cin, line)) {
        double bytes_read = 0, products = 0;
        for (int pass = 0; pass < kPasses; pass++) {
            bytes_read = std::max({bytes_read, bytes_read_per_second<3>(memory.get(), n_threads),
                                   bytes_read_per_second<2>(memory.get(), n_threads)});
            products   = std::max(products, products_per_second(n_threads));
        }
        std::printf("{\"bytesRead\":%.0f,\"products\":%.0f}\n", bytes_read, products);
        std::fflush(stdout);
    }
}
