#include "check.h"

#include "core/worker-pool.h"

#include <atomic>
#include <vector>

using namespace chasqui;
using namespace chasqui::test;

namespace {

const Test each_once("worker-pool: every iteration runs exactly once, loop after loop", [] {
    for (const size_t n_workers : {0, 1, 3}) {
        WorkerPool pool(n_workers);
        for (size_t n = 0; n < 300; ++n) {
            std::vector<std::atomic<int>> times(n);
            pool.run(n, [&](size_t i) { ++times[i]; });
            for (const auto& each : times) expect_equal(each.load(), 1);
        }
    }
});

}  // namespace
