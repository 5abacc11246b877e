#include "call-format.h"

#include <chat-auto-parser.h>
#include <common.h>

#include <algorithm>
#include <utility>

namespace chasqui {

namespace {

using Values = CallFormat::Values;

// The texts of a template that identify its format. `others` sets the fields that few formats need.
struct Known {
    std::vector<const char*> contains, lacks;
    const char *opening, *call, *separator, *closing;
    const char *member = "", *member_separator = "";
    Values      values = Values::json;
    void (*others)(CallFormat&) = nullptr;
};

// In llama.cpp's order: the first match wins.
const Known kKnown[] = {
    // Mistral
    {{"[SYSTEM_PROMPT]", "[TOOL_CALLS]", "[ARGS]"}, {"[CALL_ID]"}, "", "[TOOL_CALLS]$name[ARGS]$arguments", "", ""},
    // gpt-oss
    {{"<|channel|>"}, {}, "", "$name$arguments", "<|call|><|start|>assistant", "", "", "", Values::json,
     [](CallFormat& format) { format.is_harmony = true; }},
    // Muse
    {{"<atem:function_calls>", "<|eom|>"}, {}, "",
     " to=$name<|message|><atem:function_calls>~<atem:invoke name=\"$name\">~$arguments~</atem:invoke>~</atem:function_calls>",
     "<|eom|><|start|>assistant", "", "<atem:parameter name=\"$key\">$value</atem:parameter>", "~", Values::raw,
     [](CallFormat& format) {
         format.recipient_of_text = " to=user<|message|>";
         format.reasoning_open    = " to=self<|message|>";
         format.reasoning_close   = "<|eom|><|start|>assistant";
     }},
    // Functionary
    {{">>>all", ">>>${recipient}"}, {}, "", "$name\n$arguments", ">>>", "", "", "", Values::json,
     [](CallFormat& format) { format.recipient_of_text = "all\n"; }},
    // Kimi K2
    {{"<|tool_calls_section_begin|>", "<|tool_call_begin|>"}, {}, "<|tool_calls_section_begin|>",
     "<|tool_call_begin|>$[functions.$name:$index$]<|tool_call_argument_begin|>$arguments<|tool_call_end|>", "~",
     "<|tool_calls_section_end|>", "", "", Values::json,
     [](CallFormat& format) { format.short_opening = "<|tool_call_begin|>"; }},
    // Kimi K3
    {{"<|open|>", "<|close|>", "<|end_of_msg|>"}, {}, "<|open|>tools<|sep|>",
     "<|open|>call tool=\"$name\" index=\"$index\"<|sep|>$arguments<|close|>call<|sep|>", "", "<|close|>tools<|sep|>",
     "<|open|>argument key=\"$key\" type=\"$type\"<|sep|>$value<|close|>argument<|sep|>", "", Values::raw,
     [](CallFormat& format) {
         format.text_open  = "<|open|>response<|sep|>";
         format.text_close = "<|close|>response<|sep|>";
         format.tail       = {"<|close|>message<|sep|>", "<|end_of_msg|>"};
     }},
    // Ling
    {{"<role>ASSISTANT</role>", "<arg_key>"}, {}, "", "<tool_call>$name~$arguments~</tool_call>", "~", "",
     "<arg_key>$key</arg_key>~<arg_value>$value</arg_value>", "~", Values::raw,
     [](CallFormat& format) { format.tail = {"<|role_end|>"}; }},
    // Cohere
    {{"<|START_TEXT|>", "<|START_ACTION|>"}, {}, "<|START_ACTION|>~[~",
     "{~\"tool_call_id\":~\"$id\",~\"tool_name\":~\"$name\",~\"parameters\":~$arguments~}", "~,~", "~]~<|END_ACTION|>", "",
     "", Values::json,
     [](CallFormat& format) {
         format.text_open  = "<|START_TEXT|>";
         format.text_close = "<|END_TEXT|>";
         format.tail       = {"<|END_OF_TURN_TOKEN|>"};
     }},
    // LFM2, with two kinds of templates
    {{"<|tool_list_start|>", "<|tool_list_end|>"}, {}, "<|tool_call_start|>[", "$name($arguments)", ",~", "]<|tool_call_end|>",
     "$key=$value", ",~"},
    {{"List of tools: ["}, {"<|tool_list_start|>"}, "<|tool_call_start|>[", "$name($arguments)", ",~", "]<|tool_call_end|>",
     "$key=$value", ",~"},
    // GigaChat
    {{"<|role_sep|>", "<|message_sep|>"}, {"<|function_call|>"}, "",
     "<|message_sep|>\n\nfunction call<|role_sep|>\n{~\"name\":~\"$name\",~\"arguments\":~$arguments~}", "", ""},
    // MiniMax M3
    {{"]<]minimax[>[", "<tool_call>", "<invoke name="}, {}, "]<]minimax[>[<tool_call>~",
     "]<]minimax[>[<invoke name=\"$name\">~$arguments~]<]minimax[>[</invoke>", "~", "~]<]minimax[>[</tool_call>",
     "]<]minimax[>[<$key>$value]<]minimax[>[</$key>", "~", Values::elements},
    // DeepSeek
    {{"dsml_token", "DSML", "function_calls"}, {}, "<｜DSML｜function_calls>~",
     "<｜DSML｜invoke name=\"$name\">~$arguments~</｜DSML｜invoke>", "~", "~</｜DSML｜function_calls>",
     "<｜DSML｜parameter name=\"$key\" string=\"$is_string\">$value</｜DSML｜parameter>", "~", Values::raw},
    {{"dsml_token", "DSML", "tool_calls"}, {}, "<｜DSML｜tool_calls>~",
     "<｜DSML｜invoke name=\"$name\">~$arguments~</｜DSML｜invoke>", "~", "~</｜DSML｜tool_calls>",
     "<｜DSML｜parameter name=\"$key\" string=\"$is_string\">$value</｜DSML｜parameter>", "~", Values::raw},
    // Gemma
    {{"'<|tool_call>call:'"}, {}, "", "<|tool_call>call:$name{~$arguments~}<tool_call|>", "", "", "$key:$value", ",~",
     Values::gemma, [](CallFormat& format) { format.tail = {"<|tool_response>"}; }},
    // MiniCPM
    {{"Tool usage guidelines:", "<function name=\"", "<param name=\""}, {}, "",
     "<function name=\"$name\">~$arguments~</function>", "~", "", "<param name=\"$key\">$value</param>", "~", Values::raw,
     [](CallFormat& format) { format.has_cdata = true; }},
    // Qwen Coder, with and without reasoning
    {{"<tool_call>", "<function=", "<parameter=", "<think>"}, {"'<tool_call><function=' ~ tool_call.name ~ '>'"}, "",
     "<tool_call>~<function=$name>~$arguments~</function>~</tool_call>", "~", "", "<parameter=$key>\n$value\n</parameter>", "~",
     Values::raw, [](CallFormat& format) { format.writes_none = true; }},
    {{"<tool_call>", "<function=", "<parameter="}, {"'<tool_call><function=' ~ tool_call.name ~ '>'"}, "",
     "<tool_call>~<function=$name>~$arguments~</function>~</tool_call>", "~", "", "<parameter=$key>\n$value\n</parameter>", "~",
     Values::raw,
     [](CallFormat& format) {
         format.writes_none   = true;
         format.short_opening = "<function=$name>";
     }},
    // Solar
    {{"<|tool_call:begin|>", "<|tool_call:name|>", "<|tool_call:args|>"}, {}, "<|tool_calls|>",
     "<|tool_call:begin|>$id<|tool_call:name|>$name<|tool_call:args|>$arguments<|tool_call:end|>", "~", "<|calls|>", "", "",
     Values::json,
     [](CallFormat& format) {
         format.text_open  = "<|content|>";
         format.text_close = "<|end|>";
     }},
};

// Whitespace that a template writes is optional for a model.
std::string relaxed(const std::string& text) {
    std::string result;
    for (const char c : text) {
        if (c != ' ' && c != '\n' && c != '\t') {
            result += c;
        } else if (result.empty() || result.back() != '~') {
            result += '~';
        }
    }
    return result;
}

// Only at the ends: within a tag, whitespace is part of it.
std::string relaxed_ends(const std::string& text) {
    const size_t begin = text.find_first_not_of(" \n\t");
    if (begin == std::string::npos) return text.empty() ? "" : "~";
    const size_t end = text.find_last_not_of(" \n\t") + 1;
    return (begin > 0 ? "~" : "") + text.substr(begin, end - begin) + (end < text.size() ? "~" : "");
}

std::string json_member(const std::string& key, const std::string& value) { return "\"" + key + "\":~" + value; }

std::string json_call(const autoparser::tool_format_analysis& found) {
    if (found.fun_name_is_key) {
        const bool is_nested = !found.args_field.empty();
        return "{~\"$name\":~" + (is_nested ? "{~" + json_member(found.args_field, "$arguments") + "~}" : "$arguments") + "~}";
    }
    std::string name = found.name_field.empty() ? "name" : found.name_field;
    std::string args = found.args_field.empty() ? "arguments" : found.args_field;
    std::string outer = found.function_field == "function" ? "" : found.function_field;
    if (const size_t dot = name.find('.'); dot != std::string::npos) {
        outer = name.substr(0, dot);
        name  = name.substr(dot + 1);
        args  = args.substr(args.find('.') + 1);
    }
    std::vector<std::pair<std::string, std::string>> members = {{name, json_member(name, "\"$name\"")},
                                                                {args, json_member(args, "$arguments")}};
    if (!outer.empty()) {
        members = {{outer, "\"" + outer + "\":~{~" + members[0].second + ",~" + members[1].second + "~}"}};
    }
    for (const std::string& id : {found.id_field, found.gen_id_field}) {
        if (!id.empty()) members.emplace_back(id, json_member(id, "\"$id\""));
    }
    const auto& order    = found.parameter_order;
    const auto  place_of = [&](const std::string& key) { return std::find(order.begin(), order.end(), key) - order.begin(); };
    std::stable_sort(members.begin(), members.end(),
                     [&](const auto& a, const auto& b) { return place_of(a.first) < place_of(b.first); });
    std::string call = "{~";
    for (size_t i = 0; i < members.size(); ++i) call += (i > 0 ? ",~" : "") + members[i].second;
    return call + "~}";
}

CallFormat json_format(const autoparser::tool_format_analysis& found) {
    CallFormat  format;
    std::string before = relaxed_ends(found.section_start), after = relaxed_ends(found.section_end);
    std::string call = json_call(found);
    format.separator = found.tools_array_wrapped ? "~,~" : "~";
    if (found.section_start.empty() && !found.per_call_start.empty() && !found.tools_array_wrapped) {
        call = relaxed_ends(found.per_call_start) + "~" + call + "~" + relaxed_ends(found.per_call_end);
    } else if (found.section_start.empty()) {
        before = relaxed_ends(found.per_call_start);
        after  = relaxed_ends(found.per_call_end);
    }
    format.call    = call;
    format.opening = before + (before.empty() ? "" : "~") + (found.tools_array_wrapped ? "[~" : "");
    format.closing = (found.tools_array_wrapped ? "~]" : "") + (after.empty() ? "" : "~" + after);
    return format;
}

std::string opened_function(const autoparser::analyze_tools& tools) {
    std::string text = relaxed_ends(tools.function.name_prefix) + "$name" + relaxed_ends(tools.function.name_suffix) +
                       relaxed_ends(tools.function.args_separator);
    if (tools.call_id.pos == autoparser::call_id_position::BETWEEN_FUNC_AND_ARGS && !tools.call_id.prefix.empty()) {
        text += tools.call_id.prefix + "$id" + tools.call_id.suffix;
    }
    return text + relaxed_ends(tools.arguments.start);
}

CallFormat tagged_format(const autoparser::analyze_tools& tools) {
    CallFormat  format;
    const auto& found   = tools.format;
    const bool  is_json = found.mode == autoparser::tool_format::TAG_WITH_JSON;
    const bool  each    = !found.per_call_start.empty();
    std::string call    = opened_function(tools) + (is_json ? "" : "~") + "$arguments" + (is_json ? "" : "~") +
                       relaxed_ends(tools.arguments.end);
    if (!tools.function.close.empty()) call += "~" + relaxed_ends(tools.function.close);
    if (each) call = relaxed_ends(found.per_call_start) + (is_json ? "" : "~") + call + "~" + relaxed_ends(found.per_call_end);
    format.call      = call;
    format.opening   = relaxed_ends(found.section_start) + (found.section_start.empty() || is_json ? "" : "~");
    format.closing   = found.section_end.empty() ? "" : "~" + relaxed_ends(found.section_end);
    format.separator = "~";
    if (is_json) return format;
    const auto& args        = tools.arguments;
    format.values           = Values::raw;
    const size_t end        = args.value_suffix.find_last_not_of(" \n\t") + 1;
    format.member           = relaxed_ends(args.name_prefix) + "$key" + relaxed_ends(args.name_suffix) + args.value_prefix +
                    "$value" + args.value_suffix.substr(0, end);
    // A break that opens the value belongs to the tag.
    if (const size_t n = args.name_suffix.size(); args.value_prefix.empty() && n > 0 && args.name_suffix[n - 1] == '\n') {
        format.member = relaxed_ends(args.name_prefix) + "$key" + args.name_suffix + "$value" + args.value_suffix.substr(0, end);
    }
    format.member_separator = args.separator.empty() ? "~" : "~" + relaxed(args.separator) + "~";
    return format;
}

}  // namespace

std::optional<CallFormat> known_format(const std::string& source) {
    const auto has = [&](const char* text) { return source.find(text) != std::string::npos; };
    for (const Known& row : kKnown) {
        if (!std::all_of(row.contains.begin(), row.contains.end(), has)) continue;
        if (std::any_of(row.lacks.begin(), row.lacks.end(), has)) continue;
        CallFormat format;
        format.opening          = row.opening;
        format.call             = row.call;
        format.separator        = row.separator;
        format.closing          = row.closing;
        format.member           = row.member;
        format.member_separator = row.member_separator;
        format.values           = row.values;
        if (row.others != nullptr) row.others(format);
        return format;
    }
    return std::nullopt;
}

std::optional<CallFormat> analysed_format(const autoparser::autoparser& analysis) {
    const auto& tools = analysis.tools;
    if (tools.format.mode == autoparser::tool_format::NONE || !analysis.jinja_caps.supports_tool_calls) return std::nullopt;
    CallFormat format =
        tools.format.mode == autoparser::tool_format::JSON_NATIVE ? json_format(tools.format) : tagged_format(tools);
    if (analysis.content.is_always_wrapped()) {
        format.text_open  = analysis.content.start;
        format.text_close = analysis.content.end;
    }
    return format;
}

CallFormat generic_format() {
    CallFormat format;
    format.call      = "<tool_call>~{~\"name\":~\"$name\",~\"arguments\":~$arguments~}~</tool_call>";
    format.separator = "~";
    return format;
}

std::string example_of(const CallFormat& format) {
    if (format.is_harmony) {
        return "<|channel|>commentary to=functions.<function-name> <|constrain|>json<|message|><args-json-object><|call|>";
    }
    std::string call = format.opening + format.call + format.closing;
    if (!format.member.empty()) string_replace_all(call, "$arguments", format.member);
    std::string example;
    for (size_t i = 0; i < call.size(); ++i) {
        const std::string before = example.substr(example.empty() ? 0 : example.size() - 1), after = call.substr(i + 1, 1);
        if (call[i] != '~') {
            example += call[i];
        } else if (before == ":" || before == ",") {
            example += ' ';
        } else if (before.find_first_of("{[") != 0 && after.find_first_of("<}]") != 0 && !before.empty() && !after.empty()) {
            example += '\n';
        }
    }
    const bool is_json = format.values == Values::json, is_gemma = format.values == Values::gemma;
    const std::pair<const char*, const char*> variables[] = {
        {"$arguments", "<args-json-object>"},
        {"$name", "<function-name>"},
        {"$key", "<parameter-name>"},
        {"$value", is_json ? "<json-value>" : is_gemma ? "<|\"|><value><|\"|>" : "<value>"},
        {"$type", "<type>"},
        {"$is_string", "<true-or-false>"},
        {"$index", "0"},
        {"$id", "<id>"},
        {"$[", ""},
        {"$]", ""},
    };
    for (const auto& [variable, text] : variables) string_replace_all(example, variable, text);
    return example;
}

}  // namespace chasqui
