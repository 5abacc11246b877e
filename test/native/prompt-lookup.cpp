#include "check.h"

#include "core/prompt-lookup.h"

#include <algorithm>
#include <random>

using namespace chasqui;
using namespace chasqui::test;

namespace {

using Tokens = std::vector<TokenId>;

HitRates no_rates() { return HitRates(0.02); }

PromptLookup lookup_in(const Tokens& tokens) {
    HitRates     rates = no_rates();
    PromptLookup lookup;
    lookup.catch_up(tokens, tokens.size(), rates);
    return lookup;
}

Tokens proposed(const Tokens& tokens, size_t n_max) { return lookup_in(tokens).propose(tokens, n_max); }

Tokens random_tokens(size_t n, TokenId n_vocab, unsigned seed) {
    std::mt19937 random(seed);
    Tokens       tokens(n);
    for (TokenId& token : tokens) token = static_cast<TokenId>(random() % static_cast<unsigned>(n_vocab));
    return tokens;
}

const Test finds("prompt-lookup: what followed an earlier occurrence is proposed", [] {
    expect(proposed({1, 2, 3, 9, 8, 1, 2, 3}, 2) == Tokens({9, 8}), "9 8");
    expect(proposed({1, 2, 3, 9, 1, 2, 3, 4, 5, 6, 1, 2, 3}, 2) == Tokens({4, 5}), "what followed the latest");
    expect(proposed({1, 2, 3, 4, 1, 2, 3}, 6) == Tokens({4, 1, 2, 3, 4, 1}), "what followed, over and over");
});

const Test longest("prompt-lookup: the longest match is taken, and a later one only if it is longer", [] {
    const Tokens text = {7, 1, 2, 3, 5, 8, 8, 1, 2, 3, 6, 8, 7, 1, 2, 3};
    expect(proposed(text, 2) == Tokens({5, 8}), "what followed 7 1 2 3");
    expect_equal(lookup_in(text).match_length(), size_t{4});
});

const Test nothing("prompt-lookup: without an earlier occurrence nothing is proposed", [] {
    expect(proposed({1, 2, 3, 4}, 5).empty(), "nothing");
    expect(proposed({1, 2, 3, 4, 2, 3}, 5).empty(), "nothing after two tokens");
    expect(proposed({1, 2, 3}, 5).empty(), "nothing after the first occurrence");
    expect(proposed({}, 5).empty() && proposed({1}, 5).empty(), "nothing from nothing");
});

const Test overlaps("prompt-lookup: a run of one token is continued",
                    [] { expect(proposed({7, 7, 7, 7}, 3) == Tokens({7, 7, 7}), "7 7 7"); });

const Test images("prompt-lookup: images are no part of a match, and a proposal ends before one", [] {
    expect(proposed({1, -1, -1, -1, 5, 1, -1, -1, -1}, 3).empty(), "nothing after an image");
    expect(proposed({1, 2, -1, 3, 9, 1, 2, -1, 3}, 3).empty(), "nothing across an image");
    expect(proposed({1, 2, 3, 4, -1, 5, 1, 2, 3}, 3) == Tokens({4}), "what is before the image");
    expect(proposed({1, 2, 3, -1, 5, 1, 2, 3}, 3).empty(), "nothing before an image");
});

const Test hit_rates("prompt-lookup: what it would have proposed is compared with what is sampled", [] {
    HitRates     rates = no_rates();
    PromptLookup lookup;
    Tokens       tokens   = random_tokens(40, 1000, 1);
    const size_t n_prompt = tokens.size();
    lookup.catch_up(tokens, n_prompt, rates);
    expect(lookup.expected_hits(4).empty(), "no hits without a match");
    for (size_t i = 0; i < 3; ++i) tokens.push_back(tokens[i]);
    lookup.catch_up(tokens, n_prompt, rates);
    const double believed = lookup.expected_hits(1)[0];
    for (size_t i = 3; i < 30; ++i) {
        tokens.push_back(tokens[i]);
        lookup.catch_up(tokens, n_prompt, rates);
    }
    const std::vector<double> expected = lookup.expected_hits(8);
    expect(expected[0] > 0.95 && expected[0] > believed, "trust in a long quotation");
    expect(expected[7] > 6.5 && expected[7] < 8, "most of eight tokens");
    expect(rates.of(20) > no_rates().of(20), "others learn from it");
});

const Test wrong("prompt-lookup: a rate falls while the lookup is wrong, and what is in the prompt tells nothing", [] {
    HitRates     rates = no_rates();
    PromptLookup lookup;
    Tokens       tokens;
    for (TokenId i = 0; i < 60; ++i) tokens.insert(tokens.end(), {1, 2, 3, 100 + i});
    const size_t n_prompt = tokens.size();
    lookup.catch_up(tokens, n_prompt, rates);
    expect_equal(rates.of(3), no_rates().of(3));
    for (TokenId i = 0; i < 20; ++i) tokens.insert(tokens.end(), {1, 2, 3, 200 + i});
    tokens.insert(tokens.end(), {1, 2, 3});
    lookup.catch_up(tokens, n_prompt, rates);
    expect(lookup.match_length() == 3 && lookup.expected_hits(1)[0] < 0.05, "little trust in three tokens");
});

// Whether the match is one, by the definition; it need not be the longest where there are many.
void expect_match(const PromptLookup& lookup, const Tokens& tokens) {
    if (lookup.match_length() == 0) return;
    const size_t length = lookup.match_length();
    const Tokens next   = lookup.propose(tokens, 1);
    Tokens       pattern(tokens.end() - static_cast<std::ptrdiff_t>(length), tokens.end());
    pattern.insert(pattern.end(), next.begin(), next.end());
    expect(length >= PromptLookup::kMinMatch && next.size() == 1 &&
               std::search(tokens.begin(), tokens.end(), pattern.begin(), pattern.end()) != tokens.end(),
           "the match and what is proposed after it in the text");
}

const Test always("prompt-lookup: every match is one, and none is overlooked that has the only occurrence", [] {
    for (unsigned seed = 0; seed < 20; ++seed) {
        HitRates     rates = no_rates();
        PromptLookup lookup;
        Tokens       tokens;
        for (const TokenId token : random_tokens(700, seed % 2 == 0 ? 3 : 12, seed)) {
            tokens.push_back(token);
            lookup.catch_up(tokens, 0, rates);
            expect_match(lookup, tokens);
            const auto pattern = tokens.end() - static_cast<std::ptrdiff_t>(std::min<size_t>(3, tokens.size()));
            const bool occurs  = tokens.size() > 3 && std::search(tokens.begin(), tokens.end() - 1, pattern,
                                                                  tokens.end()) != tokens.end() - 1;
            expect(!occurs || lookup.match_length() > 0 || tokens.size() > 256, "a match");
        }
    }
});

const Test far("prompt-lookup: a quotation is found in a text of 128k tokens, wherever it is", [] {
    const Tokens prompt = random_tokens(131'072, 150'000, 5);
    HitRates     rates  = no_rates();
    for (const size_t at : {size_t{0}, size_t{70'000}, prompt.size() - 60}) {
        Tokens       tokens = prompt;
        PromptLookup lookup;
        lookup.catch_up(tokens, prompt.size(), rates);
        for (size_t i = 0; i < 10; ++i) tokens.push_back(prompt[at + i]);
        lookup.catch_up(tokens, prompt.size(), rates);
        expect_equal(lookup.match_length(), size_t{10});
        const auto from = prompt.begin() + static_cast<std::ptrdiff_t>(at);
        expect(lookup.propose(tokens, 40) == Tokens(from + 10, from + 50), "what follows there");
    }
});

const Test adapts("prompt-lookup: a draft model's drafts grow while they are accepted and pause when they are not", [] {
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
