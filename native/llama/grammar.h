// Thread: any to compile; a compiled grammar belongs to one sequence and is used by one thread at a time.
#pragma once

#include "../core/token-constraint.h"
#include "token-tree.h"

#include <memory>
#include <mutex>
#include <string>
#include <vector>

struct llama_vocab;

namespace chasqui {

// What activates a lazy grammar.
struct GrammarTrigger {
    enum class Kind {
        word,          // this text, however it is tokenized
        pattern,       // a regular expression, found anywhere
        full_pattern,  // a regular expression for all of the text so far
    };
    Kind        kind = Kind::word;
    std::string value;
};

// A grammar in GBNF, llama.cpp's own notation, and when it applies. It may come from a request, so it is refused beyond
// these limits:
//
//   text         4 MiB
//   groups       256 levels
//   rules        262,144; each group and each optional repetition is one
//   repetitions  2,000 of one element (a larger maximum means no maximum), 2 million elements of all together
//   sets         16,384 characters and ranges in one [...]
//   ambiguity    8,192 ways to parse the text so far
//   work         2^27 comparisons for one call: about a second, unless its deadline comes first
//
// All but the first are in vendor/patches/0010 to 0013, in the code that they bound.
struct GrammarSettings {
    std::string                 gbnf;
    std::string                 schema;  // a JSON schema, which the grammar is made of instead where it is not empty
    bool                        lazy = false;  // applies only after one of the triggers
    std::vector<GrammarTrigger> triggers;
    // The end of the prompt, which is the beginning of what the grammar describes. Only for grammars that are not lazy.
    std::string prefill;
    // Between these tags a lazy grammar is not triggered, because a tool call there is only reasoning about one.
    std::string              thinking_start;
    std::vector<std::string> thinking_ends;
};

// Turns grammars into constraints on the tokens of one model.
class GrammarCompiler {
public:
    explicit GrammarCompiler(const llama_vocab* vocab) : vocab_(vocab) {}

    // Takes milliseconds, or a second at the limits; the first call for a large vocabulary some hundred milliseconds
    // more. Throws `invalid_grammar`.
    std::shared_ptr<TokenConstraint> compile(const GrammarSettings& settings);
    // Constraints for `n` texts, at little more than the cost of one.
    std::vector<std::shared_ptr<TokenConstraint>> compile(const GrammarSettings& settings, size_t n);

private:
    const llama_vocab*         vocab_;
    std::once_flag             tree_built_;
    std::shared_ptr<TokenTree> tree_;
};

}  // namespace chasqui
