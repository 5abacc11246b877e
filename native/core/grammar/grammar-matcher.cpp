#include "grammar-matcher.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace chasqui {

namespace {

constexpr size_t kMaxWays      = 1 << 13;
constexpr size_t kMaxStacks    = 1 << 20;
constexpr size_t kMaxAllWays   = 1 << 22;
constexpr size_t kMaxWork      = size_t{1} << 27;
constexpr size_t kWorkPerCheck = size_t{1} << 14;  // well under a millisecond
constexpr size_t kMinGarbage   = 1 << 15;          // stacks: two megabytes
constexpr size_t kCacheSize    = 1 << 13;          // 64 KiB

using Kind = GrammarSymbol::Kind;

size_t mixed(size_t value) {
    value *= static_cast<size_t>(0x9E3779B97F4A7C15);
    return value ^ value >> (sizeof(size_t) * 4);
}

[[noreturn]] void fail_ambiguous() {
    throw std::length_error("the grammar is too ambiguous: the text can be read in too many ways");
}

}  // namespace

GrammarMatcher::GrammarMatcher(std::shared_ptr<const GrammarRules> rules)
    : rules_(std::move(rules)), max_stacks_(kMinGarbage) {
    reset();
    begin_step();
    expand(push(rules_->starts[rules_->root], kEmptyStack));
    current_ = to_state();
    if (current_ == kRefused) throw std::runtime_error("no text matches");
}

void GrammarMatcher::begin_call(const Deadline* deadline) {
    deadline_   = deadline;
    n_done_     = 0;
    next_check_ = 0;
    count_work(0);
    if (stacks_.size() > max_stacks_ || ways_.size() > kMaxAllWays / 16) collect_garbage();
}

GrammarMatcher::State GrammarMatcher::after_byte(State state, char byte) {
    const auto     value = static_cast<unsigned char>(byte);
    const uint32_t key   = state << 8 | rules_->byte_classes[value];
    const size_t   place = mixed(key) % kCacheSize;
    count_work(1);
    if (cache_[place].key != key) {
        const State result = take_step(state, value);
        cache_[place]      = {key, result};
    }
    return cache_[place].result;
}

GrammarMatcher::State GrammarMatcher::after_token(State state, TokenId token, std::string_view text) {
    State by_text = state;
    for (size_t i = 0; i < text.size() && by_text != kRefused; ++i) by_text = after_byte(by_text, text[i]);
    if (!names_tokens(state)) return by_text;
    begin_step();
    for (size_t i = states_[by_text].begin; i < states_[by_text].end; ++i) expand(ways_[i]);
    for (size_t i = states_[state].begin; i < states_[state].end; ++i) {
        const Stack stack = stacks_[ways_[i]];
        if (ways_[i] == kEmptyStack) continue;
        uint32_t at = rules_->nodes[stack.node].first_edge;
        for (; at != GrammarRules::kNoEdge; at = rules_->edges[at].next) {
            count_work(1);
            const GrammarRules::Edge& edge     = rules_->edges[at];
            const bool                is_named = edge.symbol.value() == static_cast<uint32_t>(token);
            const Kind                kind     = edge.symbol.kind();
            if (is_named ? kind == Kind::token : kind == Kind::other_token) expand(push(edge.target, stack.below));
        }
    }
    return to_state();
}

GrammarMatcher::NextByte GrammarMatcher::next_byte(State state) {
    std::optional<char> byte, space;
    bool                several_spaces = false;
    if (names_tokens(state)) return {};
    for (size_t i = states_[state].begin; i < states_[state].end; ++i) {
        if (ways_[i] == kEmptyStack) continue;
        uint32_t at = rules_->nodes[stacks_[ways_[i]].node].first_edge;
        for (; at != GrammarRules::kNoEdge; at = rules_->edges[at].next) {
            const GrammarSymbol symbol = rules_->edges[at].symbol;
            count_work(1);
            if (symbol.kind() != Kind::bytes) continue;
            for (uint32_t value = symbol.low(); value <= symbol.high(); ++value) {
                const auto each  = static_cast<char>(value);
                auto&      known = is_json_space(each) ? space : byte;
                if (known && *known != each) {
                    if (&known == &byte) return {};
                    several_spaces = true;
                }
                known = each;
            }
        }
    }
    if (byte) return {byte, space.has_value()};
    return {several_spaces ? std::nullopt : space, false};
}

size_t GrammarMatcher::size_bytes() const {
    constexpr size_t kMapEntry = 40;
    return stacks_.size() * (sizeof(Stack) + kMapEntry) + states_.size() * (sizeof(Ways) + kMapEntry) +
           ways_.size() * sizeof(ways_[0]) + cache_.size() * sizeof(Step);
}

// The number of a stack with `node` on top. A node without continuation is left out.
uint32_t GrammarMatcher::push(uint32_t node, uint32_t below) {
    if (rules_->is_end(node)) return below;
    const uint64_t key         = uint64_t{node} << 32 | below;
    const auto [number, added] = stack_numbers_.try_emplace(key, static_cast<uint32_t>(stacks_.size()));
    if (added) {
        if (stacks_.size() >= kMaxStacks) {
            stack_numbers_.erase(number);
            fail_ambiguous();
        }
        stacks_.push_back({node, below, 0});
    }
    return number->second;
}

// Follows rules from `stack` on, to the ways that read a byte or a token next, or end. Adds those to the step's result.
void GrammarMatcher::expand(uint32_t stack) {
    todo_.push_back(stack);
    while (!todo_.empty()) {
        const uint32_t number = todo_.back();
        todo_.pop_back();
        if (std::exchange(stacks_[number].visited, n_steps_) == n_steps_) continue;
        const Stack current = stacks_[number];
        bool        is_way  = number == kEmptyStack;
        count_work(4);
        if (number != kEmptyStack) {
            if (rules_->nodes[current.node].is_final) todo_.push_back(current.below);
            uint32_t at = rules_->nodes[current.node].first_edge;
            for (; at != GrammarRules::kNoEdge; at = rules_->edges[at].next) {
                const GrammarRules::Edge& edge = rules_->edges[at];
                count_work(4);
                if (edge.symbol.kind() == Kind::rule) {
                    todo_.push_back(push(rules_->starts[edge.symbol.value()], push(edge.target, current.below)));
                } else {
                    is_way = true;
                }
            }
        }
        if (is_way) found_.push_back(number);
        if (found_.size() > kMaxWays) fail_ambiguous();
    }
}

void GrammarMatcher::begin_step() {
    ++n_steps_;
    todo_.clear();  // an exception may have interrupted the previous step
    found_.clear();
}

GrammarMatcher::State GrammarMatcher::take_step(State state, unsigned char byte) {
    begin_step();
    for (size_t i = states_[state].begin; i < states_[state].end; ++i) {
        if (ways_[i] == kEmptyStack) continue;
        const Stack stack = stacks_[ways_[i]];
        uint32_t    at    = rules_->nodes[stack.node].first_edge;
        for (; at != GrammarRules::kNoEdge; at = rules_->edges[at].next) {
            const GrammarRules::Edge& edge = rules_->edges[at];
            count_work(1);
            if (edge.symbol.matches_byte(byte)) expand(push(edge.target, stack.below));
        }
    }
    return to_state();
}

// The number of the state with the ways that the current step has found.
GrammarMatcher::State GrammarMatcher::to_state() {
    if (found_.empty()) return kRefused;
    std::sort(found_.begin(), found_.end());
    size_t hash = found_.size();
    for (const uint32_t way : found_) hash = mixed(hash ^ way);
    const auto range = state_numbers_.equal_range(hash);
    for (auto each = range.first; each != range.second; ++each) {
        const Ways& known = states_[each->second];
        const auto  begin = ways_.begin() + static_cast<std::ptrdiff_t>(known.begin);
        if (known.end - known.begin == found_.size() && std::equal(found_.begin(), found_.end(), begin)) {
            return each->second;
        }
    }
    if (ways_.size() + found_.size() > kMaxAllWays) fail_ambiguous();
    Ways state{ways_.size(), ways_.size() + found_.size(), found_.front() == kEmptyStack, false};
    for (const uint32_t way : found_) {
        if (way == kEmptyStack) continue;
        uint32_t at = rules_->nodes[stacks_[way].node].first_edge;
        for (; at != GrammarRules::kNoEdge; at = rules_->edges[at].next) {
            const Kind kind    = rules_->edges[at].symbol.kind();
            state.names_tokens = state.names_tokens || kind == Kind::token || kind == Kind::other_token;
        }
    }
    const auto number = static_cast<State>(states_.size());
    ways_.insert(ways_.end(), found_.begin(), found_.end());
    states_.push_back(state);
    state_numbers_.emplace(hash, number);
    return number;
}

// Leaves the empty stack, and the state without ways.
void GrammarMatcher::reset() {
    stacks_.assign(1, {GrammarRules::kNone, GrammarRules::kNone, 0});
    stack_numbers_.clear();
    ways_.clear();
    states_.assign(1, {0, 0, false, false});
    state_numbers_.clear();
    cache_.assign(kCacheSize, {kRefused, kRefused});
}

// Keeps the current state and its stacks.
void GrammarMatcher::collect_garbage() {
    const Ways               current = states_[current_];
    const std::vector<Stack> stacks  = stacks_;
    std::vector<uint32_t>    kept(ways_.begin() + static_cast<std::ptrdiff_t>(current.begin),
                                  ways_.begin() + static_cast<std::ptrdiff_t>(current.end));
    std::vector<bool>        is_used(stacks.size());
    for (const uint32_t way : kept) is_used[way] = true;
    // A stack has a greater number than the one below it.
    for (size_t i = stacks.size() - 1; i > 0; --i) {
        if (is_used[i]) is_used[stacks[i].below] = true;
    }
    reset();
    std::vector<uint32_t> numbers(stacks.size());  // new ones by old ones
    for (size_t i = 1; i < stacks.size(); ++i) {
        if (is_used[i]) numbers[i] = push(stacks[i].node, numbers[stacks[i].below]);
    }
    begin_step();
    for (const uint32_t way : kept) found_.push_back(numbers[way]);
    current_    = to_state();
    max_stacks_ = std::clamp(2 * stacks_.size(), kMinGarbage, kMaxStacks / 2);
}

void GrammarMatcher::count_work(size_t n) {
    n_done_ += n;
    if (n_done_ < next_check_) return;
    next_check_ = n_done_ + kWorkPerCheck;
    if (deadline_ != nullptr && deadline_->is_over()) throw ConstraintTimeout();
    if (n_done_ > kMaxWork) throw std::length_error("the grammar takes too long for a token");
}

}  // namespace chasqui
