#include "walk.h"

#include "core/error-code.h"
#include "vocabulary.h"

#include <llama.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <vector>

namespace chasqui::fuzz {

namespace {

using Clock = std::chrono::steady_clock;

// For a whole walk. In the engine a token gets a few milliseconds of a step, or seconds in the slow sampler.
constexpr std::chrono::milliseconds kMaxTime{500};

// To check the whole vocabulary takes long and finds no more bugs than to check a part of it: the tokens of one byte,
// end-of-generation tokens, and every 32nd of the others.
const std::vector<TokenId>& some_tokens() {
    static const std::vector<TokenId> some = [] {
        const Tokenizer      tokenizer(small_vocabulary());
        constexpr TokenId    kEvery = 32;
        std::vector<TokenId> tokens;
        for (TokenId token = 0; token < tokenizer.vocabulary_size(); ++token) {
            const bool is_short = tokenizer.piece(token).size() == 1;
            if (is_short || tokenizer.is_end_of_generation(token) || token % kEvery == 0) tokens.push_back(token);
        }
        return tokens;
    }();
    return some;
}

std::vector<TokenId> allowed_now(TokenConstraint& constraint, char choice) {
    constexpr unsigned kSeldom = 64;
    if (static_cast<unsigned char>(choice) % kSeldom == 0) return constraint.allowed();
    std::vector<TokenId> tokens = some_tokens();
    constraint.filter(tokens);
    return tokens;
}

void demand(bool holds) {
    if (!holds) std::abort();
}

}  // namespace

void compile_and_walk(const GrammarSettings& grammar, std::string_view choices) {
    static GrammarCompiler compiler(small_vocabulary().vocab());
    try {
        const std::shared_ptr<TokenConstraint> constraint = compiler.compile(grammar);
        Deadline                               deadline;
        deadline.set(Clock::now() + kMaxTime);
        constraint->set_deadline(&deadline);
        for (const char choice : choices) {
            std::vector<TokenId> allowed = allowed_now(*constraint, choice);
            if (allowed.empty()) return;
            std::sort(allowed.begin(), allowed.end());
            const TokenId token = allowed[static_cast<unsigned char>(choice) % allowed.size()];
            demand(constraint->allows(token));
            constraint->accept(token);
            if (llama_vocab_is_eog(small_vocabulary().vocab(), token)) return;
        }
    } catch (const ConstraintTimeout&) {
        // This happens to a sequence whose grammar takes longer than its share.
    } catch (const Error& error) {
        demand(error.code() == ErrorCode::invalid_grammar);
    }
}

}  // namespace chasqui::fuzz
