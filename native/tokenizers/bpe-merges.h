// Thread: any, once filled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace chasqui {

// The merges of BPE by rank, in one text and one table of open addressing. A map of pairs of strings would allocate
// memory three times for each of 150,000.
class BpeMerges {
public:
    // "left right", in the order of ranks. The first of equal merges counts.
    void add(const char* merge) {
        if (3 * (merges_.size() + 1) > 2 * places_.size()) grow();
        const char*            blank = *merge ? std::strchr(merge + 1, ' ') : nullptr;
        const std::string_view left  = blank ? std::string_view(merge, static_cast<size_t>(blank - merge)) : "";
        const std::string_view right = blank ? blank + 1 : "";
        const uint32_t         hash  = hash_of(left, right);
        const size_t           place = place_of(hash, left, right);
        if (places_[place].rank < 0) {
            places_[place] = {hash, static_cast<int>(merges_.size())};
            ++n_different_;
        }
        merges_.push_back({texts_.size(), left.size(), right.size()});
        texts_.append(left).append(right);
    }

    // -1: no such merge.
    int find(const std::string& left, const std::string& right) const {
        return places_.empty() ? -1 : places_[place_of(hash_of(left, right), left, right)].rank;
    }

    size_t size() const { return n_different_; }

    // "left right" by rank.
    std::vector<std::string> in_order() const {
        std::vector<std::string> result(merges_.size());
        for (const auto& [hash, rank] : places_) {
            if (rank < 0) continue;
            const Merge& merge                = merges_[static_cast<size_t>(rank)];
            result[static_cast<size_t>(rank)] = std::string(left(merge)).append(" ").append(right(merge));
        }
        return result;
    }

private:
    struct Merge {
        size_t begin;
        size_t n_left;
        size_t n_right;
    };
    struct Place {
        uint32_t hash;
        int      rank;  // -1: free
    };

    std::string_view left(const Merge& merge) const { return {texts_.data() + merge.begin, merge.n_left}; }
    std::string_view right(const Merge& merge) const {
        return {texts_.data() + merge.begin + merge.n_left, merge.n_right};
    }

    static uint32_t hash_of(std::string_view left, std::string_view right) {
        const std::hash<std::string_view> hash;
        const uint64_t                    both = uint64_t{hash(left)} * 0x9E3779B97F4A7C15u + hash(right);
        return static_cast<uint32_t>(both ^ (both >> 32));
    }

    // The place of the merge, or a free one for it.
    size_t place_of(uint32_t hash, std::string_view first, std::string_view second) const {
        for (size_t at = hash & (places_.size() - 1);; at = (at + 1) & (places_.size() - 1)) {
            const Place& place = places_[at];
            if (place.rank < 0) return at;
            const Merge& merge = merges_[static_cast<size_t>(place.rank)];
            if (place.hash == hash && left(merge) == first && right(merge) == second) return at;
        }
    }

    void grow() {
        std::vector<Place> old(places_.empty() ? 16 : 2 * places_.size(), Place{0, -1});
        old.swap(places_);
        for (const Place& place : old) {
            if (place.rank < 0) continue;
            size_t at = place.hash & (places_.size() - 1);
            while (places_[at].rank >= 0) at = (at + 1) & (places_.size() - 1);
            places_[at] = place;
        }
    }

    std::string        texts_;
    std::vector<Merge> merges_;  // by rank
    std::vector<Place> places_;  // a power of two
    size_t             n_different_ = 0;
};

}  // namespace chasqui
