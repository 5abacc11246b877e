#include "walk.h"

#include "core/error-code.h"
#include "vocabulary.h"

#include <llama.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace chasqui::fuzz {

namespace {

void demand(bool holds) {
    if (!holds) std::abort();
}

}  // namespace

void compile_and_walk(const GrammarSettings& grammar, std::string_view choices) {
    static GrammarCompiler compiler(small_vocabulary().vocab());
    try {
        const std::shared_ptr<TokenConstraint> constraint = compiler.compile(grammar);
        for (const char choice : choices) {
            std::vector<TokenId> allowed = constraint->allowed();
            if (allowed.empty()) return;
            std::sort(allowed.begin(), allowed.end());
            const TokenId token = allowed[static_cast<unsigned char>(choice) % allowed.size()];
            demand(constraint->allows(token));
            constraint->accept(token);
            if (llama_vocab_is_eog(small_vocabulary().vocab(), token)) return;
        }
    } catch (const Error& error) {
        demand(error.code() == ErrorCode::invalid_grammar);
    }
}

}  // namespace chasqui::fuzz
