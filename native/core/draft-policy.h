// Thread: engine, once submitted. No clock in here: times come from outside.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace chasqui {

// Drafts are made while at most this many sequences decode: they pay while a row costs little, which is while few rows
// share the step.
constexpr size_t kMaxDraftedSequences = 2;

// What a step has to compute: so many sequences decode, and so many of them have drafts of this length each.
struct StepShape {
    size_t n_sequences = 1;
    size_t n_drafting  = 0;  // 0: none, and `length` is 0
    size_t length      = 0;

    bool   operator==(const StepShape& other) const;
    size_t n_rows() const { return n_sequences + n_drafting * length; }
};

// How long steps take, by their shape, learnt from those that were computed. Machines differ by an order of magnitude in
// what a row costs, and the cost of rows is no straight line: kernels compute them by fours or eights.
class StepCosts {
public:
    // A step of this shape took so long, which came after one of that shape.
    void observe(const StepShape& shape, const StepShape& previous, double milliseconds);

    // Of a step without drafts; 0: not known yet.
    double plain_ms(size_t n_sequences) const { return plain_ms_[n_sequences - 1].value(); }
    // How many times as long as without drafts a step of this shape takes. Where it has not been measured it is worked
    // out from shapes that have been, or assumed to be dear.
    double of(const StepShape& shape) const;
    // The same, but a shape beyond all that were measured is taken to be cheaper than they let expect: so that it is
    // tried where that costs little.
    double hoped_for(const StepShape& shape) const;
    // What a change of shape costs in addition, because graphs are laid out anew.
    double change() const { return change_; }

    static constexpr size_t kMaxLength = 64;

private:
    // An average. Other programs make steps slower and never faster, so a single one that is much slower counts as a
    // little slower; if the next one is as slow, that is how it is now.
    class Average {
    public:
        double value() const { return value_; }
        void   add(double value, double expected);

    private:
        double   value_       = 0;  // 0: nothing has been added
        uint32_t n_           = 0;
        bool     was_outlier_ = false;
    };
    // Of one length of drafts.
    struct Cost {
        Average  times;
        uint64_t at = 0;  // when it was measured last, in steps
    };
    using Costs = std::array<Cost, kMaxLength + 1>;

    static size_t kind_of(const StepShape& shape);
    double        estimate(const StepShape& shape, double slope_beyond) const;
    double        lone(size_t n_rows) const;
    double        assumed(const StepShape& shape) const;
    bool          is_known(const Cost& cost) const;

    std::array<Average, kMaxDraftedSequences> plain_ms_;
    std::array<Costs, 3>                      costs_;  // by kind
    double                                    change_  = 0;
    uint64_t                                  n_steps_ = 0;
};

// What drafts have gained and lost, in steps. They are paid for out of it: however wrong all estimates may be, they lose
// no more than was granted, and what is granted is a small share of the steps.
class DraftAccount {
public:
    DraftAccount() = default;
    explicit DraftAccount(double balance) : balance_(balance) {}

    double balance() const { return balance_; }
    // For a step, whatever is in it.
    void   grant_step() { add(kGrantedShare); }
    void   add(double steps);

private:
    // Of each step. A sequence and all together have an account, so the loss is twice this at most in the long run.
    static constexpr double kGrantedShare = 0.004;
    // Gains are not saved up beyond this, or the end of a long quotation could cost what it has saved.
    static constexpr double kMaxBalance = 8;

    double balance_ = 0;
};

// A sequence's own part in the decisions.
struct DraftLedger {
    DraftAccount account;
    bool         is_open    = false;
    double       worth      = 0;  // of each accepted token of its last draft, in steps; 0: it had none from the lookup
    size_t       n_accepted = 0;  // of all its drafts, when last looked at
};

// Decides how many tokens to draft by lookup: as many as are expected to bring the text forward fastest, which is none
// where no number is clearly faster than a step without drafts.
class DraftPolicy {
public:
    // A sequence that decodes in the next step.
    struct Candidate {
        DraftLedger*        ledger;
        size_t              n_accepted;     // of all its drafts up to now
        std::vector<double> expected_hits;  // of the first token proposed, of the first two, ...; empty: none
    };

    // `n_max`: tokens to draft in a step. `target_step_ms`: how long others may be kept waiting. `n_min`: tokens to draft
    // for each candidate that has as many, whether that pays or not.
    DraftPolicy(size_t n_max, double target_step_ms, size_t n_min = 0);

    // The length of each candidate's draft. There are at most kMaxDraftedSequences of them.
    std::vector<size_t> choose(const std::vector<Candidate>& candidates);
    // The step that choose() was asked for has been computed, with drafts of that shape.
    void                computed(const StepShape& shape, double milliseconds);
    // There was a step of another kind, which choose() was not asked for.
    void                interrupted() { previous_ = {0, 0, 0}; }

    // Tokens in the drafts of a step.
    size_t n_max() const { return n_max_; }

private:
    // These candidates have drafts, of one length.
    struct Choice {
        size_t first = 0, end = 0;
        size_t length = 0;
        double speed  = 0;  // in tokens, of that without drafts
    };

    void   settle(const Candidate& candidate);
    double speed_of(const std::vector<Candidate>& candidates, const Choice& choice) const;
    bool   is_allowed(const StepShape& shape, double balance) const;
    double extra(const StepShape& shape) const;

    // What all sequences together may lose, in steps, before drafts have gained anything.
    static constexpr double kInitialBalance = 4;

    const size_t              n_max_, n_min_;
    const double              target_step_ms_;
    std::vector<size_t>       lengths_;  // that are tried, ascending
    StepCosts                 costs_;
    DraftAccount              account_{kInitialBalance};
    StepShape                 previous_        = {0, 0, 0};
    size_t                    n_drafted_steps_ = 0;  // since the last without drafts
    size_t                    n_plain_steps_   = 0;  // that are still to come for the comparison
    std::vector<DraftLedger*> drafting_;             // in the step that is computed
};

}  // namespace chasqui
