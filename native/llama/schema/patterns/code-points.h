// Thread: any.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace chasqui::schema {

struct CodePointRange {
    uint32_t first, last;
};

// A set of Unicode code points without surrogates, as sorted ranges that neither overlap nor touch.
class CodePoints {
public:
    CodePoints() = default;
    CodePoints(uint32_t first, uint32_t last) { add(first, last); }

    static CodePoints all();

    void       add(uint32_t first, uint32_t last);
    void       add(const CodePoints& other);
    CodePoints complement() const;
    CodePoints intersect(const CodePoints& other) const;

    bool                               empty() const { return ranges_.empty(); }
    bool                               is_single() const;
    bool                               contains(uint32_t code_point) const;
    const std::vector<CodePointRange>& ranges() const { return ranges_; }

private:
    std::vector<CodePointRange> ranges_;
};

// The code points of UTF-8 text. The bytes of invalid sequences are decoded as U+FFFD.
std::vector<uint32_t> code_points_of(const std::string& text);

void append_utf8(std::string& text, uint32_t code_point);

}  // namespace chasqui::schema
