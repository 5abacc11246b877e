#include "past-arguments.h"

#include "json-shape.h"

#include <vector>

namespace chasqui {

namespace {

// Far deeper than practical arguments; limits the number of closing brackets.
constexpr size_t kMaxDepth = 512;

bool is_object(const std::string& text) {
    const common_json value = common_json::parse_no_throw(text);
    return !value.is_discarded() && value.is_object();
}

// Scans a truncated JSON text for its open brackets and the end of its last complete value.
class TruncatedJson {
public:
    explicit TruncatedJson(const std::string& text) : text_(text) {
        for (size_t at = 0; at < text_.size() && is_beginning_; ++at) read(at);
    }

    // Candidates for the complete text, longest first. They may be invalid JSON.
    std::vector<std::string> completions() const {
        if (!is_beginning_ || open_.empty()) return {};
        const std::string closing(open_.rbegin(), open_.rend());
        return {with_closed_string() + closing, text_.substr(0, values_end_) + closing};
    }

private:
    void read(size_t at) {
        const char c = text_[at];
        if (in_string_) {
            if (at < escape_end_) return;
            if (c == '\\') escape_end_ = at + (at + 1 < text_.size() && text_[at + 1] == 'u' ? 6 : 2);
            if (c != '"') return;
            in_string_ = false;
            if (!is_key_) values_end_ = at + 1;
            return;
        }
        switch (c) {
            case '"':
                in_string_ = true;
                is_key_    = expects_key_;
                break;
            case '{':
            case '[': open(c == '{' ? '}' : ']', at); break;
            case '}':
            case ']': close(c, at); break;
            case ':': expects_key_ = false; break;
            case ',':
                expects_key_ = !open_.empty() && open_.back() == '}';
                values_end_  = at;
                break;
            default: break;
        }
    }

    void open(char closing, size_t at) {
        open_ += closing;
        expects_key_  = closing == '}';
        values_end_   = at + 1;
        is_beginning_ = open_.size() <= kMaxDepth;
    }

    void close(char closing, size_t at) {
        is_beginning_ = !open_.empty() && open_.back() == closing;
        if (!is_beginning_) return;
        open_.pop_back();
        expects_key_ = false;
        values_end_  = at + 1;
    }

    std::string with_closed_string() const {
        if (!in_string_) return text_;
        // Drops an incomplete escape sequence.
        const size_t escape = text_.rfind('\\');
        const bool   is_cut = escape_end_ > text_.size() && escape != std::string::npos;
        return text_.substr(0, is_cut ? escape : text_.size()) + '"';
    }

    const std::string& text_;
    std::string        open_;            // closing brackets of the open ones, innermost last
    size_t             values_end_ = 0;  // where the text may be cut so that only an incomplete part is lost
    size_t             escape_end_ = 0;
    bool               in_string_ = false, is_key_ = false, expects_key_ = false;
    bool               is_beginning_ = true;  // still a prefix of some JSON text
};

}  // namespace

std::string to_argument_object(const std::string& text) {
    if (is_object(text)) return text;
    const size_t begin = text.find_first_not_of(" \n\r\t");
    if (begin == std::string::npos || text.compare(begin, std::string::npos, "null") == 0) return "{}";
    for (const std::string& whole : TruncatedJson(text).completions()) {
        if (is_object(whole)) return whole;
    }
    common_json object  = common_json::object();
    object["arguments"] = text;
    return object.dump();
}

void prepare_arguments(common_json& messages) {
    for (common_json& message : messages) {
        if (!message.contains("tool_calls")) continue;
        for (common_json& call : message.at("tool_calls")) {
            common_json&      function  = call.at("function");
            const common_json arguments = function.value("arguments", common_json());
            if (!arguments.is_string()) continue;
            const std::string text = arguments.get<std::string>();
            check_shape(text);
            function["arguments"] = to_argument_object(text);
        }
    }
}

}  // namespace chasqui
