#include "event.h"

#include <exception>
#include <iterator>
#include <new>
#include <utility>

namespace chasqui {

namespace {

template <typename T>
void move_to_end(std::vector<T>& to, std::vector<T>& from) {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

}  // namespace

Failure Failure::of(const std::exception& error) {
    const bool is_memory = dynamic_cast<const std::bad_alloc*>(&error) != nullptr;
    return {code_of(error, ErrorCode::decode_failed), is_memory ? "There is not enough memory." : error.what()};
}

void EventBatch::append(EventBatch&& later) {
    if (empty()) {
        *this = std::move(later);
        return;
    }
    move_to_end(records, later.records);
    text += later.text;
    move_to_end(finishes, later.finishes);
    move_to_end(logprobs, later.logprobs);
    move_to_end(failures, later.failures);
}

}  // namespace chasqui
