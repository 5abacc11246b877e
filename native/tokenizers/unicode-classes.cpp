#include "unicode-classes.h"

#include "letter-cases.h"
#include "unicode-data.h"
#include "unicode.h"

#include <map>

namespace chasqui {
namespace {

CodeSet codes_with(uint16_t category) {
    std::vector<CodeSet::Range> ranges;
    for (auto it = unicode_ranges_flags.begin(); it != unicode_ranges_flags.end(); ++it) {
        if ((it->second & category) == 0) continue;
        const auto next = it + 1;
        ranges.emplace_back(it->first, next == unicode_ranges_flags.end() ? 0x10FFFF : next->first - 1);
    }
    return CodeSet(std::move(ranges));
}

template <size_t N>
CodeSet uppercase_letters(const CodeSet& letters, const CodeSet::Range (&others)[N]) {
    std::vector<CodeSet::Range> ranges(others, others + N);
    for (const auto& [upper, lower] : unicode_map_lowercase) ranges.emplace_back(upper, upper);
    return CodeSet(std::move(ranges)).intersect(letters);
}

template <size_t N>
CodeSet lowercase_letters(const CodeSet& letters, const CodeSet::Range (&others)[N]) {
    std::vector<CodeSet::Range> ranges(others, others + N);
    for (const auto& [upper, lower] : unicode_map_lowercase) ranges.emplace_back(lower, lower);
    return CodeSet(std::move(ranges)).intersect(letters);
}

}  // namespace

const CodeSet& space_codes() {
    static const CodeSet codes = [] {
        std::vector<CodeSet::Range> ranges;
        for (const uint32_t code : unicode_set_whitespace) ranges.emplace_back(code, code);
        return CodeSet(std::move(ranges));
    }();
    return codes;
}

const CodeSet* category_codes(const std::string& name) {
    static const std::map<std::string, CodeSet> codes = [] {
        const CodeSet letters   = codes_with(unicode_cpt_flags::LETTER);
        const CodeSet uppercase = uppercase_letters(letters, kOtherUppercase);
        const CodeSet lowercase = lowercase_letters(letters, kOtherLowercase).intersect(uppercase.inverse());
        const CodeSet others    = letters.intersect(uppercase.join(lowercase).inverse());
        // Expressions have titlecase letters beside uppercase ones, and modifiers beside other letters.
        return std::map<std::string, CodeSet>{
            {"L", letters},
            {"Lu", uppercase},
            {"Lt", uppercase},
            {"Ll", lowercase},
            {"Lm", others},
            {"Lo", others},
            {"M", codes_with(unicode_cpt_flags::ACCENT_MARK)},
            {"N", codes_with(unicode_cpt_flags::NUMBER)},
            {"P", codes_with(unicode_cpt_flags::PUNCTUATION)},
            {"S", codes_with(unicode_cpt_flags::SYMBOL)},
        };
    }();
    const auto it = codes.find(name);
    return it == codes.end() ? nullptr : &it->second;
}

}  // namespace chasqui
