#include "pre-tokenizer.h"

#include "unicode-regex.h"

#include "llama-interrupt.h"
#include "unicode.h"

#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>

namespace chasqui {
namespace {

using Codes = std::vector<uint32_t>;
using Sizes = std::vector<size_t>;  // of the words of a text, in code points

// llama.cpp's tables lack the cases of letters. Its expressions for GPT-4o and Tekken replace sets of uppercase and of
// lowercase letters by approximations.
std::string with_letter_cases(std::string expression) {
    static const std::pair<const char*, const char*> replacements[] = {
        {"((?=[\\p{L}])([^a-z]))", "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"},
        {"((?=[\\p{L}\\p{M}])([^a-z]))", "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"},
        {"((?=[\\p{L}])([^A-Z]))", "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"},
        {"((?=[\\p{L}\\p{M}])([^A-Z]))", "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"},
    };
    for (const auto& [from, to] : replacements) {
        for (size_t at; (at = expression.find(from)) != std::string::npos;)
            expression.replace(at, std::strlen(from), to);
    }
    return expression;
}

// nullptr: llama.cpp has a splitter of its own for this name, or the syntax is unsupported.
const UnicodeRegex* compiled(const std::string& expression) {
    static std::mutex                                           mutex;
    static std::map<std::string, std::unique_ptr<UnicodeRegex>> known;
    const std::lock_guard<std::mutex>                           lock(mutex);
    auto                                                        it = known.find(expression);
    if (it == known.end()) {
        std::unique_ptr<UnicodeRegex> regex;
        try {
            regex = std::make_unique<UnicodeRegex>(unicode_cpts_from_utf8(with_letter_cases(expression)));
        } catch (const std::invalid_argument&) {
        }
        it = known.emplace(expression, std::move(regex)).first;
    }
    return it->second.get();
}

void split_by_regex(const UnicodeRegex& regex, const Codes& codes, size_t start, size_t end, Sizes& result) {
    size_t done = start, begin = start, match_end = start;
    while (regex.search(codes.data(), begin, end, match_end)) {
        if (begin > done) result.push_back(begin - done);
        result.push_back(match_end - begin);
        begin = done = match_end;
        llama_count_step();
    }
    if (done < end) result.push_back(end - done);
}

// (?=(\d{3})+(?!\d)): groups of three digits, counted from the end of each run.
void split_digit_groups(const Codes& codes, size_t start, size_t end, Sizes& result) {
    size_t done = start;
    for (size_t pos = start; pos < end;) {
        size_t run_end = pos;
        while (run_end < end && '0' <= codes[run_end] && codes[run_end] <= '9') ++run_end;
        for (size_t cut = pos + (run_end - pos) % 3; cut < run_end; cut += 3) {
            if (cut == done) continue;
            result.push_back(cut - done);
            done = cut;
        }
        pos = run_end + 1;
    }
    if (done < end) result.push_back(end - done);
}

void split_by_llama(const std::string& expression, const Codes& codes, size_t start, size_t end, Sizes& result) {
    std::string text;
    for (size_t i = start; i < end; ++i) text += unicode_cpt_to_utf8(codes[i]);
    for (const std::string& word : unicode_regex_split(text, {expression}, false)) {
        result.push_back(unicode_cpts_from_utf8(word).size());
    }
}

Sizes split(const std::string& expression, const Codes& codes, const Sizes& words) {
    const bool          is_digit_groups = expression == "(?=(\\d{3})+(?!\\d))";
    const UnicodeRegex* regex           = is_digit_groups ? nullptr : compiled(expression);
    Sizes               result;
    result.reserve(words.size());
    size_t start = 0;
    for (const size_t n : words) {
        if (is_digit_groups) {
            split_digit_groups(codes, start, start + n, result);
        } else if (regex != nullptr) {
            split_by_regex(*regex, codes, start, start + n, result);
        } else {
            split_by_llama(expression, codes, start, start + n, result);
        }
        start += n;
    }
    return result;
}

}  // namespace

void split_words(const std::string& text, const std::vector<std::string>& expressions, bool encode_bytes,
                 const std::function<void(const std::string&)>& take) {
    static const std::vector<std::string> byte_characters = [] {
        std::vector<std::string> characters;
        for (int byte = 0; byte < 256; ++byte) characters.push_back(unicode_byte_to_utf8(static_cast<uint8_t>(byte)));
        return characters;
    }();
    const Codes codes = unicode_cpts_from_utf8(text);
    Sizes       words = {codes.size()};
    for (const std::string& expression : expressions) words = split(expression, codes, words);

    std::string word;
    size_t      start = 0;
    for (const size_t n : words) {
        word.clear();
        for (size_t i = start; i < start + n; ++i) {
            const std::string character = unicode_cpt_to_utf8(codes[i]);
            if (!encode_bytes)
                word += character;
            else
                for (const char c : character) word += byte_characters[static_cast<unsigned char>(c)];
        }
        start += n;
        take(word);
    }
}

}  // namespace chasqui
