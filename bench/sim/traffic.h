// Thread: one.
#pragma once

#include "core/job.h"
#include "cost-model.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace chasqui::sim {

enum class Shape { chat, documents, agents, bursts, mixed };
inline const std::vector<std::string> kShapeNames{"chat", "documents", "agents", "bursts", "mixed"};

// One request of a conversation: what it adds to what was said before.
struct Turn {
    size_t n_prompt;
    size_t n_answer;
    double think_ms;  // since the answer before
};

// Somebody's conversation. It begins with tokens that others begin with too: a system prompt, an agent's instructions.
struct Session {
    Shape             kind       = Shape::chat;  // never mixed
    uint32_t          shared     = 0;            // which beginning
    size_t            n_shared   = 0;            // tokens of it
    uint32_t          id         = 0;
    int32_t           priority   = 0;
    double            arrival_ms = 0;
    std::vector<Turn> turns;

    // The tokens it begins with, those that turn `at` adds, and what is answered to it.
    std::vector<TokenId> beginning() const;
    void                 append_prompt(size_t at, std::vector<TokenId>& tokens) const;
    TokenId              answer_token(size_t position) const;
};

struct TrafficOptions {
    Shape    shape      = Shape::chat;
    size_t   n_requests = 10000;
    double   load       = 0.5;  // of what the machine could do if it wasted nothing
    double   high_priority = 0;  // the fraction of conversations with priority 1
    uint32_t seed       = 1;
};

// The same for the same options: what is compared has seen the same requests.
std::vector<Session> make_traffic(const TrafficOptions& options, const CostModel& cost);

}  // namespace chasqui::sim
