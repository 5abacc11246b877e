#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace chasqui::fuzz {

// Mutates the JSON text after the first `head` bytes into other valid JSON, because the JSON parser would refuse nearly all
// of libFuzzer's own mutations; now and then one of the first bytes. `parts` are JSON texts to insert. Returns the new
// size. `max_size` must be larger than `head`.
size_t mutate_json(uint8_t* data, size_t size, size_t max_size, unsigned seed, size_t head,
                   const std::vector<std::string_view>& parts);

// The text as JavaScript would write it, if it is a JSON object of at most `max_depth` levels; else empty.
std::string as_object(std::string_view text, size_t max_depth);

}  // namespace chasqui::fuzz
