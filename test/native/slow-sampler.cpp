#include "check.h"

#include "core/mailbox.h"
#include "core/slow-sampler.h"

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

using namespace chasqui;
using namespace chasqui::test;

namespace {

// Allows one token, after a given time.
class Constraint final : public TokenConstraint {
public:
    explicit Constraint(TokenId token, bool is_endless = false) : token_(token), is_endless_(is_endless) {}

    bool allows(TokenId token) override {
        wait();
        return token == token_;
    }
    void filter(std::vector<TokenId>& tokens) override { tokens.assign(1, token_); }
    std::vector<TokenId> allowed() override { return {token_}; }
    void accept(TokenId token) override { accepted.push_back(token); }
    void set_deadline(const Deadline* deadline) override { deadline_ = deadline; }

    std::vector<TokenId> accepted;
    std::atomic<bool>    begun{false};

private:
    void wait() {
        begun = true;
        while (is_endless_) {
            if (deadline_ != nullptr && deadline_->is_over()) throw ConstraintTimeout();
            std::this_thread::yield();
        }
    }

    TokenId         token_;
    bool            is_endless_;
    const Deadline* deadline_ = nullptr;
};

std::unique_ptr<SlowSample> sample_of(uint32_t job_id, std::shared_ptr<Constraint> constraint) {
    SamplingSettings settings;
    settings.temperature = 0;
    auto sample          = std::make_unique<SlowSample>();
    sample->job_id       = job_id;
    sample->sampler      = std::make_unique<Sampler>(settings, std::move(constraint));
    sample->logits       = {3, 2, 1, 0};
    return sample;
}

using Done = Mailbox<std::unique_ptr<SlowSample>>;

const Test samples("slow sampler: a token comes back with the sampler, which has accepted it", [] {
    Done        done;
    SlowSampler sampler([] {}, [&](auto sample) { done.put(std::move(sample)); });
    const auto  constraint = std::make_shared<Constraint>(2);
    auto        asked      = sample_of(1, constraint);
    asked->n_top           = 1;
    sampler.submit(std::move(asked));
    const auto results = done.take(true);
    expect_equal(results[0]->job_id, 1U);
    expect_equal(results[0]->token, 2);
    expect(results[0]->sampler != nullptr && !results[0]->failure, "no failure");
    expect_equal(results[0]->logprobs->chosen.id, 2);
    expect_equal(results[0]->logprobs->top[0].id, 0);
    expect(constraint->accepted == std::vector<TokenId>{2}, "accepted");
});

const Test cancels("slow sampler: a cancelled sample breaks off, and the next is sampled", [] {
    Done        done;
    SlowSampler sampler([] {}, [&](auto sample) { done.put(std::move(sample)); });
    const auto  endless = std::make_shared<Constraint>(2, true);
    sampler.submit(sample_of(1, endless));
    sampler.submit(sample_of(2, std::make_shared<Constraint>(1)));
    sampler.submit(sample_of(3, std::make_shared<Constraint>(1)));
    while (!endless->begun) std::this_thread::yield();
    sampler.cancel(2);
    sampler.cancel(1);
    std::vector<std::unique_ptr<SlowSample>> results;
    while (results.size() < 2) {
        for (auto& sample : done.take(true)) results.push_back(std::move(sample));
    }
    expect_equal(results[0]->job_id, 1U);
    expect(results[0]->failure.has_value(), "broken off");
    expect_equal(results[1]->job_id, 3U);
    expect_equal(results[1]->token, 1);
});

const Test closes("slow sampler: closing breaks off the current sample", [] {
    const auto endless = std::make_shared<Constraint>(2, true);
    std::atomic<int> n_done{0};
    {
        SlowSampler sampler([] {}, [&](auto) { ++n_done; });
        sampler.submit(sample_of(1, endless));
        sampler.submit(sample_of(2, std::make_shared<Constraint>(1)));
        while (!endless->begun) std::this_thread::yield();
    }
    expect_equal(n_done.load(), 1);
});

const Test repeats("sampler: after a timeout it draws the same token when it is called again", [] {
    // Refuses what is drawn first, so that a second draw follows; endless only the first time.
    class Once final : public TokenConstraint {
    public:
        bool allows(TokenId) override {
            if (n_asked++ == 0 && deadline_->is_over()) throw ConstraintTimeout();
            return false;
        }
        void filter(std::vector<TokenId>&) override {}
        std::vector<TokenId> allowed() override { return {5, 6, 7, 8, 9, 10, 11}; }
        void accept(TokenId) override {}
        void set_deadline(const Deadline* deadline) override { deadline_ = deadline; }
        int  n_asked = 0;

    private:
        const Deadline* deadline_ = nullptr;
    };
    SamplingSettings settings;
    settings.seed       = 7;
    settings.logit_bias = {{5, 1.0f}};
    const std::vector<float> logits(32, 1.0f);
    Sampler                  straight(settings, std::make_shared<Once>()), broken(settings, std::make_shared<Once>());
    std::vector<float>       one = logits, two = logits;
    broken.deadline().expire();
    expect_throws<ConstraintTimeout>([&] { broken.sample(two.data(), 32); });
    expect(two == logits, "the logits are what they were");
    broken.deadline().clear();
    for (int i = 0; i < 20; ++i) expect_equal(broken.sample(two.data(), 32), straight.sample(one.data(), 32));
});

const Test paces("sampling pace: slow after a token that took too long, quick after quick ones, ever less", [] {
    SamplingPace pace;
    const auto   quick = [&](int n) {
        for (int i = 0; i < n; ++i) pace.observe(1, 2);
    };
    expect(!pace.is_slow(), "within the step at first");
    quick(3);
    for (int round = 0; round < 8; ++round) {
        pace.observe(2, 2);
        expect(pace.is_slow(), "slow");
        quick(7);
        pace.observe(3, 2);
        quick(7);
        expect(pace.is_slow(), "seven quick ones are not enough");
        quick(1);
        expect_equal(pace.is_slow(), round == 7);
    }
    quick(247);
    expect(pace.is_slow(), "not yet");
    quick(1);
    expect(!pace.is_slow(), "forgiven once");
    pace.observe(2, 2);
    quick(100);
    expect(pace.is_slow(), "and slow again");
});

}  // namespace
