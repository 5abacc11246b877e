// Thread: main. A grammar as a sequence follows it, for a vocabulary of full size.
#pragma once

#include "vocabulary.h"

#include "llama/grammar.h"
#include "llama/log.h"

#include <memory>
#include <string>

namespace chasqui::test {

inline std::shared_ptr<TokenConstraint> compile(const std::string& gbnf) {
    static GrammarCompiler compiler(vocabulary("qwen2"));
    capture_log(false);  // keeps the errors as reasons
    GrammarSettings settings;
    settings.gbnf = gbnf;
    return compiler.compile(settings);
}

}  // namespace chasqui::test
