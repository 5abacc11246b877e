#include "sampling.h"

#include "core/error-code.h"
#include "core/largest-logit.h"
#include "core/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <tuple>
#include <vector>

using namespace chasqui;
using namespace chasqui::test;

namespace {

const Test greedy("sampler: temperature 0 takes the first of the most probable tokens", [] {
    SamplingSettings settings;
    settings.temperature     = 0;
    std::vector<float> logits{1, 5, 3, 5, 2, 5, 0, 0, 0, 0, 5};
    Sampler            sampler(settings);
    expect_equal(sampler.sample(logits.data(), size_of(logits)), 1);
});

const Test greedy_large("sampler: temperature 0 finds the first of the largest wherever it is in a large vocabulary", [] {
    SamplingSettings settings;
    settings.temperature = 0;
    Sampler       sampler(settings);
    const TokenId n_vocab = 20'001;
    for (const TokenId first : {0, 4095, 4096, 4097, 12'287, 16'384, n_vocab - 1}) {
        std::vector<float> logits(n_vocab, -2.0f);
        for (TokenId id = first; id < n_vocab; id += 1500) logits[static_cast<size_t>(id)] = -1.0f;
        expect_equal(sampler.sample(logits.data(), n_vocab), first);
    }
});

const Test seeded("sampler: the same seed draws the same tokens, another seed others", [] {
    const auto draw = [](uint32_t seed) {
        SamplingSettings settings;
        settings.seed   = seed;
        auto    logits  = random_logits(1000, 1);
        Sampler sampler(settings);
        std::vector<TokenId> tokens;
        for (int i = 0; i < 50; ++i) tokens.push_back(sampler.sample(logits.data(), size_of(logits)));
        return tokens;
    };
    expect(draw(3) == draw(3), "equal tokens for equal seeds");
    expect(draw(3) != draw(4), "different tokens for different seeds");
});

const Test frequencies("sampler: tokens are drawn as often as the softmax says", [] {
    const std::vector<float> logits{2.0f, 1.0f, 0.0f, -1.0f};
    for (const float temperature : {0.5f, 1.0f, 2.0f}) {
        SamplingSettings settings;
        settings.temperature = temperature;
        const int n          = 40000;
        auto      drawn      = draw_many(settings, logits, n);
        double    sum        = 0;
        for (const float logit : logits) sum += std::exp(logit / temperature);
        double chi_squared = 0;
        for (size_t id = 0; id < logits.size(); ++id) {
            const double expected = n * std::exp(logits[id] / temperature) / sum;
            const double off      = drawn[static_cast<TokenId>(id)] - expected;
            chi_squared += off * off / expected;
        }
        expect(chi_squared < 16.3, "chi squared below its 99.9th percentile for three degrees of freedom");
    }
});

const Test penalties("sampler: penalties lower recent tokens, within their window, and leave the logits as they were", [] {
    SamplingSettings settings;
    settings.temperature    = 0;
    settings.repeat_penalty = 2.0f;
    settings.repeat_last_n  = 2;
    std::vector<float> logits{4.0f, 3.0f, 1.0f};
    const auto         before = logits;
    Sampler            sampler(settings);
    sampler.accept(0);
    expect_equal(sampler.sample(logits.data(), 3), 1);
    sampler.accept(1);
    expect_equal(sampler.sample(logits.data(), 3), 0);
    sampler.accept(2);
    sampler.accept(2);
    expect_equal(sampler.sample(logits.data(), 3), 0);
    expect(logits == before, "unchanged logits");
});

const Test negative_logits("sampler: a repeat penalty makes negative logits smaller too", [] {
    SamplingSettings settings;
    settings.temperature    = 0;
    settings.repeat_penalty = 3.0f;
    std::vector<float> logits{-1.0f, -2.0f};
    Sampler            sampler(settings);
    sampler.accept(0);
    expect_equal(sampler.sample(logits.data(), 2), 1);
});

const Test counts("sampler: frequency counts every occurrence, presence counts once", [] {
    SamplingSettings settings;
    settings.temperature       = 0;
    settings.frequency_penalty = 1.0f;
    std::vector<float> logits{5.0f, 3.5f};
    Sampler            by_frequency(settings);
    by_frequency.accept(0);
    expect_equal(by_frequency.sample(logits.data(), 2), 0);
    by_frequency.accept(0);
    expect_equal(by_frequency.sample(logits.data(), 2), 1);

    settings.frequency_penalty = 0.0f;
    settings.presence_penalty  = 1.0f;
    Sampler by_presence(settings);
    for (int i = 0; i < 9; ++i) by_presence.accept(0);
    expect_equal(by_presence.sample(logits.data(), 2), 0);
});

const Test bias("sampler: logit_bias comes before penalties, bans with minus infinity, and is taken back", [] {
    SamplingSettings settings;
    settings.temperature    = 0;
    settings.repeat_penalty = 2.0f;
    settings.logit_bias     = {{0, 3.0f}, {2, -std::numeric_limits<float>::infinity()}};
    std::vector<float> logits{1.0f, 3.0f, 9.0f};
    const auto         before = logits;
    Sampler            sampler(settings);
    expect_equal(sampler.sample(logits.data(), 3), 0);
    sampler.accept(0);  // (1 + 3) / 2 is less than 3
    expect_equal(sampler.sample(logits.data(), 3), 1);
    expect(logits == before, "unchanged logits");
});

const Test not_a_number("sampler: rows of NaN and of minus infinity yield some token of the vocabulary", [] {
    for (const float value : {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
        for (const int32_t k : {0, 1, 3}) {
            for (const float p : {0.5f, 1.0f}) {
                SamplingSettings settings;
                settings.top_k = k;
                settings.top_p = p;
                settings.min_p = 0.1f;
                std::vector<float> logits(10, value);
                Sampler            sampler(settings);
                const TokenId      token = sampler.sample(logits.data(), 10);
                expect(token >= 0 && token < 10, "a token of the vocabulary");
            }
        }
    }
});

const Test logprobs("sampler: log-probabilities are the model's own and add up to one", [] {
    const auto     logits = random_logits(100, 5);
    const Logprobs result = logprobs_of(logits.data(), 100, 7, 100);
    double         sum    = 0;
    for (const TokenLogprob& each : result.top) sum += std::exp(each.logprob);
    expect(std::abs(sum - 1) < 1e-5, "probabilities that add up to one");
    expect_equal(result.top.front().id, by_logit(logits).front());
    expect_equal(result.chosen.id, 7);
    for (const TokenLogprob& each : result.top) {
        if (each.id == 7) expect_equal(each.logprob, result.chosen.logprob);
    }
});

// Allows multiples of three, then nothing any more.
class Threes final : public TokenConstraint {
public:
    explicit Threes(int most) : left_(most) {}
    bool allows(TokenId token) override { return left_ > 0 && token % 3 == 0; }
    void filter(std::vector<TokenId>& tokens) override {
        tokens.erase(std::remove_if(tokens.begin(), tokens.end(), [this](TokenId each) { return !allows(each); }),
                     tokens.end());
    }
    std::vector<TokenId> allowed() override {
        std::vector<TokenId> all;
        for (TokenId token = 0; token < 3000; ++token) all.push_back(token);
        filter(all);
        return all;
    }
    void accept(TokenId) override { --left_; }

private:
    int left_;
};

const Test constrained("sampler: a constraint comes before everything else, and leaves the logits as they were", [] {
    for (const auto& [heat, k, p, least] :
         {std::tuple(1.0f, 5, 1.0f, 0.0f), std::tuple(1.0f, 0, 1.0f, 0.0f), std::tuple(0.8f, 0, 0.5f, 0.0f),
          std::tuple(1.0f, 0, 1.0f, 0.3f), std::tuple(0.0f, 0, 1.0f, 0.0f), std::tuple(1.0f, 1500, 0.9f, 0.1f)}) {
        SamplingSettings settings;
        settings.temperature    = heat;
        settings.top_k          = k;
        settings.top_p          = p;
        settings.min_p          = least;
        const auto         best = [](TokenId a, const std::vector<float>& of) { return of[static_cast<size_t>(a)]; };
        auto               logits = random_logits(1500, 3);
        const auto         before = logits;
        Sampler            sampler(settings, std::make_shared<Threes>(1000));
        std::vector<float> ranked;
        for (size_t id = 0; id < logits.size(); id += 3) ranked.push_back(logits[id]);
        std::sort(ranked.rbegin(), ranked.rend());
        for (int i = 0; i < 200; ++i) {
            const TokenId token = sampler.sample(logits.data(), size_of(logits));
            expect_equal(token % 3, 0);
            if (heat == 0.0f) expect_equal(best(token, logits), ranked[0]);
            if (k == 5) expect(best(token, logits) >= ranked[4], "one of the five best that are allowed");
            sampler.accept(token);
        }
        expect(logits == before, "the logits to be as they were");
    }
});

const Test far_apart("sampler: top_k finds allowed tokens wherever they are among the others", [] {
    SamplingSettings settings;
    settings.top_k       = 2;
    settings.temperature = 1000.0f;
    std::vector<float> logits(3000);
    for (size_t id = 0; id < logits.size(); ++id) logits[id] = static_cast<float>(id % 3 == 0 ? -90.0 : 1.0);
    logits[0] = 2.0f;  // among the most probable; what else is a multiple of three is not
    logits[9] = -80.0f;
    Sampler                sampler(settings, std::make_shared<Threes>(1000));
    std::map<TokenId, int> drawn;
    for (int i = 0; i < 200; ++i) ++drawn[sampler.sample(logits.data(), size_of(logits))];
    expect_equal(drawn.size(), size_t{2});
    expect(drawn[0] > 20 && drawn[9] > 20, "both of the allowed");
});

const Test same_draw("sampler: a constraint that refuses nothing changes nothing", [] {
    class Anything final : public TokenConstraint {
        bool                 allows(TokenId) override { return true; }
        void                 filter(std::vector<TokenId>&) override {}
        std::vector<TokenId> allowed() override { return {}; }
        void                 accept(TokenId) override {}
    };
    SamplingSettings settings;
    settings.seed = 9;
    settings.top_k = 40;
    auto    logits = random_logits(1000, 4);
    Sampler with(settings, std::make_shared<Anything>()), without(settings);
    for (int i = 0; i < 100; ++i) {
        expect_equal(with.sample(logits.data(), size_of(logits)), without.sample(logits.data(), size_of(logits)));
    }
});

const Test prompt_is_free("sampler: a constraint hears of sampled tokens only, and its end is an error", [] {
    auto    logits = random_logits(600, 5);
    Sampler sampler({}, std::make_shared<Threes>(2));
    for (TokenId token = 0; token < 50; ++token) sampler.accept_prompt(token);
    sampler.accept(sampler.sample(logits.data(), size_of(logits)));
    sampler.accept(sampler.sample(logits.data(), size_of(logits)));
    const auto error = expect_throws<Error>([&] { sampler.sample(logits.data(), size_of(logits)); });
    expect(error.code() == ErrorCode::invalid_grammar, "invalid_grammar");
});

const Test drawn("sampler: probabilities of the draw are those that all samplers leave, and change no draw", [] {
    SamplingSettings settings;
    settings.temperature  = 0.7f;
    settings.top_k        = 5;
    settings.seed         = 9;
    SamplingSettings asks = settings;
    asks.logprobs_after   = true;
    auto       logits = random_logits(300, 8);
    Sampler    plain(settings), asking(asks);
    const auto order = by_logit(logits);
    double     sum   = 0;
    for (size_t i = 0; i < 5; ++i) sum += std::exp((logits[order[i]] - logits[order[0]]) / 0.7);
    for (int n = 0; n < 50; ++n) {
        const TokenId token = asking.sample(logits.data(), size_of(logits));
        expect_equal(token, plain.sample(logits.data(), size_of(logits)));
        const Logprobs found = asking.logprobs_of(logits.data(), size_of(logits), token, 8);
        expect_equal(found.top.size(), size_t{5});
        for (size_t i = 0; i < 5; ++i) {
            expect_equal(found.top[i].id, order[i]);
            const double p = std::exp((logits[order[i]] - logits[order[0]]) / 0.7) / sum;
            expect(std::fabs(std::exp(found.top[i].logprob) - p) < 1e-5, "its share of the five");
            if (order[i] == token) expect_equal(found.chosen.logprob, found.top[i].logprob);
        }
    }
    asks.temperature = 0;
    Sampler        certain(asks, std::make_shared<Threes>(2));
    const TokenId  token = certain.sample(logits.data(), size_of(logits));
    const Logprobs found = certain.logprobs_of(logits.data(), size_of(logits), token, 8);
    expect(found.top.size() == 1 && found.top[0].id == token && found.chosen.logprob == 0.0f, "certainty");
});

const Test banned_end("sampler: what the constraint allows and a bias bans cannot be drawn", [] {
    SamplingSettings settings;
    for (TokenId token = 0; token < 60; token += 3) {
        settings.logit_bias.push_back({token, -std::numeric_limits<float>::infinity()});
    }
    auto    logits = random_logits(60, 6);
    Sampler sampler(settings, std::make_shared<Threes>(5));
    expect_throws<Error>([&] { sampler.sample(logits.data(), size_of(logits)); });
});

const Test last_resort("sampler: an end that is banned comes where the constraint allows nothing else, and only there", [] {
    for (const auto& [heat, is_chain] : {std::tuple(0.0f, false), std::tuple(1.0f, false), std::tuple(1.0f, true)}) {
        SamplingSettings settings;
        settings.temperature    = heat;
        settings.typical_p      = is_chain ? 0.9f : 1.0f;
        settings.logprobs_after = is_chain;
        settings.banned_ends    = {27, 28};  // the constraint allows the first of them, as all multiples of three
        auto logits             = random_logits(60, 6);
        logits[27] = logits[28] = 100.0f;
        const auto before       = logits;
        Sampler    sampler(settings, std::make_shared<Threes>(200));
        for (int i = 0; i < 100; ++i) {
            const TokenId token = sampler.sample(logits.data(), size_of(logits));
            expect(token != 27 && token % 3 == 0, "a token that is allowed and no end");
            sampler.accept(token);
        }
        for (TokenId token = 0; token < 60; token += 3) {
            if (token != 27) settings.logit_bias.push_back({token, -std::numeric_limits<float>::infinity()});
        }
        Sampler ending(settings, std::make_shared<Threes>(1));
        expect_equal(ending.sample(logits.data(), size_of(logits)), 27);
        if (is_chain) expect_equal(ending.logprobs_of(logits.data(), size_of(logits), 27, 3).chosen.id, 27);
        ending.accept(27);
        expect_throws<Error>([&] { ending.sample(logits.data(), size_of(logits)); });
        expect(logits == before, "the logits to be as they were");
    }
});

const Test invalid("sampler: a single NaN or plus infinity makes logits invalid", [] {
    for (const size_t n : {size_t{1}, size_t{17}, size_t{32'000}}) {
        std::vector<float> logits(n, -std::numeric_limits<float>::infinity());
        expect(are_valid(logits.data(), size_of(logits)), "valid logits");
        for (const size_t at : {size_t{0}, n / 2, n - 1}) {
            for (const float each : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
                logits[at] = each;
                expect(!are_valid(logits.data(), size_of(logits)), "invalid logits");
                logits[at] = 1.0f;
            }
        }
    }
});

}  // namespace
