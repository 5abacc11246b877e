#include "traffic.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace chasqui::sim {

namespace {

// Own distributions, because those of the standard library differ between implementations.
class Random {
public:
    explicit Random(uint64_t seed) : engine_(seed) {}
    double uniform() { return static_cast<double>(engine_() >> 11) / 9007199254740992.0; }
    double between(double low, double high) { return low + (high - low) * uniform(); }
    double log_between(double low, double high) { return std::exp(between(std::log(low), std::log(high))); }
    double exponential(double mean) { return -mean * std::log(1 - uniform()); }
    // Half of the values are within a factor of two of the median.
    double around(double median) {
        const double normal = std::sqrt(-2 * std::log(1 - uniform())) * std::cos(6.283185307179586 * uniform());
        return median * std::exp(normal);
    }
    size_t count(double value, size_t least, size_t most) {
        return std::clamp(static_cast<size_t>(value), least, most);
    }
    size_t below(size_t n) { return static_cast<size_t>(uniform() * static_cast<double>(n)); }

private:
    std::mt19937_64 engine_;
};

// Lengths of the shared prefixes, equal in all conversations.
size_t shared_length(Shape kind, uint32_t which) {
    if (kind == Shape::agents) return 8000;
    if (kind == Shape::documents) return 100;
    return 200 + which * 163 % 1000;
}

Session conversation(Shape kind, Random& random) {
    Session session;
    session.kind = kind;
    switch (kind) {
        case Shape::documents: {
            session.shared     = 100;
            const size_t turns = 1 + random.below(3);
            for (size_t i = 0; i < turns; ++i) {
                const double n_prompt = i == 0 ? random.log_between(4000, 30000) : random.around(30);
                session.turns.push_back({random.count(n_prompt, 5, 30000), random.count(random.around(200), 20, 800),
                                         1000 * random.around(30)});
            }
            break;
        }
        case Shape::agents: {
            session.shared     = 200 + static_cast<uint32_t>(random.below(3));
            const size_t turns = 3 + random.below(12);
            for (size_t i = 0; i < turns; ++i) {
                session.turns.push_back({random.count(random.around(300), 20, 3000),
                                         random.count(random.around(80), 10, 500), 1000 * random.around(2)});
            }
            break;
        }
        default: {
            // A few system prompts are much more popular than the others.
            session.shared     = static_cast<uint32_t>(std::min(random.exponential(2.5), 11.0));
            const size_t turns = 1 + static_cast<size_t>(std::min(random.exponential(3), 15.0));
            for (size_t i = 0; i < turns; ++i) {
                session.turns.push_back({random.count(random.around(40), 4, 2000),
                                         random.count(random.around(120), 5, 800), 1000 * random.around(20)});
            }
        }
    }
    session.n_shared = shared_length(kind, session.shared);
    return session;
}

// Simultaneous requests: one question each, after a prefix that only this burst shares.
std::vector<Session> burst(uint32_t which, Random& random) {
    std::vector<Session> sessions(24 + random.below(17));
    for (Session& session : sessions) {
        session.kind     = Shape::bursts;
        session.shared   = 1000 + which;
        session.n_shared = 500;
        session.turns.push_back(
            {random.count(random.around(80), 10, 1000), random.count(random.around(100), 10, 500), 0});
    }
    return sessions;
}

Shape choose_kind(Shape shape, Random& random) {
    if (shape != Shape::mixed) return shape;
    const double drawn = random.uniform();
    if (drawn < 0.80) return Shape::chat;
    if (drawn < 0.90) return Shape::agents;
    return drawn < 0.98 ? Shape::documents : Shape::bursts;
}

// Minimum work: every token that is not shared, computed once.
double ideal_ms(const Session& session, const CostModel& cost) {
    double total  = 0;
    size_t before = session.n_shared;
    for (const Turn& turn : session.turns) {
        const auto n_prompt = static_cast<double>(turn.n_prompt), n_answer = static_cast<double>(turn.n_answer);
        total += n_prompt * cost.prompt_token(static_cast<double>(before) + n_prompt / 2);
        total += n_answer * cost.decoded_token(static_cast<double>(before) + n_prompt + n_answer / 2);
        before += turn.n_prompt + turn.n_answer;
    }
    return total;
}

TokenId token_of(uint64_t who, uint64_t position) {
    uint64_t mixed = (who << 32) + position + 0x9e3779b97f4a7c15u;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
    return static_cast<TokenId>((mixed >> 33) % 150000);
}

constexpr uint64_t kSharedTokens = uint64_t{1} << 31;

}  // namespace

std::vector<TokenId> Session::beginning() const {
    std::vector<TokenId> tokens(n_shared);
    for (size_t i = 0; i < n_shared; ++i) tokens[i] = token_of(kSharedTokens + shared, i);
    return tokens;
}

void Session::append_prompt(size_t at, std::vector<TokenId>& tokens) const {
    for (size_t i = 0; i < turns[at].n_prompt; ++i) tokens.push_back(token_of(id, tokens.size()));
}

TokenId Session::answer_token(size_t position) const { return token_of(id, position); }

std::vector<Session> make_traffic(const TrafficOptions& options, const CostModel& cost) {
    Random                            random(options.seed);
    std::vector<std::vector<Session>> groups;
    size_t                            n_requests = 0;
    double                            work_ms    = 0;
    while (n_requests < options.n_requests) {
        const Shape kind  = choose_kind(options.shape, random);
        auto        group = kind == Shape::bursts ? burst(static_cast<uint32_t>(groups.size()), random)
                                                  : std::vector<Session>{conversation(kind, random)};
        for (Session& session : group) {
            session.priority = random.uniform() < options.high_priority ? 1 : 0;
            session.turns.resize(std::min(session.turns.size(), options.n_requests - n_requests));
            n_requests += session.turns.size();
            work_ms += ideal_ms(session, cost);
        }
        groups.push_back(std::move(group));
    }
    const double         mean_ms = work_ms / options.load / static_cast<double>(groups.size());
    double               now     = 0;
    std::vector<Session> sessions;
    for (auto& group : groups) {
        now += random.exponential(mean_ms);
        for (Session& session : group) {
            if (session.turns.empty()) continue;
            session.arrival_ms = now;
            session.id         = static_cast<uint32_t>(sessions.size());
            sessions.push_back(std::move(session));
        }
    }
    return sessions;
}

}  // namespace chasqui::sim
