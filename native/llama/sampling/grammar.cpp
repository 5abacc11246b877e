#include "grammar.h"

#include "../../core/error-code.h"
#include "../../core/grammar/gbnf-parser.h"
#include "../../core/grammar/grammar-matcher.h"
#include "../../core/grammar/likely-text.h"
#include "../../core/grammar/token-tree.h"
#include "../../core/reasoning-pairs.h"
#include "../../core/trigger-words.h"
#include "../../core/utf8-buffer.h"
#include "../system/log.h"
#include "../schema/schema-grammar.h"

#include <common.h>
#include <llama.h>

#include <algorithm>
#include <cctype>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace chasqui {

struct GrammarVocabulary {
    TokenTree            tree;  // without end-of-generation tokens
    std::vector<TokenId> ends;  // which are allowed where the grammar may end
    const llama_vocab*   vocab;

    static std::shared_ptr<const GrammarVocabulary> read(const llama_vocab* vocab) {
        std::vector<std::string> texts;
        std::vector<TokenId>     ends;
        std::vector<bool>        left_out;
        for (TokenId token = 0; token < llama_vocab_n_tokens(vocab); ++token) {
            texts.push_back(common_token_to_piece(vocab, token, true));
            const bool is_end = llama_vocab_is_eog(vocab, token);
            if (is_end) ends.push_back(token);
            left_out.push_back(is_end || texts.back().find('\0') != std::string::npos);
        }
        return std::make_shared<GrammarVocabulary>(
            GrammarVocabulary{TokenTree(texts, std::move(left_out)), std::move(ends), vocab});
    }
};

namespace {

using State = GrammarMatcher::State;

TriggerWords reasoning_words(const GrammarSettings& settings, const std::vector<std::string>& words) {
    const bool thinks = settings.lazy && !settings.thinking_start.empty() && !settings.thinking_ends.empty();
    return TriggerWords(thinks ? words : std::vector<std::string>());
}

// The text does not match the grammar.
class Mismatch : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

[[noreturn]] void fail(const std::string& what) {
    throw Error(ErrorCode::invalid_grammar, "The grammar cannot be obeyed: " + what + ".");
}

// A grammar and its state for one text.
class Grammar final : public TokenConstraint {
public:
    Grammar(std::shared_ptr<const GrammarVocabulary> vocabulary, const GrammarMatcher& matcher,
            const GrammarSettings& settings, size_t n_bytes)
        : vocabulary_(std::move(vocabulary)),
          matcher_(matcher),
          triggers_(settings.triggers),
          reasoning_start_(reasoning_words(settings, {settings.thinking_start})),
          reasoning_end_(reasoning_words(settings, settings.thinking_ends)),
          detects_(settings.lazy && settings.detects_reasoning),
          lazy_(settings.lazy),
          calls_(settings.calls),
          n_bytes_(n_bytes),
          awaits_trigger_(settings.lazy) {}

    bool allows(TokenId token) override {
        if (!applies()) return true;
        bool result = false;
        limited([&] { result = is_allowed(token); });
        return result;
    }

    void filter(std::vector<TokenId>& tokens) override {
        if (!applies()) return;
        limited([&] {
            size_t n = 0;
            for (const TokenId token : tokens) {
                if (is_allowed(token)) tokens[n++] = token;
            }
            tokens.resize(n);
        });
    }

    std::vector<TokenId> allowed() override {
        if (!applies()) return all_tokens();
        std::vector<TokenId> found;
        limited([&] {
            const TokenTree& tree  = vocabulary_->tree;
            const State      state = matcher_.current();
            if (matcher_.names_tokens(state)) {
                for (const TokenId token : all_tokens()) {
                    if (tree.has(token) && is_allowed(token)) found.push_back(token);
                }
            } else {
                found = tree.search(matcher_, state);
            }
            if (matcher_.may_end(state)) found.insert(found.end(), vocabulary_->ends.begin(), vocabulary_->ends.end());
            if (!text_.is_holding()) return;
            const auto splits = [this](TokenId token) { return !continues_characters(token); };
            found.erase(std::remove_if(found.begin(), found.end(), splits), found.end());
        });
        return found;
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

    std::string likely_text(size_t n_max) override {
        std::string text;
        if (!applies() || text_.is_holding()) return text;
        limited([&] { text = likely_.after(matcher_, matcher_.current(), n_max); });
        return text;
    }

    bool is_call() const override { return calls_ && applies(); }

    void set_deadline(const Deadline* deadline) override { deadline_ = deadline; }

    size_t size_bytes() const override { return n_bytes_; }

    // `tokens`: the end of the prompt, where the grammar begins.
    void prefill(const std::vector<llama_token>& tokens, const std::string& prompt_end) {
        if (detects_) {
            if (const auto open = open_reasoning(prompt_end, usual_reasoning_pairs())) enter_reasoning(*open);
            return;
        }
        for (const llama_token token : tokens) {
            follow_reasoning(token);
            if (!lazy_) match(token, vocabulary_->tree.text(token));
        }
    }

private:
    bool is_end(TokenId token) const { return llama_vocab_is_eog(vocabulary_->vocab, token); }
    std::string text(TokenId token) const { return std::string(vocabulary_->tree.text(token)); }

    std::vector<TokenId> all_tokens() const {
        std::vector<TokenId> tokens(vocabulary_->tree.n_tokens());
        std::iota(tokens.begin(), tokens.end(), 0);
        return tokens;
    }

    bool applies() const { return !is_off_ && !awaits_trigger_ && !in_reasoning_; }

    // Within a tool call, reasoning tags are ordinary text.
    void follow_reasoning(TokenId token) {
        const bool is_triggered = lazy_ && !awaits_trigger_;
        if (is_triggered) return;
        if (detects_ && !in_reasoning_) {
            if (const auto pair = head_.push(text(token))) enter_reasoning(*pair);
            return;
        }
        if (reasoning_end_.empty()) return;
        TriggerWords& awaited = in_reasoning_ ? reasoning_end_ : reasoning_start_;
        if (!awaited.push(token, text(token))) return;
        in_reasoning_ = !in_reasoning_;
        (in_reasoning_ ? reasoning_end_ : reasoning_start_).reset();
    }

    void enter_reasoning(size_t pair) {
        reasoning_end_ = TriggerWords(usual_reasoning_pairs()[pair].ends);
        in_reasoning_  = true;
    }

    // Calls the matcher. An exceeded limit is an error of the request.
    template <typename Call>
    void limited(const Call& call) {
        try {
            matcher_.begin_call(deadline_);
            call();
        } catch (const std::length_error& error) {
            fail(error.what());
        }
    }

    bool is_allowed(TokenId token) {
        const State state = matcher_.current();
        if ((text_.is_holding() || matcher_.names_tokens(state)) && !continues_characters(token)) return false;
        if (is_end(token)) return matcher_.may_end(state);
        const TokenTree& tree = vocabulary_->tree;
        return tree.has(token) && matcher_.after_token(state, token, tree.text(token)) != GrammarMatcher::kRefused;
    }

    // A token that the grammar names may end within a character.
    bool continues_characters(TokenId token) const { return text_.fits(vocabulary_->tree.text(token)); }

    void match(TokenId token, std::string_view text) {
        State state = matcher_.current();
        if (is_end(token)) {
            if (!matcher_.may_end(state)) throw Mismatch("the text must not end here");
            return;
        }
        const State before = std::exchange(state, matcher_.after_token(state, token, text));
        if (state == GrammarMatcher::kRefused) throw Mismatch("the text does not match it");
        likely_.learn(matcher_, before, text);
        matcher_.accept(state);
        text_.push(text);
    }

    void feed(TokenId token) {
        try {
            limited([&] {
                if (!awaits_trigger_) return match(token, vocabulary_->tree.text(token));
                if (!triggers_.push(token, text(token))) return;
                awaits_trigger_ = false;
                for (const auto& piece : triggers_.from_trigger()) match(piece.token, piece.text);
            });
        } catch (const Mismatch& error) {
            // The text around the trigger does not match the grammar, so it is not a tool call.
            if (!lazy_) fail(error.what());
            is_off_ = true;
        }
    }

    std::shared_ptr<const GrammarVocabulary> vocabulary_;
    GrammarMatcher                           matcher_;
    LikelyText                               likely_;
    Utf8Buffer                               text_;  // holds an incomplete character
    const Deadline*                          deadline_ = nullptr;
    GrammarTriggers                          triggers_;
    TriggerWords                             reasoning_start_, reasoning_end_;  // empty: no reasoning
    ReasoningStart                           head_{usual_reasoning_pairs()};
    bool                                     detects_;  // the usual tags, at the beginning
    bool                                     lazy_, calls_;
    size_t                                   n_bytes_;
    bool                                     awaits_trigger_;
    bool                                     in_reasoning_ = false;
    bool                                     is_off_       = false;
};

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

std::shared_ptr<const GrammarRules> parse(const llama_vocab* vocab, const std::string& gbnf) {
    return parse_gbnf(gbnf, [vocab](std::string_view text) -> std::optional<TokenId> {
        const std::vector<llama_token> tokens = common_tokenize(vocab, std::string(text), false, true);
        return tokens.size() == 1 ? std::optional(tokens[0]) : std::nullopt;
    });
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
    std::call_once(vocabulary_read_, [this] { vocabulary_ = GrammarVocabulary::read(vocab_); });
    try {
        const auto           rules = parse(vocab_, settings.gbnf);
        const GrammarMatcher matcher(rules);
        const size_t         n_bytes = rules->size_bytes() / std::max<size_t>(n, 1) + matcher.size_bytes();
        Grammar              grammar(vocabulary_, matcher, settings, n_bytes);
        grammar.prefill(prefill_tokens(vocab_, settings.prefill), settings.prefill);
        std::vector<std::shared_ptr<TokenConstraint>> copies;
        for (size_t i = 0; i < n; ++i) copies.push_back(std::make_shared<Grammar>(grammar));
        return copies;
    } catch (const std::exception& error) {
        throw Error(code_of(error, ErrorCode::invalid_grammar), "The grammar cannot be used: " + shortened(error.what()) + ".");
    }
}

}  // namespace chasqui
