// Tokens that remain after the filters top_k, top_p and min_p.
#include "sampling.h"

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

using namespace chasqui;
using namespace chasqui::test;

namespace {

const Test top_k("sampler: top_k draws all of the k most probable tokens and none of the others", [] {
    for (const int32_t k : {2, 5, 40}) {
        const auto       logits = random_logits(5000, 2);
        SamplingSettings settings;
        settings.top_k       = k;
        settings.temperature = 5;
        const auto drawn     = draw_many(settings, logits, 20000);
        const auto order     = by_logit(logits);
        expect_equal(drawn.size(), static_cast<size_t>(k));
        for (int32_t i = 0; i < k; ++i) expect(drawn.count(order[static_cast<size_t>(i)]) == 1, "token drawn");
    }
});

// Large vocabularies are looked at block by block; logits that are alike lie in many blocks.
const Test top_k_of_many("sampler: top_k of a large vocabulary leaves the first of those that are alike", [] {
    for (const size_t n_vocab : {127u, 128u, 129u, 5'000u, 20'001u}) {
        for (const float step : {0.001f, 1.0f, 100.0f}) {
            auto logits = random_logits(n_vocab, 7);
            for (float& logit : logits) logit = std::round(logit / step) * step;
            logits[n_vocab / 2] = std::numeric_limits<float>::quiet_NaN();
            logits[n_vocab / 3] = -std::numeric_limits<float>::infinity();
            for (const int32_t k : {2, 30, 120}) {
                SamplingSettings settings;
                settings.top_k       = k;
                settings.temperature = 1000;
                std::vector<float> ordered = logits;
                ordered[n_vocab / 2]       = -std::numeric_limits<float>::infinity();
                const auto largest         = by_logit(ordered);
                const auto drawn           = draw_many(settings, logits, 40 * k);
                expect_equal(drawn.size(), static_cast<size_t>(k));
                for (int32_t i = 0; i < k; ++i) expect(drawn.count(largest[static_cast<size_t>(i)]) == 1, "token drawn");
            }
        }
    }
});

const Test nucleus("sampler: top_p draws from the shortest head that holds that much probability", [] {
    // 0.5, 0.25, 0.125, ...: a head of two holds 0.75.
    std::vector<float> logits;
    for (int i = 0; i < 20; ++i) logits.push_back(static_cast<float>(-i * std::log(2.0)));
    for (const int32_t k : {0, 10}) {
        SamplingSettings settings;
        settings.top_p = 0.74f;
        settings.top_k = k;
        const auto drawn = draw_many(settings, logits, 5000);
        expect_equal(drawn.size(), size_t{2});
        expect(drawn.count(0) == 1 && drawn.count(1) == 1, "the two most probable");
    }
});

const Test wide_nucleus("sampler: a nucleus wider than the first selection is found as well", [] {
    const std::vector<float> logits(3000, 1.0f);
    SamplingSettings         settings;
    settings.top_p   = 0.5f;
    const auto drawn = draw_many(settings, logits, 60000);
    expect(drawn.size() > 1450 && drawn.size() <= 1501, "about half of the tokens");
});

const Test min_p("sampler: min_p drops what is too improbable beside the most probable token", [] {
    const std::vector<float> logits{0.0f, std::log(0.5f), std::log(0.11f), std::log(0.09f)};
    for (const int32_t k : {0, 4}) {
        SamplingSettings settings;
        settings.min_p       = 0.1f;
        settings.top_k       = k;
        settings.temperature = 3;
        const auto drawn     = draw_many(settings, logits, 2000);
        expect_equal(drawn.size(), size_t{3});
        expect(drawn.count(3) == 0, "token 3 dropped");
    }
});

}  // namespace
