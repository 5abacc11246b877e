#include "check.h"

#include "core/utf8-buffer.h"

#include <random>
#include <string>

using namespace chasqui;
using namespace chasqui::test;

namespace {

std::string in_pieces(const std::string& bytes, size_t piece) {
    Utf8Buffer  buffer;
    std::string text;
    for (size_t at = 0; at < bytes.size(); at += piece) text += buffer.push(bytes.substr(at, piece));
    return text + buffer.flush();
}

const Test holds_back("utf8-buffer: an incomplete character is held back until it is complete", [] {
    Utf8Buffer buffer;
    expect_equal(buffer.push("a\xF0\x9F"), "a");
    expect_equal(buffer.push("\x98"), "");
    expect_equal(buffer.push("\x80z"), "\xF0\x9F\x98\x80z");
    expect_equal(buffer.flush(), "");
});

const Test flushes("utf8-buffer: a character that never becomes complete is one replacement character", [] {
    Utf8Buffer buffer;
    expect_equal(buffer.push("\xE2\x82"), "");
    expect_equal(buffer.flush(), "\xEF\xBF\xBD");
    expect_equal(buffer.flush(), "");
});

const Test replaces("utf8-buffer: overlong forms, surrogates and stray bytes are replaced, their neighbours kept", [] {
    const std::string mark = "\xEF\xBF\xBD";
    expect_equal(in_pieces("a\xC0\xAF" "b", 8), "a" + mark + mark + "b");
    expect_equal(in_pieces("\xED\xA0\x80", 8), mark + mark + mark);
    expect_equal(in_pieces("\x80x", 8), mark + "x");
    expect_equal(in_pieces("\xF4\x90\x80\x80", 8), mark + mark + mark + mark);
    expect_equal(in_pieces("\xE2\x82" "A", 8), mark + "A");
});

const Test fits("utf8-buffer: what would be replaced does not fit, a replacement character in the text does", [] {
    Utf8Buffer buffer;
    for (const char* good : {"", "a", "\xEF\xBF\xBD", "a\xF0\x9F\x98", "\xE2"}) expect(buffer.fits(good), "characters");
    for (const char* bad : {"\x80", "a\xC0", "\xED\xA0\x80", "\xE2" "A"}) expect(!buffer.fits(bad), "no characters");
    buffer.push("\xEF\xBF");
    expect(buffer.fits("\xBD") && buffer.fits("\xBD\xEF"), "the rest of a replacement character");
    expect(!buffer.fits("a") && !buffer.fits("\xBD\xBD"), "no other");
    expect_equal(buffer.push("\xBD"), "\xEF\xBF\xBD");
});

const Test any_split("utf8-buffer: any bytes give the same text however they are cut", [] {
    std::mt19937 random(7);
    for (int round = 0; round < 2000; ++round) {
        std::string bytes;
        for (int i = 0; i < 24; ++i) bytes += static_cast<char>(random() % 4 == 0 ? random() % 256 : 0x80 + random() % 0x80);
        const std::string whole = in_pieces(bytes, bytes.size());
        for (size_t piece = 1; piece < 5; ++piece) expect_equal(in_pieces(bytes, piece), whole);
    }
});

const Test counts_units("utf8-buffer: lengths count UTF-16 code units", [] {
    expect_equal(utf16_length(""), 0u);
    expect_equal(utf16_length("a\xC3\xA9\xE2\x82\xAC"), 3u);
    expect_equal(utf16_length("\xF0\x9F\x98\x80"), 2u);
});

}  // namespace
