#include "draft-policy.h"

#include <algorithm>

namespace chasqui {

namespace {

// The lengths that are tried. Kernels compute rows in groups of four, and the sequence's own token is one more row.
constexpr size_t kLengths[] = {1, 2, 3, 5, 7, 11, 15, 19, 23, 31, 47, 63};
// Assumed cost of each row after the first, relative to the first, until steps have been measured. It is about right on
// two cores; on GPUs rows cost next to nothing.
constexpr double kAssumedRowCost = 0.5;
// optimistic_cost(): relative cost of rows beyond the measured ones.
constexpr double kOptimisticSlope = 0.5;
// Drafts are made only if they are expected to be faster by this factor.
constexpr double kMinSpeedUp = 1.05;
// Weight of the newest measurement, which is clipped to this multiple of the expected value.
constexpr double kNewestWeight = 0.2;
constexpr double kMaxOutlier   = 1.5;
// Measurements of the rebuild cost are clipped to this.
constexpr double kMaxRebuildCost = 0.5;
// The cost of a length that has not been used for this many steps is forgotten: it may have been measured while other
// programs were busy.
constexpr uint64_t kMaxAge = 500;
// After so many steps with drafts some plain steps follow, to keep the basis of the comparison up to date. The first
// one pays for rebuilding graphs and is not measured.
constexpr size_t kMaxDraftedInRow = 128;
constexpr size_t kPlainStepsAfter = 2;
// Maximum advance for a new sequence from the common account, in plain steps.
constexpr double kMaxAdvance = 2;
// A step with drafts may take this many plain steps even if that exceeds the target time.
constexpr double kMaxStepFactor = 3;

}  // namespace

bool StepShape::operator==(const StepShape& other) const {
    return n_sequences == other.n_sequences && n_drafting == other.n_drafting && length == other.length;
}

void StepCosts::Average::add(double value, double expected) {
    const double max        = kMaxOutlier * expected;
    const bool   is_outlier = value > max;
    const bool   restarts   = is_outlier && was_outlier_;
    was_outlier_            = is_outlier && !restarts;
    n_                      = restarts ? 1 : n_ + 1;
    const double weight     = std::max(kNewestWeight, 1.0 / n_);
    value_ += weight * ((restarts ? value : std::min(value, max)) - value_);
}

void StepCosts::observe(const StepShape& shape, const StepShape& previous, double milliseconds) {
    if (shape.n_sequences < 1 || shape.n_sequences > kMaxDraftedSequences || shape.length > kMaxLength) return;
    ++n_steps_;
    Average&     plain    = plain_ms_[shape.n_sequences - 1];
    const bool   is_first = plain.value() == 0;
    const double relative = is_first ? 1 : milliseconds / plain.value();
    if (shape.n_drafting > 0) {
        Measured&    measured = costs_[kind_of(shape)][shape.length];
        const double expected = cost(shape);
        if (!is_known(measured)) measured.cost = {};
        if (!is_first) measured.cost.add(std::max(relative, 1.0), expected);
        measured.at = n_steps_;
        // A plain step would not have taken longer, so the machine has become faster.
        if (relative < 1) plain.add(milliseconds, plain.value());
    } else if (is_first || shape == previous) {
        plain.add(milliseconds, is_first ? milliseconds : plain.value());
    } else if (shape.n_sequences == previous.n_sequences) {
        const double rebuild = std::min(std::max(relative - 1, 0.0), kMaxRebuildCost);
        rebuild_cost_ += kNewestWeight * (rebuild - rebuild_cost_);
    }
}

double StepCosts::optimistic_cost(const StepShape& shape) const { return estimate(shape, kOptimisticSlope); }

// One sequence with a draft: 0. Two sequences, one of them with a draft: 1; both: 2.
size_t StepCosts::kind_of(const StepShape& shape) { return shape.n_sequences + shape.n_drafting - 2; }

bool StepCosts::is_known(const Measured& measured) const {
    return measured.cost.value() > 0 && n_steps_ - measured.at <= kMaxAge;
}

// Interpolates linearly between measured lengths. Beyond the longest, the line from a plain step to it continues with
// `slope_factor` times its slope.
double StepCosts::estimate(const StepShape& shape, double slope_factor) const {
    if (shape.n_drafting == 0) return 1;
    const CostsByLength& costs = costs_[kind_of(shape)];
    size_t               below = shape.length, above = shape.length;
    while (below > 0 && !is_known(costs[below])) --below;
    while (above <= kMaxLength && !is_known(costs[above])) ++above;
    const double at_below = below == 0 ? 1 : costs[below].cost.value();
    const auto   beyond   = static_cast<double>(shape.length - below);
    if (above == below) return at_below;
    if (above <= kMaxLength) {
        return at_below + (costs[above].cost.value() - at_below) * beyond / static_cast<double>(above - below);
    }
    if (below == 0) return assumed_cost(shape);
    const double slope = std::min(kAssumedRowCost, (at_below - 1) / static_cast<double>(below));
    return at_below + slope_factor * slope * beyond;
}

double StepCosts::cost_of_rows(size_t n_rows) const {
    if (n_rows <= 1) return 1;
    const size_t length = std::min(n_rows - 1, kMaxLength);
    return estimate({1, 1, length}, 1) + kAssumedRowCost * static_cast<double>(n_rows - 1 - length);
}

// Two sequences with drafts of equal length are computed in one pass. If only one has a draft, llama.cpp first computes
// a row of each, then the remaining rows in a second pass over the weights.
double StepCosts::assumed_cost(const StepShape& shape) const {
    if (shape.n_sequences == 1) return 1 + kAssumedRowCost * static_cast<double>(shape.length);
    const double plain = cost_of_rows(2);
    return (shape.n_drafting == 2 ? cost_of_rows(shape.n_rows()) : plain + cost_of_rows(shape.length)) / plain;
}

void DraftAccount::add(double steps) { balance_ = std::min(balance_ + steps, kMaxBalance); }

DraftPolicy::DraftPolicy(size_t n_max, double target_step_ms, size_t n_min)
    : n_max_(std::min(n_max, StepCosts::kMaxLength)), n_min_(n_min), target_step_ms_(target_step_ms) {
    for (const size_t length : kLengths) {
        if (length <= n_max_) lengths_.push_back(length);
    }
    if (!lengths_.empty() && n_max_ > lengths_.back() + 1) lengths_.push_back(n_max_);
}

// Credits the accepted tokens of the candidate's last draft.
void DraftPolicy::settle(const Candidate& candidate) {
    DraftLedger& ledger = *candidate.ledger;
    if (!ledger.is_open) ledger.account = DraftAccount(std::min(std::max(account_.balance(), 0.0), kMaxAdvance));
    ledger.is_open    = true;
    const double gain = ledger.gain_per_hit * static_cast<double>(candidate.n_accepted_total - ledger.n_accepted_total);
    ledger.account.add(gain);
    account_.add(gain);
    ledger.gain_per_hit     = 0;
    ledger.n_accepted_total = candidate.n_accepted_total;
    ledger.account.grant_step();
}

std::vector<size_t> DraftPolicy::choose(const std::vector<Candidate>& candidates) {
    const size_t n = candidates.size();
    drafting_.clear();
    for (const Candidate& candidate : candidates) settle(candidate);
    account_.grant_step();
    std::vector<size_t> chosen(n);
    if (n_plain_steps_to_do_ > 0) return chosen;

    Choice best;
    best.speed          = kMinSpeedUp;
    const auto consider = [&](size_t first, size_t end, size_t length) {
        Choice choice{first, end, length};
        choice.speed = speed_of(candidates, choice);
        if (choice.speed > best.speed) best = choice;
    };
    for (const size_t length : lengths_) {
        for (size_t i = 0; i < n; ++i) consider(i, i + 1, length);
        if (n > 1) consider(0, n, length);
    }
    for (size_t i = best.first; i < best.end; ++i) {
        chosen[i] = best.length;
        drafting_.push_back(candidates[i].ledger);
        candidates[i].ledger->gain_per_hit = 1.0 / static_cast<double>(n);
    }
    for (size_t i = 0; n_min_ > 0 && i < n; ++i) {
        const size_t max = std::min(candidates[i].expected_hits.size(), n_max_ / n);
        chosen[i]        = std::min(std::max(chosen[i], n_min_), max);
    }
    return chosen;
}

// 0: not possible or not allowed.
double DraftPolicy::speed_of(const std::vector<Candidate>& candidates, const Choice& choice) const {
    const StepShape shape{candidates.size(), choice.end - choice.first, choice.length};
    double          hits = 0, balance = 0;
    for (size_t i = choice.first; i < choice.end; ++i) {
        if (candidates[i].expected_hits.size() < choice.length) return 0;
        hits += candidates[i].expected_hits[choice.length - 1] / static_cast<double>(candidates.size());
        balance += candidates[i].ledger->account.balance();
    }
    if (!is_allowed(shape, balance)) return 0;
    return (1 + hits) / (costs_.optimistic_cost(shape) + rebuild_cost());
}

bool DraftPolicy::is_allowed(const StepShape& shape, double balance) const {
    if (shape.n_drafting * shape.length > n_max_ || loss_if_rejected(shape) > balance) return false;
    const double plain_ms = costs_.plain_ms(shape.n_sequences);
    return costs_.cost(shape) * plain_ms <= std::max(target_step_ms_, kMaxStepFactor * plain_ms);
}

void DraftPolicy::computed(const StepShape& shape, double milliseconds) {
    costs_.observe(shape, previous_, milliseconds);
    if (!drafting_.empty()) {
        const double loss = loss_if_rejected(shape);
        account_.add(-loss);
        for (DraftLedger* ledger : drafting_) ledger->account.add(-loss / static_cast<double>(drafting_.size()));
    }
    drafting_.clear();
    previous_ = shape;

    if (n_plain_steps_to_do_ > 0) --n_plain_steps_to_do_;
    n_drafted_in_row_ = shape.n_drafting == 0 ? 0 : n_drafted_in_row_ + 1;
    if (n_drafted_in_row_ == kMaxDraftedInRow) n_plain_steps_to_do_ = kPlainStepsAfter;
}

}  // namespace chasqui
