#include "unigram.h"

#include "code-set.h"
#include "unicode-classes.h"

#include "llama-interrupt.h"
#include "unicode.h"

#include <cstring>
#include <stdexcept>

namespace chasqui {
namespace {

constexpr size_t kMaxCluster = 5;

uint32_t node_at(const CharacterMap& map, uint32_t index) {
    if (index >= map.n_nodes) throw std::runtime_error("precompiled_charsmap: an index is out of bounds");
    return map.nodes[index];
}

uint32_t base_of(uint32_t node) { return (node >> 10) << ((node & (1u << 9)) >> 6); }

// The replacement of the shortest entry that `text` begins with; nullptr if there is none.
const char* find(const CharacterMap& map, const char* text, size_t n_bytes) {
    if (map.n_nodes == 0) return nullptr;
    uint32_t index = base_of(node_at(map, 0));
    for (size_t i = 0; i < n_bytes; ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        if (byte == 0) return nullptr;
        index ^= byte;
        const uint32_t node = node_at(map, index);
        if ((node & ((1u << 31) | 0xff)) != byte) return nullptr;
        index ^= base_of(node);
        if (((node >> 8) & 1) == 0) continue;
        const uint32_t at = node_at(map, index) & ((1u << 31) - 1);
        if (at >= map.n_replacement_bytes || !std::memchr(map.replacements + at, 0, map.n_replacement_bytes - at)) {
            throw std::runtime_error("precompiled_charsmap: a replacement is out of bounds");
        }
        return map.replacements + at;
    }
    return nullptr;
}

size_t length_at(const std::string& input, size_t offset) {
    size_t end = offset;
    unicode_cpt_from_utf8(input, end);
    return end - offset;
}

// Whether the character belongs to the cluster of the one before it: a mark, a joiner, a halfwidth sound mark, AM of
// Thai or Lao.
bool extends(uint32_t code) {
    // Vowel signs of Burmese and others that begin a cluster.
    static const CodeSet   initial({{0x102B, 0x102C},
                                    {0x1038, 0x1038},
                                    {0x1062, 0x1064},
                                    {0x1067, 0x106D},
                                    {0x1083, 0x1083},
                                    {0x1087, 0x108C},
                                    {0x108F, 0x108F},
                                    {0x109A, 0x109C},
                                    {0x1A61, 0x1A61},
                                    {0x1A63, 0x1A64},
                                    {0xAA7B, 0xAA7B},
                                    {0xAA7D, 0xAA7D}});
    static const CodeTable extending(
        category_codes("M")
            ->intersect(initial.inverse())
            .join(CodeSet({{0x0E33, 0x0E33}, {0x0EB3, 0x0EB3}, {0x200C, 0x200D}, {0xFF9E, 0xFF9F}})));
    return extending.has(code);
}

// Whether no mark belongs to the character: controls, line and paragraph separators.
bool ends_cluster(uint32_t code) {
    return unicode_cpt_flags_from_cpt(code).is_control || code == 0x2028 || code == 0x2029;
}

size_t cluster_at(const std::string& input, size_t offset, size_t first) {
    if (input.compare(offset, 2, "\r\n") == 0) return 2;
    size_t end = offset + first, start = offset;
    if (ends_cluster(unicode_cpt_from_utf8(input, start))) return first;
    while (end < input.size() && end - offset <= kMaxCluster) {
        // The shortest mark has two bytes.
        if (static_cast<unsigned char>(input[end]) < 0x80) break;
        size_t next = end;
        if (!extends(unicode_cpt_from_utf8(input, next))) break;
        end = next;
    }
    return end - offset;
}

}  // namespace

Normalized normalize_next(const std::string& input, size_t offset, const CharacterMap& map) {
    llama_count_step();
    size_t first = 1;
    try {
        first                = length_at(input, offset);
        const size_t cluster = cluster_at(input, offset, first);
        const size_t n_bytes = cluster <= kMaxCluster ? cluster : first;
        if (const char* replacement = find(map, input.data() + offset, n_bytes)) {
            return {replacement, std::strlen(replacement), n_bytes};
        }
        // The library splits words at U+0085 too, the only blank that maps do not replace.
        if (input.compare(offset, first, "\xC2\x85") == 0) return {" ", 1, first};
        return {input.data() + offset, first, first};
    } catch (const std::invalid_argument&) {
        return {"\xEF\xBF\xBD", 3, 1};
    }
}

}  // namespace chasqui
