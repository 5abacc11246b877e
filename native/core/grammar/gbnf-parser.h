// Thread: any.
#pragma once

#include "../job.h"
#include "grammar-rules.h"

#include <functional>
#include <memory>
#include <optional>
#include <string_view>

namespace chasqui {

// The token with this text, which includes `<` and `>`.
using FindToken = std::function<std::optional<TokenId>(std::string_view)>;

// Parses a grammar in GBNF, the notation of llama.cpp (its grammars/README.md). Limits, for grammars from requests:
//
//   text         4 MiB
//   groups       256 levels
//   repetitions  2,000 of one element; a greater maximum means no maximum
//   sets         16,384 characters and ranges in one [...]
//   tokens       256 bytes in one <...>
//
// and those of GrammarBuilder. Not recursive. Throws std::runtime_error; its message quotes the text briefly.
std::shared_ptr<const GrammarRules> parse_gbnf(std::string_view text, const FindToken& find_token);

}  // namespace chasqui
