// Thread: any.
#pragma once

#include "call-format.h"

#include <chat.h>


namespace chasqui {

// ChatFormat::kind of the parsers of `add_call_parser`. llama.cpp's common_chat_format has smaller values.
constexpr int kCallParserFormat = 1000;
// ... if a call is required: the completion has no two equal calls.
constexpr int kRequiredCallFormat = 1001;

// Nodes of a parse, which call-reader.h turns into calls.
namespace call_tag {
constexpr const char* kCall   = "call";
constexpr const char* kName   = "call-name";
constexpr const char* kId     = "call-id";
constexpr const char* kMember = "call-member";  // of the arguments, or of an object in them
constexpr const char* kKey    = "call-key";
constexpr const char* kJson   = "call-json";
constexpr const char* kText   = "call-text";
constexpr const char* kQuoted = "call-quoted";  // a string of Python
constexpr const char* kNone   = "call-none";
constexpr const char* kObject = "call-object";
constexpr const char* kArray  = "call-array";
}  // namespace call_tag

// Replaces the parser of a completion, and its grammar if there are tools. `rendered`: the conversation, as llama.cpp
// renders it for a completion without calls. The grammar permits exactly the calls that the parser reads, which validate
// against the schemas of the tools except for the keywords that are returned. Throws `invalid_grammar` if a schema cannot
// be enforced in the format.
UnenforcedKeywords add_call_parser(const CallFormat& format, const common_chat_templates_inputs& inputs,
                                   common_chat_params& rendered);

}  // namespace chasqui
