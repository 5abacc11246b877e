// Thread: any.
#pragma once

#include "model.h"
#include "tokenizer.h"

#include <string>
#include <vector>

namespace chasqui {

// True when the vocabulary has the tokens that mark what is before and after a gap.
bool can_infill(const Model& model);

// The prompt whose continuation fills the gap between `prefix` and `suffix`. Throws `model_not_capable`.
std::vector<TokenId> infill_prompt(const Model& model, const Tokenizer& tokenizer, const std::string& prefix,
                                   const std::string& suffix);

// What a ranking model reads to score a document for a query: its own template, or both texts with separators.
std::vector<TokenId> ranking_prompt(const Model& model, const Tokenizer& tokenizer, const std::string& query,
                                    const std::string& document);

}  // namespace chasqui
