// Fuzzes a completion, parsed by the parser of a template. Of the two characters before it, the first chooses the
// template, the second the tools and the size of the pieces in which the text arrives.
#include "core/error-code.h"
#include "core/utf8-buffer.h"
#include "llama/chat-parser.h"
#include "repeats.h"
#include "templates.h"
#include "vocabulary.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

using namespace chasqui;

namespace {

constexpr size_t kHead = 2;
constexpr size_t kMaxBytes = 2048;

const char* const kMessages = R"("messages":[{"role":"user","content":"Weather?"}])";
const char* const kTools    = R"("tools":[{"type":"function","function":{"name":"get_weather","description":"Weather",
  "parameters":{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"},"where":{"type":"object",
  "properties":{"a":{"type":"array","items":{"type":"string"}}}}},"required":["city"]}}},
  {"type":"function","function":{"name":"look","parameters":{"type":"object","properties":{}}}}])";

const ChatFormat* format_of(size_t index, bool has_tools) {
    static std::map<std::pair<size_t, bool>, std::optional<ChatFormat>> formats;
    const auto [found, is_new] = formats.try_emplace({index, has_tools});
    if (is_new) {
        try {
            std::string request = std::string("{") + kMessages;
            if (has_tools) request += std::string(",") + kTools;
            found->second = fuzz::chat_template(index).render(request + "}").format;
        } catch (const Error&) {
            found->second.reset();  // the template refuses this conversation
        }
    }
    return found->second ? &*found->second : nullptr;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
    fuzz::be_quiet();
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    if (size < kHead) return -1;
    const unsigned     kind   = static_cast<unsigned char>(input[1]);
    const ChatFormat* format = format_of(static_cast<unsigned char>(input[0]) % fuzz::n_templates(), kind % 4 != 0);
    if (format == nullptr) return -1;
    // The engine returns whole characters only.
    Utf8Buffer        characters;
    std::string       text  = characters.push(fuzz::with_repeats(input.substr(kHead), kMaxBytes));
    text += characters.flush();
    const size_t      piece = kind % 3 == 0 ? text.size() + 1 : 8 + kind;
    ChatParser        parser(*format, 0);
    for (size_t at = 0; at < text.size(); at += piece) parser.push(text.substr(at, piece), false);
    parser.push("", true);
    // JavaScript cuts the text at this position.
    if (parser.reasoning_units() > text.size()) std::abort();
    return 0;
}
