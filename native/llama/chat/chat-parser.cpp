#include "chat-parser.h"

#include "../../core/error-code.h"
#include "../../core/utf8-buffer.h"
#include "../calls/call-parser.h"
#include "../calls/call-reader.h"
#include "../calls/repeated-calls.h"
#include "reasoning-splitter.h"

#include <chat-peg-parser.h>
#include <chat.h>

#include <algorithm>
#include <bitset>
#include <chrono>
#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace chasqui {

namespace {

using Clock = std::chrono::steady_clock;

// The parser gives up when the text has not matched the format for this many bytes.
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

// The characters at which a run of content or reasoning may end. Text without them continues the run and need not be
// parsed.
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

// Ids of tool calls, and how many calls have been announced: the first delta of a call has its id and name.
class ToolCalls {
public:
    // Gives every call of the message a unique id that stays the same in later parses.
    void assign_ids(common_chat_msg& message) {
        for (size_t i = 0; i < message.tool_calls.size(); ++i) {
            std::string& id = message.tool_calls[i].id;
            if (i == ids_.size()) {
                const bool is_taken = std::find(ids_.begin(), ids_.end(), id) != ids_.end();
                ids_.push_back(id.empty() || is_taken ? new_call_id() : id);
            }
            id = ids_[i];
        }
    }

    // Announces the calls before `end`. A name may still grow until its call has arguments.
    void announce_until(size_t end, const common_chat_msg& message, std::vector<ChatDelta>& deltas) {
        while (n_announced_ < end) deltas.push_back(delta(n_announced_, message, ""));
    }

    ChatDelta delta(size_t index, const common_chat_msg& message, const std::string& arguments) {
        ChatDelta delta;
        delta.tool_index     = static_cast<int32_t>(index);
        delta.tool_arguments = arguments;
        if (index == n_announced_) {
            delta.tool_id   = message.tool_calls[index].id;
            delta.tool_name = message.tool_calls[index].name;
            ++n_announced_;
        }
        return delta;
    }

private:
    std::vector<std::string> ids_;
    size_t                   n_announced_ = 0;
};

}  // namespace

class ChatParser::Impl {
public:
    Impl(const ChatFormat& format, int pause_factor)
        : kind_(format.kind),
          pause_factor_(pause_factor),
          generation_prompt_(format.parser.empty() ? "" : format.generation_prompt),
          rules_(load(format.parser)),
          input_(generation_prompt_),
          gave_up_(format.parser.empty()) {
        if (format.detects_reasoning) splitter_.emplace(format.generation_prompt);
        // Content of the prompt is not reported.
        if (format.continues) parse(false);
        deltas_.clear();
    }

    std::vector<ChatDelta> push(const std::string& text, bool is_last) {
        if (!splitter_) {
            read(text, is_last);
        } else {
            auto [reasoning, rest] = splitter_->push(text, is_last);
            if (!reasoning.empty()) deltas_.emplace_back().reasoning = std::move(reasoning);
            if (is_last || !rest.empty()) read(rest, is_last);
        }
        return std::exchange(deltas_, {});
    }

    uint32_t reasoning_units() const {
        if (splitter_ && splitter_->reasoning_units() > 0) return splitter_->reasoning_units();
        return utf16_length(std::string_view(input_).substr(generation_prompt_.size(), parsed_.reasoning_end));
    }

    uint32_t n_parses() const { return n_parses_; }
    bool     repeats() const { return repeats_; }

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
            common_peg_arena arena;
            if (!parser.empty()) arena.load(parser);
            return arena;
        }
    };

    // Completions with equal formats share their rules, which may be large: they have a rule for each property of each
    // tool.
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

    // The pause applies to all completions together, because they share the JavaScript thread.
    static Clock::time_point& next_parse() {
        thread_local Clock::time_point next{};
        return next;
    }

    void read(const std::string& text, bool is_last) {
        input_ += text;
        if (gave_up_) {
            report_rest();
        } else if (is_last || !continue_run(text)) {
            if (is_last || Clock::now() >= next_parse()) parse(is_last);
        }
    }

    size_t text_size() const { return input_.size() - generation_prompt_.size(); }

    // Fast path: reports the text as a continuation of the current run. False if it has to be parsed.
    bool continue_run(const std::string& text) {
        const bool is_parsed = parsed_.end + text.size() == input_.size();
        if (parsed_.run == Run::none || !is_parsed || !rules_->run_ends.none_in(text)) return false;
        parsed_.end = parsed_.reported = input_.size();
        ChatDelta delta;
        if (parsed_.run == Run::content) {
            parsed_.message.content += text;
            delta.content = text;
        } else {
            parsed_.message.reasoning_content += text;
            delta.reasoning = text;
            parsed_.reasoning_end = text_size();
        }
        deltas_.push_back(std::move(delta));
        return true;
    }

    void parse(bool is_last) {
        const auto started = Clock::now();
        const bool fits    = try_parse(is_last) || (is_last && try_without_trailing_whitespace());
        const auto ended   = Clock::now();
        next_parse()       = ended + pause_factor_ * (ended - started);
        ++n_parses_;
        if (fits) {
            unmatched_since_.reset();
            return;
        }
        if (!unmatched_since_) unmatched_since_ = input_.size();
        gave_up_ = is_last || input_.size() - *unmatched_since_ > kMaxUnmatchedBytes;
        if (gave_up_) report_rest();
    }

    // Some templates write a line break after their calls that their parsers do not expect.
    bool try_without_trailing_whitespace() {
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
            if (kind_ >= kCallParserFormat) {
                read_calls(context.ast, result, message);
                if (kind_ == kRequiredCallFormat) repeats_ = drop_repeated_calls(message.tool_calls, is_last);
            } else {
                new_mapper(kind_, message)->from_ast(context.ast, result);
            }
            if (message.empty()) return !result.fail();
            calls_.assign_ids(message);
            report(common_chat_msg_diff::compute_diffs(parsed_.message, message), message, is_last);
            parsed_.message = std::move(message);
            note_positions(context.ast, result);
            // An incomplete tag at the end is content.
            if (is_last && result.need_more_input() && parsed_.message.tool_calls.empty()) report_rest();
            return true;
        } catch (const std::exception&) {
            return false;
        }
    }

    void note_positions(const common_peg_ast_arena& ast, const common_peg_parse_result& result) {
        parsed_.run = Run::none;
        parsed_.end = input_.size();
        ast.visit(result, [this](const common_peg_ast_node& node) {
            if (node.tag.empty()) return;
            // The beginning of a call, which may still turn out to be text.
            if (parsed_.message.tool_calls.empty() && node.tag.compare(0, 4, "call") == 0) return;
            parsed_.reported = std::max(parsed_.reported, node.end);
            if (node.tag == common_chat_peg_builder::REASONING && node.end > generation_prompt_.size()) {
                parsed_.reasoning_end = node.end - generation_prompt_.size();
            }
            parsed_.run = Run::none;
            if (is_prose(node.tag)) parsed_.ends_in_reasoning = node.tag == common_chat_peg_builder::REASONING;
            if (!is_prose(node.tag) || node.end != input_.size() || node.start == node.end) return;
            if (!parsed_.message.tool_calls.empty()) return;
            parsed_.run = node.tag == common_chat_peg_builder::CONTENT ? Run::content : Run::reasoning;
        });
        // Whitespace alone is not reasoning yet.
        if (parsed_.run == Run::reasoning && parsed_.message.reasoning_content.empty()) parsed_.run = Run::none;
    }

    void report(const std::vector<common_chat_msg_diff>& diffs, const common_chat_msg& message, bool is_last) {
        for (const common_chat_msg_diff& diff : diffs) {
            ChatDelta delta;
            delta.reasoning = without_leading_whitespace(diff.reasoning_content_delta);
            delta.content   = diff.content_delta;
            if (diff.tool_call_index == std::string::npos) {
                if (!delta.reasoning.empty() || !delta.content.empty()) deltas_.push_back(std::move(delta));
                continue;
            }
            calls_.announce_until(diff.tool_call_index, message, deltas_);
            const std::string& arguments = diff.tool_call_delta.arguments;
            if (!arguments.empty()) deltas_.push_back(calls_.delta(diff.tool_call_index, message, arguments));
        }
        if (is_last) calls_.announce_until(message.tool_calls.size(), message, deltas_);
    }

    // Whitespace after the opening tag, which may be in the prompt, is not part of the reasoning.
    std::string without_leading_whitespace(const std::string& reasoning) {
        if (!parsed_.message.reasoning_content.empty() || reasoning.empty()) return reasoning;
        return reasoning.substr(std::min(reasoning.find_first_not_of(" \n\r\t"), reasoning.size()));
    }

    // Reports the remaining text without parsing it: as reasoning if the text ended in reasoning, else as content.
    void report_rest() {
        parsed_.reported = std::max(parsed_.reported, generation_prompt_.size());
        if (parsed_.reported >= input_.size()) return;
        ChatDelta delta;
        (parsed_.ends_in_reasoning ? delta.reasoning : delta.content) = input_.substr(parsed_.reported);
        parsed_.reported                                              = input_.size();
        deltas_.push_back(std::move(delta));
    }

    // The result of the last parse, which continue_run() extends without parsing. Positions are offsets into input_.
    struct Parsed {
        common_chat_msg message;
        size_t          end               = 0;          // of the part that `message` reflects
        size_t          reported          = 0;          // end of the part that was returned in deltas
        size_t          reasoning_end     = 0;          // relative to the end of the generation prompt
        Run             run               = Run::none;  // that the input ends in
        bool            ends_in_reasoning = false;      // the last prose was reasoning
    };

    const int                    kind_, pause_factor_;
    const std::string            generation_prompt_;
    std::shared_ptr<const Rules> rules_;

    std::optional<ReasoningSplitter> splitter_;

    std::string            input_;  // the generation prompt, then the text
    Parsed                 parsed_;
    ToolCalls              calls_;
    std::optional<size_t>  unmatched_since_;   // size of the input when it first did not fit the format
    bool                   gave_up_;           // the rest of the text is not parsed
    bool                   repeats_  = false;
    uint32_t               n_parses_ = 0;
    std::vector<ChatDelta> deltas_;  // of the current push()
};

ChatParser::ChatParser(const ChatFormat& format, int pause_factor) {
    try {
        impl_ = std::make_unique<Impl>(format, pause_factor);
    } catch (const std::exception& error) {
        throw Error(code_of(error, ErrorCode::invalid_job), std::string("Invalid reply format: ") + error.what() + ".");
    }
}

ChatParser::~ChatParser() = default;

std::vector<ChatDelta> ChatParser::push(const std::string& text, bool is_last) { return impl_->push(text, is_last); }

uint32_t ChatParser::reasoning_units() const { return impl_->reasoning_units(); }

bool ChatParser::repeats() const { return impl_->repeats(); }

uint32_t ChatParser::n_parses() const { return impl_->n_parses(); }

}  // namespace chasqui
