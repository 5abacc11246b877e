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

// One request of a conversation: the tokens that it adds.
struct Turn {
    size_t n_prompt;
    size_t n_answer;
    double think_ms;  // since the previous completion
};

// A conversation. It starts with a shared prefix such as a system prompt or the instructions of an agent.
struct Session {
    Shape             kind       = Shape::chat;  // never mixed
    uint32_t          shared     = 0;            // index of the prefix
    size_t            n_shared   = 0;            // tokens of it
    uint32_t          id         = 0;
    int32_t           priority   = 0;
    double            arrival_ms = 0;
    std::vector<Turn> turns;

    // The prefix tokens, those added by turn `at`, and the completion of that turn.
    std::vector<TokenId> beginning() const;
    void                 append_prompt(size_t at, std::vector<TokenId>& tokens) const;
    TokenId              answer_token(size_t position) const;
};

struct TrafficOptions {
    Shape    shape      = Shape::chat;
    size_t   n_requests = 10000;
    double   load       = 0.5;  // share of the machine's ideal capacity
    double   high_priority = 0;  // share of conversations with priority 1
    uint32_t seed       = 1;
};

// Deterministic for equal options, so compared runs get the same requests.
std::vector<Session> make_traffic(const TrafficOptions& options, const CostModel& cost);

}  // namespace chasqui::sim
