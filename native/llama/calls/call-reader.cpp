#include "call-reader.h"

#include "call-parser.h"

#include <chat-peg-parser.h>
#include <json.h>

#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace chasqui {

namespace {

using Node = common_peg_ast_node;

std::string quoted(const std::string& text) { return common_json::make(text).dump_safe(); }

std::string_view without_trailing_space(std::string_view text) {
    const size_t last = text.find_last_not_of(" \t\r\n");
    return last == std::string_view::npos ? std::string_view() : text.substr(0, last + 1);
}

class Reader {
public:
    Reader(const common_peg_ast_arena& ast, common_chat_msg& message) : ast_(ast), message_(message) {}

    void read(const Node& node) {
        if (node.tag == common_chat_peg_builder::REASONING) {
            message_.reasoning_content += node.sanitized_text();
        } else if (node.tag == common_chat_peg_builder::CONTENT) {
            message_.content += node.sanitized_text();
        } else if (node.tag == call_tag::kCall) {
            read_call(node);
        } else {
            for (const common_peg_ast_id child : node.children) read(ast_.get(child));
        }
    }

private:
    // The first node with one of the tags below `node`, but not below another member.
    const Node* find(const Node& node, std::initializer_list<std::string_view> tags) const {
        for (const common_peg_ast_id child : node.children) {
            const Node& each = ast_.get(child);
            for (const std::string_view tag : tags) {
                if (each.tag == tag) return &each;
            }
            if (each.tag == call_tag::kMember) continue;
            if (const Node* found = find(each, tags)) return found;
        }
        return nullptr;
    }

    const Node* value_of(const Node& node) const {
        return find(node, {call_tag::kJson, call_tag::kText, call_tag::kQuoted, call_tag::kNone, call_tag::kObject, call_tag::kArray});
    }

    void read_call(const Node& node) {
        const Node* name = find(node, {call_tag::kName});
        if (name == nullptr) return;
        common_chat_tool_call call;
        call.name = std::string(name->text);
        if (const Node* id = find(node, {call_tag::kId})) call.id = std::string(id->text);
        if (const Node* json = find(node, {call_tag::kJson})) {
            call.arguments = std::string(without_trailing_space(json->text));
        } else {
            Keys keys;
            add_members(node, call.arguments, keys);
            if (!node.is_partial) call.arguments += call.arguments.empty() ? "{}" : "}";
        }
        message_.tool_calls.push_back(std::move(call));
    }

    using Keys = std::unordered_set<std::string_view>;

    // Opens the object with the first of them. Without a value, a member is left out. Grammars cannot prevent that a member
    // without a name in the schema is repeated: the first one counts.
    void add_members(const Node& node, std::string& json, Keys& keys) const {
        for (const common_peg_ast_id child : node.children) {
            const Node& each = ast_.get(child);
            if (each.tag != call_tag::kMember) {
                add_members(each, json, keys);
                continue;
            }
            const Node* key   = find(each, {call_tag::kKey});
            const Node* value = value_of(each);
            if (key == nullptr || value == nullptr) continue;
            const std::string text = text_of(*value, !each.is_partial);
            if (text.empty() || !keys.insert(key->text).second) continue;
            json += (json.empty() ? "{" : ",") + quoted(std::string(key->text)) + ":" + text;
        }
    }

    void collect_items(const Node& node, std::vector<const Node*>& items) const {
        for (const common_peg_ast_id child : node.children) {
            const Node& each = ast_.get(child);
            if (each.tag.compare(0, 5, "call-") == 0) {
                items.push_back(&each);
            } else {
                collect_items(each, items);
            }
        }
    }

    // `is_closed`: what follows the value is complete, too. Until then the text may turn out to be of another type, and lists
    // may go on. The result is empty while the type is open.
    std::string text_of(const Node& node, bool is_closed) const {
        if (node.tag == call_tag::kText) {
            std::string text = quoted(node.sanitized_text());
            if (!is_closed) text.pop_back();
            return text;
        }
        if (node.tag == call_tag::kNone) return "null";
        if (node.tag == call_tag::kQuoted) return unquoted(node.text.substr(1, node.text.size() - 2));
        if (node.tag == call_tag::kObject) {
            std::string members;
            Keys        keys;
            add_members(node, members, keys);
            if (!is_closed) return members;
            return (members.empty() ? "{" : members) + "}";
        }
        if (node.tag == call_tag::kArray) {
            std::vector<const Node*> items;
            collect_items(node, items);
            std::vector<std::string> texts;  // backwards: an item is closed if another one follows
            for (size_t i = items.size(); i-- > 0;) {
                std::string text = text_of(*items[i], is_closed || !texts.empty());
                if (!text.empty()) texts.push_back(std::move(text));
            }
            std::string json;
            for (auto text = texts.rbegin(); text != texts.rend(); ++text) json += (json.empty() ? "[" : ",") + *text;
            if (!is_closed) return json;
            return (json.empty() ? "[" : json) + "]";
        }
        return std::string(without_trailing_space(node.text));
    }

    static std::string unquoted(std::string_view text) {
        std::string json = "\"";
        for (size_t i = 0; i < text.size(); ++i) {
            const bool is_escape = text[i] == '\\' && i + 1 < text.size();
            if (is_escape && text[i + 1] != '\'') json += text[i];
            if (is_escape) ++i;
            if (!is_escape && text[i] == '"') json += '\\';
            json += text[i];
        }
        return json + '"';
    }

    const common_peg_ast_arena& ast_;
    common_chat_msg&            message_;
};

}  // namespace

void read_calls(const common_peg_ast_arena& ast, const common_peg_parse_result& result, common_chat_msg& message) {
    Reader reader(ast, message);
    for (const common_peg_ast_id node : result.nodes) reader.read(ast.get(node));
}

}  // namespace chasqui
