// Thread: any; rendering is read-only.
#pragma once

#include "../calls/call-format.h"
#include "../calls/tool-text.h"
#include "../sampling/grammar.h"
#include "../model/model.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

struct common_chat_msg;
struct common_chat_params;
struct common_chat_templates;
struct common_chat_templates_inputs;
class common_json;

namespace chasqui {

// How to parse a completion into its parts (chat-parser.h).
struct ChatFormat {
    int         kind = 0;           // kCallParserFormat, kRequiredCallFormat, or llama.cpp's common_chat_format
    std::string parser;             // llama.cpp's parser, as JSON; empty: the completion is content
    std::string generation_prompt;  // the end of the prompt, where the parser begins
    bool        continues = false;  // the generation prompt contains the start of the completion, which is not reported
    bool        detects_reasoning = false;  // by the usual tags (reasoning-splitter.h)
};

// The reasoning tags of a template, and the end of the prompt, which may contain some of them.
struct ReasoningTags {
    std::string              start;
    std::vector<std::string> ends;
    std::string              prompt_end;
    // The template declares none: the completion may begin with any of the usual ones. Then these are the first of them.
    bool is_detected = false;
};

struct RenderedPrompt {
    std::string                    text;
    std::vector<std::string>       additional_stops;
    std::vector<std::string>       preserved_tokens;  // control tokens that the format needs as text
    std::optional<GrammarSettings> grammar;
    std::optional<ChatFormat>      format;     // nullopt: the completion is plain text
    std::optional<ReasoningTags>   reasoning;  // nullopt: no reasoning, or no tags around it
    UnenforcedKeywords             unenforced;
};

struct TemplateCapabilities {
    bool tools = false, parallel_tool_calls = false, reasoning = false;
    bool generic_tools = false;  // the template has no format for tools, so a generic one is used (generic-tools.h)
};

class ControlTokens;
class MessageOrder;

// The model's chat template, rendered by llama.cpp's Jinja engine.
class ChatTemplate {
public:
    // `override` replaces the model's template unless empty; it may be a name (named-templates.h). Throws
    // `model_load_failed` if the template does not parse, and `invalid_options` for an unknown name.
    explicit ChatTemplate(const Model& model, const std::string& override = {});
    // A template without a model; its special tokens are empty.
    explicit ChatTemplate(const std::string& source);
    ~ChatTemplate();

    // `request_json`: an object with (default in parentheses)
    //   messages              in OpenAI's format; a trailing assistant message is continued. Arguments of past calls
    //                         are converted to JSON objects (past-arguments.h)
    //   tools                 in OpenAI's format (none)
    //   tool_choice           "auto", "none", "required", or the name of the function to call as {"name": ...} ("auto")
    //   parallel_tool_calls   (if the template supports them)
    //   json_schema           of the completion, unless it calls a tool (none)
    //   chat_template_kwargs  variables of the template (none)
    // Throws `template_failed` with the template's own message, `invalid_grammar` if a schema cannot be converted, and
    // `unsupported_parameter` if a required tool call has no format.
    //
    // `control`: the prompt is sealed (control-tokens.h) if the messages, tools or template variables contain control tokens,
    // or if the messages contain markup that the template searches for. nullptr: they are not text.
    RenderedPrompt render(const std::string& request_json, const ControlTokens* control = nullptr) const;

    const TemplateCapabilities& capabilities() const { return capabilities_; }

private:
    void               analyse();
    bool               can_call_tools();
    ToolText           find_tool_text(const common_chat_templates_inputs& inputs) const;
    common_chat_params apply(const common_chat_templates_inputs& inputs) const;
    common_chat_params apply_without_calls(const common_chat_templates_inputs& inputs) const;
    // The prompt of these messages instead.
    std::string        prompt_of(common_chat_templates_inputs inputs, const std::vector<common_chat_msg>& messages) const;

    RenderedPrompt  render_request(const common_json& request) const;
    RenderedPrompt  render_plain(common_chat_templates_inputs inputs) const;
    RenderedPrompt  render_formatted(common_chat_templates_inputs inputs, const std::string& only_tool) const;
    GrammarSettings call_or_schema(common_chat_templates_inputs inputs) const;

    struct Free {
        void operator()(common_chat_templates* templates) const;
    };
    std::unique_ptr<common_chat_templates, Free> templates_;
    std::unique_ptr<MessageOrder>                order_;
    std::unique_ptr<ControlTokens>               markup_;  // that the template searches for (template-markers.h)

    TemplateCapabilities     capabilities_;
    CallFormat               call_format_;
    ToolText                 tool_text_ = ToolText::of_template;
    ReasoningTags            reasoning_;          // empty: none
    bool                     detects_reasoning_ = false;
    bool                     wants_short_ids_   = false;  // of calls
    bool                     is_plain_ = false;  // a completion without tool calls is plain text
    std::vector<std::string> plain_stops_;       // of plain completions
};

}  // namespace chasqui
