#include "special-prompts.h"

#include "../../core/error-code.h"

#include <llama.h>

#include <utility>

namespace chasqui {

namespace {

void append(std::vector<TokenId>& to, const std::vector<TokenId>& tokens) {
    to.insert(to.end(), tokens.begin(), tokens.end());
}

// Fills both texts into a ranking model's template. Placeholders within the texts are not replaced.
std::string filled_in(const std::string& text, const std::string& query, const std::string& document) {
    const std::pair<std::string, const std::string&> places[] = {{"{query}", query}, {"{document}", document}};
    std::string                                      filled;
    size_t                                           end = 0;
    for (size_t at = text.find('{'); at != std::string::npos; at = text.find('{', at + 1)) {
        for (const auto& [name, value] : places) {
            if (text.compare(at, name.size(), name) != 0) continue;
            filled.append(text, end, at - end);
            filled += value;
            end = at + name.size();
        }
    }
    return filled.append(text, end);
}

}  // namespace

bool can_infill(const Model& model) {
    const llama_vocab* vocab = model.vocab();
    return llama_vocab_fim_pre(vocab) >= 0 && llama_vocab_fim_suf(vocab) >= 0 && llama_vocab_fim_mid(vocab) >= 0;
}

std::vector<TokenId> infill_prompt(const Model& model, const Tokenizer& tokenizer, const std::string& prefix,
                                   const std::string& suffix) {
    if (!can_infill(model)) {
        throw Error(ErrorCode::model_not_capable,
                    "This model does not support infilling: its vocabulary has no fill-in-the-middle tokens.");
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
        std::string texts[] = {query, document};
        bool        is_marked = false;
        for (std::string& each : texts) is_marked = tokenizer.control_tokens().mark(each) || is_marked;
        const std::string prompt = filled_in(text, texts[0], texts[1]);
        return tokenizer.tokenize(is_marked ? ControlTokens::seal(prompt) : prompt, false, true);
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
