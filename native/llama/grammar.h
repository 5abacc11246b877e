// Thread: any to compile; a compiled grammar belongs to one sequence, one thread at a time.
#pragma once

#include "../core/token-constraint.h"
#include "token-tree.h"

#include <memory>
#include <mutex>
#include <string>
#include <vector>

struct llama_vocab;

namespace chasqui {

struct GrammarTrigger {
    enum class Kind {
        word,          // matches text regardless of its tokenization
        pattern,       // a regular expression, searched
        full_pattern,  // a regular expression for the entire text so far
    };
    Kind        kind = Kind::word;
    std::string value;
};

// A grammar in GBNF, llama.cpp's notation. It may come from a request, so it is refused beyond these limits:
//
//   text         4 MiB
//   groups       256 levels
//   rules        262,144; each group and each optional repetition is one
//   repetitions  2,000 of one element (a larger maximum means no maximum), 2 million elements in total
//   sets         16,384 characters and ranges in one [...]
//   ambiguity    8,192 ways to parse the text so far
//   work         2^27 comparisons per call: about a second, unless its deadline comes first
//
// All but the first are enforced by vendor/patches/0005.
struct GrammarSettings {
    std::string                 gbnf;
    std::string                 schema;        // a JSON schema; if not empty, the grammar is generated from it
    bool                        lazy = false;  // applies only after one of the triggers
    std::vector<GrammarTrigger> triggers;
    // The end of the prompt, where the grammar begins. Only for grammars that are not lazy.
    std::string prefill;
    // Reasoning tags: no triggers between them, because a tool call there is only a thought.
    std::string              thinking_start;
    std::vector<std::string> thinking_ends;
};

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
    const llama_vocab*         vocab_;
    std::once_flag             tree_built_;
    std::shared_ptr<TokenTree> tree_;
};

}  // namespace chasqui
