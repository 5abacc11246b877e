#include "pre-tokenizer.h"
#include "tokenizers.h"

#include "llama-interrupt.h"
#include "unicode.h"

#include <algorithm>
#include <queue>

namespace chasqui {
namespace {

// Merges the symbols of one word at a time. A pair is identified by its length: its left symbol cannot grow without its
// right one becoming part of it.
class BpeWord {
public:
    BpeWord(const llama_vocab& vocab, bool encode_bytes, std::vector<llama_token>& output)
        : vocab_(vocab), encode_bytes_(encode_bytes), output_(output) {}

    void tokenize(const std::string& word) {
        llama_count_step();
        if (const llama_token token = whole(word); token != LLAMA_TOKEN_NULL) {
            output_.push_back(token);
            return;
        }
        symbols_.clear();
        for (size_t offset = 0; offset < word.size();) {
            const size_t n     = std::min(word.size() - offset, unicode_len_utf8(word[offset]));
            const int    index = static_cast<int>(symbols_.size());
            symbols_.push_back({word.data() + offset, n, index - 1, index + 1});
            offset += n;
        }
        if (symbols_.empty()) return;
        symbols_.back().next = -1;
        for (int i = 1; i < static_cast<int>(symbols_.size()); ++i) add_pair(i - 1, i);
        merge();
        for (const Symbol& symbol : symbols_) {
            if (symbol.n > 0) append(std::string(symbol.text, symbol.n));
        }
    }

private:
    struct Symbol {
        const char* text;
        size_t      n;  // 0: merged into another symbol
        int         previous;
        int         next;
    };
    struct Pair {
        int    left;
        int    right;
        int    rank;
        size_t n;

        bool operator<(const Pair& other) const { return rank != other.rank ? rank > other.rank : left > other.left; }
    };

    // The token of a word that is not merged; LLAMA_TOKEN_NULL otherwise.
    llama_token whole(const std::string& word) const {
        // Gemma 4 has tokens of several line feeds that no merges produce.
        const bool is_whole = vocab_.get_ignore_merges() || (vocab_.get_pre_type() == LLAMA_VOCAB_PRE_TYPE_GEMMA4 &&
                                                             word.find_first_not_of('\n') == std::string::npos);
        return is_whole ? vocab_.text_to_token(word) : LLAMA_TOKEN_NULL;
    }

    void merge() {
        while (!pairs_.empty()) {
            const Pair pair = pairs_.top();
            pairs_.pop();
            Symbol& left  = symbols_[static_cast<size_t>(pair.left)];
            Symbol& right = symbols_[static_cast<size_t>(pair.right)];
            if (left.n == 0 || right.n == 0 || left.n + right.n != pair.n) continue;
            left.n += right.n;
            right.n   = 0;
            left.next = right.next;
            if (right.next >= 0) symbols_[static_cast<size_t>(right.next)].previous = pair.left;
            add_pair(left.previous, pair.left);
            add_pair(pair.left, left.next);
        }
    }

    void add_pair(int left, int right) {
        if (left < 0 || right < 0) return;
        llama_count_step();
        const Symbol& l    = symbols_[static_cast<size_t>(left)];
        const Symbol& r    = symbols_[static_cast<size_t>(right)];
        const int     rank = vocab_.find_bpe_rank(std::string(l.text, l.n), std::string(r.text, r.n));
        if (rank >= 0) pairs_.push({left, right, rank, l.n + r.n});
    }

    void append(const std::string& text) {
        llama_token token = vocab_.text_to_token(text);
        if (token != LLAMA_TOKEN_NULL) {
            output_.push_back(token);
            return;
        }
        for (const char byte : text) {
            static const char digits[] = "0123456789ABCDEF";
            const auto        value    = static_cast<unsigned char>(byte);
            // Vocabularies without byte characters (Gemma 4) have tokens such as <0x0A>.
            token = vocab_.text_to_token(encode_bytes_
                                             ? std::string(1, byte)
                                             : std::string("<0x") + digits[value >> 4] + digits[value & 15] + '>');
            if (token != LLAMA_TOKEN_NULL) output_.push_back(token);
        }
    }

    const llama_vocab&        vocab_;
    const bool                encode_bytes_;
    std::vector<llama_token>& output_;
    std::vector<Symbol>       symbols_;
    std::priority_queue<Pair> pairs_;
};

}  // namespace

void tokenize_bpe(const llama_vocab& vocab, const std::vector<std::string>& expressions, bool encode_bytes,
                  const std::string& text, std::vector<llama_token>& output) {
    BpeWord word(vocab, encode_bytes, output);
    split_words(text, expressions, encode_bytes, [&](const std::string& next) { word.tokenize(next); });
}

}  // namespace chasqui
