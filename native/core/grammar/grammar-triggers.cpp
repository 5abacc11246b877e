#include "grammar-triggers.h"

#include <algorithm>

namespace chasqui {

namespace {

constexpr size_t kMaxPattern = 256;  // bytes of text that a pattern matches

size_t begin_of(const std::smatch& match) {
    for (size_t group = 1; group < match.size(); ++group) {
        if (match[group].matched) return static_cast<size_t>(match.position(group));
    }
    return static_cast<size_t>(match.position(0));
}

}  // namespace

GrammarTriggers::GrammarTriggers(const std::vector<GrammarTrigger>& triggers) : n_kept_(kMaxPattern) {
    for (const auto& [kind, value] : triggers) {
        switch (kind) {
            case GrammarTrigger::Kind::word:
                words_.push_back(value);
                n_kept_ = std::max(n_kept_, value.size());
                break;
            case GrammarTrigger::Kind::pattern: patterns_.emplace_back(value); break;
            case GrammarTrigger::Kind::full_pattern: patterns_.emplace_back("^(?:" + value + ")$"); break;
        }
    }
}

bool GrammarTriggers::push(TokenId token, const std::string& text) {
    drop_old_tokens();
    const size_t n_before = text_.size();
    recent_.push_back({token, text});
    text_ += text;
    for (const std::string& word : words_) {
        found_ = text_.find(word, n_before - std::min(n_before, word.size()));
        if (found_ != std::string::npos) return true;
    }
    const auto flags = is_cut_ ? std::regex_constants::match_not_bol : std::regex_constants::match_default;
    for (const std::regex& pattern : patterns_) {
        std::smatch match;
        if (!std::regex_search(text_, match, pattern, flags)) continue;
        found_ = begin_of(match);
        return true;
    }
    return false;
}

std::vector<GrammarTriggers::Piece> GrammarTriggers::from_trigger() const {
    std::vector<Piece> pieces;
    size_t             begin = 0;
    for (const auto& [token, text] : recent_) {
        const size_t end = begin + text.size();
        if (end > found_) pieces.push_back({token, text.substr(std::max(begin, found_) - begin)});
        begin = end;
    }
    return pieces;
}

void GrammarTriggers::drop_old_tokens() {
    if (text_.size() <= 2 * n_kept_) return;
    size_t n_dropped = 0;
    while (text_.size() - n_dropped - recent_.front().text.size() >= n_kept_) {
        n_dropped += recent_.front().text.size();
        recent_.pop_front();
    }
    text_.erase(0, n_dropped);
    is_cut_ = is_cut_ || n_dropped > 0;
}

}  // namespace chasqui
