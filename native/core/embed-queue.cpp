#include "embed-queue.h"

#include <algorithm>
#include <utility>

namespace chasqui {

void EmbedQueue::add(std::shared_ptr<EmbedRequest> request) { waiting_.push_back({std::move(request), 0}); }

std::vector<EmbedRow> EmbedQueue::plan() {
    std::vector<EmbedRow> rows;
    size_t                capacity = limits_.n_batch;
    // Inputs in progress come first, then waiting ones while the step has capacity.
    for (size_t at = 0; at < active_.size() || start_next(capacity, rows.empty()); ++at) {
        Active&      active   = active_[at];
        const size_t n_left   = active.length() - active.n_computed;
        const size_t n_tokens = limits_.is_indivisible ? n_left : active.next_part(capacity, rows.empty());
        if (n_tokens == 0) break;
        rows.push_back({active.request, active.input, active.slot, active.n_computed, n_tokens, n_tokens == n_left});
        active.n_computed += n_tokens;
        capacity -= std::min(capacity, n_tokens);
    }
    for (const EmbedRow& row : rows) {
        if (row.is_last) slot_in_use_[static_cast<size_t>(row.slot)] = false;
    }
    const auto is_over = [](const Active& active) { return active.n_computed == active.length(); };
    active_.erase(std::remove_if(active_.begin(), active_.end(), is_over), active_.end());
    return rows;
}

// The tokens of the next part, which ends before and after an image. 0: it needs a step with more capacity.
size_t EmbedQueue::Active::next_part(size_t capacity, bool is_first) const {
    if (!request->media) return std::min(length() - n_computed, capacity);
    const size_t      n_run = request->media->run_end(n_computed, length()) - n_computed;
    const ImageChunk* chunk = request->media->chunk_at(n_computed);
    if (chunk == nullptr || !chunk->is_indivisible || n_run <= capacity) return std::min(n_run, capacity);
    return is_first ? n_run : 0;
}

// Activates the next input if it fits into a step with capacity for that many more tokens.
bool EmbedQueue::start_next(size_t capacity, bool is_first) {
    if (waiting_.empty() || capacity == 0) return false;
    Waiting&     next   = waiting_.front();
    const size_t length = next.request->inputs[next.next_input].size();
    if (limits_.is_indivisible && length > capacity && !is_first) return false;
    if (n_cells_in_use() + length > limits_.n_cells && !active_.empty()) return false;
    const int32_t slot = take_slot();
    if (slot < 0) return false;
    active_.push_back({next.request, next.next_input, slot, 0});
    Waiting turned = std::move(next);
    waiting_.pop_front();
    if (++turned.next_input < turned.request->inputs.size()) waiting_.push_back(std::move(turned));
    return true;
}

std::vector<int32_t> EmbedQueue::drop(const EmbedRequest& request) {
    const auto is_its = [&](const auto& each) { return each.request.get() == &request; };
    waiting_.erase(std::remove_if(waiting_.begin(), waiting_.end(), is_its), waiting_.end());
    std::vector<int32_t> slots;
    for (const Active& active : active_) {
        if (!is_its(active)) continue;
        slots.push_back(active.slot);
        slot_in_use_[static_cast<size_t>(active.slot)] = false;
    }
    active_.erase(std::remove_if(active_.begin(), active_.end(), is_its), active_.end());
    return slots;
}

std::vector<std::shared_ptr<EmbedRequest>> EmbedQueue::all() const {
    std::vector<std::shared_ptr<EmbedRequest>> requests;
    for (const Waiting& each : waiting_) requests.push_back(each.request);
    for (const Active& each : active_) requests.push_back(each.request);
    std::sort(requests.begin(), requests.end());
    requests.erase(std::unique(requests.begin(), requests.end()), requests.end());
    return requests;
}

int32_t EmbedQueue::take_slot() {
    const auto free = std::find(slot_in_use_.begin(), slot_in_use_.end(), false);
    if (free == slot_in_use_.end()) return -1;
    *free = true;
    return static_cast<int32_t>(free - slot_in_use_.begin());
}

size_t EmbedQueue::n_cells_in_use() const {
    size_t n_cells = 0;
    for (const Active& active : active_) n_cells += active.length();
    return n_cells;
}

}  // namespace chasqui
