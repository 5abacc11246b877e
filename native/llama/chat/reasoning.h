// Thread: any.
#pragma once

#include "../../core/reasoning-budget.h"
#include "chat-template.h"
#include "../model/tokenizer.h"

#include <memory>

namespace chasqui {

// A budget for one job. `tokenizer` must outlive it. nullptr: the vocabulary cannot express the closing tag.
std::shared_ptr<ReasoningBudget> reasoning_budget(const ReasoningLimit& limit, const Tokenizer& tokenizer);

// Lets the completion begin with any of the usual tags. `generation_prompt`: the end of the prompt.
void detect_reasoning(RenderedPrompt& rendered, const std::string& generation_prompt);

}  // namespace chasqui
