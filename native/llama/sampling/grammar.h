// Thread: any to compile; a compiled grammar belongs to one sequence, one thread at a time.
#pragma once

#include "../../core/grammar/grammar-triggers.h"
#include "../../core/token-constraint.h"

#include <memory>
#include <mutex>
#include <string>
#include <vector>

struct llama_vocab;

namespace chasqui {

// A grammar in GBNF, llama.cpp's notation. It may come from a request: core/grammar has its limits.
struct GrammarSettings {
    std::string                 gbnf;
    std::string                 schema;        // a JSON schema; if not empty, the grammar is generated from it
    bool                        lazy  = false;  // applies only after one of the triggers
    bool                        calls = false;  // the text that it applies to is a tool call
    std::vector<GrammarTrigger> triggers;
    // The end of the prompt, where the grammar begins. Only for grammars that are not lazy.
    std::string prefill;
    // Reasoning tags: no triggers between them, because a tool call there is only a thought.
    std::string              thinking_start;
    std::vector<std::string> thinking_ends;
    bool                     detects_reasoning = false;  // instead, the usual tags at the beginning
};

struct GrammarVocabulary;

// Compiles grammars to constraints on the tokens of one model.
class GrammarCompiler {
public:
    explicit GrammarCompiler(const llama_vocab* vocab) : vocab_(vocab) {}

    // Takes milliseconds, or a second at the limits; the first call with a large vocabulary takes some hundred
    // milliseconds more. Throws `invalid_grammar`.
    std::shared_ptr<TokenConstraint> compile(const GrammarSettings& settings);
    // `n` independent constraints at little more than the cost of one.
    std::vector<std::shared_ptr<TokenConstraint>> compile(const GrammarSettings& settings, size_t n);

private:
    const llama_vocab*                       vocab_;
    std::once_flag                           vocabulary_read_;
    std::shared_ptr<const GrammarVocabulary> vocabulary_;
};

}  // namespace chasqui
