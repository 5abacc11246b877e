#include "named-templates.h"

#include "../../core/error-code.h"
#include "../system/log.h"

#include <chat.h>

#include <algorithm>
#include <iterator>

namespace chasqui {

namespace {

// Text around a message of a role.
struct RoleFormat {
    const char *before, *after;
};

enum class Trims { nothing, assistant, all };

struct Form {
    const char* name;
    RoleFormat  system, user, assistant;
    const char* prompt;  // starts the completion
    Trims       trims   = Trims::nothing;
    const char* turn    = "";     // before the first message, and before each one after the assistant's
    const char* opening = "";     // before everything
};

constexpr Form kForms[] = {
    {"chatml",
     {"<|im_start|>system\n", "<|im_end|>\n"},
     {"<|im_start|>user\n", "<|im_end|>\n"},
     {"<|im_start|>assistant\n", "<|im_end|>\n"},
     "<|im_start|>assistant\n"},
    {"llama2", {"", "\n"}, {"", " [/INST]"}, {"", "</s>"}, "", Trims::nothing, "[INST] "},
    {"llama2-sys", {"<<SYS>>\n", "\n<</SYS>>\n\n"}, {"", " [/INST]"}, {"", "</s>"}, "", Trims::nothing, "[INST] "},
    {"llama2-sys-strip", {"<<SYS>>\n", "\n<</SYS>>\n\n"}, {"", " [/INST]"}, {"", "</s>"}, "", Trims::all, "[INST] "},
    {"llama3",
     {"<|start_header_id|>system<|end_header_id|>\n\n", "<|eot_id|>"},
     {"<|start_header_id|>user<|end_header_id|>\n\n", "<|eot_id|>"},
     {"<|start_header_id|>assistant<|end_header_id|>\n\n", "<|eot_id|>"},
     "<|start_header_id|>assistant<|end_header_id|>\n\n",
     Trims::all},
    {"mistral-v1", {"", "\n\n"}, {"", " [/INST]"}, {" ", "</s>"}, "", Trims::nothing, " [INST] "},
    {"mistral-v3", {"", "\n\n"}, {"", "[/INST]"}, {" ", "</s>"}, "", Trims::assistant, "[INST] "},
    {"mistral-v3-tekken", {"", "\n\n"}, {"", "[/INST]"}, {"", "</s>"}, "", Trims::nothing, "[INST]"},
    {"mistral-v7", {"[SYSTEM_PROMPT] ", "[/SYSTEM_PROMPT]"}, {"[INST] ", "[/INST]"}, {" ", "</s>"}, ""},
    {"mistral-v7-tekken", {"[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]"}, {"[INST]", "[/INST]"}, {"", "</s>"}, ""},
    {"phi3",
     {"<|system|>\n", "<|end|>\n"},
     {"<|user|>\n", "<|end|>\n"},
     {"<|assistant|>\n", "<|end|>\n"},
     "<|assistant|>\n"},
    {"phi4",
     {"<|im_start|>system<|im_sep|>", "<|im_end|>"},
     {"<|im_start|>user<|im_sep|>", "<|im_end|>"},
     {"<|im_start|>assistant<|im_sep|>", "<|im_end|>"},
     "<|im_start|>assistant<|im_sep|>"},
    {"falcon3", {"<|system|>\n", "\n"}, {"<|user|>\n", "\n"}, {"<|assistant|>\n", "\n"}, "<|assistant|>\n"},
    {"zephyr",
     {"<|system|>\n", "<|endoftext|>\n"},
     {"<|user|>\n", "<|endoftext|>\n"},
     {"<|assistant|>\n", "<|endoftext|>\n"},
     "<|assistant|>\n"},
    {"openchat",
     {"", "<|end_of_turn|>"},
     {"GPT4 Correct User: ", "<|end_of_turn|>"},
     {"GPT4 Correct Assistant: ", "<|end_of_turn|>"},
     "GPT4 Correct Assistant:"},
    {"vicuna", {"", "\n\n"}, {"USER: ", "\n"}, {"ASSISTANT: ", "</s>\n"}, "ASSISTANT:"},
    {"vicuna-orca", {"SYSTEM: ", "\n"}, {"USER: ", "\n"}, {"ASSISTANT: ", "</s>\n"}, "ASSISTANT:"},
    {"deepseek",
     {"", ""},
     {"### Instruction:\n", "\n"},
     {"### Response:\n", "\n<|EOT|>\n"},
     "### Response:\n"},
    {"deepseek2", {"", "\n\n"}, {"User: ", "\n\n"}, {"Assistant: ", "<｜end▁of▁sentence｜>"}, "Assistant:"},
    {"deepseek3",
     {"", "\n\n"},
     {"<｜User｜>", ""},
     {"<｜Assistant｜>", "<｜end▁of▁sentence｜>"},
     "<｜Assistant｜>"},
    {"command-r",
     {"<|START_OF_TURN_TOKEN|><|SYSTEM_TOKEN|>", "<|END_OF_TURN_TOKEN|>"},
     {"<|START_OF_TURN_TOKEN|><|USER_TOKEN|>", "<|END_OF_TURN_TOKEN|>"},
     {"<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>", "<|END_OF_TURN_TOKEN|>"},
     "<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>",
     Trims::all},
    {"chatglm4",
     {"<|system|>\n", ""},
     {"<|user|>\n", ""},
     {"<|assistant|>\n", ""},
     "<|assistant|>\n",
     Trims::nothing,
     "",
     "[gMASK]<sop>"},
    {"glmedge", {"<|system|>\n", ""}, {"<|user|>\n", ""}, {"<|assistant|>\n", ""}, "<|assistant|>"},
};

// Gemma has no system role: system messages are prepended to the next user message.
constexpr const char* kGemma = R"({%- set state = namespace(system='') -%}
{%- for message in messages -%}
{%- if message.role == 'system' -%}
{%- set state.system = state.system + message.content | trim -%}
{%- else -%}
{{ '<start_of_turn>' + ('model' if message.role == 'assistant' else 'user') + '\n' }}
{%- if state.system and message.role != 'assistant' -%}
{{ state.system + '\n\n' }}{%- set state.system = '' -%}
{%- endif -%}
{{ message.content | trim + '<end_of_turn>\n' }}
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}{{ '<start_of_turn>model\n' }}{%- endif -%})";

// As a Jinja string literal.
std::string quoted(const std::string& text) {
    std::string quoted = "'";
    for (const char each : text) quoted += each == '\n' ? std::string("\\n") : std::string(1, each);
    return quoted + "'";
}

std::string written(const std::string& text) { return text.empty() ? "" : "{{ " + quoted(text) + " }}"; }

std::string written(const RoleFormat& around, bool trims) {
    const std::string content = trims ? "(message.content | trim)" : "message.content";
    return "{{ " + quoted(around.before) + " + " + content + " + " + quoted(around.after) + " }}";
}

std::string to_jinja(const Form& form) {
    const bool  all   = form.trims == Trims::all;
    std::string jinja = written(form.opening) + "{%- for message in messages -%}";
    if (*form.turn != '\0') {
        jinja += "{%- if loop.first or messages[loop.index0 - 1].role == 'assistant' -%}" + written(form.turn) +
                 "{%- endif -%}";
    }
    jinja += "{%- if message.role == 'system' -%}" + written(form.system, all);
    jinja += "{%- elif message.role == 'assistant' -%}" + written(form.assistant, form.trims != Trims::nothing);
    jinja += "{%- else -%}" + written(form.user, all) + "{%- endif -%}{%- endfor -%}";
    return jinja + "{%- if add_generation_prompt -%}" + written(form.prompt) + "{%- endif -%}";
}

}  // namespace

std::vector<std::string> known_templates() {
    std::vector<std::string> names = {"gemma"};
    for (const Form& form : kForms) names.emplace_back(form.name);
    std::sort(names.begin(), names.end());
    return names;
}

std::string template_source(const std::string& text) {
    if (text.find("{{") != std::string::npos || text.find("{%") != std::string::npos) return text;
    if (text == "gemma") return kGemma;
    const auto is_it = [&](const Form& form) { return text == form.name; };
    const auto form  = std::find_if(std::begin(kForms), std::end(kForms), is_it);
    if (form != std::end(kForms)) return to_jinja(*form);
    std::string names;
    for (const std::string& name : known_templates()) names += (names.empty() ? "" : ", ") + name;
    throw Error(ErrorCode::invalid_options,
                "`chatTemplate` is neither a Jinja template nor the name of one that is known here: " + names + ".");
}

std::string raised_message(const std::string& error) {
    const std::string mark = "Jinja Exception: ";
    const size_t      at   = error.rfind(mark);
    return at == std::string::npos ? error : error.substr(at + mark.size());
}

void refuse_template(const std::exception& error, const std::string& source) {
    std::string reason = error.what();
    // llama.cpp rethrows errors of a template as std::exception. Parsing the template again returns the message.
    try {
        common_chat_template(source, "", "");
    } catch (const std::exception& syntax) {
        reason = syntax.what();
    }
    throw Error(failure_code(reason), "The model's chat template cannot be read: " + reason);
}

}  // namespace chasqui
