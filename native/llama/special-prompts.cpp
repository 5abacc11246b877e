#include "special-prompts.h"

#include "../core/error-code.h"

#include <llama.h>

namespace chasqui {

namespace {

void append(std::vector<TokenId>& to, const std::vector<TokenId>& tokens) {
    to.insert(to.end(), tokens.begin(), tokens.end());
}

std::string filled_in(std::string text, const std::string& placeholder, const std::string& value) {
    for (size_t at = text.find(placeholder); at != std::string::npos; at = text.find(placeholder, at + value.size())) {
        text.replace(at, placeholder.size(), value);
    }
    return text;
}

}  // namespace

bool can_infill(const Model& model) {
    const llama_vocab* vocab = model.vocab();
    return llama_vocab_fim_pre(vocab) >= 0 && llama_vocab_fim_suf(vocab) >= 0 && llama_vocab_fim_mid(vocab) >= 0;
}

std::vector<TokenId> infill_prompt(const Model& model, const Tokenizer& tokenizer, const std::string& prefix,
                                   const std::string& suffix) {
    if (!can_infill(model)) {
        throw Error(
            ErrorCode::model_not_capable,
            "This model was not trained to fill gaps: its vocabulary has no tokens for what is before and after.");
    }
    const llama_vocab*   vocab = model.vocab();
    std::vector<TokenId> prompt;
    if (llama_vocab_get_add_bos(vocab)) prompt.push_back(llama_vocab_bos(vocab));
    prompt.push_back(llama_vocab_fim_pre(vocab));
    append(prompt, tokenizer.tokenize(prefix, false, false));
    prompt.push_back(llama_vocab_fim_suf(vocab));
    append(prompt, tokenizer.tokenize(suffix, false, false));
    prompt.push_back(llama_vocab_fim_mid(vocab));
    return prompt;
}

std::vector<TokenId> ranking_prompt(const Model& model, const Tokenizer& tokenizer, const std::string& query,
                                    const std::string& document) {
    if (const char* text = llama_model_chat_template(model.handle(), "rerank")) {
        const std::string with_query = filled_in(text, "{query}", query);
        return tokenizer.tokenize(filled_in(with_query, "{document}", document), false, true);
    }
    const llama_vocab*   vocab = model.vocab();
    const TokenId        end   = llama_vocab_eos(vocab) >= 0 ? llama_vocab_eos(vocab) : llama_vocab_sep(vocab);
    std::vector<TokenId> prompt;
    if (llama_vocab_get_add_bos(vocab)) prompt.push_back(llama_vocab_bos(vocab));
    append(prompt, tokenizer.tokenize(query, false, false));
    if (llama_vocab_get_add_eos(vocab)) prompt.push_back(end);
    if (llama_vocab_get_add_sep(vocab)) prompt.push_back(llama_vocab_sep(vocab));
    append(prompt, tokenizer.tokenize(document, false, false));
    if (llama_vocab_get_add_eos(vocab)) prompt.push_back(end);
    return prompt;
}

}  // namespace chasqui
