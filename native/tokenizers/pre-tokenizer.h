// Thread: any.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace chasqui {

// Splits `text` by each expression in turn; text between two matches is a word too. Words are handed over one by one,
// so that those of a long text are not in memory at the same time. `encode_bytes`: as GPT-2's byte characters.
void split_words(const std::string& text, const std::vector<std::string>& expressions, bool encode_bytes,
                 const std::function<void(const std::string&)>& take);

}  // namespace chasqui
