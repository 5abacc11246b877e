// Thread: any. Sets of Unicode code points.
#pragma once

#include <bitset>
#include <cstdint>
#include <utility>
#include <vector>

namespace chasqui {

class CodeSet {
public:
    using Range = std::pair<uint32_t, uint32_t>;  // first and last

    CodeSet() = default;
    explicit CodeSet(std::vector<Range> ranges);

    const std::vector<Range>& ranges() const { return ranges_; }

    CodeSet inverse() const;
    CodeSet join(const CodeSet& other) const;
    CodeSet intersect(const CodeSet& other) const { return inverse().join(other.inverse()).inverse(); }

private:
    std::vector<Range> ranges_;  // sorted; no two touch
};

// A set with fast membership tests: a bit for each code point of the first plane, which most text needs.
class CodeTable {
public:
    CodeTable() = default;
    explicit CodeTable(CodeSet set);

    bool has(uint32_t code) const { return code < kPlane ? plane_[code] : search(code); }

    const CodeSet& set() const { return set_; }

private:
    static constexpr uint32_t kPlane = 0x10000;

    bool search(uint32_t code) const;

    CodeSet             set_;
    std::bitset<kPlane> plane_;
};

}  // namespace chasqui
