// Thread: engine.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace chasqui {

// Watches a stream of text for stop strings. Text that may be the start of one is held back until that is decided, so
// what has been let through never needs to be taken back:
//
//   stop = "END"      push("the E")  → "the "      (held: "E")
//                     push("lbe")    → "Elbe"
//                     push(" END!")  → " "  and matched() == "END"
class StopMatcher {
public:
    explicit StopMatcher(std::vector<std::string> stops) : stops_(std::move(stops)) {}

    // Appends `text` and returns what is safe to show. After a match it returns nothing any more.
    std::string push(std::string_view text);
    // Returns what was held back: the end has come without a match.
    std::string flush();

    // The stop string that ended the text; empty while none did. Of several, the one that starts first.
    const std::string& matched() const { return matched_; }

private:
    size_t length_to_hold() const;

    std::vector<std::string> stops_;
    std::string              held_;
    std::string              matched_;
};

}  // namespace chasqui
