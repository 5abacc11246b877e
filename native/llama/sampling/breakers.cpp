#include "breakers.h"

#include "../../core/error-code.h"

#include <algorithm>
#include <string_view>

namespace chasqui {

namespace {

// Only the first tokens of a longer rest count.
constexpr size_t kMaxTail = 20;

void check(const std::vector<std::string>& texts) {
    const auto is_wrong = [](const std::string& text) {
        return text.empty() || text.size() > BreakerFinder::kMaxBytes;
    };
    if (texts.size() <= BreakerFinder::kMaxTexts && std::none_of(texts.begin(), texts.end(), is_wrong)) return;
    throw Error(ErrorCode::invalid_job, "There may be " + std::to_string(BreakerFinder::kMaxTexts) +
                                            " sequence breakers, each of 1 to " +
                                            std::to_string(BreakerFinder::kMaxBytes) + " bytes.");
}

}  // namespace

std::shared_ptr<const Breakers> BreakerFinder::find(const std::vector<std::string>& texts) const {
    if (texts.empty()) return nullptr;
    check(texts);
    const std::lock_guard<std::mutex> lock(mutex_);
    if (texts == last_texts_) return last_;
    const auto found = std::make_shared<Breakers>();
    found->complete.resize(static_cast<size_t>(tokenizer_.vocabulary_size()));
    for (const std::string& text : texts) add(text, *found);
    last_texts_ = texts;
    last_       = found;
    return found;
}

void BreakerFinder::add(const std::string& text, Breakers& to) const {
    // A control token adds nothing to the text, but may be named.
    const std::vector<TokenId> named = tokenizer_.tokenize(text, false, true);
    if (named.size() == 1) to.complete[static_cast<size_t>(named[0])] = true;

    // By the number of bytes that are already written.
    std::vector<std::vector<TokenId>> rests(text.size());
    for (TokenId token = 0; token < tokenizer_.vocabulary_size(); ++token) {
        const std::string_view piece = tokenizer_.piece(token);
        if (piece.find(text[0]) == std::string_view::npos) continue;
        if (piece.find(text) != std::string_view::npos) {
            to.complete[static_cast<size_t>(token)] = true;
            continue;
        }
        for (size_t n_written = std::min(piece.size(), text.size() - 1); n_written > 0; --n_written) {
            if (piece.substr(piece.size() - n_written) != std::string_view(text).substr(0, n_written)) continue;
            std::vector<TokenId>& rest = rests[n_written];
            if (rest.empty()) {
                rest = tokenizer_.tokenize(std::string_view(text).substr(n_written), false, false);
                rest.resize(std::min(rest.size(), kMaxTail));
            }
            // A rest without tokens would match anywhere.
            if (!rest.empty()) to.tails[token].push_back(rest);
        }
    }
}

}  // namespace chasqui
