// Thread: any.
#pragma once

#include "model.h"
#include "tokenizer.h"

#include <string>
#include <vector>

namespace chasqui {

// Whether the vocabulary has the tokens that mark the text before and after a gap.
bool can_infill(const Model& model);

// The prompt whose continuation fills the gap between `prefix` and `suffix`. Throws `model_not_capable`.
std::vector<TokenId> infill_prompt(const Model& model, const Tokenizer& tokenizer, const std::string& prefix,
                                   const std::string& suffix);

// The prompt with which a ranking model scores a document for a query: its own template, or both texts with separators.
std::vector<TokenId> ranking_prompt(const Model& model, const Tokenizer& tokenizer, const std::string& query,
                                    const std::string& document);

}  // namespace chasqui
