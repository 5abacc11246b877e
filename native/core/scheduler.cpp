#include "scheduler.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace chasqui {

namespace {

// Length of a slice, in tokens, before anything has been measured: beside decoding sequences, and while none decodes.
constexpr size_t kFirstSlice        = 64;
constexpr size_t kFirstPrefillSlice = 512;
// A short slice reads all weights for few tokens. So a slice may have this many tokens even if the step then exceeds
// the target time, up to this factor. bench/sim/README.md lists the alternatives that were tried.
constexpr size_t kFairSlice         = 48;
constexpr double kMaxFairStepFactor = 4.0;
// Most kernels compute rows in groups of four; each remaining row costs as much as three others.
constexpr size_t kRowsAtOnce = 4;
// A remainder of a prompt up to this length is added to the slice before it, instead of costing a step.
constexpr size_t kShortRemainder = 16;
// While no sequence decodes, a step may take this many times the target. This saves passes over the weights, and new
// requests and cancellations still wait for a few seconds at most.
constexpr double kPrefillStepFactor = 20.0;
// Length of slices that must not depend on measurements.
constexpr size_t kDeterministicSlice = 256;
// Prompts progress by this many tokens even if decoding alone exceeds all limits.
constexpr size_t kMinSlice = 16;
// Weight of the newest measurement in the moving averages.
constexpr double kNewestWeight = 0.2;
// Requests sent together arrive one by one, and one that misses the first step is then computed in slices beside the
// others. So an idle engine delays the first step by this share of its expected time.
constexpr double kBatchingDelayShare = 0.02;
constexpr double kMaxBatchingDelayMs = 5.0;
// Length of a turn of a set of adapters, as a share of the target time.
constexpr double kTurnShare = 0.25;
// Waiting for this long raises the priority by 1.
constexpr double kSecondsPerLevel = 10.0;

void update_average(double& average, double value) {
    average = average == 0 ? value : average + kNewestWeight * (value - average);
}

double effective_priority(const Sequence& sequence, Clock::time_point now) {
    const double waited = std::chrono::duration<double>(now - sequence.submitted_at).count();
    return sequence.job().priority + std::max(0.0, waited) / kSecondsPerLevel;
}

template <typename Container>
auto position_of(Container& container, const Sequence* sequence) {
    return std::find_if(container.begin(), container.end(), [&](const auto& each) { return each.get() == sequence; });
}

}  // namespace

Scheduler::Scheduler(SchedulerOptions options) : options_(options), cache_(options.cache) {}

void Scheduler::submit(std::unique_ptr<Sequence> sequence) {
    note_waiting(*sequence);
    waiting_.push_back(std::move(sequence));
}

void Scheduler::note_waiting(const Sequence& sequence) {
    highest_waiting_ = std::max<int64_t>(highest_waiting_, sequence.job().priority);
    has_waiting_images_ = has_waiting_images_ || sequence.media() != nullptr;
}

// Fast path: true if no slot is free and none can be preempted. Does not read the waiting sequences: hundreds of them
// do not fit into the CPU's caches, and reading them would take a noticeable share of a short step.
bool Scheduler::cannot_admit() const {
    if (cache_.n_in_use() < options_.cache.n_slots) return false;
    return std::all_of(running_.begin(), running_.end(), [this](const auto& sequence) {
        return !sequence->paused && sequence->job().priority >= highest_waiting_;
    });
}

std::chrono::duration<double, std::milli> Scheduler::batching_delay() const {
    using Milliseconds = std::chrono::duration<double, std::milli>;
    if (options_.deterministic || waiting_.size() >= options_.cache.n_slots) return Milliseconds(0);
    size_t n_tokens = 0;
    for (const auto& sequence : waiting_) {
        n_tokens += sequence->tokens.size() - n_cached_tokens(*sequence);
    }
    const double expected = ms_per_prompt_token_ * static_cast<double>(n_tokens);
    return Milliseconds(std::min(kBatchingDelayShare * expected, kMaxBatchingDelayMs));
}

// The waiting sequences that can compute, in order of admission.
std::vector<Sequence*> Scheduler::admission_order(Clock::time_point now) {
    highest_waiting_ = std::numeric_limits<int64_t>::min();
    has_waiting_images_ = false;
    std::vector<Sequence*> in_order;
    for (const auto& sequence : waiting_) {
        note_waiting(*sequence);
        if (sequence->can_compute()) in_order.push_back(sequence.get());
    }
    std::stable_sort(in_order.begin(), in_order.end(), [now](const Sequence* a, const Sequence* b) {
        return effective_priority(*a, now) > effective_priority(*b, now);
    });
    return in_order;
}

void Scheduler::admit(Clock::time_point now, Plan& plan) {
    if (cannot_admit() && !has_waiting_images_) return;
    size_t n_with_images = 0;
    for (Sequence* sequence : admission_order(now)) {
        const size_t n_before = n_with_images;
        if (awaits_images(*sequence, plan, n_with_images)) continue;
        // Decide which sequences to preempt ...
        const bool is_full = cache_.n_in_use() == options_.cache.n_slots;
        Sequence*  victim  = is_full ? victim_for(*sequence, now, plan) : nullptr;
        if (is_full && victim == nullptr) continue;
        std::optional<Victims> victims = victims_for_cells(*sequence, now, plan);
        if (!victims) break;
        if (is_full && victims->empty()) victims->push_back(victim);
        if (!victims->empty() && is_prefix_in_flight(*sequence)) continue;
        // ... and only then preempt them.
        for (Sequence* each : *victims) preempt(*each);
        // In the slot that is free now the sequence may start with another prefix, and need images for the rest.
        if (!victims->empty() && needs_images(*sequence)) continue;
        const Job& job = sequence->job();
        auto       result =
            cache_.place(sequence->tokens, may_reuse(*sequence), job.snapshot_at, job.media.get(), job.cache_scope());
        if (result.status != PlacementStatus::placed) continue;
        sequence->admit(result.placement.slot, result.placement.n_keep, now);
        plan.placements.push_back(std::move(result.placement));
        running_.splice(running_.end(), waiting_, position_of(waiting_, sequence));
        n_with_images = n_before;
    }
}

bool Scheduler::may_reuse(const Sequence& sequence) const {
    return sequence.job().cache_prompt && sequence.may_reuse && !sequence.scores_prompt() && !options_.deterministic;
}

size_t Scheduler::n_cached_tokens(const Sequence& sequence) const {
    if (!may_reuse(sequence)) return 0;
    return cache_.n_cached_tokens(sequence.tokens, sequence.media(), sequence.job().cache_scope());
}

bool Scheduler::is_prefix_in_flight(const Sequence& sequence) const {
    const Job& job = sequence.job();
    return may_reuse(sequence) && cache_.is_prefix_in_flight(sequence.tokens, job.media.get(), job.cache_scope());
}

void Scheduler::pause(Sequence& sequence, bool paused) {
    sequence.paused = paused;
    if (sequence.slot != Sequence::kNoSlot) cache_.set_paused(sequence.slot, paused);
}

// A paused sequence, or else the one with the lowest priority; among equals the last admitted. nullptr: no other runs.
Sequence* Scheduler::preemption_candidate(Clock::time_point now, const Victims& except) const {
    const auto goes_before = [now](const Sequence& a, const Sequence& b) {
        if (a.paused != b.paused) return a.paused;
        return effective_priority(a, now) <= effective_priority(b, now);
    };
    Sequence* candidate = nullptr;
    for (const auto& each : running_) {
        if (std::find(except.begin(), except.end(), each.get()) != except.end()) continue;
        if (candidate == nullptr || goes_before(*each, *candidate)) candidate = each.get();
    }
    return candidate;
}

// The running sequence that loses its slot to `sequence`; nullptr: none. A sequence that this plan has admitted keeps
// its slot. Both priorities are compared. Without the job's own, equal jobs would preempt each other in turn. Without
// the effective one, a sequence admitted after a long wait would lose its slot to the next arrival.
Sequence* Scheduler::victim_for(const Sequence& sequence, Clock::time_point now, const Plan& plan,
                                const Victims& except) const {
    Sequence* victim = preemption_candidate(now, except);
    if (victim == nullptr) return nullptr;
    const bool is_lower = victim->job().priority < sequence.job().priority &&
                          effective_priority(*victim, now) < effective_priority(sequence, now);
    if (!victim->paused && !is_lower) return nullptr;
    const auto is_victims = [&](const Placement& placement) { return placement.slot == victim->slot; };
    return std::any_of(plan.placements.begin(), plan.placements.end(), is_victims) ? nullptr : victim;
}

void Scheduler::preempt(Sequence& victim) {
    cache_.release(victim.slot, victim.tokens, victim.n_computed);
    victim.preempt();
    note_waiting(victim);
    ++n_preemptions_;
    waiting_.splice(waiting_.begin(), running_, position_of(running_, &victim));
}

Plan Scheduler::plan(Clock::time_point now) {
    Plan plan;
    preempt_beyond_cells(now);
    admit(now, plan);
    evict_idle_slots(plan);
    if (options_.deterministic) plan_deterministic_row(plan);
    else if (!plan_image(plan)) plan_rows(plan, now);
    return plan;
}

// Plans one sequence per step, round robin.
void Scheduler::plan_deterministic_row(Plan& plan) {
    const auto next = std::find_if(running_.begin(), running_.end(), [](const auto& sequence) {
        return sequence->can_compute() && sequence->n_pending() > 0;
    });
    if (next == running_.end()) return;
    const bool   is_image = (*next)->next_chunk() != nullptr;
    const size_t n_max    = is_image ? options_.n_batch : std::min(options_.n_batch, kDeterministicSlice);
    plan.rows.push_back({next->get(), std::min(n_max, max_slice(**next, options_.n_outputs))});
    running_.splice(running_.end(), running_, next);
}

Scheduler::Load Scheduler::load() const {
    Load load;
    for (const auto& sequence : running_) {
        if (!sequence->can_compute() || sequence->n_pending() == 0) continue;
        if (sequence->next_chunk() == nullptr) {
            load.n_text += 1;
            load.n_decoding += sequence->n_pending() == 1 ? 1 : 0;
        } else if (load.first_image == nullptr) {
            load.first_image = sequence.get();
        }
    }
    return load;
}

// Plans one slice of one image, if the last step was text or there is no text.
bool Scheduler::plan_image(Plan& plan) {
    const auto [n_decoding, n_text, next] = load();
    last_was_image_ = next != nullptr && (n_text == 0 || !last_was_image_);
    if (!last_was_image_) return false;
    const size_t until = cache_.n_until_snapshot(next->slot);
    const size_t n_max = next->next_chunk()->is_indivisible ? options_.n_batch : std::min(image_budget(n_decoding), until);
    plan.rows.push_back({next, std::min(n_max, next->run_length())});
    return true;
}

// The set of adapters of the next step of text: the current one until its turn is over, then the next in round-robin
// order. nullptr: there is no text to compute.
const AdapterSet* Scheduler::adapters_in_turn(Clock::time_point now) {
    const AdapterSet *same = nullptr, *next = nullptr, *first = nullptr;
    for (const auto& sequence : running_) {
        if (!sequence->can_compute() || sequence->n_pending() == 0 || sequence->next_chunk() != nullptr) continue;
        const AdapterSet& set = sequence->job().adapters;
        if (set == turn_) same = &set;
        if (turn_ < set && (next == nullptr || set < *next)) next = &set;
        if (first == nullptr || set < *first) first = &set;
    }
    const std::chrono::duration<double, std::milli> lasted = now - turn_began_;
    if (same != nullptr && lasted.count() < kTurnShare * options_.target_step_ms) return same;
    const AdapterSet* chosen = next != nullptr ? next : first;
    if (chosen != nullptr) turn_ = *chosen;
    turn_began_ = now;
    return chosen;
}

// The next tokens of one kind; with only as many as have rows of logits if each needs one.
size_t Scheduler::max_slice(const Sequence& sequence, size_t n_outputs) const {
    return sequence.scores_prompt() ? std::min(sequence.run_length(), n_outputs) : sequence.run_length();
}

void Scheduler::plan_rows(Plan& plan, Clock::time_point now) {
    const AdapterSet* adapters = adapters_in_turn(now);
    if (adapters == nullptr) return;
    const size_t           n_decoding = load().n_decoding;  // with other adapters too: they wait for this step's end
    std::vector<Sequence*> prompts;
    for (const auto& sequence : running_) {
        if (!sequence->can_compute() || sequence->next_chunk() != nullptr) continue;
        if (sequence->job().adapters != *adapters) continue;
        if (sequence->n_pending() == 1) plan.rows.push_back({sequence.get(), 1});
        if (sequence->n_pending() > 1) prompts.push_back(sequence.get());
    }
    // llama.cpp computes only consecutive slots together: skipping a slot costs another pass over the weights. So if
    // any sequence decodes, every prompt gets one token; the remaining budget is spent in order of admission.
    const size_t n_each     = plan.rows.empty() ? 0 : 1;
    const size_t n_reserved = n_each * prompts.size();
    size_t       n_left = options_.n_batch - std::min(options_.n_batch, plan.rows.size() + n_reserved);  // in the batch
    size_t       budget = std::min(n_left, prompt_budget(n_decoding, n_reserved));
    size_t       n_outputs = options_.n_outputs - plan.rows.size() - prompts.size();  // beside one of each row
    for (Sequence* sequence : prompts) {
        const size_t until  = std::min(max_slice(*sequence, 1 + n_outputs), cache_.n_until_snapshot(sequence->slot));
        const size_t wanted = until - n_each;
        size_t       slice  = std::min(budget, wanted);
        if (slice < wanted && slice > kRowsAtOnce) slice -= slice % kRowsAtOnce;
        if (slice >= kShortRemainder && wanted - slice <= kShortRemainder && wanted <= n_left) slice = wanted;
        if (n_each + slice == 0) break;
        plan.rows.push_back({sequence, n_each + slice});
        if (sequence->scores_prompt()) n_outputs -= n_each + slice - 1;
        budget -= std::min(budget, slice);
        n_left -= slice;
    }
    // llama.cpp batches sequences only if their ids are consecutive and ascending.
    std::sort(plan.rows.begin(), plan.rows.end(),
              [](const PlanRow& a, const PlanRow& b) { return a.sequence->slot < b.sequence->slot; });
}

double Scheduler::max_step_ms(size_t n_decoding) const {
    return (n_decoding == 0 ? kPrefillStepFactor : 1.0) * options_.target_step_ms;
}

// How many tokens of prompts to compute, in addition to the reserved ones.
size_t Scheduler::prompt_budget(size_t n_decoding, size_t n_reserved) const {
    if (ms_per_prompt_token_ == 0) return n_decoding == 0 ? kFirstPrefillSlice : kFirstSlice;
    const auto tokens_within = [&](double milliseconds) {
        const double for_decodes = n_decoding == 0 ? 0 : ms_per_decode_step_;
        const double for_prompts = milliseconds - for_decodes - ms_per_prompt_token_ * static_cast<double>(n_reserved);
        return static_cast<size_t>(std::max(0.0, for_prompts) / ms_per_prompt_token_);
    };
    const size_t fair  = std::min(kFairSlice, tokens_within(kMaxFairStepFactor * options_.target_step_ms));
    const size_t slice = std::max(tokens_within(max_step_ms(n_decoding)), fair);
    return std::max(slice, kMinSlice);
}

size_t Scheduler::image_budget(size_t n_decoding) const {
    // Until images have been measured, an image token is assumed to cost as much as a token of text.
    const double ms_per_token = ms_per_image_token_ == 0 ? ms_per_prompt_token_ : ms_per_image_token_;
    if (ms_per_token == 0) return std::min(options_.n_batch, n_decoding == 0 ? kFirstPrefillSlice : kFirstSlice);
    const double for_decodes = n_decoding == 0 ? 0 : ms_per_decode_step_;
    const double for_image   = std::max(0.0, max_step_ms(n_decoding) - for_decodes);
    const auto   fitting     = static_cast<size_t>(for_image / ms_per_token);
    const size_t slice       = fitting - fitting % kRowsAtOnce;
    return std::min(options_.n_batch, std::max(slice, kMinSlice));
}

void Scheduler::placement_failed(int32_t slot, Plan& plan) {
    const auto found =
        std::find_if(running_.begin(), running_.end(), [=](const auto& each) { return each->slot == slot; });
    Sequence& sequence = **found;
    sequence.drop_prefix();
    cache_.progress(slot, 0);
    if (sequence.media() == nullptr) return;
    const auto is_its = [&](const PlanRow& row) { return row.sequence == &sequence; };
    plan.rows.erase(std::remove_if(plan.rows.begin(), plan.rows.end(), is_its), plan.rows.end());
    cache_.invalidate(slot);
    sequence.preempt();
    sequence.may_reuse = false;
    note_waiting(sequence);
    waiting_.splice(waiting_.begin(), running_, found);
}

std::vector<Snapshot> Scheduler::computed(const Plan& plan, double milliseconds) {
    std::vector<Snapshot> snapshots;
    size_t                n_decoding = 0, n_prompt = 0, n_image = 0, n_drafted = 0;
    for (const PlanRow& row : plan.rows) {
        Sequence&  sequence = *row.sequence;
        const bool is_image = sequence.next_chunk() != nullptr;
        (is_image ? n_image : sequence.n_pending() == 1 ? n_decoding : n_prompt) += row.n_tokens;
        n_drafted += row.draft.size();
        sequence.advance(row.n_tokens);
        auto snapshot = cache_.progress(sequence.slot, sequence.n_computed);
        if (snapshot) snapshots.push_back(*std::move(snapshot));
    }
    if (n_image > 0) {
        update_average(ms_per_image_token_, milliseconds / static_cast<double>(n_image));
    } else if (n_prompt == 0) {
        if (n_drafted == 0) update_average(ms_per_decode_step_, milliseconds);
    } else if (n_prompt >= kMinSlice) {
        // The known time of a decoding step is too long if fewer sequences decode now.
        const double known = ms_per_prompt_token_ * static_cast<double>(n_prompt);
        if (n_decoding > 0 && milliseconds < ms_per_decode_step_) {
            ms_per_decode_step_ = std::max(0.0, milliseconds - known);
        }
        const double for_prompt = milliseconds - (n_decoding == 0 ? 0 : ms_per_decode_step_);
        if (for_prompt > 0) update_average(ms_per_prompt_token_, for_prompt / static_cast<double>(n_prompt));
    }
    return snapshots;
}

std::unique_ptr<Sequence> Scheduler::remove(Sequence* sequence, bool cells_invalid) {
    Owned&     owner = sequence->slot == Sequence::kNoSlot ? waiting_ : running_;
    const auto found = position_of(owner, sequence);
    auto       taken = std::move(*found);
    owner.erase(found);
    if (taken->slot != Sequence::kNoSlot) {
        if (cells_invalid) cache_.invalidate(taken->slot);
        else cache_.release(taken->slot, taken->tokens, taken->n_computed);
    }
    return taken;
}

Sequence* Scheduler::find(uint32_t job_id) const {
    for (Sequence* sequence : all()) {
        if (sequence->id() == job_id) return sequence;
    }
    return nullptr;
}

std::vector<Sequence*> Scheduler::all() const {
    std::vector<Sequence*> sequences;
    for (const auto& sequence : running_) sequences.push_back(sequence.get());
    for (const auto& sequence : waiting_) sequences.push_back(sequence.get());
    return sequences;
}

}  // namespace chasqui
