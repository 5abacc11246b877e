#include "grammar.h"

#include "../core/error-code.h"
#include "../core/trigger-words.h"
#include "../core/utf8-buffer.h"
#include "log.h"
#include "schema-grammar.h"

#include <common.h>
#include <llama-interrupt.h>
#include <llama.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <utility>

namespace chasqui {

namespace {

constexpr size_t kMaxBytes = size_t{4} << 20;
// Candidates per call of llama.cpp. It prepares all of them, which takes a millisecond, before it checks the deadline.
constexpr size_t kCandidatesPerCall = 8192;

struct FreeSampler {
    void operator()(llama_sampler* sampler) const { llama_sampler_free(sampler); }
};
using SamplerHandle = std::unique_ptr<llama_sampler, FreeSampler>;

// llama.cpp searches for patterns. If all triggers are words, we search for them at a cost that does not grow with the
// text.
TriggerWords trigger_words(const GrammarSettings& settings) {
    std::vector<std::string> words;
    if (!settings.lazy) return TriggerWords({});
    for (const auto& [kind, value] : settings.triggers) {
        if (kind != GrammarTrigger::Kind::word || value.empty()) return TriggerWords({});
        words.push_back(value);
    }
    return TriggerWords(std::move(words));
}

TriggerWords reasoning_words(const GrammarSettings& settings, const std::vector<std::string>& words) {
    const bool thinks = settings.lazy && !settings.thinking_start.empty() && !settings.thinking_ends.empty();
    return TriggerWords(thinks ? words : std::vector<std::string>());
}

// llama.cpp stores the text of a grammar, elements of eight bytes, and the current parse states. Measured: 4 bytes per
// character for an enumeration of 20,000 values, 7 for 3,000 rules and 30 for the rules of JSON. Excludes the elements
// that repetitions such as {0,400} add.
constexpr size_t kBytesPerCharacter = 9;

// Replaces the calling thread's interrupt callback of llama.cpp.
class InterruptScope {
public:
    InterruptScope(llama_interrupt_callback callback, void* user_data)
        : callback_(llama_t_interrupt_callback), user_data_(llama_t_interrupt_user_data) {
        llama_set_interrupt(callback, user_data);
    }
    ~InterruptScope() { llama_set_interrupt(callback_, user_data_); }

    InterruptScope(const InterruptScope&)            = delete;
    InterruptScope& operator=(const InterruptScope&) = delete;

private:
    llama_interrupt_callback callback_;
    void*                    user_data_;
};

// A grammar and its state for one text.
class Grammar final : public TokenConstraint {
public:
    Grammar(const llama_vocab* vocab, std::shared_ptr<const TokenTree> tree, SamplerHandle sampler,
            const GrammarSettings& settings, bool names_tokens)
        : vocab_(vocab),
          tree_(std::move(tree)),
          sampler_(std::move(sampler)),
          words_(trigger_words(settings)),
          reasoning_start_(reasoning_words(settings, {settings.thinking_start})),
          reasoning_end_(reasoning_words(settings, settings.thinking_ends)),
          lazy_(settings.lazy),
          names_tokens_(names_tokens),
          n_bytes_(settings.gbnf.size() * kBytesPerCharacter),
          awaits_trigger_(!words_.empty()) {}

    Grammar(const Grammar&)            = delete;
    Grammar& operator=(const Grammar&) = delete;

    // Only before the first token.
    std::shared_ptr<TokenConstraint> copy() const {
        SamplerHandle sampler(llama_sampler_clone(sampler_.get()));
        if (!sampler) throw std::runtime_error("it cannot be copied");
        return std::shared_ptr<TokenConstraint>(new Grammar(*this, std::move(sampler)));
    }

    bool allows(TokenId token) override {
        if (!applies()) return true;
        candidates_.assign(1, {token, 0.0f, 0.0f});
        apply();
        return is_allowed(candidates_[0]);
    }

    void filter(std::vector<TokenId>& tokens) override {
        if (!applies()) return;
        candidates_.clear();
        for (const TokenId token : tokens) candidates_.push_back({token, 0.0f, 0.0f});
        apply();
        tokens.clear();
        for (size_t i = 0; i < candidates_.size(); ++i) {
            if (i % kCandidatesPerCall == 0) check_deadline();
            if (is_allowed(candidates_[i])) tokens.push_back(candidates_[i].id);
        }
    }

    std::vector<TokenId> allowed() override {
        const auto ask = [this](std::vector<TokenId>& tokens) { filter(tokens); };
        return names_tokens_ ? tree_->search_all(ask) : tree_->search(ask);
    }

    void accept(TokenId token) override {
        if (is_off_) return;
        const bool was_reasoning = in_reasoning_;
        follow_reasoning(token);
        if (!was_reasoning) feed(token);
        if (!was_reasoning || in_reasoning_) return;
        // The closing tag of reasoning may also begin a tool call.
        for (const TokenId each : reasoning_end_.recent()) feed(each);
    }

    void set_deadline(const Deadline* deadline) override { deadline_ = deadline; }

    size_t size_bytes() const override { return n_bytes_; }

    // `tokens`: the end of the prompt, where the grammar begins.
    void prefill(const std::vector<llama_token>& tokens) {
        for (const llama_token token : tokens) {
            follow_reasoning(token);
            if (lazy_) continue;
            if (!allows(token)) throw std::runtime_error("the grammar does not match the end of the prompt");
            advance(token);
            text_.push(common_token_to_piece(vocab_, token, true));
        }
    }

private:
    Grammar(const Grammar& other, SamplerHandle sampler)
        : vocab_(other.vocab_),
          tree_(other.tree_),
          sampler_(std::move(sampler)),
          text_(other.text_),
          words_(other.words_),
          reasoning_start_(other.reasoning_start_),
          reasoning_end_(other.reasoning_end_),
          lazy_(other.lazy_),
          names_tokens_(other.names_tokens_),
          n_bytes_(other.n_bytes_),
          awaits_trigger_(other.awaits_trigger_),
          in_reasoning_(other.in_reasoning_),
          is_off_(other.is_off_) {}

    bool is_allowed(const llama_token_data& candidate) const {
        return candidate.logit != -INFINITY && continues_characters(candidate.id);
    }

    // llama.cpp accepts some invalid UTF-8 as one character (surrogates, values above U+10FFFF), which would become
    // several replacement characters.
    bool continues_characters(TokenId token) const {
        if (tree_->holds_characters(token) && !text_.is_holding()) return true;
        return text_.fits(common_token_to_piece(vocab_, token, true));
    }

    bool applies() const { return !is_off_ && !awaits_trigger_ && !in_reasoning_; }

    // Within a tool call, reasoning tags are ordinary text.
    void follow_reasoning(TokenId token) {
        const bool is_triggered = !words_.empty() && !awaits_trigger_;
        if (reasoning_start_.empty() || is_triggered) return;
        TriggerWords& awaited = in_reasoning_ ? reasoning_end_ : reasoning_start_;
        if (!awaited.push(token, common_token_to_piece(vocab_, token, true))) return;
        in_reasoning_ = !in_reasoning_;
        (in_reasoning_ ? reasoning_end_ : reasoning_start_).reset();
    }

    bool is_past_deadline() const { return deadline_ != nullptr && deadline_->is_over(); }

    static void throw_after_deadline(void* grammar) {
        if (static_cast<Grammar*>(grammar)->is_past_deadline()) throw std::length_error("the deadline has passed");
    }

    void advance(TokenId token) {
        const InterruptScope scope(throw_after_deadline, this);
        llama_sampler_accept(sampler_.get(), token);
    }

    void check_deadline() const {
        if (is_past_deadline()) throw ConstraintTimeout();
    }

    [[noreturn]] static void fail(const std::string& what) {
        throw Error(ErrorCode::invalid_grammar, "The grammar cannot be obeyed: " + shortened(what) + ".");
    }

    void apply() {
        for (size_t at = 0; at < candidates_.size(); at += kCandidatesPerCall) {
            check_deadline();
            const size_t           n = std::min(kCandidatesPerCall, candidates_.size() - at);
            llama_token_data_array array{candidates_.data() + at, n, -1, false};
            try {
                const InterruptScope scope(throw_after_deadline, this);
                llama_sampler_apply(sampler_.get(), &array);
            } catch (const std::exception& error) {
                check_deadline();
                fail(error.what());
            }
        }
    }

    void feed(TokenId token) {
        check_deadline();
        try {
            if (!awaits_trigger_) {
                advance(token);
                text_.push(common_token_to_piece(vocab_, token, true));
            } else if (words_.push(token, common_token_to_piece(vocab_, token, true))) {
                awaits_trigger_ = false;
                for (const TokenId each : words_.recent()) advance(each);
            }
        } catch (const std::length_error& error) {
            check_deadline();
            fail(error.what());  // a limit is exceeded
        } catch (const std::exception& error) {
            // The text around the trigger does not match the grammar, so it is not a tool call.
            if (!lazy_) fail(error.what());
            is_off_ = true;
        }
    }

    const llama_vocab*               vocab_;
    const Deadline*                  deadline_ = nullptr;
    std::shared_ptr<const TokenTree> tree_;
    SamplerHandle                    sampler_;
    std::vector<llama_token_data>    candidates_;
    Utf8Buffer                       text_;  // holds an incomplete character

    TriggerWords words_;                            // empty: llama.cpp searches for the triggers
    TriggerWords reasoning_start_, reasoning_end_;  // empty: no reasoning
    bool         lazy_, names_tokens_;
    size_t       n_bytes_;
    bool         awaits_trigger_;
    bool         in_reasoning_ = false;
    bool         is_off_       = false;
};

std::vector<std::string> to_patterns(const std::vector<GrammarTrigger>& triggers) {
    std::vector<std::string> patterns;
    for (const auto& [kind, value] : triggers) {
        switch (kind) {
            case GrammarTrigger::Kind::word: patterns.push_back(regex_escape(value)); break;
            case GrammarTrigger::Kind::pattern: patterns.push_back(value); break;
            case GrammarTrigger::Kind::full_pattern: patterns.push_back("^" + value + "$"); break;
        }
    }
    return patterns;
}

SamplerHandle grammar_sampler(const llama_vocab* vocab, const GrammarSettings& settings) {
    if (!settings.lazy) return SamplerHandle(llama_sampler_init_grammar(vocab, settings.gbnf.c_str(), "root"));
    const std::vector<std::string> patterns = to_patterns(settings.triggers);
    std::vector<const char*>       c_patterns;
    for (const std::string& pattern : patterns) c_patterns.push_back(pattern.c_str());
    return SamplerHandle(llama_sampler_init_grammar_lazy_patterns(vocab, settings.gbnf.c_str(), "root",
                                                                  c_patterns.data(), c_patterns.size(), nullptr, 0));
}

std::vector<llama_token> prefill_tokens(const llama_vocab* vocab, const std::string& prefill) {
    if (prefill.empty()) return {};
    std::vector<llama_token> tokens = common_tokenize(vocab, prefill, false, true);
    const auto               is_space = [](const std::string& text) {
        return !text.empty() && std::isspace(static_cast<unsigned char>(text[0])) != 0;
    };
    // Some tokenizers add a space before a text that begins with a special token.
    const bool is_added = !tokens.empty() && is_space(common_token_to_piece(vocab, tokens[0], true)) &&
                          !is_space(prefill);
    if (is_added) tokens.erase(tokens.begin());
    return tokens;
}

// Checks what llama.cpp's parser does not.
void check(const std::string& gbnf) {
    if (gbnf.empty()) throw std::runtime_error("it is empty");
    if (gbnf.size() > kMaxBytes) throw std::runtime_error("it is longer than 4 MiB");
    if (gbnf.find('\0') != std::string::npos) throw std::runtime_error("it holds a NUL character");
}

// Whether the grammar refers to tokens (`<think>`, `<[42]>`), which are not matched by their text.
bool mentions_tokens(const std::string& gbnf) {
    for (size_t i = 0; i < gbnf.size(); ++i) {
        if (gbnf[i] == '<') return true;
        if (gbnf[i] == '#') i = std::min(gbnf.find_first_of("\r\n", i), gbnf.size());
        if (i == gbnf.size() || (gbnf[i] != '"' && gbnf[i] != '[')) continue;
        const char closing = gbnf[i] == '"' ? '"' : ']';
        for (++i; i < gbnf.size() && gbnf[i] != closing; ++i) {
            if (gbnf[i] == '\\') ++i;
        }
    }
    return false;
}

}  // namespace

std::shared_ptr<TokenConstraint> GrammarCompiler::compile(const GrammarSettings& settings) {
    return compile(settings, 1).front();
}

std::vector<std::shared_ptr<TokenConstraint>> GrammarCompiler::compile(const GrammarSettings& settings, size_t n) {
    if (!settings.schema.empty()) {
        GrammarSettings made = settings;
        made.gbnf            = grammar_of_schema(settings.schema, "json_schema");
        made.schema.clear();
        return compile(made, n);
    }
    std::call_once(tree_built_, [this] { tree_ = std::make_shared<TokenTree>(vocab_); });
    take_last_errors();
    try {
        check(settings.gbnf);
        SamplerHandle sampler = grammar_sampler(vocab_, settings);
        if (!sampler) throw std::runtime_error(take_last_errors());
        auto grammar =
            std::make_shared<Grammar>(vocab_, tree_, std::move(sampler), settings, mentions_tokens(settings.gbnf));
        grammar->prefill(prefill_tokens(vocab_, settings.prefill));
        std::vector<std::shared_ptr<TokenConstraint>> copies;
        while (copies.size() + 1 < n) copies.push_back(grammar->copy());
        copies.push_back(std::move(grammar));
        return copies;
    } catch (const std::exception& error) {
        throw Error(ErrorCode::invalid_grammar, "The grammar cannot be used: " + shortened(error.what()) + ".");
    }
}

}  // namespace chasqui
