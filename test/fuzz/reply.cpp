// Fuzzes the reply parser of a template. The first input character selects the template, the second the tools and the
// size of the chunks.
#include "core/error-code.h"
#include "core/utf8-buffer.h"
#include "execution.h"
#include "llama/chat/chat-parser.h"
#include "repeats.h"
#include "templates.h"
#include "vocabulary.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

using namespace chasqui;

namespace {

constexpr size_t kHead = 2;
// As few bytes as nesting beyond the parser's limit takes.
constexpr size_t kMaxBytes = 640;
// A text that arrives in many pieces is parsed as many times.
constexpr size_t kMaxPieces = 8;

const char* const kMessages = R"("messages":[{"role":"user","content":"Weather?"}])";
const char* const kTools    = R"("tools":[{"type":"function","function":{"name":"get_weather","description":"Weather",
  "parameters":{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"},"where":{"type":"object",
  "properties":{"a":{"type":"array","items":{"type":"string"}}}}},"required":["city"]}}},
  {"type":"function","function":{"name":"look","parameters":{"type":"object","properties":{}}}}])";

// The format of a completion. To read it takes as long as to parse hundreds of texts; while there is a parser that has read
// it, others share what it has.
struct Format {
    ChatFormat format;
    ChatParser reader{format, 0};
    explicit Format(ChatFormat of) : format(std::move(of)) {}
};

const ChatFormat* format_of(size_t index, bool has_tools) {
    static std::map<std::pair<size_t, bool>, std::unique_ptr<Format>> formats;
    const auto [found, is_new] = formats.try_emplace({index, has_tools});
    if (is_new) {
        try {
            std::string request = std::string("{") + kMessages;
            if (has_tools) request += std::string(",") + kTools;
            std::optional<ChatFormat> format = fuzz::chat_template(index).render(request + "}").format;
            if (format) found->second = std::make_unique<Format>(std::move(*format));
        } catch (const Error&) {
            // The template refuses this conversation.
        }
    }
    return found->second ? &found->second->format : nullptr;
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
    fuzz::count_execution();
    // The engine returns whole characters only.
    Utf8Buffer  characters;
    std::string text = characters.push(fuzz::with_repeats(input.substr(kHead), kMaxBytes));
    text += characters.flush();
    const size_t min_piece = text.size() / kMaxPieces + 1;
    const size_t piece     = kind % 3 == 0 ? text.size() + 1 : std::max<size_t>(min_piece, 8 + kind);
    ChatParser   parser(*format, 0);
    for (size_t at = 0; at < text.size(); at += piece) parser.push(text.substr(at, piece), false);
    parser.push("", true);
    // JavaScript cuts the text at this position.
    if (parser.reasoning_units() > text.size()) std::abort();
    return 0;
}
