#include "preparer.h"

#include "../../core/error-code.h"

namespace chasqui {

namespace {

OffloadOptions vocabulary_only(const std::vector<std::string>& metadata) {
    OffloadOptions options;
    options.devices.emplace();  // none, so no driver allocates memory
    options.file.metadata        = metadata;
    options.file.vocabulary_only = true;
    return options;
}

}  // namespace

Preparer::Preparer(const Model& model, const std::string& chat_template)
    : model_(model), tokenizer_(model), chat_template_(model, chat_template), grammars_(model.vocab()) {}

void Preparer::check_length(const std::string& prompt, uint32_t context_length) const {
    // The marks of a sealed prompt are no text.
    const size_t n_bytes = ControlTokens::is_sealed(prompt) ? ControlTokens::unmarked(prompt).size() : prompt.size();
    const size_t min_tokens = tokenizer_.min_tokens(n_bytes);
    if (min_tokens >= context_length) refuse_length(min_tokens, context_length, "at least ");
}

std::vector<TokenId> Preparer::tokenize_prompt(const std::string& prompt, uint32_t context_length) const {
    check_length(prompt, context_length);
    return tokenizer_.tokenize(prompt, true, true);
}

VocabularyPreparer::VocabularyPreparer(const std::string& path, const std::vector<std::string>& metadata,
                                       const std::string& chat_template)
    : model(path, vocabulary_only(metadata), [](float) { return true; }), preparer(model, chat_template) {}

void refuse_length(size_t n_tokens, uint32_t context_length, const char* qualifier) {
    throw LengthError("The prompt has " + (qualifier + std::to_string(n_tokens)) + " tokens, but the context holds " +
                          std::to_string(context_length) +
                          " for prompt and completion together. Shorten the prompt or load the model with a larger " +
                          "`contextSize`, or `kvBudgetMiB` where that is given.",
                      n_tokens, context_length);
}

}  // namespace chasqui
