// Thread: that of its sequence.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace chasqui {

// Searches a stream of text for stop strings. Holds text back that may be the start of one, so returned text is final:
//
//   stop = "END"      push("the E")  → "the "      (held: "E")
//                     push("lbe")    → "Elbe"
//                     push(" END!")  → " "  and matched() == "END"
class StopMatcher {
public:
    // `format_stops` also apply where the others do not.
    explicit StopMatcher(std::vector<std::string> stops, std::vector<std::string> format_stops = {});

    // Appends `text` and returns the text that is final; after a match, nothing. `in_format`: only `format_stops` apply.
    std::string push(std::string_view text, bool in_format = false);
    // The text has ended without a match: returns the held text.
    std::string flush();

    // The stop string that ended the text, if several the one that starts first; empty: none.
    const std::string& matched() const { return matched_; }

private:
    size_t n_bytes_to_hold(size_t n_stops) const;

    std::vector<std::string> stops_;  // those of the format first
    size_t                   n_format_stops_;
    std::string              held_;
    std::string              matched_;
};

}  // namespace chasqui
