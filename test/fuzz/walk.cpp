#include "walk.h"

#include "core/error-code.h"
#include "execution.h"
#include "vocabulary.h"

#include <llama.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace chasqui::fuzz {

namespace {

using Clock = std::chrono::steady_clock;

// For a whole walk. In the engine a token gets a few milliseconds of a step, or seconds in the slow sampler.
constexpr std::chrono::milliseconds kMaxTime{divided(500)};

// To check the whole vocabulary takes long and finds no more bugs than to check a part of it: tokens of one byte that
// grammars tell apart, end-of-generation tokens, and a few of the others.
const std::vector<TokenId>& some_tokens() {
    static const std::vector<TokenId> some = [] {
        // A few letters and digits represent the others. The last bytes start and continue characters of two, three and
        // four bytes; one byte is invalid in UTF-8.
        constexpr std::string_view kBytes =
            "\t\n !\"#'()*+,-./0159:;<=>?@AEZ[\\]_`aefmnrtuxyz{|}~\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xff";
        constexpr TokenId    kEvery = 256;
        const Tokenizer      tokenizer(small_vocabulary());
        std::vector<TokenId> tokens;
        for (TokenId token = 0; token < tokenizer.vocabulary_size(); ++token) {
            const std::string_view piece    = tokenizer.piece(token);
            const bool             is_short = piece.size() == 1 && kBytes.find(piece[0]) != std::string_view::npos;
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
        // Expected if a grammar exceeds its work limit.
    } catch (const Error& error) {
        demand(error.code() == ErrorCode::invalid_grammar);
    }
}

}  // namespace chasqui::fuzz
