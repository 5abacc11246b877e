#include "check.h"

#include "core/sequence.h"

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

}  // namespace
