// Thread: any; applying is read-only.
#pragma once

#include "model.h"

#include <memory>
#include <string>
#include <vector>

struct common_chat_templates;

namespace chasqui {

struct RenderedPrompt {
    std::string              text;
    std::vector<std::string> additional_stops;
};

// The model's own chat template, run by llama.cpp's Jinja engine.
class ChatTemplate {
public:
    // Throws `model_load_failed` when the template does not parse.
    explicit ChatTemplate(const Model& model);

    // `messages_json`: an array of messages in OpenAI's format. A trailing assistant message is continued.
    // Throws `template_failed` with the template's own words when it refuses them.
    RenderedPrompt render(const std::string& messages_json) const;

private:
    struct Free {
        void operator()(common_chat_templates* templates) const;
    };
    std::unique_ptr<common_chat_templates, Free> templates_;
};

}  // namespace chasqui
