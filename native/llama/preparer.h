// Thread: any.
#pragma once

#include "chat-template.h"
#include "grammar.h"
#include "model.h"
#include "tokenizer.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace chasqui {

// What prepares requests for a model: its template, its tokenizer, and the compiler of grammars. None of them needs the
// model's weights.
class Preparer {
public:
    // `model` must outlive it. `chat_template` replaces the model's own unless it is empty.
    Preparer(const Model& model, const std::string& chat_template);

    const Model&        model() const { return model_; }
    const Tokenizer&    tokenizer() const { return tokenizer_; }
    const ChatTemplate& chat_template() const { return chat_template_; }

    // Tokenizes a rendered prompt; special tokens are parsed. Throws as check_length() does. Slow for long texts.
    std::vector<TokenId> tokenize_prompt(const std::string& prompt, uint32_t context_length) const;
    // Throws `context_length_exceeded` if a prompt is so long that it cannot possibly fit.
    void check_length(const std::string& prompt, uint32_t context_length) const;
    // Compiles a grammar for `n` jobs, each of which needs a constraint of its own. Throws `invalid_grammar`. Slow for
    // large grammars.
    std::vector<std::shared_ptr<TokenConstraint>> compile_grammar(const GrammarSettings& grammar, size_t n) {
        return grammars_.compile(grammar, n);
    }

private:
    const Model&    model_;
    Tokenizer       tokenizer_;
    ChatTemplate    chat_template_;
    GrammarCompiler grammars_;
};

// The same with a model of its own, of which only the vocabulary is read.
struct VocabularyPreparer {
    // `metadata` as in FileOptions. Throws as Model does.
    VocabularyPreparer(const std::string& path, const std::vector<std::string>& metadata,
                       const std::string& chat_template);

    Model    model;
    Preparer preparer;
};

// Throws `context_length_exceeded`. `qualifier`: "at least ", or nothing.
[[noreturn]] void refuse_length(size_t n_tokens, uint32_t context_length, const char* qualifier = "");

}  // namespace chasqui
