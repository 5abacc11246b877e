#include "check.h"

#include "core/prompt-lookup.h"

using namespace chasqui;
using namespace chasqui::test;

namespace {

using Tokens = std::vector<TokenId>;

const Test finds("prompt-lookup: what followed the last occurrence is drafted", [] {
    expect(propose_ngram({1, 2, 3, 9, 1, 2, 3, 4, 5, 6, 1, 2, 3}, 3, 2) == Tokens({4, 5}), "4 5");
    expect(propose_ngram({1, 2, 3, 4, 1, 2, 3}, 3, 6) == Tokens({4, 1, 2, 3, 4, 1}), "what followed, over and over");
});

const Test nothing("prompt-lookup: without an earlier occurrence there is no draft", [] {
    expect(propose_ngram({1, 2, 3, 4}, 2, 5).empty(), "no draft");
    expect(propose_ngram({1, 2}, 2, 5).empty(), "no draft from the pattern itself");
    expect(propose_ngram({}, 2, 5).empty(), "no draft from nothing");
    expect(propose_ngram({1, 1, 1}, 0, 5).empty() && propose_ngram({1, 1, 1}, 1, 0).empty(), "no draft of nothing");
});

const Test overlaps("prompt-lookup: a run of one token is continued", [] {
    expect(propose_ngram({7, 7, 7, 7}, 2, 3) == Tokens({7, 7, 7}), "7 7 7");
});

const Test adapts("prompt-lookup: drafts grow while they are accepted and pause when they are not", [] {
    DraftLength length(16);
    expect_equal(length.next(), size_t{4});
    length.observe(4, 4);
    expect_equal(length.next(), size_t{8});
    length.observe(8, 8);
    length.observe(16, 16);
    expect_equal(length.next(), size_t{16});
    for (int i = 0; i < 4; ++i) length.observe(length.next(), 0);
    for (int i = 0; i < 16; ++i) expect_equal(length.next(), size_t{0});
    expect_equal(length.next(), size_t{4});
});

}  // namespace
