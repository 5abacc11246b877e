// Thread: engine, once submitted; while its token is sampled, the thread of the pool that does so.
#pragma once

#include "draft-policy.h"
#include "event.h"
#include "job.h"
#include "media.h"
#include "prompt-lookup.h"
#include "sampler.h"
#include "slow-sampler.h"
#include "status.h"
#include "stop-matcher.h"
#include "utf8-buffer.h"

#include <chrono>
#include <memory>
#include <vector>

namespace chasqui {

using Clock = std::chrono::steady_clock;

// A job while it is computed. There is no separate prefill and decode phase: `n_computed` catches up with
// `tokens.size()`, and each time it has, the next token is sampled and appended.
//
//   tokens   │ p p p p p p p p │ s s s s s │          p: prompt, s: sampled
//            └─ n_computed ──────────────▶│
class Sequence {
public:
    static constexpr int32_t kNoSlot = -1;

    // `n_draft_max`: tokens that a draft model may draft at a time.
    explicit Sequence(Job job, size_t n_draft_max = 0);

    uint32_t id() const { return job_.id; }
    const Job& job() const { return job_; }
    size_t n_prompt() const { return job_.prompt.size(); }
    size_t n_sampled() const { return tokens.size() - n_prompt(); }
    size_t n_cached() const { return n_cached_; }
    size_t n_pending() const { return tokens.size() - n_computed; }

    // The sequence gets a slot, which has cells for its first `n_kept` tokens already.
    void admit(int32_t to_slot, size_t n_kept, Clock::time_point now);
    // The next `n_tokens` tokens have KV cells now.
    void advance(size_t n_tokens);
    // The sequence loses its slot. When it is admitted again, its tokens may still be cached.
    void preempt();
    // The cached tokens that it was to start with could not be loaded.
    void lose_prefix();
    // Whether a step may compute it: its reader keeps up, its last token is known, and nothing is fetched for it.
    bool can_compute() const { return !paused && !awaits_state && sampler != nullptr; }
    // Appends the sampled token, which the sampler has accepted. `piece` is its text (empty for an end-of-generation
    // token), `context_length` the most tokens that this sequence may have. Returns the text that can be shown now; may
    // end the sequence.
    std::string accept(TokenId token, std::string_view piece, bool is_end, size_t context_length);

    // nullptr when the prompt holds no images.
    const Media* media() const { return job_.media.get(); }
    // The image chunk that is computed next; nullptr when text is.
    const ImageChunk* next_chunk() const;
    // How many pending tokens from here on are of one kind: text, or of one image chunk.
    size_t            run_length() const;
    // The token's position for attention; with `token == tokens.size()`, that of the next one.
    int32_t           position(size_t token) const;
    // Whether image `image` has to be encoded before the tokens after the first `n_cached` can be computed.
    bool              needs_encoding(size_t image, size_t n_cached) const;

    // Counts and timings of a sequence that is over.
    Finish finish() const;

    std::vector<TokenId> tokens;                // the prompt, then what was sampled
    size_t               n_computed = 0;        // tokens[0, n_computed) have KV cells
    int32_t              slot       = kNoSlot;  // the KV sequence, while scheduled
    SequenceStatus       status     = SequenceStatus::queued;
    // Weak pointers to it expire with the sequence.
    const std::shared_ptr<const void> lifetime = std::make_shared<char>();
    // Of each of the prompt's images, until all of them are computed; nullptr: not encoded yet.
    std::vector<std::shared_ptr<const ImageEmbeddings>> embeddings;
    bool                     may_reuse = true;   // a cached prefix; false after one could not be loaded
    bool                     paused    = false;  // its reader is behind: it computes nothing for now
    bool                     awaits_state = false;  // of its first tokens, from disk
    std::unique_ptr<Sampler> sampler;            // nullptr while the slow sampler has it (slow-sampler.h)
    SamplingPace             sampling_pace;
    PromptLookup             lookup;
    DraftLedger              draft_ledger;
    DraftLength              model_draft_length;
    size_t                   n_drafted = 0, n_accepted = 0;
    Clock::time_point        submitted_at, scheduled_at, first_token_at, last_token_at;

private:
    Job         job_;
    size_t      n_cached_     = 0;  // of the prompt, found in the cache when first admitted
    bool        was_admitted_ = false;
    Utf8Buffer  utf8_;
    StopMatcher stop_;
};

// The sequence cannot start before this image of its prompt is encoded.
struct PendingImage {
    Sequence* sequence;
    size_t    image;
};

}  // namespace chasqui
