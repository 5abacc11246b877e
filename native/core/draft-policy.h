// Thread: engine, once submitted. Reads no clock: times are arguments.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace chasqui {

// Drafts are made while at most this many sequences decode: they pay off while few rows share a step.
constexpr size_t kMaxDraftedSequences = 2;

// The work of a step: `n_sequences` decode, and `n_drafting` of them have drafts of `length` tokens each.
struct StepShape {
    size_t n_sequences = 1;
    size_t n_drafting  = 0;  // 0: none, and `length` is 0
    size_t length      = 0;

    bool   operator==(const StepShape& other) const;
    size_t n_rows() const { return n_sequences + n_drafting * length; }
};

// Learns how long steps take by their shape. All costs are relative: multiples of a plain step, which is one without
// drafts of the same number of sequences. The cost of a row differs by an order of magnitude between machines and is
// not linear, because kernels compute rows in groups of four or eight.
class StepCosts {
public:
    // A step of this shape took this long, after a step of the `previous` shape.
    void observe(const StepShape& shape, const StepShape& previous, double milliseconds);

    // Milliseconds of a plain step; 0: not measured yet.
    double plain_ms(size_t n_sequences) const { return plain_ms_[n_sequences - 1].value(); }
    // Measured, interpolated between measured lengths, or assumed to be high.
    double cost(const StepShape& shape) const { return estimate(shape, 1); }
    // The same, but optimistic about drafts longer than all measured ones, so that they are tried where that is cheap.
    double optimistic_cost(const StepShape& shape) const;
    // Additional cost of a change of the shape: llama.cpp rebuilds its graphs.
    double rebuild_cost() const { return rebuild_cost_; }

    static constexpr size_t kMaxLength = 64;

private:
    // A moving average that clips outliers. Other programs make steps slower and never faster, so one slow step counts
    // as slightly slower; if the next is as slow, the average restarts there.
    class Average {
    public:
        double value() const { return value_; }
        void   add(double value, double expected);

    private:
        double   value_       = 0;  // 0: no measurements
        uint32_t n_           = 0;
        bool     was_outlier_ = false;
    };
    struct Measured {
        Average  cost;
        uint64_t at = 0;  // the number of the step that was measured last
    };
    using CostsByLength = std::array<Measured, kMaxLength + 1>;

    static size_t kind_of(const StepShape& shape);
    double        estimate(const StepShape& shape, double slope_factor) const;
    double        cost_of_rows(size_t n_rows) const;
    double        assumed_cost(const StepShape& shape) const;
    bool          is_known(const Measured& measured) const;

    std::array<Average, kMaxDraftedSequences> plain_ms_;
    std::array<CostsByLength, 3>              costs_;  // by kind_of()
    double                                    rebuild_cost_ = 0;
    uint64_t                                  n_steps_      = 0;
};

// The gains and losses of drafts, in plain steps. A draft must be covered by the balance. Even if all estimates are
// wrong, drafts lose at most the granted share of the steps.
class DraftAccount {
public:
    DraftAccount() = default;
    explicit DraftAccount(double balance) : balance_(balance) {}

    double balance() const { return balance_; }
    void   grant_step() { add(kGrantedShare); }
    void   add(double steps);

private:
    // Per step. There is one account per sequence and one for all, so the loss is at most twice this in the long run.
    static constexpr double kGrantedShare = 0.004;
    // Gains beyond this are not saved up, or the end of a long quotation could cost what it has gained.
    static constexpr double kMaxBalance = 8;

    double balance_ = 0;
};

// The state that DraftPolicy keeps per sequence.
struct DraftLedger {
    DraftAccount account;
    bool         is_open          = false;
    double       gain_per_hit     = 0;  // plain steps saved per accepted token of the last draft; 0: no draft by lookup
    size_t       n_accepted_total = 0;  // of all drafts, when last settled
};

// Decides how many tokens to draft by prompt lookup. The speed of a draft, relative to plain steps, is
//
//   (1 + expected hits per sequence) / (cost of the step + rebuild cost if the last step was plain)
//
// The fastest draft is chosen if it is clearly faster than no draft, its loss is covered by the accounts, and the step
// does not exceed the target time by too much.
class DraftPolicy {
public:
    // A sequence that decodes in the next step.
    struct Candidate {
        DraftLedger*        ledger;
        size_t              n_accepted_total;  // of all its drafts so far
        std::vector<double> expected_hits;     // of a draft of 1, 2, ... tokens; empty: no draft
    };

    // `n_max`: maximum of drafted tokens per step. `target_step_ms`: acceptable delay of other requests. `n_min`:
    // minimum length of each draft that can be as long, even if it does not pay off.
    DraftPolicy(size_t n_max, double target_step_ms, size_t n_min = 0);

    // Returns the draft length of each candidate. At most kMaxDraftedSequences candidates.
    std::vector<size_t> choose(const std::vector<Candidate>& candidates);
    // The step planned with choose() has been computed, with drafts of that shape.
    void computed(const StepShape& shape, double milliseconds);
    // A step that was not planned with choose() has been computed.
    void computed_other_step() { previous_ = {0, 0, 0}; }

    size_t n_max() const { return n_max_; }

private:
    // The candidates [first, end) have drafts of one length.
    struct Choice {
        size_t first = 0, end = 0;
        size_t length = 0;
        double speed  = 0;
    };

    void   settle(const Candidate& candidate);
    double speed_of(const std::vector<Candidate>& candidates, const Choice& choice) const;
    bool   is_allowed(const StepShape& shape, double balance) const;
    double rebuild_cost() const { return previous_.n_drafting == 0 ? costs_.rebuild_cost() : 0; }
    double loss_if_rejected(const StepShape& shape) const { return costs_.cost(shape) - 1 + rebuild_cost(); }

    static constexpr double kInitialBalance = 4;

    const size_t              n_max_, n_min_;
    const double              target_step_ms_;
    std::vector<size_t>       lengths_;  // that are tried, ascending
    StepCosts                 costs_;
    DraftAccount              account_{kInitialBalance};  // of all sequences together
    StepShape                 previous_            = {0, 0, 0};
    size_t                    n_drafted_in_row_    = 0;
    size_t                    n_plain_steps_to_do_ = 0;
    std::vector<DraftLedger*> drafting_;  // in the current step
};

}  // namespace chasqui
