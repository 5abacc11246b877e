// Thread: any; rendering is read-only.
#pragma once

#include "grammar.h"
#include "model.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

struct common_chat_params;
struct common_chat_templates;
struct common_chat_templates_inputs;

namespace chasqui {

// How a completion is parsed that is more than its text (chat-parser.h).
struct ChatFormat {
    int         kind = 0;           // llama.cpp's common_chat_format
    std::string parser;             // llama.cpp's parser, as JSON
    std::string generation_prompt;  // the end of the prompt, with which the parser begins
    bool        continues = false;  // the generation prompt has the beginning of the completion, which is not reported
};

// The tags between which a template has reasoning, and the end of the prompt, which may hold some of it.
struct ReasoningTags {
    std::string              start;
    std::vector<std::string> ends;
    std::string              prompt_end;
};

struct RenderedPrompt {
    std::string                    text;
    std::vector<std::string>       additional_stops;
    std::vector<std::string>       preserved_tokens;  // control tokens that the format needs in the text
    std::optional<GrammarSettings> grammar;
    std::optional<ChatFormat>      format;  // none: the completion is its text
    std::optional<ReasoningTags>   reasoning;  // none: the template has no reasoning, or no tags around it
};

// What a template supports.
struct TemplateCapabilities {
    bool tools = false, parallel_tool_calls = false, reasoning = false;
    bool generic_tools = false;  // it has no form for tools of its own, so they get a general one (generic-tools.h)
};

class GenericTools;

// The model's chat template, run by llama.cpp's Jinja engine.
class ChatTemplate {
public:
    // `override` replaces the template in the model's file unless it is empty; it may be a name (named-templates.h).
    // Throws `model_load_failed` when the template does not parse, and `invalid_options` for an unknown name.
    explicit ChatTemplate(const Model& model, const std::string& override = {});
    // A template without a model; its special tokens are empty.
    explicit ChatTemplate(const std::string& source);
    ~ChatTemplate();

    // `request_json`: an object with
    //   messages              in OpenAI's format; a trailing assistant message is continued. Arguments of past calls
    //                         that are no JSON object are made one (past-arguments.h)
    //   tools                 in OpenAI's format (none)
    //   tool_choice           "auto", "none", "required", or the name of the function to call as {"name": ...} ("auto")
    //   parallel_tool_calls   (if the template supports them)
    //   json_schema           what the completion must be, unless it calls a tool (anything)
    //   chat_template_kwargs  variables of the template (none)
    // Throws `template_failed` with the template's own message if it refuses them, `invalid_grammar` if a schema cannot
    // be converted, and `unsupported_parameter` if a tool call is required and no form for it could be made.
    RenderedPrompt render(const std::string& request_json) const;

    const TemplateCapabilities& capabilities() const { return capabilities_; }

private:
    void               analyse();
    void               use_generic_tools();
    common_chat_params apply(const common_chat_templates_inputs& inputs) const;

    RenderedPrompt  render_plain(common_chat_templates_inputs inputs) const;
    RenderedPrompt  render_formatted(common_chat_templates_inputs inputs, const std::string& only_tool) const;
    GrammarSettings call_or_schema(common_chat_templates_inputs inputs) const;

    struct Free {
        void operator()(common_chat_templates* templates) const;
    };
    std::unique_ptr<common_chat_templates, Free> templates_;
    std::unique_ptr<GenericTools>                generic_tools_;  // none: the template has a form of its own

    TemplateCapabilities     capabilities_;
    bool                     is_plain_ = false;  // a completion without tool calls is its text
    std::vector<std::string> plain_stops_;       // of such completions
};

}  // namespace chasqui
