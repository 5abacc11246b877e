// Thread: main. A grammar as a sequence follows it, for a vocabulary of full size.
#pragma once

#include "vocabulary.h"

#include "llama/sampling/grammar.h"

#include <memory>
#include <string>

namespace chasqui::test {

inline std::shared_ptr<TokenConstraint> compile(const std::string& gbnf) {
    static GrammarCompiler compiler(vocabulary("qwen2"));
    GrammarSettings settings;
    settings.gbnf = gbnf;
    return compiler.compile(settings);
}

}  // namespace chasqui::test
