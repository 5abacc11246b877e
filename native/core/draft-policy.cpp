#include "draft-policy.h"

#include <algorithm>

namespace chasqui {

namespace {

// The lengths that are tried. Kernels compute rows by fours, and with its own token a sequence has one row more.
constexpr size_t kLengths[] = {1, 2, 3, 5, 7, 11, 15, 19, 23, 31, 47, 63};
// A step's second row, and each after it, is assumed to cost this share of the first until steps have been measured. On
// two cores it is about that much; on GPUs next to nothing.
constexpr double kAssumedRowCost = 0.5;
// A row beyond those that were measured is hoped to cost this share of what they do.
constexpr double kHope = 0.5;
// Drafts have to be expected to be faster by this.
constexpr double kMinSpeedUp = 1.05;
// The weight of the newest measurement, which counts as at most this many times what was expected.
constexpr double kNewestWeight = 0.2;
constexpr double kMaxOutlier   = 1.5;
// A change of shape is taken to cost no more than this share of a step.
constexpr double kMaxChange = 0.5;
// The cost of a length that has not been used for so many steps is forgotten: it may have been measured while other
// programs were busy.
constexpr uint64_t kForgottenAfter = 500;
// After so many steps with drafts there are some without, so that what drafts are compared with stays true. The first
// of these pays for the change of shape and is not measured.
constexpr size_t kDraftedStepsInRow = 128;
constexpr size_t kPlainStepsAfter   = 2;
// A sequence may lose this much, in steps, before drafts have gained anything for it.
constexpr double kMaxAdvance = 2;
// A step with drafts may take this many times one without, even if that is more than the target.
constexpr double kMaxStepFactor = 3;

}  // namespace

bool StepShape::operator==(const StepShape& other) const {
    return n_sequences == other.n_sequences && n_drafting == other.n_drafting && length == other.length;
}

void StepCosts::Average::add(double value, double expected) {
    const double most       = kMaxOutlier * expected;
    const bool   is_outlier = value > most;
    const bool   is_news    = is_outlier && was_outlier_;
    was_outlier_            = is_outlier && !is_news;
    n_                      = is_news ? 1 : n_ + 1;
    const double weight     = std::max(kNewestWeight, 1.0 / n_);
    value_ += weight * ((is_news ? value : std::min(value, most)) - value_);
}

void StepCosts::observe(const StepShape& shape, const StepShape& previous, double milliseconds) {
    if (shape.n_sequences < 1 || shape.n_sequences > kMaxDraftedSequences || shape.length > kMaxLength) return;
    ++n_steps_;
    Average&     plain    = plain_ms_[shape.n_sequences - 1];
    const bool   is_first = plain.value() == 0;
    const double times    = is_first ? 1 : milliseconds / plain.value();
    if (shape.n_drafting > 0) {
        Cost&        cost     = costs_[kind_of(shape)][shape.length];
        const double expected = of(shape);
        if (!is_known(cost)) cost.times = {};
        if (!is_first) cost.times.add(std::max(times, 1.0), expected);
        cost.at = n_steps_;
        // Without drafts it would not have taken longer, so the machine has become faster.
        if (times < 1) plain.add(milliseconds, plain.value());
    } else if (is_first || shape == previous) {
        plain.add(milliseconds, is_first ? milliseconds : plain.value());
    } else if (shape.n_sequences == previous.n_sequences) {
        change_ += kNewestWeight * (std::min(std::max(times - 1, 0.0), kMaxChange) - change_);
    }
}

double StepCosts::of(const StepShape& shape) const { return estimate(shape, 1); }

double StepCosts::hoped_for(const StepShape& shape) const { return estimate(shape, kHope); }

size_t StepCosts::kind_of(const StepShape& shape) { return shape.n_sequences + shape.n_drafting - 2; }

bool StepCosts::is_known(const Cost& cost) const {
    return cost.times.value() > 0 && n_steps_ - cost.at <= kForgottenAfter;
}

// Between two lengths that were measured it is a straight line; beyond the longest the line from the origin to it, with
// so much of its slope.
double StepCosts::estimate(const StepShape& shape, double slope_beyond) const {
    if (shape.n_drafting == 0) return 1;
    const Costs& costs = costs_[kind_of(shape)];
    size_t       below = shape.length, above = shape.length;
    while (below > 0 && !is_known(costs[below])) --below;
    while (above <= kMaxLength && !is_known(costs[above])) ++above;
    const double at_below = below == 0 ? 1 : costs[below].times.value();
    const auto   beyond   = static_cast<double>(shape.length - below);
    if (above == below) return at_below;
    if (above <= kMaxLength) {
        const auto distance = static_cast<double>(above - below);
        return at_below + (costs[above].times.value() - at_below) * beyond / distance;
    }
    const double slope = std::min(kAssumedRowCost, (at_below - 1) / static_cast<double>(below));
    if (below > 0) return at_below + slope_beyond * slope * beyond;
    return assumed(shape);
}

// Of a step with so many rows of one sequence, in steps of one row.
double StepCosts::lone(size_t n_rows) const {
    if (n_rows <= 1) return 1;
    const size_t known = std::min(n_rows - 1, kMaxLength);
    return estimate({1, 1, known}, 1) + kAssumedRowCost * static_cast<double>(n_rows - 1 - known);
}

// Two sequences with drafts of one length are computed at once. If only one has a draft, llama.cpp computes first a row
// of each and then the rest of that one by itself, for which it reads the weights again.
double StepCosts::assumed(const StepShape& shape) const {
    if (shape.n_sequences == 1) return 1 + kAssumedRowCost * static_cast<double>(shape.length);
    const double plain = lone(2);
    return (shape.n_drafting == 2 ? lone(shape.n_rows()) : plain + lone(shape.length)) / plain;
}

DraftPolicy::DraftPolicy(size_t n_max, double target_step_ms, size_t n_min)
    : n_max_(std::min(n_max, StepCosts::kMaxLength)), n_min_(n_min), target_step_ms_(target_step_ms) {
    for (const size_t length : kLengths) {
        if (length <= n_max_) lengths_.push_back(length);
    }
    if (!lengths_.empty() && n_max_ > lengths_.back() + 1) lengths_.push_back(n_max_);
}

void DraftAccount::add(double steps) { balance_ = std::min(balance_ + steps, kMaxBalance); }

void DraftPolicy::settle(const Candidate& candidate) {
    DraftLedger& ledger = *candidate.ledger;
    if (!ledger.is_open) ledger.account = DraftAccount(std::min(std::max(account_.balance(), 0.0), kMaxAdvance));
    ledger.is_open     = true;
    const double saved = ledger.worth * static_cast<double>(candidate.n_accepted - ledger.n_accepted);
    ledger.account.add(saved);
    account_.add(saved);
    ledger.worth      = 0;
    ledger.n_accepted = candidate.n_accepted;
    ledger.account.grant_step();
}

std::vector<size_t> DraftPolicy::choose(const std::vector<Candidate>& candidates) {
    drafting_.clear();
    for (const Candidate& candidate : candidates) settle(candidate);
    account_.grant_step();
    std::vector<size_t> chosen(candidates.size());
    if (n_plain_steps_ > 0) return chosen;

    Choice best;
    best.speed          = kMinSpeedUp;
    const auto consider = [&](size_t first, size_t end, size_t length) {
        Choice choice{first, end, length};
        choice.speed = speed_of(candidates, choice);
        if (choice.speed > best.speed) best = choice;
    };
    for (const size_t length : lengths_) {
        for (size_t i = 0; i < candidates.size(); ++i) consider(i, i + 1, length);
        if (candidates.size() > 1) consider(0, candidates.size(), length);
    }
    for (size_t i = best.first; i < best.end; ++i) {
        chosen[i] = best.length;
        drafting_.push_back(candidates[i].ledger);
        candidates[i].ledger->worth = 1.0 / static_cast<double>(candidates.size());
    }
    for (size_t i = 0; n_min_ > 0 && i < candidates.size(); ++i) {
        const size_t most = std::min(candidates[i].expected_hits.size(), n_max_ / candidates.size());
        chosen[i]         = std::min(std::max(chosen[i], n_min_), most);
    }
    return chosen;
}

// 0: it is not possible, or not allowed.
double DraftPolicy::speed_of(const std::vector<Candidate>& candidates, const Choice& choice) const {
    const StepShape shape{candidates.size(), choice.end - choice.first, choice.length};
    double          saved = 0, balance = 0;
    for (size_t i = choice.first; i < choice.end; ++i) {
        if (candidates[i].expected_hits.size() < choice.length) return 0;
        saved += candidates[i].expected_hits[choice.length - 1] / static_cast<double>(candidates.size());
        balance += candidates[i].ledger->account.balance();
    }
    if (!is_allowed(shape, balance)) return 0;
    const double change = previous_.n_drafting == 0 ? costs_.change() : 0;
    return (1 + saved) / (costs_.hoped_for(shape) + change);
}

// Whether the account could pay if all of it were rejected, and the step would not keep others waiting for too long.
bool DraftPolicy::is_allowed(const StepShape& shape, double balance) const {
    if (shape.n_drafting * shape.length > n_max_ || extra(shape) > balance) return false;
    const double plain_ms = costs_.plain_ms(shape.n_sequences);
    return costs_.of(shape) * plain_ms <= std::max(target_step_ms_, kMaxStepFactor * plain_ms);
}

double DraftPolicy::extra(const StepShape& shape) const {
    return costs_.of(shape) - 1 + (previous_.n_drafting == 0 ? costs_.change() : 0);
}

void DraftPolicy::computed(const StepShape& shape, double milliseconds) {
    costs_.observe(shape, previous_, milliseconds);
    for (DraftLedger* ledger : drafting_) ledger->account.add(-extra(shape) / static_cast<double>(drafting_.size()));
    if (!drafting_.empty()) account_.add(-extra(shape));
    drafting_.clear();
    previous_ = shape;
    if (n_plain_steps_ > 0) {
        --n_plain_steps_;
        n_drafted_steps_ = 0;
    } else if (shape.n_drafting == 0) {
        n_drafted_steps_ = 0;
    } else if (++n_drafted_steps_ == kDraftedStepsInRow) {
        n_plain_steps_ = kPlainStepsAfter;
    }
}

}  // namespace chasqui
