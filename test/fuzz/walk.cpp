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

// The engine gives a sequence a few milliseconds at a time, and ten seconds in all.
constexpr std::chrono::milliseconds kMostTime{500};

void demand(bool holds) {
    if (!holds) std::abort();
}

}  // namespace

void compile_and_walk(const GrammarSettings& grammar, std::string_view choices) {
    static GrammarCompiler compiler(small_vocabulary().vocab());
    try {
        const std::shared_ptr<TokenConstraint> constraint = compiler.compile(grammar);
        Deadline                               deadline;
        deadline.set(Clock::now() + kMostTime);
        constraint->set_deadline(&deadline);
        for (const char choice : choices) {
            std::vector<TokenId> allowed = constraint->allowed();
            if (allowed.empty()) return;
            std::sort(allowed.begin(), allowed.end());
            const TokenId token = allowed[static_cast<unsigned char>(choice) % allowed.size()];
            demand(constraint->allows(token));
            constraint->accept(token);
            if (llama_vocab_is_eog(small_vocabulary().vocab(), token)) return;
        }
    } catch (const ConstraintTimeout&) {
        // As a sequence whose grammar takes longer than its share.
    } catch (const Error& error) {
        demand(error.code() == ErrorCode::invalid_grammar);
    }
}

}  // namespace chasqui::fuzz
