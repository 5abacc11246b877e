// Thread: that of its sequence.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace chasqui {

// Looks for stop strings in a stream of text. Text that may be the start of one is held back until that is decided, so
// that text that has been returned is final:
//
//   stop = "END"      push("the E")  → "the "      (held: "E")
//                     push("lbe")    → "Elbe"
//                     push(" END!")  → " "  and matched() == "END"
class StopMatcher {
public:
    explicit StopMatcher(std::vector<std::string> stops) : stops_(std::move(stops)) {}

    // Appends `text` and returns the text that is final. After a match it returns nothing.
    std::string push(std::string_view text);
    // The text has ended without a match: returns what was held back.
    std::string flush();

    // The stop string that ended the text, of several the one that starts first; empty if none did.
    const std::string& matched() const { return matched_; }

private:
    size_t n_bytes_to_hold() const;

    std::vector<std::string> stops_;
    std::string              held_;
    std::string              matched_;
};

}  // namespace chasqui
