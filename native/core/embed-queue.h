// Thread: embedder, except what builds a request.
#pragma once

#include "event.h"
#include "job.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace chasqui {

// Inputs that one caller wants the vectors of.
struct EmbedRequest {
    using Vectors = std::vector<std::vector<float>>;
    // Called once, on the embedder's thread: with a vector for each input, or with what went wrong.
    using OnDone = std::function<void(const Vectors&, const std::optional<Failure>&)>;

    uint32_t                          id = 0;
    std::vector<std::vector<TokenId>> inputs;  // none of them empty
    OnDone                            on_done;
    Vectors                           vectors;  // as they come about
    size_t                            n_done = 0;
};

struct EmbedLimits {
    size_t n_batch = 0;      // tokens of one pass
    size_t n_slots = 0;      // inputs under way at a time
    size_t n_cells = 0;      // tokens of the inputs under way, all together; at least those of the longest one
    bool   whole   = false;  // an input cannot be split: a longer one than n_batch has a pass of its own
};

// What one pass computes of one input.
struct EmbedRow {
    std::shared_ptr<EmbedRequest> request;
    size_t                        input    = 0;
    int32_t                       slot     = 0;
    size_t                        begin    = 0;  // first token of the input
    size_t                        n_tokens = 0;
    bool                          is_last  = false;  // the input ends here
};

// Which inputs share a pass. Requests take turns, input by input: a single text does not wait for somebody's thousands.
class EmbedQueue {
public:
    explicit EmbedQueue(const EmbedLimits& limits) : limits_(limits), slot_in_use_(limits.n_slots) {}

    void add(std::shared_ptr<EmbedRequest> request);
    bool empty() const { return waiting_.empty() && active_.empty(); }
    // The next pass. What it holds counts as computed; the rows that end their inputs give their slots free.
    std::vector<EmbedRow> plan();
    // Forgets a request; returns the slots that it had inputs in.
    std::vector<int32_t> drop(const EmbedRequest& request);
    // Every request that is not over.
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
    };

    bool    start_next(size_t room, bool is_first);
    int32_t take_slot();
    size_t  n_cells_in_use() const;

    const EmbedLimits   limits_;
    std::vector<bool>   slot_in_use_;
    std::deque<Waiting> waiting_;
    std::deque<Active>  active_;
};

}  // namespace chasqui
