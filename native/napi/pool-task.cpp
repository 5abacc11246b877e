#include "pool-task.h"

#include "../llama/system/system.h"
#include "../llama/images/vision.h"

#include <chrono>
#include <sstream>
#include <utility>

namespace chasqui {

namespace {

PreparePool::Options on_llama_threads(PreparePool::Options options) {
    options.prepare_thread = make_interruptible;
    options.lower_priority = Vision::lower_priority;
    return options;
}

std::string in_seconds(PreparePool::Clock::duration time) {
    std::ostringstream text;
    text << std::chrono::duration<double>(time).count() << " s";
    return text.str();
}

}  // namespace

Preparation::Preparation(std::shared_ptr<Preparer> each, const PreparePool::Options& options)
    : preparer(std::move(each)), timeout(in_seconds(options.timeout)), pool(on_llama_threads(options)) {}

CaughtError to_error(PreparePool::Ending ending, const Purpose& purpose, const Preparation& preparation) {
    switch (ending) {
        case PreparePool::Ending::timed_out:
            return {ErrorCode::prepare_timeout,
                    std::string(purpose.name) + " took longer than " + preparation.timeout +
                        ". Send less of it or make it simpler, or load the model with a larger `prepareTimeoutMs`."};
        case PreparePool::Ending::closed: return {ErrorCode::engine_closed, "The engine was closed."};
        default: return {std::nullopt, "The request was cancelled."};
    }
}

}  // namespace chasqui
