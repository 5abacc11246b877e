#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace chasqui::fuzz {

// Changes the JSON text behind the first `head` bytes, mostly into other valid JSON: libFuzzer's own changes would be refused
// by the JSON parser nearly always. `parts` are JSON texts that are put in. Returns the new size.
size_t mutate_json(uint8_t* data, size_t size, size_t most, unsigned seed, size_t head,
                   const std::vector<std::string_view>& parts);

// The object that the text is, as JavaScript would write it; empty where it is none, or nested deeper than that.
std::string as_object(std::string_view text, size_t deepest);

}  // namespace chasqui::fuzz
