#include "execution.h"

#include <cstdint>
#include <cstdio>
#include <ctime>

namespace chasqui::fuzz {

void count_execution() {
    static struct Count {
        uint64_t n_executions = 0;
        // run.ts reads these lines.
        ~Count() {
            std::fprintf(stderr, "stat::executions: %llu\n", static_cast<unsigned long long>(n_executions));
            std::fprintf(stderr, "stat::cpu_ms: %.0f\n", 1000.0 * static_cast<double>(std::clock()) / CLOCKS_PER_SEC);
        }
    } count;
    ++count.n_executions;
}

}  // namespace chasqui::fuzz
