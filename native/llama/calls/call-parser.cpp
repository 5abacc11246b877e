#include "call-parser.h"

#include "../../core/error-code.h"
#include "argument-parser.h"

#include <chat-peg-parser.h>
#include <common.h>
#include <json-schema-to-grammar.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

namespace chasqui {

namespace {

using Peg          = ArgumentParser::Peg;
using Placeholders = ArgumentParser::Placeholders;
using Values       = CallFormat::Values;

const std::string kNoArguments = R"({"type":"object","properties":{}})";

// Without parameters, a function takes no arguments.
common_json parameters_of(const common_chat_tool& tool) {
    const std::string& given = tool.parameters;
    return common_json::parse(given.empty() || given == "null" || given == "{}" ? kNoArguments : given);
}

// The text up to the first placeholder or optional whitespace.
std::string literal_start(const std::string& text) { return text.substr(0, text.find_first_of("~$")); }

class Builder {
public:
    Builder(common_chat_peg_builder& peg, const CallFormat& format, const common_chat_templates_inputs& inputs,
            const common_chat_params& rendered)
        : arguments(peg, format), p(peg), format_(format), inputs_(inputs), rendered_(rendered) {}

    Peg completion() { return format_.is_harmony ? harmony() : tagged(); }

    std::vector<common_grammar_trigger> triggers() const;

    ArgumentParser     arguments;
    UnenforcedKeywords unenforced;

private:
    bool is_required() const { return inputs_.tool_choice == COMMON_CHAT_TOOL_CHOICE_REQUIRED; }

    // ---- calls

    // Equal schemas share their rules, so only the first of them lists its keywords.
    Peg call(const std::string& pattern, const common_chat_tool& tool) {
        const common_json      parameters = parameters_of(tool);
        const Peg              one        = call_with(parameters, pattern, tool);
        std::set<std::string>& keywords   = of_schemas_[parameters.dump()];
        keywords.merge(std::exchange(arguments.ignored, {}));
        if (!keywords.empty()) unenforced[tool.name] = keywords;
        return one;
    }

    Peg call_with(const common_json& parameters, const std::string& pattern, const common_chat_tool& tool) {
        const ArgumentSchema schema(parameters);
        if (format_.member.empty()) return call(pattern, tool, [&] { return arguments.json(parameters); });
        Peg                  any   = p.choice();
        const auto           forms = schema.forms();
        size_t               n     = 0;
        std::optional<Error> wrong;
        for (const auto& form : forms) {
            try {
                any |= call(pattern, tool, [&] { return arguments.members(schema, form); });
                ++n;
            } catch (const Error& error) {
                if (format_.values != Values::raw) throw;
                wrong = error;  // The format cannot write this form.
            }
        }
        if (n == 0) throw wrong.value_or(Error(ErrorCode::invalid_grammar, "A tool's schema permits no arguments."));
        arguments.ignored.insert(schema.ignored().begin(), schema.ignored().end());
        return any;
    }

    Peg call(const std::string& pattern, const common_chat_tool& tool, const std::function<Peg()>& given) {
        bool is_named = false;
        const Placeholders   placeholders = {
            {"name",
             [&] {
                 const Peg name = p.literal(tool.name);
                 return std::exchange(is_named, true) ? name : p.atomic(p.tag(call_tag::kName, name));
             }},
            {"index", [&] { return p.chars("[0-9]", 1, 4); }},
            {"id", [&] { return p.atomic(p.tag(call_tag::kId, p.chars("[A-Za-z0-9]", 1, 32))); }},
            {"arguments", given}};
        return p.tag(call_tag::kCall, arguments.text(pattern, placeholders));
    }

    Peg any_call(const std::string& prefix, const std::string& pattern) {
        Peg    any = p.choice();
        size_t i   = 0;
        for (const common_chat_tool& tool : inputs_.tools) any |= p.rule(prefix + std::to_string(i++), call(pattern, tool));
        return any;
    }

    Peg calls() {
        const Peg one = p.rule("any-call", any_call("call-", format_.call));
        Peg       all = arguments.text(format_.opening) + one;
        if (!format_.short_opening.empty() && !is_required()) {
            const std::string whole = format_.opening + format_.call;
            const size_t      at    = whole.find(literal_start(format_.short_opening));
            all = p.optional(arguments.text(whole.substr(0, at))) + p.rule("first-call", any_call("first-", whole.substr(at)));
        }
        if (inputs_.parallel_tool_calls) all = all + p.zero_or_more(arguments.text(format_.separator) + one);
        all = all + arguments.text(format_.closing);
        for (const std::string& tail : format_.tail) all = all + p.optional(p.literal(tail));
        return p.trigger_rule("calls", all);
    }

    // ---- the whole completion

    std::vector<std::string> starts() const {
        std::vector<std::string> starts = {literal_start(format_.opening + format_.call)};
        if (!format_.short_opening.empty()) {
            const std::string start = literal_start(format_.short_opening);
            if (format_.short_opening == start) {
                starts.push_back(start);
            } else {
                for (const common_chat_tool& tool : inputs_.tools) starts.push_back(start + tool.name + ">");
            }
        }
        return starts;
    }

    Peg reasoning() {
        const std::string&       open = rendered_.thinking_start_tag;
        std::vector<std::string> ends;
        for (const std::string& end : rendered_.thinking_end_tags) ends.push_back(string_strip(end));
        if (open.empty() || ends.empty()) return p.eps();
        const std::string& prompt = rendered_.generation_prompt;
        const size_t       opened = prompt.rfind(open);
        bool               is_closed = false;
        for (const std::string& end : ends) {
            const size_t at = prompt.rfind(end);
            is_closed       = is_closed || (at != std::string::npos && (opened == std::string::npos || at > opened));
        }
        // A recipient begins with a space.
        const Peg  gap       = format_.recipient_of_text.empty() ? p.space() : p.eps();
        const bool continues = inputs_.continue_final_message != COMMON_CHAT_CONTINUATION_NONE;
        if (is_closed) return continues && !is_required() ? p.eps() : gap;

        const std::vector<std::string> calls = starts();
        Peg                            close = p.choice();
        for (const std::string& end : ends) {
            const bool is_call = std::find(calls.begin(), calls.end(), end) != calls.end();
            close |= is_call ? p.gbnf(p.peek(p.literal(end)), "\"\"") : p.literal(end) + gap;
        }
        // Some models leave the closing tag out.
        if (!is_required() && (!format_.short_opening.empty() || !format_.text_open.empty())) {
            std::vector<std::string> others = calls;
            if (!format_.text_open.empty()) others.push_back(format_.text_open);
            for (const std::string& start : others) {
                ends.push_back(start);
                close |= p.gbnf(p.peek(p.literal(start)), "\"\"");
            }
        }
        const Peg block = p.space() + p.reasoning(p.until_one_of(ends)) + close;
        if (opened != std::string::npos) return block;
        const Peg whole = gap + p.literal(open) + block;
        if (is_required()) return p.optional(whole) + gap;
        // Some models close reasoning that they have not begun.
        return p.optional(whole | (p.literal(ends[0]) + gap));
    }

    Peg tagged() {
        const Peg start = rendered_.generation_prompt.empty() ? p.eps() : p.literal(rendered_.generation_prompt);
        const Peg end   = p.space() + p.end();
        if (is_required()) return start + reasoning() + empty_text() + calls() + end;
        if (!format_.recipient_of_text.empty()) {
            const std::string& next = format_.separator;
            const Peg          text = p.literal(format_.recipient_of_text) +
                             p.content(p.until_one_of({next, "<|eot|>", "<|eom|>"})) +
                             p.optional(p.literal("<|eot|>"));
            return start + reasoning() + p.choice({calls(), text + p.optional(p.literal(next) + calls())}) + end;
        }
        std::vector<std::string> ends = starts();
        Peg                      open = p.eps(), close = p.eps();
        if (!format_.text_open.empty()) {
            open  = p.optional(p.literal(format_.text_open));
            close = p.optional(p.literal(format_.text_close));
            ends.push_back(format_.text_close);
        }
        // Templates write line breaks between a text and a call.
        const std::vector<std::string> calls_at = ends;
        for (const std::string& call : calls_at) {
            for (const char* gap : {"\n", "\n\n"}) ends.push_back(gap + call);
        }
        return start + reasoning() + open + p.content(p.until_one_of(ends)) + close + p.optional(p.space() + calls()) + end;
    }

    // Some templates write the tags around text even if there is none.
    Peg empty_text() {
        if (format_.text_open.empty() || format_.values != Values::raw) return p.eps();
        return p.optional(p.literal(format_.text_open) + p.literal(format_.text_close));
    }

    // ---- gpt-oss

    Peg harmony() {
        const Peg channel = p.literal("<|channel|>") + (p.literal("commentary") | p.literal("analysis"));
        const Peg kind    = p.optional(p.space() + p.optional(p.literal("<|constrain|>")) + p.literal("json"));
        Peg       any     = p.choice();
        size_t    i       = 0;
        for (const common_chat_tool& tool : inputs_.tools) {
            const Peg to   = p.literal(" to=functions.") + p.atomic(p.tag(call_tag::kName, p.literal(tool.name)));
            const Peg args = p.literal("<|message|>") +
                             arguments.json(parameters_of(tool));
            const Peg one = p.tag(call_tag::kCall, to + channel + kind + args) |
                            p.tag(call_tag::kCall, channel + to + kind + args);
            any |= p.rule("call-" + std::to_string(i++), one);
        }
        const Peg calls = inputs_.tools.empty() ? p.eps() : p.trigger_rule("calls", any);
        const Peg start = p.optional(p.literal("<|start|>assistant"));
        const Peg ended = p.literal("<|end|>") | p.literal("<|return|>") | p.literal("<|call|>");
        const Peg done  = p.optional(p.literal("<|call|>")) + p.space() + p.end();
        const std::vector<std::string> ends = {"<|end|>", "<|return|>", "<|call|>", "<|start|>"};
        // Models write more into a header than the channel.
        const Peg stop     = p.literal(" to=") | p.literal("<|message|>") | p.literal("<|start|>");
        const Peg header   = p.repeat(p.negate(stop) + p.any(), 0, 256) + p.literal("<|message|>");
        const Peg thought  = p.literal("<|channel|>analysis") + (is_required() ? p.literal("<|message|>") : header) +
                            p.reasoning(p.until_one_of(ends)) + p.literal("<|end|>");
        const std::string& prompt = rendered_.generation_prompt;
        const Peg opened = prompt.empty() ? p.eps() : p.literal(prompt) + rest_of_message(ends, ended);
        if (is_required()) return opened + p.optional(thought + p.literal("<|start|>assistant")) + calls + done;
        const Peg said = ((p.literal("<|channel|>") + header) | p.literal("<|message|>")) + p.content(p.until_one_of(ends));
        const Peg message = start + ((thought) | (said + ended));
        // To a recipient that is no tool of the request.
        const Peg other = p.repeat(p.negate(p.literal("<|message|>") | p.literal("<|start|>")) + p.any(), 0, 160) +
                          p.literal("<|message|>") + p.content(p.until_one_of(ends));
        const Peg last = inputs_.tools.empty() ? said | other : calls | said | other;
        return opened + p.zero_or_more(message) + p.optional(start + last) + done;
    }

    // The prompt may end within a message.
    Peg rest_of_message(const std::vector<std::string>& ends, const Peg& ended) {
        const std::string& prompt  = rendered_.generation_prompt;
        const size_t       message = prompt.rfind("<|message|>"), start = prompt.rfind("<|start|>");
        if (message == std::string::npos || (start != std::string::npos && start > message)) return p.eps();
        const bool thinks = prompt.rfind("<|channel|>analysis") > prompt.rfind("<|channel|>final") + 1 ||
                            prompt.find("<|channel|>final") == std::string::npos;
        const Peg  rest = p.until_one_of(ends);
        const Peg  close = is_required() ? p.literal("<|end|><|start|>assistant") : p.optional(ended);
        return (thinks ? p.reasoning(rest) : p.content(rest)) + close;
    }

    common_chat_peg_builder&            p;
    const CallFormat&                   format_;
    const common_chat_templates_inputs& inputs_;
    const common_chat_params&           rendered_;

    std::map<std::string, std::set<std::string>> of_schemas_;  // keywords that are not enforced
};

std::vector<common_grammar_trigger> Builder::triggers() const {
    if (format_.is_harmony) {
        // A token may contain the recipient and more.
        return {{COMMON_GRAMMAR_TRIGGER_TYPE_PATTERN, "^\\s+to(?:$|=functions\\.)"},
                {COMMON_GRAMMAR_TRIGGER_TYPE_PATTERN, "^<\\|channel\\|>(?:commentary|analysis)\\s+to=functions(?:$|\\.)"},
                {COMMON_GRAMMAR_TRIGGER_TYPE_PATTERN, "<\\|start\\|>assistant(\\s+to)"},
                {COMMON_GRAMMAR_TRIGGER_TYPE_PATTERN, "<\\|start\\|>assistant(<\\|channel\\|>(?:commentary|analysis)\\s+to)"}};
    }
    std::vector<common_grammar_trigger> triggers;
    std::string                         names;
    for (const common_chat_tool& tool : inputs_.tools) names += (names.empty() ? "" : "|") + regex_escape(tool.name);
    if (!format_.recipient_of_text.empty()) {
        const std::string before = literal_start(format_.call);
        const std::string after  = literal_start(format_.call.substr(before.size() + 5));
        const std::string start = "(?:^|" + regex_escape(format_.separator) + ")";
        const std::string call  = regex_escape(before) + "(?:" + names + ")" + regex_escape(after);
        triggers.push_back({COMMON_GRAMMAR_TRIGGER_TYPE_PATTERN, start + "(" + call + ")"});
        return triggers;
    }
    const std::string whole = format_.opening + format_.call, mark = starts().front();
    const size_t      name  = whole.find('$');
    // A brace may begin any JSON. With the name of a tool, at the beginning of the text, it is a call.
    if (mark.size() <= 1 && name != std::string::npos && whole.compare(name, 6, "$name\"") == 0) {
        std::string before;
        for (const char c : whole.substr(0, name)) before += c == '~' ? "\\s*" : regex_escape(std::string(1, c));
        triggers.push_back({COMMON_GRAMMAR_TRIGGER_TYPE_PATTERN, "^\\s*(" + before + "(?:" + names + ")\")"});
        return triggers;
    }
    for (const std::string& start : starts()) triggers.push_back({COMMON_GRAMMAR_TRIGGER_TYPE_WORD, start});
    return triggers;
}

}  // namespace

UnenforcedKeywords add_call_parser(const CallFormat& format, const common_chat_templates_inputs& inputs,
                                   common_chat_params& rendered) {
    std::string            rules;
    UnenforcedKeywords     unenforced;
    const common_peg_arena arena = build_chat_peg_parser([&](common_chat_peg_builder& p) {
        Builder builder(p, format, inputs, rendered);
        Peg     whole             = builder.completion();
        rules                     = std::move(builder.arguments.rules);
        rendered.grammar_triggers = builder.triggers();
        unenforced                = std::move(builder.unenforced);
        return whole;
    });
    rendered.parser = arena.save();
    if (inputs.tools.empty()) return unenforced;
    rendered.grammar_lazy = inputs.tool_choice == COMMON_CHAT_TOOL_CHOICE_AUTO;
    // Without a mark, every brace might begin a call.
    const bool is_marked = rendered.grammar_triggers[0].value.size() > 1;
    rendered.grammar     = rendered.grammar_lazy && !is_marked ? "" : build_grammar([&](const common_grammar_builder& builder) {
        arena.build_grammar(builder, rendered.grammar_lazy);
    }) + "\n" + rules;
    return unenforced;
}

}  // namespace chasqui
