#include "tokenizer.h"

#include "../../core/error-code.h"
#include "../../core/utf8-buffer.h"

#include <llama.h>

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace chasqui {

namespace {

void append_piece(const llama_vocab* vocab, TokenId token, bool special, std::string& to) {
    const size_t before = to.size();
    to.resize(before + 32);
    int32_t length = llama_token_to_piece(vocab, token, to.data() + before, 32, 0, special);
    if (length < 0) {
        to.resize(before + static_cast<size_t>(-length));
        length = llama_token_to_piece(vocab, token, to.data() + before, -length, 0, special);
    }
    to.resize(before + static_cast<size_t>(std::max(length, 0)));
}

// A vocabulary without byte tokens may lack a character. Upstream's SentencePiece throws, and its RWKV gives token -1.
[[noreturn]] void throw_no_tokens() {
    throw Error(ErrorCode::model_not_capable,
                "The model's vocabulary has neither tokens for some characters of the text nor tokens for single bytes. "
                "Send only text that the vocabulary covers, or use another conversion of the model.");
}

}  // namespace

bool TokenLists::add(size_t min_tokens, size_t max_tokens, const std::function<std::vector<TokenId>()>& tokenize) {
    if (min_tokens > max_tokens) {
        lengths.push_back(-static_cast<int32_t>(min_tokens));
        return false;
    }
    const std::vector<TokenId> text = tokenize();
    lengths.push_back(static_cast<int32_t>(text.size()));
    if (text.size() > max_tokens) return false;
    tokens.insert(tokens.end(), text.begin(), text.end());
    return true;
}

Tokenizer::Tokenizer(const llama_vocab* vocab) : vocab_(vocab), control_tokens_(vocab) {
    const auto type = llama_vocab_type(vocab_);
    drops_text_ = type != LLAMA_VOCAB_TYPE_SPM && type != LLAMA_VOCAB_TYPE_BPE && type != LLAMA_VOCAB_TYPE_RWKV;
    const int32_t n_vocab = llama_vocab_n_tokens(vocab_);
    std::string   spelled;
    for (TokenId token = 0; token < n_vocab; ++token) {
        offsets_.push_back(pieces_.size());
        append_piece(vocab_, token, false, pieces_);
        ends_generation_.push_back(llama_vocab_is_eog(vocab_, token));
        if (ends_generation_.back()) end_tokens_.push_back(token);
        starts_message_.push_back(llama_vocab_is_control(vocab_, token) && !ends_generation_.back());
        spelled.clear();
        append_piece(vocab_, token, true, spelled);
        max_piece_length_ = std::max(max_piece_length_, spelled.size());
    }
    offsets_.push_back(pieces_.size());
}

std::vector<TokenId> Tokenizer::tokenize(std::string_view text, bool add_special, bool parse_special) const {
    if (!parse_special || !ControlTokens::is_sealed(text)) return tokenize_text(text, add_special, parse_special);
    std::vector<TokenId> tokens;
    if (add_special && llama_vocab_get_add_bos(vocab_)) tokens.push_back(llama_vocab_bos(vocab_));
    for (const PromptPart& part : control_tokens_.split(text)) {
        const std::vector<TokenId> added = tokenize_text(part.text, false, part.parses_special);
        tokens.insert(tokens.end(), added.begin(), added.end());
    }
    if (add_special && llama_vocab_get_add_eos(vocab_)) tokens.push_back(llama_vocab_eos(vocab_));
    return tokens;
}

std::vector<TokenId> Tokenizer::continuation(std::string_view before, std::string_view text) const {
    std::vector<TokenId> tokens = tokenize_text(std::string(before).append(text), false, false);
    size_t               first = tokens.size(), n_bytes = 0;
    while (first > 0 && n_bytes < text.size()) n_bytes += piece(tokens[--first]).size();
    if (n_bytes == text.size()) return {tokens.begin() + static_cast<std::ptrdiff_t>(first), tokens.end()};
    return before.empty() ? std::vector<TokenId>() : continuation({}, text);
}

std::vector<TokenId> Tokenizer::tokenize_text(std::string_view text, bool add_special, bool parse_special) const {
    if (text.size() > static_cast<size_t>(std::numeric_limits<int32_t>::max()) / 2) {
        throw Error(ErrorCode::invalid_job, "The text is too long to tokenize (over 1 GiB).");
    }
    // llama.cpp throws on some invalid UTF-8 and maps other bytes to nonexistent characters. Templates can produce it
    // by cutting a string within a character.
    if (!is_valid_utf8(text)) return tokenize_text(to_valid_utf8(text), add_special, parse_special);
    const auto           length = static_cast<int32_t>(text.size());
    // Enough for one token per byte plus BOS and EOS, so the text is tokenized only once.
    std::vector<TokenId> tokens(text.size() + 16);
    const auto           fill = [&] {
        try {
            return llama_tokenize(vocab_, text.data(), length, tokens.data(), static_cast<int32_t>(tokens.size()),
                                            add_special, parse_special);
        } catch (const std::out_of_range&) {
            throw_no_tokens();
        }
    };
    int32_t n_tokens = fill();
    if (n_tokens < 0) {
        tokens.resize(static_cast<size_t>(-n_tokens));
        n_tokens = fill();
    }
    tokens.resize(static_cast<size_t>(std::max(n_tokens, 0)));
    tokens.shrink_to_fit();
    if (std::any_of(tokens.begin(), tokens.end(), [](TokenId token) { return token < 0; })) throw_no_tokens();
    return tokens;
}

std::string Tokenizer::spelled(TokenId token) const {
    std::string text;
    append_piece(vocab_, token, true, text);
    return text;
}

std::string_view Tokenizer::piece(TokenId token) const {
    const auto at = static_cast<size_t>(token);
    return std::string_view(pieces_).substr(offsets_[at], offsets_[at + 1] - offsets_[at]);
}

bool Tokenizer::is_end_of_generation(TokenId token) const { return ends_generation_[static_cast<size_t>(token)]; }

std::vector<size_t> Tokenizer::message_starts(const std::vector<TokenId>& prompt) const {
    std::vector<size_t> positions;
    for (size_t i = 0; i < prompt.size(); ++i) {
        if (prompt[i] >= 0 && starts_message_[static_cast<size_t>(prompt[i])]) positions.push_back(i);
    }
    return positions;
}

bool Tokenizer::is_valid(TokenId token) const { return token >= 0 && token < vocabulary_size(); }

}  // namespace chasqui
