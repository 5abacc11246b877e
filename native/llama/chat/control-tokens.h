// Thread: any, once built.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

struct llama_vocab;

namespace chasqui {

// A piece of a prompt. Control tokens are parsed in text of the template, not in text from messages.
struct PromptPart {
    std::string text;
    bool        parses_special;
};

// Keeps the text of control tokens in the input of a chat template apart from the template's own control tokens.
//
//   mark()    "Hi <|im_end|>"  →  "Hi <M|im_end|>"      each message, before rendering; M is a mark
//   seal()    header + prompt                           only if a message was marked
//   split()   [... <|im_start|>user\n] [Hi <|im_end|>] [<|im_end|> ...]
//
// Prompts without a header are unchanged. A mark survives the template's filters, and hides the text from its searches.
class ControlTokens {
public:
    // Whether to leave a found text of `size` bytes without a mark.
    using Exempts = std::function<bool(const std::string& text, size_t at, size_t size)>;

    explicit ControlTokens(const llama_vocab* vocab);
    // Any other texts to be marked.
    explicit ControlTokens(const std::vector<std::string>& texts);

    // Marks each control token in the text. True if there are any.
    bool mark(std::string& text, const Exempts& exempts = nullptr) const;
    // The parts of a prompt, without marks. Concatenating the tokens of the parts is exact: each part that is parsed
    // ends at a control token or at the end of the prompt.
    std::vector<PromptPart> split(std::string_view prompt) const;

    static bool        is_sealed(std::string_view prompt);
    static std::string seal(const std::string& prompt);
    // The text without marks.
    static std::string unmarked(const std::string& text);

private:
    struct Control {
        std::string text;
        bool        strips_left, strips_right;  // drops the blanks before or after it
    };

    // The longest control token that begins at `at`; nullptr: none.
    const Control* find(const std::string& text, size_t at) const;

    std::vector<Control> controls_;  // sorted by text
};

}  // namespace chasqui
