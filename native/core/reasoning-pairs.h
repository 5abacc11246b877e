// Thread: any to read.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace chasqui {

// The tags around reasoning.
struct ReasoningPair {
    std::string              start;  // never empty
    std::vector<std::string> ends;   // never empty; any of them ends it
};

// The usual tags, for chat templates that declare none.
const std::vector<ReasoningPair>& usual_reasoning_pairs();

// Returns the pair of the last opening tag in the prompt; nullopt: none, or it is closed there.
std::optional<size_t> open_reasoning(const std::string& prompt, const std::vector<ReasoningPair>& pairs);

// The first closing tag in a text. find_end() returns nullopt if there is none.
struct ClosingTag {
    size_t at, length;
};
std::optional<ClosingTag> find_end(const std::string& text, const ReasoningPair& pair);

// Searches the beginning of a completion, after whitespace, for an opening tag.
class ReasoningStart {
public:
    explicit ReasoningStart(const std::vector<ReasoningPair>& pairs) : pairs_(pairs) {}

    // Appends to the text. Returns the index of the pair that begins it; nullopt: none yet.
    std::optional<size_t> push(std::string_view text);
    // Whether the text so far could become an opening tag.
    bool is_undecided() const { return is_undecided_; }

private:
    const std::vector<ReasoningPair>& pairs_;
    std::string                       text_;
    bool                              is_undecided_ = true;
};

}  // namespace chasqui
