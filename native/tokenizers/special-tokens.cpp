#include "special-tokens.h"

#include "llama-interrupt.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>

namespace chasqui {

void SpecialTokens::build(const llama_vocab& vocab, const std::vector<llama_token>& ranked) const {
    for (size_t rank = 0; rank < ranked.size(); ++rank) {
        const auto& data = vocab.get_token_data(ranked[rank]);
        if (data.text.empty()) continue;
        all_.push_back({data.text, rank});
        if (!(data.attr & (LLAMA_TOKEN_ATTR_CONTROL | LLAMA_TOKEN_ATTR_UNKNOWN)))
            user_defined_.push_back({data.text, rank});
    }
    for (Entries* entries : {&all_, &user_defined_}) {
        std::stable_sort(entries->begin(), entries->end(),
                         [](const Entry& a, const Entry& b) { return a.text < b.text; });
        const auto same = [](const Entry& a, const Entry& b) { return a.text == b.text; };
        entries->erase(std::unique(entries->begin(), entries->end(), same), entries->end());
    }
}

class SpecialSearch {
public:
    SpecialSearch(const SpecialTokens::Entries& entries, const std::string& text)
        : entries_(entries), text_(text), taken_(text.size(), false) {
        for (const auto& entry : entries) is_first_[static_cast<unsigned char>(entry.text[0])] = true;
    }

    std::vector<Part> run(const llama_vocab& vocab, const std::vector<llama_token>& ranked) {
        for (size_t pos = 0; pos < text_.size(); ++pos) wait(pos, std::nullopt);
        std::vector<Part> found;
        while (!waiting_.empty()) {
            const size_t        rank      = waiting_.begin()->first;
            std::vector<size_t> positions = std::move(waiting_.begin()->second);
            waiting_.erase(waiting_.begin());
            std::sort(positions.begin(), positions.end());
            const auto& data = vocab.get_token_data(ranked[rank]);
            for (const size_t pos : positions) {
                const size_t end = pos + data.text.size();
                if (taken_[pos]) continue;
                if (any_taken(pos, end)) {
                    wait(pos, rank);
                    continue;
                }
                take(pos, end, data.attr);
                found.push_back({ranked[rank], pos, end});
            }
        }
        return with_text_between(std::move(found));
    }

private:
    // A position waits for the first token that begins there; if a part of that is taken already, for the next one.
    void wait(size_t pos, std::optional<size_t> behind) {
        llama_count_step();
        if (!is_first_[static_cast<unsigned char>(text_[pos])]) return;
        if (const std::optional<size_t> rank = next_rank(pos, behind)) waiting_[*rank].push_back(pos);
    }

    std::optional<size_t> next_rank(size_t pos, std::optional<size_t> behind) const {
        std::optional<size_t> best;
        auto                  begin = entries_.begin(), end = entries_.end();
        for (size_t depth = 0; begin != end && pos + depth < text_.size(); ++depth) {
            const char c    = text_[pos + depth];
            const auto less = [depth](const SpecialTokens::Entry& entry, char value) {
                return static_cast<unsigned char>(entry.text[depth]) < static_cast<unsigned char>(value);
            };
            const auto greater = [depth](char value, const SpecialTokens::Entry& entry) {
                return static_cast<unsigned char>(value) < static_cast<unsigned char>(entry.text[depth]);
            };
            begin = std::lower_bound(begin, end, c, less);
            end   = std::upper_bound(begin, end, c, greater);
            if (begin == end || begin->text.size() > depth + 1) continue;
            const size_t rank = begin->rank;  // its text ends here; sorting puts it before all that continue
            if ((!behind || rank > *behind) && (!best || rank < *best)) best = rank;
            ++begin;
        }
        return best;
    }

    bool any_taken(size_t begin, size_t end) const {
        for (size_t i = begin; i < end; ++i) {
            if (taken_[i]) return true;
        }
        return false;
    }

    void take(size_t begin, size_t end, llama_token_attr attr) {
        for (size_t i = begin; i < end; ++i) taken_[i] = true;
        const auto is_blank = [&](size_t i) {
            return !taken_[i] && std::isspace(static_cast<unsigned char>(text_[i]));
        };
        if (attr & LLAMA_TOKEN_ATTR_LSTRIP) {
            for (size_t i = begin; i > 0 && is_blank(i - 1); --i) taken_[i - 1] = true;
        }
        if (attr & LLAMA_TOKEN_ATTR_RSTRIP) {
            for (size_t i = end; i < text_.size() && is_blank(i); ++i) taken_[i] = true;
        }
    }

    std::vector<Part> with_text_between(std::vector<Part> found) const {
        std::sort(found.begin(), found.end(), [](const Part& a, const Part& b) { return a.begin < b.begin; });
        std::vector<Part> parts;
        auto              next = found.begin();
        for (size_t pos = 0; pos < text_.size();) {
            if (next != found.end() && next->begin == pos) {
                parts.push_back(*next);
                pos = next->end;
                ++next;
            } else if (taken_[pos]) {
                ++pos;  // stripped
            } else {
                const size_t end = static_cast<size_t>(
                    std::find(taken_.begin() + static_cast<ptrdiff_t>(pos), taken_.end(), true) - taken_.begin());
                parts.push_back({LLAMA_TOKEN_NULL, pos, end});
                pos = end;
            }
        }
        return parts;
    }

    const SpecialTokens::Entries&         entries_;
    const std::string&                    text_;
    std::vector<bool>                     taken_;
    std::map<size_t, std::vector<size_t>> waiting_;  // positions by rank
    bool                                  is_first_[256] = {};
};

std::vector<Part> SpecialTokens::split(const llama_vocab& vocab, const std::vector<llama_token>& ranked,
                                       const std::string& text, bool all) const {
    if (ranked.empty()) return {{LLAMA_TOKEN_NULL, 0, text.size()}};  // they are not loaded yet
    std::call_once(built_, [&] { build(vocab, ranked); });
    return SpecialSearch(all ? all_ : user_defined_, text).run(vocab, ranked);
}

}  // namespace chasqui
