#include "image-batch.h"

namespace chasqui {

namespace {

std::vector<llama_pos> positions_of(const ImageChunk& chunk, size_t from, size_t n_tokens) {
    std::vector<llama_pos> positions;
    const size_t           n_sections = chunk.positions.size() / chunk.n_tokens;
    for (size_t section = 0; section < n_sections; ++section) {
        const auto begin = chunk.positions.begin() + static_cast<std::ptrdiff_t>(section * chunk.n_tokens + from);
        positions.insert(positions.end(), begin, begin + static_cast<std::ptrdiff_t>(n_tokens));
    }
    for (size_t i = 0; n_sections == 0 && i < n_tokens; ++i) {
        positions.push_back(chunk.first_position + static_cast<llama_pos>(from + i));
    }
    return positions;
}

}  // namespace

ImageBatch::ImageBatch(const ImageChunk& chunk, const std::vector<float>& embeddings, size_t from, size_t n_tokens,
                       int32_t slot, Outputs outputs)
    : positions_(positions_of(chunk, from, n_tokens)),
      n_slots_(n_tokens, 1),
      slot_(slot),
      slots_(n_tokens, &slot_),
      outputs_(n_tokens, outputs == Outputs::all ? 1 : 0) {
    const size_t n_embd = embeddings.size() / chunk.n_tokens;
    const auto   begin  = embeddings.begin() + static_cast<std::ptrdiff_t>(from * n_embd);
    rows_.assign(begin, begin + static_cast<std::ptrdiff_t>(n_tokens * n_embd));
    if (outputs == Outputs::last) outputs_.back() = 1;
}

llama_batch ImageBatch::view() {
    return {static_cast<int32_t>(outputs_.size()),
            nullptr,
            rows_.data(),
            positions_.data(),
            n_slots_.data(),
            slots_.data(),
            outputs_.data()};
}

}  // namespace chasqui
