// Thread: any.
#pragma once

#include "../../core/reasoning-budget.h"
#include "../model/tokenizer.h"

#include <memory>

namespace chasqui {

// A budget for one job. `tokenizer` must outlive it. nullptr: the vocabulary cannot express the closing tag.
std::shared_ptr<ReasoningBudget> reasoning_budget(const ReasoningLimit& limit, const Tokenizer& tokenizer);

}  // namespace chasqui
