#include "control-tokens.h"

#include <llama.h>

#include <algorithm>
#include <cctype>
#include <set>

namespace chasqui {

namespace {

// Two DEL characters, which no filter changes: JSON escapes neither, and they are no blanks.
constexpr std::string_view kMark = "\x7F\x7F";
// A mark and the noncharacter U+FDD1: no client writes this at the beginning of a prompt.
constexpr std::string_view kHeader = "\x7F\x7F\xEF\xB7\x91";

bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

size_t character_end(std::string_view text, size_t at) {
    do ++at;
    while (at < text.size() && is_continuation(text[at]));
    return at;
}

bool is_blank(char byte) { return std::isspace(static_cast<unsigned char>(byte)) != 0; }

}  // namespace

ControlTokens::ControlTokens(const llama_vocab* vocab) {
    for (int32_t token = 0; token < llama_vocab_n_tokens(vocab); ++token) {
        const auto attr = llama_vocab_get_attr(vocab, token);
        // llama.cpp parses other special tokens in every text.
        if ((attr & (LLAMA_TOKEN_ATTR_CONTROL | LLAMA_TOKEN_ATTR_UNKNOWN)) == 0) continue;
        const std::string text = llama_vocab_get_text(vocab, token);
        if (text.empty()) continue;
        controls_.push_back({text, (attr & LLAMA_TOKEN_ATTR_LSTRIP) != 0, (attr & LLAMA_TOKEN_ATTR_RSTRIP) != 0});
    }
    std::sort(controls_.begin(), controls_.end(), [](const Control& a, const Control& b) { return a.text < b.text; });
}

ControlTokens::ControlTokens(const std::vector<std::string>& texts) {
    for (const std::string& text : std::set<std::string>(texts.begin(), texts.end())) controls_.push_back({text, false, false});
}

// Narrows the range of controls byte by byte: the cost does not depend on the number of controls.
const ControlTokens::Control* ControlTokens::find(const std::string& text, size_t at) const {
    const Control* found = nullptr;
    auto           begin = controls_.begin(), end = controls_.end();
    for (size_t i = 0; begin != end; ++i) {
        if (begin->text.size() == i) {
            found = &*begin;
            while (begin != end && begin->text.size() == i) ++begin;
        }
        if (begin == end || at + i == text.size()) break;
        const auto byte = static_cast<unsigned char>(text[at + i]);
        const auto key  = [i](const Control& control) { return static_cast<unsigned char>(control.text[i]); };
        begin = std::partition_point(begin, end, [&](const Control& control) { return key(control) < byte; });
        end   = std::partition_point(begin, end, [&](const Control& control) { return key(control) == byte; });
    }
    return found;
}

bool ControlTokens::mark(std::string& text, const Exempts& exempts) const {
    std::string marked;
    size_t      copied = 0;
    for (size_t at = 0; at < text.size(); at = character_end(text, at)) {
        const Control* control = find(text, at);
        if (control == nullptr || (exempts && exempts(text, at, control->text.size()))) continue;
        const size_t end = character_end(text, at);
        marked.append(text, copied, end - copied).append(kMark);
        copied = end;
    }
    if (copied == 0) return false;
    text = marked.append(text, copied);
    return true;
}

std::vector<PromptPart> ControlTokens::split(std::string_view prompt) const {
    if (!is_sealed(prompt)) return {{std::string(prompt), true}};
    std::string       text;
    std::vector<bool> is_marked;  // by position in `text`: the beginning of a marked token
    for (size_t at = kHeader.size(), end = at; at < prompt.size(); at = end) {
        end = character_end(prompt, at);
        if (prompt.substr(at, kMark.size()) == kMark) {
            end         = at + kMark.size();
            size_t last = text.size();
            while (last > 0 && is_continuation(text[--last])) {}
            if (!text.empty()) is_marked[last] = true;
        } else {
            text.append(prompt.substr(at, end - at));
        }
        is_marked.resize(text.size());
    }

    std::vector<PromptPart> parts;
    size_t                  n_split = 0, gap = 0;  // end of the parts; end of the last control token
    bool                    has_marks   = false;   // since that
    bool                    strips_left = false;
    const auto              end_gap     = [&](size_t end, bool strips_right) {
        if (!has_marks) return;
        if (gap > n_split) parts.push_back({text.substr(n_split, gap - n_split), true});
        size_t from = gap, to = end;
        while (strips_left && from < to && is_blank(text[from])) ++from;
        while (strips_right && from < to && is_blank(text[to - 1])) --to;
        parts.push_back({text.substr(from, to - from), false});
        n_split = end;
    };
    for (size_t at = 0; at < text.size();) {
        const Control* control = is_marked[at] ? nullptr : find(text, at);
        has_marks              = has_marks || is_marked[at];
        if (control == nullptr) {
            at = character_end(text, at);
            continue;
        }
        end_gap(at, control->strips_left);
        at += control->text.size();
        gap         = at;
        has_marks   = false;
        strips_left = control->strips_right;
    }
    end_gap(text.size(), false);
    if (n_split < text.size()) parts.push_back({text.substr(n_split), true});
    return parts;
}

bool ControlTokens::is_sealed(std::string_view prompt) { return prompt.compare(0, kHeader.size(), kHeader) == 0; }

std::string ControlTokens::seal(const std::string& prompt) { return std::string(kHeader).append(prompt); }

std::string ControlTokens::unmarked(const std::string& text) {
    std::string result;
    for (size_t from = 0;; from += kMark.size()) {
        const size_t at = text.find(kMark, from);
        result.append(text, from, at - from);
        if (at == std::string::npos) return result;
        from = at;
    }
}

}  // namespace chasqui
