#include "chat-template.h"

#include "../core/error-code.h"

#include <chat.h>
#include <json.h>

namespace chasqui {

void ChatTemplate::Free::operator()(common_chat_templates* templates) const { common_chat_templates_free(templates); }

ChatTemplate::ChatTemplate(const Model& model) {
    try {
        templates_.reset(common_chat_templates_init(model.handle(), "").release());
    } catch (const std::exception& error) {
        throw Error(ErrorCode::model_load_failed,
                    std::string("The model's chat template cannot be read: ") + error.what());
    }
}

RenderedPrompt ChatTemplate::render(const std::string& messages_json) const {
    try {
        common_chat_templates_inputs inputs;
        inputs.messages = common_chat_msgs_parse_oaicompat(common_json::parse(messages_json));
        if (!inputs.messages.empty() && inputs.messages.back().role == "assistant") {
            inputs.continue_final_message = COMMON_CHAT_CONTINUATION_AUTO;
            inputs.add_generation_prompt  = false;
        }
        const common_chat_params params = common_chat_templates_apply(templates_.get(), inputs);
        return {params.prompt, params.additional_stops};
    } catch (const std::exception& error) {
        throw Error(ErrorCode::template_failed,
                    std::string("The model's chat template refused the conversation: ") + error.what());
    }
}

}  // namespace chasqui
