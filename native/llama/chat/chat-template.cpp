#include "chat-template.h"

#include "../../core/error-code.h"
#include "../../core/reasoning-pairs.h"
#include "../calls/call-parser.h"
#include "../sampling/gbnf.h"
#include "../calls/generic-tools.h"
#include "call-ids.h"
#include "json-shape.h"
#include "message-order.h"
#include "named-templates.h"
#include "past-arguments.h"
#include "plain-input.h"
#include "reasoning.h"
#include "template-markers.h"
#include "../schema/schema-grammar.h"
#include "../schema/simple-schemas.h"

#include <chat-auto-parser.h>
#include <chat.h>
#include <json-schema-to-grammar.h>
#include <json.h>

#include <algorithm>
#include <utility>

namespace chasqui {

namespace {

// A JavaScript string is limited to half a gigabyte; no context is nearly as long as this.
constexpr size_t kMaxPromptBytes = size_t{64} << 20;

common_chat_templates_inputs inputs_of(const common_json& request, const TemplateCapabilities& capabilities) {
    common_chat_templates_inputs inputs;
    inputs.messages            = common_chat_msgs_parse_oaicompat(request.at("messages"));
    inputs.tools               = common_chat_tools_parse_oaicompat(request.value("tools", common_json()));
    inputs.reasoning_format    = COMMON_REASONING_FORMAT_DEEPSEEK;
    // A function name in `tool_choice` requires exactly one call.
    const bool may_repeat      = capabilities.parallel_tool_calls && !request.value("tool_choice", common_json()).is_object();
    inputs.parallel_tool_calls = request.value("parallel_tool_calls", may_repeat);
    if (request.contains("json_schema")) inputs.json_schema = request.at("json_schema").dump();
    // Must be a variable: items() refers to it, and the loop would not keep a temporary alive.
    const common_json kwargs = request.value("chat_template_kwargs", common_json::object());
    for (const auto& [name, value] : kwargs.items()) {
        inputs.chat_template_kwargs[name] = value.dump();
        if (name == "enable_thinking" && value.is_boolean()) inputs.enable_thinking = value.get<bool>();
    }
    const bool ends_with_assistant = !inputs.messages.empty() && inputs.messages.back().role == "assistant";
    if (ends_with_assistant && request.value("continue_final_message", true)) {
        inputs.continue_final_message = COMMON_CHAT_CONTINUATION_AUTO;
        inputs.add_generation_prompt  = false;
    }
    return inputs;
}

// The name of the tool that must be called; empty: any.
std::string read_tool_choice(const common_json& request, common_chat_templates_inputs& inputs) {
    const common_json choice = request.value("tool_choice", common_json::make("auto"));
    if (choice.is_object()) {
        inputs.tool_choice = COMMON_CHAT_TOOL_CHOICE_REQUIRED;
        return choice.at("name").get<std::string>();
    }
    inputs.tool_choice = common_chat_tool_choice_parse_oaicompat(choice.get<std::string>());
    return {};
}

common_chat_templates_inputs greeting() {
    common_chat_templates_inputs inputs;
    common_chat_msg              message;
    message.role    = "user";
    message.content = "Hello";
    inputs.messages = {message};
    return inputs;
}

// llama.cpp's template handlers would abort for some schemas, and report errors in others without naming the schema.
void check_schemas(const common_chat_templates_inputs& inputs) {
    if (!inputs.json_schema.empty()) grammar_of_schema(inputs.json_schema, "response_format");
    if (inputs.tool_choice == COMMON_CHAT_TOOL_CHOICE_NONE) return;
    size_t n_bytes = 0;
    for (size_t i = 0; i < inputs.tools.size(); ++i) {
        const std::string where = "tools[" + std::to_string(i) + "].function.parameters";
        n_bytes += inputs.tools[i].parameters.size();
        if (n_bytes > kMaxSchemaBytes) {
            throw Error(ErrorCode::invalid_grammar,
                        "The JSON schemas up to `" + where + "` are longer than 512 KiB together.");
        }
        if (inputs.tools[i].parameters != "null") grammar_of_schema(inputs.tools[i].parameters, where);
    }
}

std::optional<ReasoningTags> reasoning_of(const common_chat_params& params) {
    if (params.thinking_start_tag.empty() || params.thinking_end_tags.empty()) return std::nullopt;
    return ReasoningTags{params.thinking_start_tag, params.thinking_end_tags, params.generation_prompt, false};
}

GrammarSettings grammar_of(const common_chat_params& params) {
    GrammarSettings grammar;
    grammar.gbnf           = params.grammar;
    grammar.lazy           = params.grammar_lazy;
    grammar.thinking_start = params.thinking_start_tag;
    grammar.thinking_ends  = params.thinking_end_tags;
    grammar.prefill        = params.generation_prompt;
    for (const common_grammar_trigger& trigger : params.grammar_triggers) {
        auto kind = GrammarTrigger::Kind::word;
        if (trigger.type == COMMON_GRAMMAR_TRIGGER_TYPE_PATTERN) kind = GrammarTrigger::Kind::pattern;
        if (trigger.type == COMMON_GRAMMAR_TRIGGER_TYPE_PATTERN_FULL) kind = GrammarTrigger::Kind::full_pattern;
        grammar.triggers.push_back({kind, trigger.value});
    }
    return grammar;
}

// Some of llama.cpp's handlers ignore the schema. Then the completion is only the JSON, without reasoning.
GrammarSettings schema_grammar_of(const common_chat_params& params, const std::string& json_schema) {
    GrammarSettings grammar = grammar_of(params);
    if (!params.grammar.empty()) {
        grammar.gbnf = with_closed_reasoning(params.grammar);
        return grammar;
    }
    std::string       prefix = params.generation_prompt;
    const std::string tag    = params.thinking_start_tag;
    const size_t      end    = prefix.find_last_not_of(" \n") + 1;
    const bool        is_open =
        !tag.empty() && end >= tag.size() && prefix.compare(end - tag.size(), tag.size(), tag) == 0;
    if (is_open) prefix += params.thinking_end_tags.at(0);
    grammar.lazy = false;
    grammar.gbnf = after_text(prefix, json_schema_to_grammar(common_json::parse(json_schema)));
    return grammar;
}

}  // namespace

ChatTemplate::~ChatTemplate() = default;

void ChatTemplate::Free::operator()(common_chat_templates* templates) const { common_chat_templates_free(templates); }

ChatTemplate::ChatTemplate(const Model& model, const std::string& override) {
    const std::string source = override.empty() ? "" : template_source(override);
    try {
        templates_.reset(common_chat_templates_init(model.handle(), source).release());
        analyse();
    } catch (const std::exception& error) {
        const char* const own = llama_model_chat_template(model.handle(), nullptr);
        refuse_template(error, source.empty() && own ? own : source);
    }
}

ChatTemplate::ChatTemplate(const std::string& source) {
    try {
        templates_.reset(common_chat_templates_init(nullptr, source).release());
        analyse();
    } catch (const std::exception& error) {
        refuse_template(error, source);
    }
}

// llama.cpp analyses a template by rendering sample conversations, which takes milliseconds per request. Whether a
// plain completion needs that analysis depends only on the template, so it is determined once.
void ChatTemplate::analyse() {
    const auto caps = common_chat_templates_get_caps(templates_.get());
    const auto has  = [&](const char* name) {
        const auto found = caps.find(name);
        return found != caps.end() && found->second;
    };
    capabilities_.parallel_tool_calls = has("supports_parallel_tool_calls");
    capabilities_.reasoning           = common_chat_templates_support_enable_thinking(templates_.get());

    const std::string             source = common_chat_templates_source(templates_.get());
    const common_chat_template    tmpl(source, "", "");
    autoparser::generation_params params;
    autoparser::autoparser        analysis;
    params.messages = common_json::array({common_json{{"role", "user"}, {"content", "Hello"}}});
    markup_          = std::make_unique<ControlTokens>(searched_markup(source));
    wants_short_ids_ = wants_short_call_ids(source);
    std::optional<CallFormat> format = known_format(source);
    try {
        if (!common_chat_try_specialized_template(tmpl, source, params)) {
            analysis.analyze_template(tmpl);
            is_plain_ = analysis.reasoning.mode == autoparser::reasoning_mode::NONE &&
                        analysis.content.mode == autoparser::content_mode::PLAIN;
            plain_stops_ = analysis.additional_stops;
            if (!format) format = analysed_format(analysis);
        }
    } catch (const std::exception&) {
        is_plain_ = false;  // rendering a request will report the error
    }
    capabilities_.generic_tools = !format;
    if (!format) capabilities_.parallel_tool_calls = true;
    call_format_ = format ? *std::move(format) : generic_format();
    capabilities_.tools = can_call_tools();
    if (!capabilities_.tools) capabilities_.generic_tools = false;

    try {
        common_chat_templates_inputs inputs = greeting();
        inputs.reasoning_format             = COMMON_REASONING_FORMAT_DEEPSEEK;
        reasoning_                          = reasoning_of(apply(inputs)).value_or(ReasoningTags{});
        // Harmony has a channel for it.
        detects_reasoning_ = reasoning_.start.empty() && !call_format_.is_harmony;
    } catch (const std::exception&) {
        // Rendering a request will report the error.
    }
    order_ = std::make_unique<MessageOrder>([this](const auto& messages) { return prompt_of(greeting(), messages); });
}

// Whether the template renders a conversation that requires a call. Determines where the prompt describes tools.
bool ChatTemplate::can_call_tools() {
    common_chat_templates_inputs inputs = greeting();
    inputs.tools       = {{"look_around", "Looks once.", R"({"type":"object","properties":{"view_angle":{"type":"string"}}})"}};
    inputs.tool_choice = COMMON_CHAT_TOOL_CHOICE_REQUIRED;
    try {
        if (capabilities_.generic_tools) {
            describe_tools_as_text(inputs);
        } else {
            tool_text_ = find_tool_text(inputs);
            add_tool_text(inputs, tool_text_, call_format_);
        }
        common_chat_params params = apply(inputs);
        add_call_parser(call_format_, inputs, params);
        return !params.grammar.empty();
    } catch (const std::exception&) {
        return false;
    }
}

ToolText ChatTemplate::find_tool_text(const common_chat_templates_inputs& inputs) const {
    for (const ToolText text : {ToolText::of_template, ToolText::in_variable}) {
        common_chat_templates_inputs described = inputs;
        add_tool_text(described, text, call_format_);
        const std::string prompt  = apply(described).prompt;
        const auto        has     = [&](const char* part) { return prompt.find(part) != std::string::npos; };
        if (has("look_around") && has("Looks once.") && has("view_angle")) return text;
    }
    return ToolText::added;
}

common_chat_params ChatTemplate::apply(const common_chat_templates_inputs& inputs) const {
    common_chat_params params = apply_without_calls(inputs);
    if (!call_format_.reasoning_open.empty()) {
        params.thinking_start_tag = call_format_.reasoning_open;
        params.thinking_end_tags  = {call_format_.reasoning_close};
    }
    return params;
}

common_chat_params ChatTemplate::apply_without_calls(const common_chat_templates_inputs& inputs) const {
    if (inputs.tools.empty() || inputs.tool_choice == COMMON_CHAT_TOOL_CHOICE_NONE) {
        return common_chat_templates_apply(templates_.get(), inputs);
    }
    common_chat_templates_inputs without_calls = inputs;
    without_calls.tool_choice                  = COMMON_CHAT_TOOL_CHOICE_NONE;
    if (capabilities_.generic_tools) without_calls.tools.clear();
    common_chat_params params = apply_or_simplify(templates_.get(), without_calls);
    if (capabilities_.generic_tools) {
        params.preserved_tokens.insert(params.preserved_tokens.end(), {"<tool_call>", "</tool_call>"});
    }
    return params;
}

std::string ChatTemplate::prompt_of(common_chat_templates_inputs        inputs,
                                    const std::vector<common_chat_msg>& messages) const {
    inputs.messages = messages;
    if (capabilities_.generic_tools) describe_tools_as_text(inputs);
    return apply(inputs).prompt;
}

RenderedPrompt ChatTemplate::render(const std::string& request_json, const ControlTokens* control) const {
    check_shape(request_json);
    common_json request = common_json::parse(request_json);
    prepare_arguments(request.at("messages"));
    complete_call_ids(request.at("messages"));
    if (wants_short_ids_) shorten_call_ids(request.at("messages"));
    const bool is_plain = control != nullptr && !request.value("special_tokens_in_messages", false);
    bool       has_marks = false;
    if (is_plain) {
        const std::vector<ReasoningPair>& usual = usual_reasoning_pairs();
        const bool          is_declared = !reasoning_.start.empty();
        const ReasoningTags tags = is_declared ? reasoning_ : ReasoningTags{usual[0].start, usual[0].ends, "", true};
        for (const InputMarks& marks : {InputMarks{*control}, InputMarks{*markup_, is_switch}}) {
            has_marks = mark_messages(request.at("messages"), marks, tags) || has_marks;
        }
        if (request.contains("chat_template_kwargs")) {
            has_marks = mark_value(request.at("chat_template_kwargs"), {*control}) || has_marks;
        }
    }
    RenderedPrompt rendered = render_request(request);
    // Grammar and parser are those of the original tools.
    if (is_plain && request.contains("tools") && mark_value(request.at("tools"), {*control})) {
        rendered.text = render_request(request).text;
        has_marks     = true;
    }
    if (has_marks) seal(rendered);
    return rendered;
}

RenderedPrompt ChatTemplate::render_request(const common_json& request) const {
    try {
        common_chat_templates_inputs inputs    = inputs_of(request, capabilities_);
        const std::string            only_tool = read_tool_choice(request, inputs);
        if (inputs.tool_choice == COMMON_CHAT_TOOL_CHOICE_REQUIRED) inputs.json_schema.clear();
        check_schemas(inputs);
        const common_chat_templates_inputs given = inputs;
        add_tool_text(inputs, tool_text_, call_format_);
        inputs.messages                          = order_->arrange(std::move(inputs.messages));
        const auto arranged = inputs.messages;
        if (capabilities_.generic_tools) {
            describe_tools_as_text(inputs);
            if (inputs.tool_choice == COMMON_CHAT_TOOL_CHOICE_NONE) inputs.tools.clear();
        }
        const bool calls_tools = !inputs.tools.empty() && inputs.tool_choice != COMMON_CHAT_TOOL_CHOICE_NONE;
        const bool continues   = inputs.continue_final_message != COMMON_CHAT_CONTINUATION_NONE;
        const bool     is_plain = is_plain_ && !calls_tools && !continues;
        RenderedPrompt rendered = is_plain ? render_plain(std::move(inputs)) : render_formatted(std::move(inputs), only_tool);
        MessageOrder::check(rendered.text, arranged,
                            [&](const auto& messages) { return prompt_of(given, messages); });
        if (rendered.text.size() > kMaxPromptBytes) throw std::runtime_error("The prompt would be longer than 64 MiB.");
        return rendered;
    } catch (const Error&) {
        throw;
    } catch (const std::exception& error) {
        throw Error(code_of(error, ErrorCode::template_failed),
                    "The model's chat template refused the conversation: " + raised_message(error.what()));
    }
}

RenderedPrompt ChatTemplate::render_plain(common_chat_templates_inputs inputs) const {
    RenderedPrompt rendered;
    inputs.force_pure_content       = true;
    const common_chat_params params = apply(inputs);
    rendered.text                   = params.prompt;
    rendered.additional_stops       = plain_stops_;
    if (inputs.json_schema.empty()) {
        detect_reasoning(rendered, params.generation_prompt);
    } else {
        rendered.grammar.emplace().gbnf = json_schema_to_grammar(common_json::parse(inputs.json_schema));
    }
    return rendered;
}

// A grammar for a completion that either calls a tool or matches a schema, which none of llama.cpp's grammars covers.
GrammarSettings ChatTemplate::call_or_schema(common_chat_templates_inputs inputs) const {
    common_chat_templates_inputs calling = inputs;
    calling.json_schema.clear();
    calling.tool_choice           = COMMON_CHAT_TOOL_CHOICE_REQUIRED;
    common_chat_params call       = apply(calling);
    add_call_parser(call_format_, calling, call);
    inputs.tools.clear();
    const common_chat_params format = apply(inputs);

    GrammarSettings grammar = grammar_of(call);
    grammar.gbnf = either_of(call.grammar, without_fence(schema_grammar_of(format, inputs.json_schema).gbnf));
    return grammar;
}

// The prompt lists all tools, even if a certain one must be called.
RenderedPrompt ChatTemplate::render_formatted(common_chat_templates_inputs inputs, const std::string& only_tool) const {
    RenderedPrompt rendered;
    const bool     may_call = !inputs.tools.empty() && inputs.tool_choice == COMMON_CHAT_TOOL_CHOICE_AUTO;
    if (may_call && !inputs.json_schema.empty()) {
        rendered.grammar = call_or_schema(inputs);
        inputs.json_schema.clear();
    }
    common_chat_params params = apply(inputs);
    rendered.text             = params.prompt;
    if (!only_tool.empty()) {
        inputs.tools.erase(std::remove_if(inputs.tools.begin(), inputs.tools.end(),
                                          [&](const common_chat_tool& tool) { return tool.name != only_tool; }),
                           inputs.tools.end());
    }
    if (inputs.tool_choice == COMMON_CHAT_TOOL_CHOICE_NONE) inputs.tools.clear();
    // llama.cpp's own parser of gpt-oss does not know all headers.
    const bool reads_calls = !inputs.tools.empty() || (call_format_.is_harmony && inputs.json_schema.empty());
    if (reads_calls) rendered.unenforced = add_call_parser(call_format_, inputs, params);
    rendered.additional_stops = params.additional_stops;
    rendered.preserved_tokens = params.preserved_tokens;
    if (!inputs.json_schema.empty()) {
        rendered.grammar = schema_grammar_of(params, inputs.json_schema);
    } else if (!rendered.grammar && !params.grammar.empty()) {
        rendered.grammar = grammar_of(params);
    }
    if (rendered.grammar) rendered.grammar->calls = !inputs.tools.empty() && inputs.json_schema.empty();

    rendered.reasoning       = reasoning_of(params);
    ChatFormat& format       = rendered.format.emplace();
    const int of_calls = inputs.tool_choice == COMMON_CHAT_TOOL_CHOICE_REQUIRED ? kRequiredCallFormat : kCallParserFormat;
    format.kind              = reads_calls ? of_calls : static_cast<int>(params.format);
    format.parser            = params.parser;
    format.generation_prompt = params.generation_prompt;
    format.continues         = inputs.continue_final_message != COMMON_CHAT_CONTINUATION_NONE;
    const bool is_free = !rendered.grammar || rendered.grammar->lazy;
    if (detects_reasoning_ && is_free && !format.continues) detect_reasoning(rendered, params.generation_prompt);
    return rendered;
}

}  // namespace chasqui
