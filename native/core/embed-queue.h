// Thread: embedder; requests are built on any.
#pragma once

#include "event.h"
#include "job.h"
#include "media.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace chasqui {

// Inputs to embed, and their results.
struct EmbedRequest {
    using Embeddings = std::vector<std::vector<float>>;
    // Called once on the embedder's thread, with an embedding for each input or a failure.
    using OnDone = std::function<void(const Embeddings&, const std::optional<Failure>&)>;

    uint32_t                          id = 0;
    std::vector<std::vector<TokenId>> inputs;  // no empty ones
    // The images of the only input, and their encodings: nullptr until encoded.
    std::shared_ptr<const Media>                        media;
    std::vector<std::shared_ptr<const ImageEmbeddings>> images;
    OnDone                            on_done;
    Embeddings                        embeddings;  // filled step by step
    size_t                            n_done = 0;
};

struct EmbedLimits {
    size_t n_batch        = 0;      // tokens of one step
    size_t n_slots        = 0;      // concurrent inputs
    size_t n_cells        = 0;      // tokens of all concurrent inputs; at least the length of the longest input
    bool   is_indivisible = false;  // inputs cannot be split: one longer than n_batch gets its own step
};

// The part of an input that a step computes: tokens, or a slice of an image.
struct EmbedRow {
    std::shared_ptr<EmbedRequest> request;
    size_t                        input    = 0;
    int32_t                       slot     = 0;
    size_t                        begin    = 0;  // first token of the part
    size_t                        n_tokens = 0;
    bool                          is_last  = false;  // the part ends the input

    // nullptr: tokens.
    const ImageChunk* chunk() const { return request->media ? request->media->chunk_at(begin) : nullptr; }
};

// Decides which inputs share a step. Requests take turns by input, so a single text does not wait for the thousands of
// another request.
class EmbedQueue {
public:
    explicit EmbedQueue(const EmbedLimits& limits) : limits_(limits), slot_in_use_(limits.n_slots) {}

    void add(std::shared_ptr<EmbedRequest> request);
    bool empty() const { return waiting_.empty() && active_.empty(); }
    // Plans the next step. Its tokens count as computed, and the slots of inputs that end in it are freed.
    std::vector<EmbedRow> plan();
    // Removes a request; returns the slots of its inputs.
    std::vector<int32_t> drop(const EmbedRequest& request);
    std::vector<std::shared_ptr<EmbedRequest>> all() const;

private:
    struct Waiting {
        std::shared_ptr<EmbedRequest> request;
        size_t                        next_input = 0;
    };
    struct Active {
        std::shared_ptr<EmbedRequest> request;
        size_t                        input      = 0;
        int32_t                       slot       = 0;
        size_t                        n_computed = 0;

        size_t length() const { return request->inputs[input].size(); }
        size_t next_part(size_t capacity, bool is_first) const;
    };

    bool    start_next(size_t capacity, bool is_first);
    int32_t take_slot();
    size_t  n_cells_in_use() const;

    const EmbedLimits   limits_;
    std::vector<bool>   slot_in_use_;
    std::deque<Waiting> waiting_;
    std::deque<Active>  active_;
};

}  // namespace chasqui
