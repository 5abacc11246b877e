// Thread: any.
#pragma once

#include "chat-template.h"
#include "../sampling/grammar.h"
#include "../model/model.h"
#include "../model/tokenizer.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace chasqui {

// Prepares requests for a model: chat template, tokenizer and grammar compiler. None of these needs the weights.
class Preparer {
public:
    // `model` must outlive it. `chat_template` replaces the model's own unless empty.
    Preparer(const Model& model, const std::string& chat_template);

    const Model&        model() const { return model_; }
    const Tokenizer&    tokenizer() const { return tokenizer_; }
    const ChatTemplate& chat_template() const { return chat_template_; }

    // Tokenizes a rendered prompt; parses special tokens. Throws the errors of check_length(). Slow for long texts.
    std::vector<TokenId> tokenize_prompt(const std::string& prompt, uint32_t context_length) const;
    // Throws `context_length_exceeded` if a prompt cannot possibly fit.
    void check_length(const std::string& prompt, uint32_t context_length) const;
    // Compiles a grammar to `n` constraints, one per job. Throws `invalid_grammar`. Slow for large grammars.
    std::vector<std::shared_ptr<TokenConstraint>> compile_grammar(const GrammarSettings& grammar, size_t n) {
        return grammars_.compile(grammar, n);
    }

private:
    const Model&    model_;
    Tokenizer       tokenizer_;
    ChatTemplate    chat_template_;
    GrammarCompiler grammars_;
};

// A preparer with its own model. Loads only the vocabulary.
struct VocabularyPreparer {
    // `metadata`: see FileOptions. Throws the errors of Model.
    VocabularyPreparer(const std::string& path, const std::vector<std::string>& metadata,
                       const std::string& chat_template);

    Model    model;
    Preparer preparer;
};

// Throws `context_length_exceeded`. `qualifier`: "at least " or empty.
[[noreturn]] void refuse_length(size_t n_tokens, uint32_t context_length, const char* qualifier = "");

}  // namespace chasqui
