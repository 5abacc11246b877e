// Thread: any.
#pragma once

#include "../model/model.h"
#include "../model/tokenizer.h"

#include <string>
#include <vector>

namespace chasqui {

// Whether the vocabulary has the fill-in-the-middle tokens.
bool can_infill(const Model& model);

// The prompt to fill the gap between `prefix` and `suffix`. Throws `model_not_capable`.
std::vector<TokenId> infill_prompt(const Model& model, const Tokenizer& tokenizer, const std::string& prefix,
                                   const std::string& suffix);

// The prompt of a ranking model to score a document for a query: its own template, or both texts with separators.
std::vector<TokenId> ranking_prompt(const Model& model, const Tokenizer& tokenizer, const std::string& query,
                                    const std::string& document);

}  // namespace chasqui
