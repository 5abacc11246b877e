// Thread: engine, once submitted; while its token is sampled, the sampling thread of the pool.
#pragma once

#include "draft-policy.h"
#include "event.h"
#include "grammar-draft.h"
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

    // `n_draft_max`: maximum length of a draft of the draft model.
    explicit Sequence(Job job, size_t n_draft_max = 0);

    uint32_t id() const { return job_.id; }
    const Job& job() const { return job_; }
    size_t n_prompt() const { return job_.prompt.size(); }
    size_t n_sampled() const { return tokens.size() - n_prompt(); }
    size_t n_cached() const { return n_cached_; }
    size_t n_pending() const { return tokens.size() - n_computed; }

    // The sequence gets a slot, which already has cells for its first `n_kept` tokens.
    void admit(int32_t to_slot, size_t n_kept, Clock::time_point now);
    // The next `n_tokens` tokens now have KV cells.
    void advance(size_t n_tokens);
    // Ends running reasoning, if the job limits it.
    void end_reasoning();
    // The sequence loses its slot. Its tokens may still be cached when it is admitted again.
    void preempt();
    // The cached prefix could not be loaded.
    void drop_prefix();
    // Whether a step may compute it: the client keeps up, the last token has been sampled, and no state is being
    // fetched.
    bool can_compute() const { return !paused && !awaits_state && sampler != nullptr; }
    // Appends the sampled token, which the sampler has accepted. `piece` is its text (empty for an end-of-generation
    // token), `context_length` the maximum number of tokens. Returns the text that is final; may end the sequence.
    std::string accept(TokenId token, std::string_view piece, bool is_end, size_t context_length);

    // nullptr: no images.
    const Media* media() const { return job_.media.get(); }
    // The next image chunk to compute; nullptr: text is next.
    const ImageChunk* next_chunk() const;
    // How many of the next pending tokens are of the same kind: text, or one image chunk.
    size_t            run_length() const;
    // The token's position for attention; `tokens.size()` gives the position of the next token.
    int32_t           position(size_t token) const;
    // Whether the image has to be encoded to compute the tokens after the first `n_cached`.
    bool              needs_encoding(size_t image, size_t n_cached) const;

    // Whether log-probabilities of prompt tokens are still to be reported.
    bool              scores_prompt() const { return job_.prompt_logprobs >= 0 && n_scored + 1 < n_prompt(); }

    Finish finish() const;

    std::vector<TokenId> tokens;                // the prompt, then the sampled ones
    size_t               n_computed = 0;        // tokens[0, n_computed) have KV cells
    size_t               n_scored   = 0;        // the prompt tokens after the first whose log-probabilities are reported
    int32_t              slot       = kNoSlot;  // KV sequence while running
    SequenceStatus       status     = SequenceStatus::queued;
    // Weak pointers to it expire with the sequence.
    const std::shared_ptr<const void> lifetime = std::make_shared<char>();
    // By image of the prompt, until all images are computed; nullptr: not encoded yet.
    std::vector<std::shared_ptr<const ImageEmbeddings>> embeddings;
    bool                     may_reuse    = true;  // may start from a cached prefix; false after loading one has failed
    bool                     paused       = false;  // back-pressure: the client reads too slowly
    bool                     ends_next    = false;  // with the next token
    bool                     ends_reasoning = false;  // as soon as the slow sampler returns the sampler
    bool                     awaits_state = false;  // waits for the state of a prefix from disk
    std::unique_ptr<Sampler> sampler;            // nullptr while the slow sampler has it (slow-sampler.h)
    SamplingPace             sampling_pace;
    PromptLookup             lookup;
    GrammarDraft             grammar_draft;
    DraftLedger              draft_ledger;
    DraftLength              model_draft_length;
    size_t                   n_drafted = 0, n_accepted = 0;
    Clock::time_point        submitted_at, scheduled_at, first_token_at, last_token_at;

private:
    Job         job_;
    size_t      n_cached_     = 0;  // of the prompt, when first admitted
    bool        was_admitted_ = false;
    // Whether the last token belongs to reasoning or a tool call, where only the format's stop strings apply.
    bool is_in_format();

    Utf8Buffer  utf8_;
    StopMatcher stop_;
    bool        in_reasoning_ = false;
};

// An image that must be encoded before the sequence can start.
struct PendingImage {
    Sequence* sequence;
    size_t    image;
};

}  // namespace chasqui
