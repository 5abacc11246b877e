// Thread: any.
#pragma once

#include "../native/check.h"
#include "test-files.h"

#include "llama/chat/chat-parser.h"
#include "llama/chat/chat-template.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

// The templates of real models that come with llama.cpp, and the parts that completions are parsed into.
namespace chasqui::test {

inline const std::string kTemplates = in_llama_source("models/templates/");

// One function, get_weather.
inline const char* const kTools =
    R"("tools": [{"type": "function", "function": {"name": "get_weather", "description": "Weather",
  "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}])";

inline std::string source_of(const std::string& name) {
    std::ifstream file(kTemplates + name + ".jinja");
    expect(file.good(), "a template " + name);
    return {std::istreambuf_iterator<char>(file), {}};
}

// It is there to the end: analysing a template takes longer than rendering a conversation.
inline const ChatTemplate& template_of(const std::string& name) {
    static std::map<std::string, std::unique_ptr<const ChatTemplate>> all;
    std::unique_ptr<const ChatTemplate>&                              analysed = all[name];
    if (!analysed) analysed = std::make_unique<const ChatTemplate>(source_of(name));
    return *analysed;
}

inline std::vector<std::string> template_names() {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(kTemplates)) {
        if (entry.path().extension() == ".jinja") names.push_back(entry.path().stem().string());
    }
    return names;
}

// The keywords of all tools that the format does not enforce.
inline std::set<std::string> unenforced_in(const RenderedPrompt& prompt) {
    std::set<std::string> all;
    for (const auto& [tool, keywords] : prompt.unenforced) all.insert(keywords.begin(), keywords.end());
    return all;
}

struct Reply {
    std::string              reasoning, content;
    std::vector<std::string> calls;  // name(arguments)
};

// Pushes the text in pieces of so many bytes. Each piece is parsed.
inline Reply read(const ChatFormat& format, const std::string& text, size_t piece) {
    ChatParser               parser(format, 0);
    Reply                    reply;
    std::vector<std::string> ids;
    const auto               add = [&](const std::vector<ChatDelta>& deltas) {
        for (const ChatDelta& delta : deltas) {
            reply.reasoning += delta.reasoning;
            reply.content += delta.content;
            if (delta.tool_index < 0) continue;
            const auto index = static_cast<size_t>(delta.tool_index);
            if (index == reply.calls.size()) {
                expect(!delta.tool_id.empty() && !delta.tool_name.empty(), "a call to begin with its id and name");
                for (const std::string& id : ids) expect(id != delta.tool_id, "ids to differ");
                ids.push_back(delta.tool_id);
                reply.calls.push_back(delta.tool_name + "(");
            }
            expect(index + 1 == reply.calls.size(), "calls to come one after the other");
            reply.calls.back() += delta.tool_arguments;
        }
    };
    for (size_t at = 0; at < text.size(); at += piece) add(parser.push(text.substr(at, piece), false));
    add(parser.push("", true));
    for (std::string& call : reply.calls) call += ")";
    return reply;
}

}  // namespace chasqui::test
