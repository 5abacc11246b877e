// Thread: main. Texts to tokenize: languages, code, runs of one character, and random ones. Always the same.
#pragma once

#include "test-files.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

namespace chasqui::test {

inline std::string as_utf8(uint32_t c) {
    std::string text;
    const auto  put = [&](uint32_t byte) { text += static_cast<char>(byte); };
    if (c < 0x80) {
        put(c);
    } else if (c < 0x800) {
        put(0xc0 | (c >> 6)), put(0x80 | (c & 0x3f));
    } else if (c < 0x10000) {
        put(0xe0 | (c >> 12)), put(0x80 | ((c >> 6) & 0x3f)), put(0x80 | (c & 0x3f));
    } else {
        put(0xf0 | (c >> 18)), put(0x80 | ((c >> 12) & 0x3f)), put(0x80 | ((c >> 6) & 0x3f)), put(0x80 | (c & 0x3f));
    }
    return text;
}

// Characters that pre-tokenizers tell apart, and any others.
class RandomTexts {
public:
    explicit RandomTexts(uint64_t seed) : random_(seed) {}

    std::string next(size_t n_characters) {
        std::string text;
        while (n_characters > 0) {
            // Runs of one character, or of one kind, as often as single ones.
            const size_t n    = std::min(n_characters, size_t{1} + (below(2) == 0 ? 0 : below(9)));
            const size_t kind = below(kKinds);
            const std::string same = character(kind);
            const bool        is_run = below(2) == 0;
            for (size_t i = 0; i < n; ++i) text += is_run ? same : character(kind);
            n_characters -= n;
        }
        return text;
    }

private:
    static constexpr size_t kKinds = 16;

    size_t below(size_t n) { return static_cast<size_t>(random_() % n); }

    std::string one_of(const std::vector<std::string>& choices) { return choices[below(choices.size())]; }

    std::string between(uint32_t first, uint32_t last) {
        return as_utf8(first + static_cast<uint32_t>(below(last - first + 1)));
    }

    std::string character(size_t kind) {
        switch (kind) {
            case 0: return between('a', 'z');
            case 1: return between('A', 'Z');
            case 2: return between('0', '9');
            case 3: return " ";
            case 4: return one_of({"\n", "\r", "\r\n", "\t", "\v", "\f", " ", "  "});
            case 5: return one_of({"'s", "'S", "'ll", "'RE", "'ve", "'d", "'", "'m", "'T"});
            case 6: return between('!', '/');
            case 7: return one_of({"=", "_", "$", "+", "|", "~", "^", "`", "<", ">", "#", "/", "\\", "[", "]", "{"});
            case 8: return one_of({"\xc2\x85", "\xc2\xa0", "\xe2\x80\xa8", "\xe3\x80\x80", "\xe2\x80\x8b", "\xe2\x80\x83"});
            case 9: return between(0xc0, 0x24f);
            case 10: return between(0x300, 0x36f);
            case 11: return between(0x370, 0x6ff);
            case 12: return between(0x900, 0xe7f);
            case 13: return below(2) == 0 ? between(0x4e00, 0x9fa5) : between(0x3040, 0x30ff);
            case 14: return below(2) == 0 ? between(0xac00, 0xd7a3) : between(0x1f300, 0x1faff);
            default: return below(2) == 0 ? between(0xe000, 0x10ffff) : between(1, 0xd7ff);
        }
    }

    std::mt19937_64 random_;
};

inline std::string repeated(const std::string& text, size_t n) {
    std::string all;
    for (size_t i = 0; i < n; ++i) all += text;
    return all;
}

inline std::vector<std::string> files_in(const std::string& folder, const std::string& ending) {
    std::vector<std::filesystem::path> paths;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        const std::string name = entry.path().filename().string();
        if (name.size() > ending.size() && name.compare(name.size() - ending.size(), ending.size(), ending) == 0) {
            paths.push_back(entry.path());
        }
    }
    std::sort(paths.begin(), paths.end());
    std::vector<std::string> texts;
    for (const auto& path : paths) {
        std::ifstream file(path, std::ios::binary);
        texts.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
    return texts;
}

inline std::vector<std::string> token_corpus() {
    std::vector<std::string> texts = {
        "",
        "The quick brown fox jumps over the lazy dog. It's 1234567 o'clock, isn't it? WE'LL see; they'VE said so!\n\n",
        "Der Übergang über die Straße kostet 12,50 €. „Größer“ heißt nicht ‚besser‘ — oder?\r\n\r\n\tEingerückt.",
        "Où êtes-vous né ? L'été dernier, à Besançon… « C'est ça », dit-elle.   Trois blancs.",
        "Съешь же ещё этих мягких французских булок, да выпей чаю. 12 345 рублей №7",
        "Ξεσκεπάζω τὴν ψυχοφθόρα βδελυγμία. Τί ἐστιν;",
        "人人生而自由，在尊严和权利上一律平等。他们赋有理性和良心，并应以兄弟关系的精神相对待。2026年11月",
        "すべての人間は、生れながらにして自由であり、かつ、尊厳と権利とについて平等である。カタカナ ﾊﾝｶｸ",
        "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다. ㄱㄴㄷ",
        "सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता और समानता प्राप्त है। १२३४",
        "يولد جميع الناس أحرارًا متساوين في الكرامة والحقوق. ٠١٢٣٤٥٦٧٨٩ و١٢٫٥",
        "כל בני האדם נולדו בני חורין ושווים בערכם ובזכויותיהם.",
        "มนุษย์ทั้งหลายเกิดมามีอิสระและเสมอภาคกันในเกียรติศักดิ์ ๑๒๓",
        "Tất cả mọi người sinh ra đều được tự do và bình đẳng về nhân phẩm và quyền.",
        "🚀 (normal) 😶‍🌫️ (multiple emojis) ✅ 🦙🦙 👩🏽‍💻 e\xcc\x81 a\xcc\x8a\xcc\x81 Ⅻ ½ ² ①",
        "<|im_start|>user\nHi<|im_end|>\n<s>[INST] x [/INST]</s> <|endoftext|> [MASK] <mask> <unk> <pad>   <|end|>  x",
        "for (int i = 0; i < n; ++i) {\n    if (a[i] != b[i]) return std::tuple<int, float>{i, 1.5e-10f};\n\t}\n}\n",
        "SELECT * FROM \"t\" WHERE x <> 'it''s' AND y LIKE '%a_b%' -- comment\n/* more */ https://example.com/a?b=c&d=%20",
        "a b c d e f  g   h    i     j      k\tl\t\tm\n\nn\n\n\no\r\np\r\n\r\nq \n r \n\n s",
        "camelCaseWords HTTPServer XMLHttpRequest iPhone McDonald ABCdef ABC's DON'T aBcDeF X",
        "1 12 123 1234 12345 123456 1234567 12345678 123456789 1,234,567.89 0x1F 1e10 ３４５ ٣٤٥٦",
    };
    for (const char* run : {"a", "A", "aB", " ", "\n", "\r\n", "\t", "=", "-", "1", "!", "ä", "я", "中", "あ", "한", "\xcc\x81",
                            "a\xcc\x81", " a", "a ", " \n", "\n ", ".", "$", "\xc2\xa0", "\xe3\x80\x80", "\xf0\x9f\xa6\x99", "'s", "中a",
                            "/", "\\", "<s>", "IMGIMGA", "\xff", "\x01"}) {
        for (const size_t n : {2, 3, 4, 5, 16, 63, 64, 65, 513, 900}) {
            texts.push_back(repeated(run, n));
            texts.push_back(repeated(run, n) + "x");
            texts.push_back("x" + repeated(run, n) + "中 Y");
        }
    }
    for (const std::string& text : files_in(in_llama_source("models"), ".gguf.inp")) texts.push_back(text);
    for (const std::string& text : files_in(in_llama_source("models/templates"), ".jinja")) texts.push_back(text.substr(0, 3000));
    RandomTexts random(20);
    for (size_t i = 0; i < 1500; ++i) texts.push_back(random.next(1 + i % 80));
    return texts;
}

}  // namespace chasqui::test
