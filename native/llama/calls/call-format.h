// Thread: any.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

struct common_chat_template;

namespace autoparser {
struct autoparser;
}

namespace chasqui {

// Keywords of schemas that the format of calls does not enforce, by the name of the tool.
using UnenforcedKeywords = std::map<std::string, std::set<std::string>>;

// How a model writes tool calls. The grammar and the parser are both built from it (call-parser.h).
//
//   completion   text, then opening call (separator call)* closing tail
//   call         text with $name, $arguments, $index, and $id or $[ ... $] around an id
//   arguments    a JSON object; or members, if `member` is not empty
//   member       text with $key, $value, $type (of JSON) and $is_string
//
// `~` is optional whitespace. Everything else is literal.
struct CallFormat {
    enum class Values {
        json,
        raw,       // strings are raw text, other values JSON
        gemma,     // strings between <|"|>, keys without quotes
        elements,  // strings are raw text, objects and arrays are nested elements
    };

    std::string opening, call, separator, closing;
    std::string member, member_separator;
    Values      values = Values::json;

    // Text around content; empty: none. Models may leave it out.
    std::string text_open, text_close;
    // Texts that may follow the calls, in this order.
    std::vector<std::string> tail;
    // A shorter beginning of the first call, which some models write. Not for forced calls.
    std::string short_opening;
    // The format of gpt-oss: messages with a channel, a recipient and a body.
    bool is_harmony = false;
    // A string may be written as <![CDATA[...]]>.
    bool has_cdata = false;
    // The template writes null as `None`, so models do.
    bool writes_none = false;
    // The recipient of a message comes first: a call's name, or that of the user.
    std::string recipient_of_text;
    // Reasoning, if llama.cpp does not name its tags.
    std::string reasoning_open, reasoning_close;
};

// The format of a template in our table; nullopt: analyse the template.
std::optional<CallFormat> known_format(const std::string& template_source);

// The format that llama.cpp's analysis of a template found. nullopt: it found none.
std::optional<CallFormat> analysed_format(const autoparser::autoparser& analysis);

// For templates without a format (generic-tools.h).
CallFormat generic_format();

// A call for instructions to the model. It has the variables `<function-name>` and `<args-json-object>`, or
// `<parameter-name>` and `<value>` of one argument.
std::string example_of(const CallFormat& format);

}  // namespace chasqui
