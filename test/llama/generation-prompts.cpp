#include "chat-templates.h"

#include <chat-auto-parser.h>
#include <chat.h>
#include <log.h>
#include <parsers/parsers.h>

#include <iterator>
#include <optional>
#include <string>
#include <vector>

// Defined in common/chat.cpp by vendor/patches/0008. Returns whether one run of the template was enough.
bool common_chat_template_render_impl(common_chat_params& data, const common_chat_template& tmpl,
                                      const autoparser::generation_params& inputs,
                                      const std::optional<common_json>&    messages_override,
                                      const std::optional<common_json>&    tools_override,
                                      const std::optional<common_json>&    additional_context);

using namespace chasqui;
using namespace chasqui::test;

// The generation prompt is what a prompt has more than the same prompt without it. llama.cpp finds it by rendering a
// conversation with and without it, our patch by rendering once and going through twice what depends on it.
namespace {

struct Rendered {
    std::string prompt, generation_prompt, error;
    bool        is_once = false;

    bool operator==(const Rendered& other) const {
        return prompt == other.prompt && generation_prompt == other.generation_prompt && error == other.error;
    }
};

template <typename Render>
Rendered outcome_of(const Render& render) {
    Rendered rendered;
    try {
        render(rendered);
    } catch (const std::exception& error) {
        rendered       = {};
        rendered.error = error.what();
        expect(!rendered.error.empty(), "an error to say what it is");
    }
    return rendered;
}

Rendered together(const common_chat_template& tmpl, const autoparser::generation_params& inputs) {
    return outcome_of([&](Rendered& rendered) {
        common_chat_params data;
        rendered.is_once           = common_chat_template_render_impl(data, tmpl, inputs, {}, {}, {});
        rendered.prompt            = data.prompt;
        rendered.generation_prompt = data.generation_prompt;
    });
}

Rendered apart(const common_chat_template& tmpl, const autoparser::generation_params& inputs) {
    return outcome_of([&](Rendered& rendered) {
        rendered.prompt            = common_chat_template_direct_apply_impl(tmpl, inputs);
        rendered.generation_prompt = common_chat_template_generation_prompt_impl(tmpl, inputs);
    });
}

const std::string kUser  = R"({"role": "user", "content": "Weather in Lima?"})";
const std::string kReply = R"({"role": "assistant", "content": "Grey.", "reasoning_content": "Hm."})";
const std::string kCall  = R"({"role": "assistant", "content": "", "tool_calls": [{"id": "call12345", "type": "function",
  "function": {"name": "get_weather", "arguments": {"city": "Lima"}}}]})";
const std::string kResult =
    R"({"role": "tool", "tool_call_id": "call12345", "name": "get_weather", "content": "overcast"})";

const std::string kConversations[] = {
    "[]",
    "[" + kUser + "]",
    R"([{"role": "system", "content": "Be terse."}, )" + kUser + "]",
    R"([{"role": "user", "content": [{"type": "text", "text": "Hello"}]}])",
    "[" + kUser + "," + kReply + "," + kUser + "]",
    "[" + kUser + "," + kReply + "]",
    "[" + kUser + "," + kCall + "]",
    "[" + kUser + "," + kCall + "," + kResult + "]",
    "[" + kUser + "," + kCall + "," + kResult + "," + kReply + "," + kUser + "]",
    "[" + kUser + R"(, {"role": "developer", "content": "Be brief."}])",
};

const char* const kVariables[] = {
    "{}",
    R"({"enable_thinking": false, "reasoning_effort": "low"})",
    R"({"enable_thinking": true, "thinking": true, "thinking_mode": "enabled", "preserve_reasoning": true})",
    R"({"add_generation_prompt": true, "reasoning_effort": "high"})",
    R"({"add_generation_prompt": false})",
    R"({"add_generation_prompt": "yes"})",
};

// All inputs for a template with this conversation.
std::vector<autoparser::generation_params> all_inputs(const std::string& conversation) {
    std::vector<autoparser::generation_params> all;
    const common_json tools = common_json::parse(std::string("{") + kTools + "}").at("tools");
    for (size_t i = 0; i < std::size(kVariables); ++i) {
        for (const bool asks : {true, false}) {
            autoparser::generation_params inputs;
            inputs.messages              = common_json::parse(conversation);
            inputs.extra_context         = common_json::parse(kVariables[i]);
            inputs.enable_thinking       = inputs.extra_context.value("enable_thinking", true);
            inputs.add_generation_prompt = asks;
            inputs.add_bos = inputs.add_eos = asks == (i % 2 == 0);
            if (inputs.add_bos) inputs.tools = tools;
            all.push_back(inputs);
        }
    }
    return all;
}

const Test templates("generation prompt: every template has the one that two renderings tell", [] {
    common_log_pause(common_log_main());
    size_t n_once = 0;
    for (const std::string& name : template_names()) {
        const common_chat_template tmpl(source_of(name), "<s>", "</s>");
        bool                       is_once = true;
        for (const std::string& conversation : kConversations) {
            for (const autoparser::generation_params& inputs : all_inputs(conversation)) {
                const Rendered actual = together(tmpl, inputs), expected = apart(tmpl, inputs);
                expect_equal(name + actual.error, name + expected.error);
                expect_equal(name + actual.prompt, name + expected.prompt);
                expect_equal(name + actual.generation_prompt, name + expected.generation_prompt);
                is_once = is_once && (actual.is_once || &conversation != &kConversations[1]);
            }
        }
        n_once += is_once ? 1 : 0;
    }
    expect(n_once >= 60, "templates that are rendered once for a question: " + std::to_string(n_once));
});

// Fragments that distinguish renderings, or seem to.
const char* const kOdd[] = {
    "none",
    "{{ add_generation_prompt }}",
    "{{ bos_token }}{% if add_generation_prompt %}{{ eos_token }}{% endif %}",
    "{% if not add_generation_prompt is defined %}{% set add_generation_prompt = false %}{% endif %}"
    "{% if add_generation_prompt %}go{% endif %}",
    "{% set add_generation_prompt = true %}{% if add_generation_prompt %}go{% endif %}",
    "{% set asked = add_generation_prompt %}a{% if asked is defined and asked %}go{% endif %}"
    "{% set asked = 1 %}{{ asked }}",
    "{% if add_generation_prompt %}{% set a = 1 %}{% else %}{% set b = 2 %}{% endif %}{{ a }}{{ b }}",
    "{% set x = 'p' %}{% if add_generation_prompt %}{% set x = x ~ 'q' %}{% endif %}{{ x }}{% set x = 'r' %}{{ x }}",
    "{% set a, b = add_generation_prompt | default('d'), 'e' %}{{ a }}{{ b }}",
    "{% set x %}<{{ add_generation_prompt }}>{% endset %}{{ x }}",
    "{% filter upper %}{{ add_generation_prompt }}x{% endfilter %}",
    "{% set ns = namespace(x='') %}{% if add_generation_prompt %}{% set ns.x = 'a' %}{% endif %}{{ ns.x }}",
    "{% set ns = namespace(x='') %}{% if not add_generation_prompt %}{% set ns.x = 'a' %}{% endif %}{{ ns.x }}",
    "{% set l = [] %}{% if add_generation_prompt %}{% set _ = l.append('a') %}{% endif %}{{ l | length }}",
    "{% set l = [] %}{% if not add_generation_prompt %}{% set _ = l | append('a') %}{% endif %}{{ l | length }}",
    "{% set l = [] if add_generation_prompt else messages %}{% set k = l %}{{ k | length }}{{ messages | length }}",
    "{% macro m() %}{{ add_generation_prompt }}{% endmacro %}{{ m() }}",
    "{% macro m(x) %}{{ x }}{% endmacro %}a{{ m(1) }}{% if add_generation_prompt %}{{ m('go') }}{% endif %}",
    "{% for m in messages %}{{ m.role }}{% if loop.last and add_generation_prompt %}!{% endif %}{% endfor %}",
    "{% for add_generation_prompt in messages %}{{ loop.index }}{% endfor %}{% if add_generation_prompt %}go{% endif %}",
    "{% for m in messages %}{% set x = m.role %}{% endfor %}{{ x }}{% if add_generation_prompt %}{{ x }}go{% endif %}",
    "{% if add_generation_prompt %}{% for m in messages %}{{ m.role }}{% endfor %}{% else %}none{% endif %}",
    "{% if not add_generation_prompt %}{{ raise_exception('wants a prompt') }}{% endif %}go",
    "{% if add_generation_prompt %}{{ raise_exception('wants no prompt') }}{% endif %}go",
    "{{ add_generation_prompt.x.y }}{{ raise_exception('later') }}",
};

const Test odd("generation prompt: what a template changes before it asks for one is changed once", [] {
    for (const char* source : kOdd) {
        const common_chat_template tmpl(source, "<s>", "</s>");
        for (const std::string& conversation : kConversations) {
            for (const autoparser::generation_params& inputs : all_inputs(conversation)) {
                const Rendered actual = together(tmpl, inputs), expected = apart(tmpl, inputs);
                expect(actual == expected, std::string(source) + " gives " + actual.prompt + ", " +
                                               actual.generation_prompt + actual.error + ", not " + expected.prompt +
                                               ", " + expected.generation_prompt + expected.error);
            }
        }
    }
});

}  // namespace
