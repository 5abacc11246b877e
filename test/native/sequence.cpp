#include "check.h"

#include "core/sequence.h"

#include <memory>
#include <string>
#include <vector>

using namespace chasqui;
using namespace chasqui::test;

namespace {

Sequence with(int32_t max_tokens, std::vector<std::string> stop) {
    Job job;
    job.id         = 1;
    job.prompt     = {1, 2, 3};
    job.max_tokens = max_tokens;
    job.stop       = std::move(stop);
    return Sequence(std::move(job));
}

const Test until_end("sequence: an end-of-generation token stops it and adds no text", [] {
    Sequence sequence = with(-1, {});
    expect_equal(sequence.accept(5, "Hi", false, 100), "Hi");
    expect(sequence.status == SequenceStatus::decoding, "decoding");
    expect_equal(sequence.accept(0, "<end>", true, 100), "");
    expect(sequence.status == SequenceStatus::stopped, "stopped");
    const Finish finish = sequence.finish();
    expect_equal(finish.prompt_tokens, 3);
    expect_equal(finish.completion_tokens, 2);
});

const Test until_max("sequence: max_tokens ends it, and what was held back comes with the last token", [] {
    Sequence sequence = with(2, {"ab"});
    expect_equal(sequence.accept(5, "x", false, 100), "x");
    expect_equal(sequence.accept(6, "a", false, 100), "a");
    expect(sequence.status == SequenceStatus::length_reached, "length reached");
});

const Test until_context("sequence: the end of the context ends it", [] {
    Sequence sequence = with(-1, {});
    sequence.accept(5, "x", false, 5);
    expect(sequence.status == SequenceStatus::decoding, "decoding");
    sequence.accept(5, "x", false, 5);
    expect(sequence.status == SequenceStatus::length_reached, "length reached");
});

const Test until_stop("sequence: a stop string ends it, named, and neither it nor what follows is text", [] {
    Sequence sequence = with(-1, {"\n\n"});
    expect_equal(sequence.accept(5, "one\n", false, 100), "one");
    expect_equal(sequence.accept(5, "\ntwo", false, 100), "");
    expect(sequence.status == SequenceStatus::stopped, "stopped");
    expect_equal(sequence.finish().stop_string, "\n\n");
});

const Test half_character("sequence: a character that is still incomplete at the end is replaced", [] {
    Sequence sequence = with(1, {});
    expect_equal(sequence.accept(5, "\xF0\x9F", false, 100), "\xEF\xBF\xBD");
});

const Test reasons("sequence: only the two good ends have a finish reason", [] {
    expect_equal(std::string(finish_reason(SequenceStatus::stopped)), "stop");
    expect_equal(std::string(finish_reason(SequenceStatus::length_reached)), "length");
    for (const auto status : {SequenceStatus::queued, SequenceStatus::prefilling, SequenceStatus::decoding,
                              SequenceStatus::cancelled, SequenceStatus::failed}) {
        expect(finish_reason(status) == nullptr, "no finish reason");
    }
    expect(!is_over(SequenceStatus::decoding) && is_over(SequenceStatus::stopped), "over after decoding");
});

// A tool call from token 10 on.
class Call : public TokenConstraint {
public:
    bool                 allows(TokenId) override { return true; }
    void                 filter(std::vector<TokenId>&) override {}
    std::vector<TokenId> allowed() override { return {}; }
    void                 accept(TokenId token) override { is_call_ = is_call_ || token == 10; }
    bool                 is_call() const override { return is_call_; }

private:
    bool is_call_ = false;
};

const Test in_reasoning("sequence: stop strings do not apply within reasoning, those of the format do", [] {
    const auto spell = [](TokenId token) { return std::string(token == 9 ? "</think>" : "stop"); };
    for (const bool of_format : {false, true}) {
        Job job;
        job.prompt           = {1};
        (of_format ? job.format_stops : job.stop) = {"stop", "think"};
        job.reasoning_budget = std::make_shared<ReasoningBudget>(
            ReasoningLimit{{{"<think>", {"</think>"}}}, "<think>", 1000, {}}, ReasoningTokens{{{9}}, {}, spell});
        Sequence sequence(job);
        for (const TokenId token : {5, 9, 5}) {
            if (is_over(sequence.status)) break;
            sequence.sampler->accept(token);
            sequence.accept(token, spell(token), false, 100);
        }
        expect(sequence.status == SequenceStatus::stopped, "stopped");
        expect_equal(sequence.n_sampled(), of_format ? size_t{1} : size_t{3});
        expect_equal(sequence.finish().stop_string, "stop");
    }
});

const Test in_call("sequence: stop strings do not apply within a tool call", [] {
    Job job;
    job.prompt     = {1};
    job.stop       = {"stop"};
    job.constraint = std::make_shared<Call>();
    Sequence sequence(job);
    for (const TokenId token : {10, 5, 5}) {
        sequence.sampler->accept(token);
        expect_equal(sequence.accept(token, "a stop ", false, 100), "a stop ");
    }
    expect(sequence.status == SequenceStatus::decoding, "decoding");
});

}  // namespace
