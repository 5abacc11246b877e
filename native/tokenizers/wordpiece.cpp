#include "bert-codes.h"
#include "tokenizers.h"
#include "unicode-classes.h"

#include "llama-interrupt.h"
#include "unicode.h"

#include <algorithm>
#include <iterator>

namespace chasqui {
namespace {

template <size_t N>
CodeTable table_of(const CodeRange (&ranges)[N]) {
    return CodeTable(CodeSet(std::vector<CodeRange>(std::begin(ranges), std::end(ranges))));
}

struct Classes {
    CodeTable spaces      = CodeTable(space_codes());
    CodeTable removed     = table_of(kRemoved);
    CodeTable marks       = table_of(kMarks);
    CodeTable punctuation = table_of(kPunctuation);
    // Each of these is a word.
    CodeTable ideographs = table_of({{0x3400, 0x4DBF},
                                     {0x4E00, 0x9FFF},
                                     {0xF900, 0xFAFF},
                                     {0x20000, 0x2A6DF},
                                     {0x2A700, 0x2B81F},
                                     {0x2B920, 0x2CEAF},
                                     {0x2F800, 0x2FA1F}});
};

const Classes& classes() {
    static const Classes all;
    return all;
}

// The canonical decomposition without nonspacing marks.
void append_without_accents(uint32_t code, std::vector<uint32_t>& output) {
    const auto append = [&](uint32_t part) {
        if (!classes().marks.has(part)) output.push_back(part);
    };
    constexpr uint32_t kSyllables = 0xAC00, kLeading = 0x1100, kVowels = 0x1161, kTrailing = 0x11A7;
    if (kSyllables <= code && code <= 0xD7A3) {
        const uint32_t index = code - kSyllables;
        output.push_back(kLeading + index / (21 * 28));
        output.push_back(kVowels + index / 28 % 21);
        if (index % 28 > 0) output.push_back(kTrailing + index % 28);
        return;
    }
    const auto it = std::lower_bound(std::begin(kDecompositions), std::end(kDecompositions), code,
                                     [](const Decomposition& d, uint32_t value) { return d.code < value; });
    if (it == std::end(kDecompositions) || it->code != code) return append(unicode_cpts_normalize_nfd({code})[0]);
    for (const uint32_t part : it->parts) {
        if (part != 0) append(part);
    }
}

// BERT's normalizer and pre-tokenizer.
template <class Take>
void split_bert_words(const std::string& text, const llama_vocab::normalizer_options& options, const Take& take) {
    std::vector<uint32_t> word, codes;
    const auto            end_word = [&] {
        if (!word.empty()) take(word);
        word.clear();
    };
    for (const uint32_t code : unicode_cpts_from_utf8(text)) {
        if (code == 0 || classes().removed.has(code)) continue;
        if (classes().spaces.has(code)) {
            end_word();
            continue;
        }
        codes.clear();
        if (options.strip_accents) {
            append_without_accents(code, codes);
        } else {
            codes.push_back(code);
        }
        const bool is_ideograph = classes().ideographs.has(code);
        for (const uint32_t part : codes) {
            const bool is_word = is_ideograph || classes().punctuation.has(part);
            if (is_word) end_word();
            word.push_back(options.lowercase ? unicode_tolower(part) : part);
            if (options.lowercase && part == 0x130) word.push_back(0x307);  // the only letter that becomes two
            if (is_word) end_word();
        }
    }
    end_word();
}

// The longest tokens from left to right; the rest of a word after a piece that is no token makes all of it unknown.
class Pieces {
public:
    Pieces(const llama_vocab& vocab, std::vector<llama_token>& output) : vocab_(vocab), output_(output) {}

    void append(const std::vector<uint32_t>& word) {
        const size_t before = output_.size();
        if (word.size() <= kMaxWord && append_all(word)) return;
        output_.resize(before);
        output_.push_back(vocab_.token_unk());
    }

private:
    static constexpr size_t   kMaxWord = 100;
    static constexpr uint32_t kStart   = 0x2581;  // a GGUF file has "▁word" and "piece" for BERT's "word" and "##piece"

    bool append_all(const std::vector<uint32_t>& word) {
        text_ = unicode_cpt_to_utf8(kStart);
        ends_ = {text_.size()};
        for (const uint32_t code : word) {
            text_ += unicode_cpt_to_utf8(code);
            ends_.push_back(text_.size());
        }
        for (size_t i = 0; i < word.size();) {
            const size_t n = longest(i, word);
            if (n == 0) return false;
            i += n;
        }
        return true;
    }

    // Appends the longest token at character `i`; returns its length in characters.
    size_t longest(size_t i, const std::vector<uint32_t>& word) {
        const size_t begin = i == 0 ? 0 : ends_[i];
        for (size_t end = word.size(); end > i; --end) {
            llama_count_step();
            // In the file, a piece that begins with U+2581 is the beginning of a word.
            if (i > 0 && word[i] == kStart && end > i + 1) continue;
            if (ends_[end] - begin > static_cast<size_t>(vocab_.max_token_len())) continue;
            const llama_token token = vocab_.text_to_token(text_.substr(begin, ends_[end] - begin));
            if (token == LLAMA_TOKEN_NULL) continue;
            output_.push_back(token);
            return end - i;
        }
        return 0;
    }

    const llama_vocab&        vocab_;
    std::vector<llama_token>& output_;
    std::string               text_;
    std::vector<size_t>       ends_;  // of characters in text_
};

}  // namespace

void tokenize_wordpiece(const llama_vocab& vocab, const std::string& text, std::vector<llama_token>& output) {
    Pieces pieces(vocab, output);
    split_bert_words(text, vocab.get_normalizer_opts(),
                     [&](const std::vector<uint32_t>& word) { pieces.append(word); });
}

}  // namespace chasqui
