#include "check.h"

#include "core/draft-policy.h"
#include "core/prompt-lookup.h"

#include <algorithm>
#include <functional>
#include <random>

using namespace chasqui;
using namespace chasqui::test;

namespace {

using Tokens = std::vector<TokenId>;
// How long a step takes, in steps of one row.
using Machine = std::function<double(const StepShape&)>;

constexpr size_t kMaxDraft = 32;
constexpr double kStepMs   = 20;

// Each row after the first costs this share of it. Drafts of one of two sequences take another pass.
Machine machine(double row_cost) {
    return [=](const StepShape& shape) {
        const double pass = shape.n_drafting == 1 && shape.n_sequences == 2 ? 1 - row_cost : 0;
        return 1 + row_cost * static_cast<double>(shape.n_rows() - 1) + pass;
    };
}

// Two cores with few vector units; with many, which have their work done by fours; a GPU.
const Machine kSlow = machine(0.45), kDevice = machine(0.01);
const Machine kByFours = [](const StepShape& shape) {
    const size_t fours = (shape.n_rows() + 3) / 4;
    const double pass  = shape.n_drafting == 1 && shape.n_sequences == 2 ? 0.8 : 0;
    return (shape.n_rows() == 1 ? 1 : 1.2 + 0.35 * static_cast<double>(fours)) + pass;
};

// So many rows of steps without drafts take so long; each after them takes `more`. Two sequences without drafts are two
// rows. In steps of the number of sequences.
Machine measured(std::vector<double> rows, double more) {
    return [=](const StepShape& shape) {
        const auto cost = [&](size_t n) {
            return n <= rows.size() ? rows[n - 1] : rows.back() + more * static_cast<double>(n - rows.size());
        };
        const double own = cost(shape.n_sequences);
        if (shape.n_drafting == 1 && shape.n_sequences == 2) return (own + cost(shape.length)) / own;
        return cost(shape.n_rows()) / own;
    };
}

// Two cores with vector units of 512 bits and a model of 0.5B in four bits: as llama.cpp computes it, the second row costs
// as much as the first, and those after it next to nothing; by panels of rows (native/kernels/panels.cpp) the second costs
// next to nothing.
const Machine kSecondRowDear =
    measured({1, 2.2, 2.25, 2.3, 2.5, 2.65, 2.9, 3.2, 3.3, 3.45, 3.6, 3.7, 3.8, 3.9, 4.0, 4.1}, 0.25);
const Machine kPanels =
    measured({1, 1.03, 1.2, 1.35, 1.5, 1.65, 1.85, 2.0, 2.15, 2.25, 2.4, 2.5, 2.65, 2.8, 2.9, 3.05}, 0.045);

// Simulates a completion with known tokens and a given cost per draft length.
class Stream {
public:
    Stream(const Tokens& prompt, const Tokens& completion) : tokens(prompt), n_prompt_(prompt.size()) {
        all_ = prompt;
        all_.insert(all_.end(), completion.begin(), completion.end());
    }

    bool is_over() const { return tokens.size() >= all_.size(); }

    DraftPolicy::Candidate candidate(HitRates& rates, size_t n_max) {
        lookup_.catch_up(tokens, n_prompt_, rates);
        draft_ = lookup_.propose(tokens, n_max);
        return {&ledger_, n_accepted, lookup_.expected_hits(draft_.size())};
    }

    void take(size_t length) {
        n_drafted += length;
        for (size_t i = 0; i < length && !is_over() && draft_[i] == all_[tokens.size()]; ++i) {
            tokens.push_back(all_[tokens.size()]);
            ++n_accepted;
        }
        if (!is_over()) tokens.push_back(all_[tokens.size()]);
    }

    Tokens tokens;
    size_t n_drafted = 0, n_accepted = 0;

private:
    Tokens       all_, draft_;
    size_t       n_prompt_;
    PromptLookup lookup_;
    DraftLedger  ledger_;
};

// An engine: what it has learnt stays from one completion to the next.
class Bench {
public:
    explicit Bench(Machine machine, size_t n_max = kMaxDraft, size_t n_min = 0)
        : policy(n_max, 5 * kStepMs, n_min), machine_(std::move(machine)) {}

    // How many times as fast as without drafts these completions are, one or two of them at a time.
    double speed_up(std::vector<Stream*> streams) {
        double took = 0, plain = 0;
        std::vector<size_t> n_tokens;
        for (const Stream* stream : streams) n_tokens.push_back(stream->tokens.size());
        while (!streams.empty()) {
            std::vector<DraftPolicy::Candidate> candidates;
            for (Stream* stream : streams) candidates.push_back(stream->candidate(rates_, policy.n_max()));
            const std::vector<size_t> lengths = policy.choose(candidates);
            StepShape                 shape{streams.size(), 0, *std::max_element(lengths.begin(), lengths.end())};
            for (const size_t length : lengths) shape.n_drafting += length > 0 ? 1 : 0;
            const double cost = machine_(shape);
            policy.computed(shape, cost * noise() * kStepMs);
            took += cost;
            const double without = machine_({streams.size(), 0, 0}) / static_cast<double>(streams.size());
            for (size_t i = 0; i < streams.size(); ++i) {
                const size_t before = streams[i]->tokens.size();
                streams[i]->take(lengths[i]);
                plain += without * static_cast<double>(streams[i]->tokens.size() - before);
            }
            const auto over = [](const Stream* stream) { return stream->is_over(); };
            streams.erase(std::remove_if(streams.begin(), streams.end(), over), streams.end());
        }
        return plain / took;
    }

    double speed_up(const Tokens& prompt, const Tokens& completion) {
        Stream stream(prompt, completion);
        return speed_up({&stream});
    }

    DraftPolicy policy;
    bool        is_noisy = false;

private:
    // Other programs run: some steps take up to a tenth longer, and a few many times as long.
    double noise() {
        if (!is_noisy) return 1;
        const double share = static_cast<double>(random_() % 1000) / 1000;
        return share < 0.02 ? 10 : 1 + 0.1 * share;
    }

    Machine      machine_;
    HitRates     rates_{0.02};
    std::mt19937 random_{7};
};

Tokens random_tokens(size_t n, unsigned seed, unsigned n_vocab = 50'000) {
    std::mt19937 random(seed);
    Tokens       tokens(n);
    for (TokenId& token : tokens) token = static_cast<TokenId>(random() % n_vocab);
    return tokens;
}

Tokens part_of(const Tokens& tokens, size_t from, size_t end) {
    return {tokens.begin() + static_cast<std::ptrdiff_t>(from), tokens.begin() + static_cast<std::ptrdiff_t>(end)};
}

// Every so many tokens of a text, one is replaced by another.
Tokens edited(Tokens tokens, size_t every, unsigned seed) {
    std::mt19937 random(seed);
    for (size_t i = every; i < tokens.size(); i += every / 2 + random() % every) tokens[i] = 60'000 + tokens[i];
    return tokens;
}

// Text that repeats its phrases with other ends: after each three tokens it is open what comes next, though one of few.
Tokens phrases(size_t n, unsigned seed) {
    std::mt19937 random(seed);
    Tokens       tokens;
    while (tokens.size() < n) {
        const TokenId phrase = static_cast<TokenId>(10 * (random() % 40));
        const size_t  length = 3 + random() % 5;
        for (size_t i = 0; i < length; ++i) tokens.push_back(phrase + static_cast<TokenId>(i));
    }
    tokens.resize(n);
    return tokens;
}

const Test quotes("draft-policy: quotations are drafted at length, wherever rows cost less than a step", [] {
    const Tokens prompt = random_tokens(600, 1), quoted = part_of(prompt, 50, 450);
    for (const auto& [machine, least] :
         {std::pair{kSlow, 1.3}, {kByFours, 3.0}, {kDevice, 9.0}, {kSecondRowDear, 2.0}, {kPanels, 5.0}}) {
        Bench        bench(machine);
        const double speed_up = bench.speed_up(prompt, quoted);
        expect(speed_up >= least, "a speed-up of " + std::to_string(least) + ", got " + std::to_string(speed_up));
    }
});

const Test edits("draft-policy: an edited text is drafted from one change to the next", [] {
    const Tokens prompt = random_tokens(900, 2), text = edited(part_of(prompt, 0, 800), 24, 3);
    for (const auto& [machine, least] :
         {std::pair{kSlow, 1.15}, {kByFours, 1.5}, {kDevice, 3.0}, {kSecondRowDear, 1.5}, {kPanels, 2.0}}) {
        Bench bench(machine);
        bench.speed_up(prompt, text);
        const double speed_up = bench.speed_up(prompt, text);
        expect(speed_up >= least, "a speed-up of " + std::to_string(least) + ", got " + std::to_string(speed_up));
    }
});

const Test two("draft-policy: two at a time gain as well, both quoting or one of them", [] {
    const Tokens prompt = random_tokens(600, 4), quoted = part_of(prompt, 50, 450);
    for (const auto& [machine, least, least_one] :
         {std::tuple{kSlow, 1.3, 0.99}, {kByFours, 2.0, 1.1}, {kDevice, 8.0, 1.3}, {kSecondRowDear, 2.0, 1.0}, {kPanels, 3.0, 1.2}}) {
        Bench bench(machine);
        bench.speed_up(prompt, quoted);
        Stream       a(prompt, quoted), b(random_tokens(300, 5), part_of(prompt, 100, 500));
        Stream       c(prompt, quoted), d(prompt, random_tokens(400, 6));
        Stream       e(prompt, quoted);
        const double both = bench.speed_up({&a, &e});
        expect(both >= least, "both: " + std::to_string(least) + ", got " + std::to_string(both));
        const double one = bench.speed_up({&c, &d});
        expect(one >= least_one, "one: " + std::to_string(least_one) + ", got " + std::to_string(one));
        const double none = bench.speed_up({&b, &d});
        expect(none >= 0.99, "none: 0.99, got " + std::to_string(none));
    }
});

const Test random_text("draft-policy: nothing is drafted for text that repeats nothing", [] {
    Bench  bench(kDevice);
    Stream stream(random_tokens(500, 8), random_tokens(500, 9));
    bench.speed_up({&stream});
    expect_equal(stream.n_drafted, size_t{0});
});

const Test phrase_text("draft-policy: where phrases repeat with other ends, drafts lose no more than a hundredth", [] {
    for (const Machine& machine : {kSlow, kByFours, kDevice, kSecondRowDear, kPanels}) {
        for (unsigned seed = 0; seed < 8; ++seed) {
            Bench        bench(machine);
            const double speed_up = bench.speed_up(phrases(300, seed), phrases(600, 100 + seed));
            expect(speed_up >= 0.99, "0.99, got " + std::to_string(speed_up));
        }
    }
});

const Test traps("draft-policy: text that breaks off wherever it has been trusted loses no more than a hundredth", [] {
    for (const Machine& machine : {kSlow, kByFours, kSecondRowDear, kPanels}) {
        for (const size_t length : {4, 6, 7, 9, 10, 14, 18, 20}) {
            const Tokens source = random_tokens(4000, static_cast<unsigned>(length));
            Tokens       completion;
            for (TokenId i = 0; i < 60; ++i) {
                const Tokens part = part_of(source, static_cast<size_t>(i) * 60, static_cast<size_t>(i) * 60 + length);
                completion.insert(completion.end(), part.begin(), part.end());
                completion.push_back(70'000 + i);
            }
            Bench        bench(machine);
            const double speed_up = bench.speed_up(source, completion);
            expect(speed_up >= 0.99, std::to_string(length) + ": 0.99, got " + std::to_string(speed_up));
        }
    }
});

const Test brief("draft-policy: short completions lose four steps once, and a hundredth of all, however many there are", [] {
    constexpr size_t kLength = 20;
    for (const Machine& machine : {kSlow, kByFours, kDevice, kSecondRowDear, kPanels, machine(1.1)}) {
        Bench  bench(machine);
        double lost = 0, n_tokens = 0;
        for (unsigned seed = 0; seed < 100; ++seed) {
            lost += kLength / bench.speed_up(phrases(300, seed), phrases(kLength, 1000 + seed)) - kLength;
            n_tokens += kLength;
            expect(lost <= 4 + n_tokens / 100, std::to_string(lost) + " after " + std::to_string(n_tokens));
        }
    }
});

const Test account("draft-policy: drafts that are believed in and never right lose a hundredth of the steps at most", [] {
    DraftPolicy policy(kMaxDraft, 5 * kStepMs);
    DraftLedger ledger;
    double      lost = 0;
    for (int i = 0; i < 3000; ++i) {
        const size_t    length = policy.choose({{&ledger, 0, {0.99, 1.97, 2.94, 3.9, 4.85, 5.79, 6.72}}})[0];
        const StepShape shape{1, length > 0 ? size_t{1} : 0, length};
        lost += kSlow(shape) - 1;
        policy.computed(shape, kSlow(shape) * kStepMs);
    }
    expect(lost > 0 && lost <= 30, "some of 30 steps, got " + std::to_string(lost));
});

const Test dear("draft-policy: where a row costs as much as a step, drafts are tried and given up", [] {
    const Tokens prompt = random_tokens(2000, 11);
    Bench        bench(machine(1.1));
    Stream       first(prompt, part_of(prompt, 0, 1000)), second(prompt, part_of(prompt, 500, 1500));
    expect(bench.speed_up({&first}) >= 0.99, "0.99");
    expect(bench.speed_up({&second}) >= 0.99, "0.99");
    expect(second.n_drafted <= 25, "hardly a draft among 1,000 tokens, got " + std::to_string(second.n_drafted));
});

const Test changes("draft-policy: drafts begin within eight tokens of a quotation and end with it", [] {
    const Tokens prompt = random_tokens(800, 12);
    for (const Machine& machine : {kSlow, kDevice, kPanels}) {
        Bench bench(machine);
        bench.speed_up(prompt, part_of(prompt, 0, 300));
        Tokens text = random_tokens(100, 13);
        Stream before(prompt, text);
        bench.speed_up({&before});
        expect_equal(before.n_drafted, size_t{0});
        const Tokens quoted = part_of(prompt, 200, 208);
        text.insert(text.end(), quoted.begin(), quoted.end());
        Stream begun(prompt, text);
        bench.speed_up({&begun});
        expect(begun.n_drafted > 0, "drafts after eight tokens");
        text = part_of(prompt, 200, 300);
        Stream       ended(prompt, text);
        bench.speed_up({&ended});
        const size_t n_drafted = ended.n_drafted;
        const Tokens other     = random_tokens(100, 14);
        text.insert(text.end(), other.begin(), other.end());
        Stream after(prompt, text);
        bench.speed_up({&after});
        expect(after.n_drafted <= n_drafted + kMaxDraft, "no drafts after its end");
    }
});

const Test noise("draft-policy: steps that take ten times as long by chance stop no drafts, nor begin any", [] {
    const Tokens prompt = random_tokens(3000, 15);
    Bench        bench(kSlow);
    bench.is_noisy         = true;
    const double quoting = bench.speed_up(prompt, part_of(prompt, 0, 2500));
    expect(quoting >= 1.3, "1.3, got " + std::to_string(quoting));
    Bench dear_bench(machine(1.1));
    dear_bench.is_noisy  = true;
    const double losing = dear_bench.speed_up(prompt, part_of(prompt, 0, 2500));
    expect(losing >= 0.985, "0.985, got " + std::to_string(losing));
});

const Test slower("draft-policy: when rows become dear, drafts end; when all becomes faster, they go on", [] {
    const Tokens prompt = random_tokens(3000, 16);
    double       row = 0.05, all = 1;
    Bench        bench([&](const StepShape& shape) { return all * machine(row)(shape); });
    expect(bench.speed_up(prompt, part_of(prompt, 0, 1000)) > 2, "more than 2");
    row = 1.2;
    Stream stream(prompt, part_of(prompt, 1000, 2000));
    bench.speed_up({&stream});
    Stream later(prompt, part_of(prompt, 2000, 3000));
    expect(bench.speed_up({&later}) >= 0.98, "0.98");
    row = 0.2;
    for (const double times : {0.3, 3.0}) {
        all = times;
        bench.speed_up(prompt, part_of(prompt, 0, 1000));
        const double speed_up = bench.speed_up(prompt, part_of(prompt, 0, 1000));
        expect(speed_up > 2, "more than 2, got " + std::to_string(speed_up));
    }
});

const Test waiting("draft-policy: a step with drafts keeps others waiting no longer than the target", [] {
    const Tokens prompt = random_tokens(900, 17);
    double       longest = 0;
    Bench        bench([&longest](const StepShape& shape) {
        const double took = 1 + 0.3 * static_cast<double>(shape.n_rows() - 1);
        longest           = std::max(longest, took);
        return took;
    });
    expect(bench.speed_up(prompt, part_of(prompt, 0, 800)) > 1.3, "more than 1.3");
    // The target of five steps, plus the attempts before it was known.
    expect(longest <= 5.5, "5.5, got " + std::to_string(longest));
});

const Test forced("draft-policy: what has to be drafted is, wherever there is a match and however dear it is", [] {
    const Tokens prompt = random_tokens(600, 19), quoted = part_of(prompt, 50, 150);
    size_t       most = 0, n_steps = 0;
    Bench        bench([&](const StepShape& shape) {
        most = std::max(most, shape.n_rows() - shape.n_sequences);
        n_steps += shape.n_drafting;
        return machine(2)(shape);
    }, 8, 4);
    Stream lone(prompt, quoted);
    bench.speed_up({&lone});
    expect(most == 4 && n_steps <= 20, "4 tokens in each step, got " + std::to_string(most) + " in " + std::to_string(n_steps));
    expect(lone.n_accepted >= 75, "accepted, got " + std::to_string(lone.n_accepted));
});

const Test limit("draft-policy: no more tokens are drafted in a step than the limit, of two sequences together", [] {
    const Tokens prompt = random_tokens(600, 18), quoted = part_of(prompt, 50, 450);
    for (const size_t n_max : {1, 2, 3, 7, 32, 63}) {
        size_t most = 0;
        Bench  bench(
            [&most](const StepShape& shape) {
                most = std::max(most, shape.n_rows() - shape.n_sequences);
                return kDevice(shape);
            },
            n_max);
        Stream a(prompt, quoted), b(prompt, quoted);
        bench.speed_up(prompt, quoted);
        expect(most <= n_max && most + 1 >= n_max, "as many as the limit for one, got " + std::to_string(most));
        bench.speed_up({&a, &b});
        expect(most <= n_max, "no more for two");
    }
});

}  // namespace
