#include "chat-parser.h"

#include "../core/error-code.h"
#include "../core/utf8-buffer.h"

#include <chat-peg-parser.h>
#include <chat.h>

#include <algorithm>
#include <bitset>
#include <chrono>
#include <random>
#include <string_view>
#include <utility>

namespace chasqui {

namespace {

using Clock = std::chrono::steady_clock;

// llama.cpp's parser descends into what is nested by recursion.
constexpr long kDeepest = 512;
// A text that has not fitted the format for so many bytes will not fit it any more.
constexpr size_t kPatience = 256;

std::string new_call_id() {
    // Nine letters and digits are what the strictest templates (Mistral's) take back.
    static constexpr std::string_view kCharacters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    thread_local std::mt19937_64      random{std::random_device{}()};
    std::uniform_int_distribution<size_t> any(0, kCharacters.size() - 1);
    std::string                           id;
    for (int i = 0; i < 9; ++i) id += kCharacters[any(random)];
    return id;
}

std::unique_ptr<common_chat_peg_mapper> new_mapper(int format, common_chat_msg& message) {
    switch (format) {
        case COMMON_CHAT_FORMAT_PEG_GEMMA4: return std::make_unique<common_chat_peg_gemma4_mapper>(message);
        case COMMON_CHAT_FORMAT_PEG_MINIMAX_M3: return std::make_unique<common_chat_peg_minimax_m3_mapper>(message);
        default: return std::make_unique<common_chat_peg_mapper>(message);
    }
}

bool is_prose(const std::string& tag) {
    return tag == common_chat_peg_builder::CONTENT || tag == common_chat_peg_builder::REASONING;
}

// The characters at which a run of content or reasoning may end. Until one of them comes, more text is more of the
// same and need not be parsed.
class RunEnds {
public:
    explicit RunEnds(const common_peg_arena& arena) : arena_(arena) {
        for (common_peg_parser_id id = 0; id < arena.size(); ++id) {
            const common_peg_parser_variant& parser = arena.get(id);
            if (const auto* until = std::get_if<common_peg_until_parser>(&parser)) {
                for (const std::string& delimiter : until->delimiters) {
                    if (!delimiter.empty()) ends_.set(static_cast<unsigned char>(delimiter[0]));
                }
            } else if (const auto* tag = std::get_if<common_peg_tag_parser>(&parser)) {
                if (is_prose(tag->tag) && !runs_until(tag->child)) are_known_ = false;
            }
        }
    }

    bool none_in(std::string_view text) const {
        return are_known_ &&
               std::none_of(text.begin(), text.end(), [this](char c) { return ends_[static_cast<unsigned char>(c)]; });
    }

private:
    bool runs_until(common_peg_parser_id id) const {
        const common_peg_parser_variant& parser = arena_.get(id);
        if (std::holds_alternative<common_peg_until_parser>(parser)) return true;
        if (const auto* rule = std::get_if<common_peg_rule_parser>(&parser)) return runs_until(rule->child);
        if (const auto* ref = std::get_if<common_peg_ref_parser>(&parser)) return runs_until(arena_.get_rule(ref->name));
        if (const auto* all = std::get_if<common_peg_sequence_parser>(&parser)) {
            return !all->children.empty() && runs_until(all->children.back());
        }
        return false;
    }

    const common_peg_arena& arena_;
    std::bitset<256>        ends_;
    bool                    are_known_ = true;
};

}  // namespace

class ChatParser::Impl {
public:
    Impl(const ReplyFormat& format, int rest)
        : kind_(format.kind),
          rest_(rest),
          generation_prompt_(format.generation_prompt),
          arena_(load(format.parser)),
          run_ends_(*arena_),
          input_(generation_prompt_) {
        // What the prompt has begun already is no news.
        if (format.continues) parse(false);
        news_.clear();
    }

    std::vector<ReplyDelta> push(const std::string& text, bool is_last) {
        input_ += text;
        for (const char c : text) {
            if (c == '{' || c == '[' || c == '(') ++depth_;
            if ((c == '}' || c == ']' || c == ')') && depth_ > 0) --depth_;
        }
        if (depth_ > kDeepest) gives_up_ = true;
        if (gives_up_) {
            tell_rest();
        } else if (is_last || !continue_run(text)) {
            if (is_last || Clock::now() >= next_parse()) parse(is_last);
        }
        return std::exchange(news_, {});
    }

    uint32_t reasoning_units() const {
        return utf16_length(std::string_view(input_).substr(generation_prompt_.size(), reasoning_end_));
    }

    uint32_t n_parses() const { return n_parses_; }

private:
    enum class Run { none, content, reasoning };

    using Arena = std::shared_ptr<const common_peg_arena>;

    // The answers of a request have the same one, which may be long: it has a rule for each property of each tool.
    static Arena load(const std::string& parser) {
        thread_local std::string                           last;
        thread_local std::weak_ptr<const common_peg_arena> last_arena;
        if (Arena known = last_arena.lock(); known && last == parser) return known;
        common_peg_arena arena;
        if (parser.empty()) {
            arena = build_chat_peg_parser([](common_chat_peg_builder& p) { return p.content(p.rest()) + p.end(); });
        } else {
            arena.load(parser);
        }
        Arena loaded = std::make_shared<const common_peg_arena>(std::move(arena));
        last         = parser;
        last_arena   = loaded;
        return loaded;
    }

    // JavaScript's thread is shared by all answers.
    static Clock::time_point& next_parse() {
        thread_local Clock::time_point next{};
        return next;
    }

    size_t text_size() const { return input_.size() - generation_prompt_.size(); }

    // False when the text must be parsed to know what it is.
    bool continue_run(const std::string& text) {
        const bool is_parsed = parsed_ + text.size() == input_.size();
        if (run_ == Run::none || !is_parsed || !run_ends_.none_in(text)) return false;
        parsed_ = told_ = input_.size();
        ReplyDelta delta;
        if (run_ == Run::content) {
            message_.content += text;
            delta.content = text;
        } else {
            message_.reasoning_content += text;
            delta.reasoning = text;
            reasoning_end_  = text_size();
        }
        news_.push_back(std::move(delta));
        return true;
    }

    void parse(bool is_last) {
        const auto started = Clock::now();
        const bool fits    = try_parse(is_last) || (is_last && try_without_last_blanks());
        const auto ended   = Clock::now();
        next_parse()       = ended + rest_ * (ended - started);
        ++n_parses_;
        if (fits) {
            unfitting_since_ = 0;
            return;
        }
        if (unfitting_since_ == 0) unfitting_since_ = input_.size();
        gives_up_ = is_last || input_.size() - unfitting_since_ > kPatience;
        if (gives_up_) tell_rest();
    }

    // Some templates write a line break after their calls, where their parsers expect none.
    bool try_without_last_blanks() {
        const std::string all = input_;
        input_.resize(std::max(input_.find_last_not_of(" \n\r\t") + 1, generation_prompt_.size()));
        if (input_.size() < all.size() && try_parse(true)) return true;
        input_ = all;
        return false;
    }

    bool try_parse(bool is_last) {
        try {
            common_peg_parse_context      context(input_, COMMON_PEG_PARSE_FLAG_LENIENT);
            const common_peg_parse_result result = arena_->parse(context);
            if (result.fail() && (is_last || result.end == 0)) return false;
            common_chat_msg message;
            message.role = "assistant";
            new_mapper(kind_, message)->from_ast(context.ast, result);
            if (message.empty()) return !result.fail();
            give_ids(message);
            tell(common_chat_msg_diff::compute_diffs(message_, message), message, is_last);
            message_ = std::move(message);
            note_positions(context.ast, result);
            // A tag that was only begun is no tag.
            if (is_last && result.need_more_input() && message_.tool_calls.empty()) tell_rest();
            return true;
        } catch (const std::exception&) {
            return false;
        }
    }

    void note_positions(const common_peg_ast_arena& ast, const common_peg_parse_result& result) {
        run_    = Run::none;
        parsed_ = input_.size();
        ast.visit(result, [this](const common_peg_ast_node& node) {
            if (node.tag.empty()) return;
            told_ = std::max(told_, node.end);
            if (node.tag == common_chat_peg_builder::REASONING && node.end > generation_prompt_.size()) {
                reasoning_end_ = node.end - generation_prompt_.size();
            }
            run_ = Run::none;
            if (is_prose(node.tag)) ends_in_reasoning_ = node.tag == common_chat_peg_builder::REASONING;
            if (!is_prose(node.tag) || node.end != input_.size() || node.start == node.end) return;
            if (!message_.tool_calls.empty()) return;
            run_ = node.tag == common_chat_peg_builder::CONTENT ? Run::content : Run::reasoning;
        });
        // Blank reasoning is no reasoning yet.
        if (run_ == Run::reasoning && message_.reasoning_content.empty()) run_ = Run::none;
    }

    void give_ids(common_chat_msg& message) {
        for (size_t i = 0; i < message.tool_calls.size(); ++i) {
            std::string& id = message.tool_calls[i].id;
            if (i == call_ids_.size()) {
                const bool is_taken = std::find(call_ids_.begin(), call_ids_.end(), id) != call_ids_.end();
                call_ids_.push_back(id.empty() || is_taken ? new_call_id() : id);
            }
            id = call_ids_[i];
        }
    }

    void tell(const std::vector<common_chat_msg_diff>& diffs, const common_chat_msg& message, bool is_last) {
        for (const common_chat_msg_diff& diff : diffs) {
            ReplyDelta delta;
            delta.reasoning = without_first_blanks(diff.reasoning_content_delta);
            delta.content   = diff.content_delta;
            if (diff.tool_call_index == std::string::npos) {
                if (!delta.reasoning.empty() || !delta.content.empty()) news_.push_back(std::move(delta));
                continue;
            }
            announce_calls(message, diff.tool_call_index);
            const std::string& arguments = diff.tool_call_delta.arguments;
            if (!arguments.empty()) tell_call(message, diff.tool_call_index, arguments);
        }
        if (!is_last) return;
        announce_calls(message, message.tool_calls.size());
        for (size_t i = 0; i < message.tool_calls.size(); ++i) {
            if (message.tool_calls[i].arguments.empty()) tell_call(message, i, "{}");
        }
    }

    // A line break that follows the opening tag, maybe in the prompt already, is no part of the reasoning.
    std::string without_first_blanks(const std::string& reasoning) {
        if (!message_.reasoning_content.empty() || reasoning.empty()) return reasoning;
        return reasoning.substr(std::min(reasoning.find_first_not_of(" \n\r\t"), reasoning.size()));
    }

    // The names of calls before `end` that have not been told: a name may still grow while its call has no arguments.
    void announce_calls(const common_chat_msg& message, size_t end) {
        while (n_announced_ < end) tell_call(message, n_announced_, "");
    }

    void tell_call(const common_chat_msg& message, size_t index, const std::string& arguments) {
        ReplyDelta delta;
        delta.tool_index     = static_cast<int32_t>(index);
        delta.tool_arguments = arguments;
        if (index == n_announced_) {
            delta.tool_id   = message.tool_calls[index].id;
            delta.tool_name = message.tool_calls[index].name;
            ++n_announced_;
        }
        news_.push_back(std::move(delta));
    }

    // What has not been told is what came before it.
    void tell_rest() {
        told_     = std::max(told_, generation_prompt_.size());
        if (told_ >= input_.size()) return;
        ReplyDelta delta;
        (ends_in_reasoning_ ? delta.reasoning : delta.content) = input_.substr(told_);
        told_                                                  = input_.size();
        news_.push_back(std::move(delta));
    }

    int              kind_, rest_;
    std::string      generation_prompt_;
    Arena            arena_;
    RunEnds          run_ends_;

    std::string              input_;  // the generation prompt, then the text
    common_chat_msg          message_;
    std::vector<std::string> call_ids_;
    size_t                   n_announced_   = 0;
    uint32_t                 n_parses_      = 0;
    size_t                   parsed_        = 0;  // of the input, as far as message_ knows it
    size_t                   told_          = 0;  // of the input, as far as it is in message_
    size_t                   reasoning_end_ = 0;  // of the text
    Run                      run_           = Run::none;  // what the end of the input lies in
    long                     depth_         = 0;
    size_t                   unfitting_since_ = 0;
    bool                     gives_up_        = false;
    bool                     ends_in_reasoning_ = false;
    std::vector<ReplyDelta>  news_;
};

ChatParser::ChatParser(const ReplyFormat& format, int rest) {
    try {
        impl_ = std::make_unique<Impl>(format, rest);
    } catch (const std::exception& error) {
        throw Error(ErrorCode::invalid_job, std::string("The reply format cannot be read: ") + error.what() + ".");
    }
}

ChatParser::~ChatParser() = default;

std::vector<ReplyDelta> ChatParser::push(const std::string& text, bool is_last) { return impl_->push(text, is_last); }

uint32_t ChatParser::reasoning_units() const { return impl_->reasoning_units(); }

uint32_t ChatParser::n_parses() const { return impl_->n_parses(); }

}  // namespace chasqui
