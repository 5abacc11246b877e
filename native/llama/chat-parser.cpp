#include "chat-parser.h"

#include "../core/error-code.h"
#include "../core/utf8-buffer.h"

#include <chat-peg-parser.h>
#include <chat.h>

#include <algorithm>
#include <bitset>
#include <chrono>
#include <iterator>
#include <memory>
#include <random>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace chasqui {

namespace {

using Clock = std::chrono::steady_clock;

// llama.cpp's parser is recursive, so nesting is limited.
constexpr long kMaxDepth = 512;
// When the text has not fitted the format for this many bytes, it is not expected to fit any more.
constexpr size_t kMaxUnmatchedBytes = 256;

std::string new_call_id() {
    // The strictest templates (Mistral's) accept ids of exactly nine letters and digits.
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

// The characters at which a run of content or reasoning may end. Until one of them arrives, text continues the run and
// need not be parsed.
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
    Impl(const ChatFormat& format, int pause_factor)
        : kind_(format.kind),
          pause_factor_(pause_factor),
          generation_prompt_(format.generation_prompt),
          rules_(load(format.parser)),
          input_(generation_prompt_) {
        // What the prompt contains already is not reported.
        if (format.continues) parse(false);
        deltas_.clear();
    }

    std::vector<ChatDelta> push(const std::string& text, bool is_last) {
        input_ += text;
        for (const char c : text) {
            if (c == '{' || c == '[' || c == '(') ++depth_;
            if ((c == '}' || c == ']' || c == ')') && depth_ > 0) --depth_;
        }
        if (depth_ > kMaxDepth) gave_up_ = true;
        if (gave_up_) {
            report_rest();
        } else if (is_last || !continue_run(text)) {
            if (is_last || Clock::now() >= next_parse()) parse(is_last);
        }
        return std::exchange(deltas_, {});
    }

    uint32_t reasoning_units() const {
        return utf16_length(std::string_view(input_).substr(generation_prompt_.size(), reasoning_end_));
    }

    uint32_t n_parses() const { return n_parses_; }

private:
    enum class Run { none, content, reasoning };

    struct Rules {
        common_peg_arena arena;
        RunEnds          run_ends;

        explicit Rules(const std::string& parser) : arena(read(parser)), run_ends(arena) {}
        // run_ends refers to the arena.
        Rules(const Rules&)            = delete;
        Rules& operator=(const Rules&) = delete;

        static common_peg_arena read(const std::string& parser) {
            if (parser.empty()) {
                return build_chat_peg_parser([](common_chat_peg_builder& p) { return p.content(p.rest()) + p.end(); });
            }
            common_peg_arena arena;
            arena.load(parser);
            return arena;
        }
    };

    // Completions whose formats are equal share them: those of a request, and of requests with the same tools. They may be
    // large, with a rule for each property of each tool, and are gone with the last completion.
    static std::shared_ptr<const Rules> load(const std::string& parser) {
        thread_local std::unordered_map<std::string, std::weak_ptr<const Rules>> in_use;
        if (const auto found = in_use.find(parser); found != in_use.end()) {
            if (auto known = found->second.lock()) return known;
        }
        for (auto each = in_use.begin(); each != in_use.end();) {
            each = each->second.expired() ? in_use.erase(each) : std::next(each);
        }
        auto loaded    = std::make_shared<const Rules>(parser);
        in_use[parser] = loaded;
        return loaded;
    }

    // The pause applies to all completions together, because they share JavaScript's thread.
    static Clock::time_point& next_parse() {
        thread_local Clock::time_point next{};
        return next;
    }

    size_t text_size() const { return input_.size() - generation_prompt_.size(); }

    // Reports the text as a continuation of the current run. False if it has to be parsed.
    bool continue_run(const std::string& text) {
        const bool is_parsed = parsed_ + text.size() == input_.size();
        if (run_ == Run::none || !is_parsed || !rules_->run_ends.none_in(text)) return false;
        parsed_ = reported_ = input_.size();
        ChatDelta delta;
        if (run_ == Run::content) {
            message_.content += text;
            delta.content = text;
        } else {
            message_.reasoning_content += text;
            delta.reasoning = text;
            reasoning_end_  = text_size();
        }
        deltas_.push_back(std::move(delta));
        return true;
    }

    void parse(bool is_last) {
        const auto started = Clock::now();
        const bool fits    = try_parse(is_last) || (is_last && try_without_last_blanks());
        const auto ended   = Clock::now();
        next_parse()       = ended + pause_factor_ * (ended - started);
        ++n_parses_;
        if (fits) {
            unmatched_since_ = 0;
            return;
        }
        if (unmatched_since_ == 0) unmatched_since_ = input_.size();
        gave_up_ = is_last || input_.size() - unmatched_since_ > kMaxUnmatchedBytes;
        if (gave_up_) report_rest();
    }

    // Some templates write a line break after their calls that their parsers do not expect.
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
            const common_peg_parse_result result = rules_->arena.parse(context);
            if (result.fail() && (is_last || result.end == 0)) return false;
            common_chat_msg message;
            message.role = "assistant";
            new_mapper(kind_, message)->from_ast(context.ast, result);
            if (message.empty()) return !result.fail();
            give_ids(message);
            report(common_chat_msg_diff::compute_diffs(message_, message), message, is_last);
            message_ = std::move(message);
            note_positions(context.ast, result);
            // An incomplete tag at the end is content.
            if (is_last && result.need_more_input() && message_.tool_calls.empty()) report_rest();
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
            reported_ = std::max(reported_, node.end);
            if (node.tag == common_chat_peg_builder::REASONING && node.end > generation_prompt_.size()) {
                reasoning_end_ = node.end - generation_prompt_.size();
            }
            run_ = Run::none;
            if (is_prose(node.tag)) ends_in_reasoning_ = node.tag == common_chat_peg_builder::REASONING;
            if (!is_prose(node.tag) || node.end != input_.size() || node.start == node.end) return;
            if (!message_.tool_calls.empty()) return;
            run_ = node.tag == common_chat_peg_builder::CONTENT ? Run::content : Run::reasoning;
        });
        // Blank reasoning does not count as reasoning yet.
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

    void report(const std::vector<common_chat_msg_diff>& diffs, const common_chat_msg& message, bool is_last) {
        for (const common_chat_msg_diff& diff : diffs) {
            ChatDelta delta;
            delta.reasoning = without_first_blanks(diff.reasoning_content_delta);
            delta.content   = diff.content_delta;
            if (diff.tool_call_index == std::string::npos) {
                if (!delta.reasoning.empty() || !delta.content.empty()) deltas_.push_back(std::move(delta));
                continue;
            }
            announce_calls(message, diff.tool_call_index);
            const std::string& arguments = diff.tool_call_delta.arguments;
            if (!arguments.empty()) report_call(message, diff.tool_call_index, arguments);
        }
        if (!is_last) return;
        announce_calls(message, message.tool_calls.size());
        for (size_t i = 0; i < message.tool_calls.size(); ++i) {
            if (message.tool_calls[i].arguments.empty()) report_call(message, i, "{}");
        }
    }

    // Blanks after the opening tag, which may be in the prompt, are not part of the reasoning.
    std::string without_first_blanks(const std::string& reasoning) {
        if (!message_.reasoning_content.empty() || reasoning.empty()) return reasoning;
        return reasoning.substr(std::min(reasoning.find_first_not_of(" \n\r\t"), reasoning.size()));
    }

    // Reports the names of the calls before `end`. A name may still grow until its call has arguments.
    void announce_calls(const common_chat_msg& message, size_t end) {
        while (n_announced_ < end) report_call(message, n_announced_, "");
    }

    void report_call(const common_chat_msg& message, size_t index, const std::string& arguments) {
        ChatDelta delta;
        delta.tool_index     = static_cast<int32_t>(index);
        delta.tool_arguments = arguments;
        if (index == n_announced_) {
            delta.tool_id   = message.tool_calls[index].id;
            delta.tool_name = message.tool_calls[index].name;
            ++n_announced_;
        }
        deltas_.push_back(std::move(delta));
    }

    // Reports the remaining text without parsing it: as reasoning if the text ended in reasoning, else as content.
    void report_rest() {
        reported_ = std::max(reported_, generation_prompt_.size());
        if (reported_ >= input_.size()) return;
        ChatDelta delta;
        (ends_in_reasoning_ ? delta.reasoning : delta.content) = input_.substr(reported_);
        reported_                                              = input_.size();
        deltas_.push_back(std::move(delta));
    }

    int         kind_, pause_factor_;
    std::string generation_prompt_;

    std::shared_ptr<const Rules> rules_;

    std::string              input_;  // the generation prompt, then the text
    common_chat_msg          message_;
    std::vector<std::string> call_ids_;
    size_t                   n_announced_   = 0;
    uint32_t                 n_parses_      = 0;
    size_t                   parsed_        = 0;          // how much of the input message_ reflects
    size_t                   reported_      = 0;          // how much of the input has been reported
    size_t                   reasoning_end_ = 0;          // in the text
    Run                      run_           = Run::none;  // the run that the input ends in
    long                     depth_         = 0;          // of open brackets

    size_t unmatched_since_   = 0;  // input size when the text first did not fit the format; 0: it fits
    bool   gave_up_           = false;
    bool   ends_in_reasoning_ = false;

    std::vector<ChatDelta> deltas_;  // to be returned by push()
};

ChatParser::ChatParser(const ChatFormat& format, int pause_factor) {
    try {
        impl_ = std::make_unique<Impl>(format, pause_factor);
    } catch (const std::exception& error) {
        throw Error(ErrorCode::invalid_job, std::string("The reply format cannot be read: ") + error.what() + ".");
    }
}

ChatParser::~ChatParser() = default;

std::vector<ChatDelta> ChatParser::push(const std::string& text, bool is_last) { return impl_->push(text, is_last); }

uint32_t ChatParser::reasoning_units() const { return impl_->reasoning_units(); }

uint32_t ChatParser::n_parses() const { return impl_->n_parses(); }

}  // namespace chasqui
