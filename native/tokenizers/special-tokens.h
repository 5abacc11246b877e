// Thread: any, once constructed.
#pragma once

#include "llama-vocab.h"

#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace chasqui {

// A part of a text: a special token, or text to tokenize.
struct Part {
    llama_token token;  // LLAMA_TOKEN_NULL: text
    size_t      begin;
    size_t      end;
};

// Finds special tokens in one pass. llama.cpp searches the text for each of them, and walks the list of parts for each
// hit.
class SpecialTokens {
public:
    // Tokens are taken out of the text in the order of `ranked`, each from left to right. Without `all`, only
    // user-defined tokens are found.
    std::vector<Part> split(const llama_vocab& vocab, const std::vector<llama_token>& ranked, const std::string& text,
                            bool all) const;

    // Splits the text of llama.cpp's list of fragments.
    template <class Fragments>
    void split(const llama_vocab& vocab, const std::vector<llama_token>& ranked, Fragments& fragments, bool all) const {
        const std::string& text = fragments.front().raw_text;
        fragments.clear();
        auto last = fragments.before_begin();
        for (const Part& part : split(vocab, ranked, text, all)) {
            last = part.token == LLAMA_TOKEN_NULL
                       ? fragments.emplace_after(last, text, part.begin, part.end - part.begin)
                       : fragments.emplace_after(last, part.token);
        }
    }

private:
    struct Entry {
        std::string text;
        size_t      rank;
    };
    using Entries = std::vector<Entry>;  // sorted by text

    void build(const llama_vocab& vocab, const std::vector<llama_token>& ranked) const;

    mutable std::once_flag built_;
    mutable Entries        all_;
    mutable Entries        user_defined_;

    friend class SpecialSearch;
};

// The texts that most vocabularies mark: all names of special tokens that llama.cpp looks for begin with one of these.
template <class Ids, class Tokens>
std::vector<std::pair<std::string, llama_token>> marked_tokens(const Ids& ids, const Tokens& tokens) {
    std::vector<std::pair<std::string, llama_token>> marked;  // in the map's order: the first end-of-turn token counts
    for (const auto& [text, id] : ids) {
        const auto begins = [&text = text](const char* prefix) { return text.rfind(prefix, 0) == 0; };
        if (begins("<") || begins("[") || begins("_<") || begins("\xe2\x96\x81<") ||
            (tokens[static_cast<size_t>(id)].attr & LLAMA_TOKEN_ATTR_CONTROL)) {
            marked.emplace_back(text, id);
        }
    }
    return marked;
}

}  // namespace chasqui
