#include "preparer-wrap.h"

#include "../llama/audio/audio-file.h"
#include "../llama/schema/schema-grammar.h"
#include "../llama/chat/special-prompts.h"
#include "addon-state.h"
#include "call-values.h"
#include "chat-values.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace chasqui {

namespace {

// The bytes of all tokens, concatenated, and the end of each token.
struct Pieces {
    std::string          bytes;
    std::vector<int32_t> ends;
};

Pieces spell(const Tokenizer& tokenizer, const std::vector<TokenId>& tokens) {
    Pieces pieces;
    for (const TokenId token : tokens) {
        PreparePool::check();
        if (!tokenizer.is_valid(token)) throw Error(ErrorCode::invalid_job, "A token is outside the vocabulary.");
        pieces.bytes += tokenizer.spelled(token);
        pieces.ends.push_back(static_cast<int32_t>(pieces.bytes.size()));
    }
    return pieces;
}

Napi::Value pieces_to_js(Napi::Env env, const Pieces& pieces) {
    Napi::Object result = Napi::Object::New(env);
    result.Set("bytes", Napi::Buffer<char>::Copy(env, pieces.bytes.data(), pieces.bytes.size()));
    result.Set("ends", tokens_to_js(env, pieces.ends));
    return result;
}

Napi::Value token_lists_to_js(Napi::Env env, const TokenLists& lists) {
    Napi::Object result = Napi::Object::New(env);
    result.Set("tokens", tokens_to_js(env, lists.tokens));
    result.Set("lengths", tokens_to_js(env, lists.lengths));
    return result;
}

Napi::Value samples_to_js(Napi::Env env, const Samples& samples) {
    Napi::Int16Array result = Napi::Int16Array::New(env, samples.size());
    std::copy(samples.begin(), samples.end(), result.Data());
    return result;
}

Napi::Value texts_to_js(Napi::Env env, const std::vector<std::string>& texts) {
    Napi::Array result = Napi::Array::New(env, texts.size());
    for (uint32_t i = 0; i < texts.size(); ++i) result[i] = Napi::String::New(env, texts[i]);
    return result;
}

}  // namespace

Napi::Function PreparerWrap::define(Napi::Env env) {
    return DefineClass(env, "Preparer",
                       {InstanceMethod<&PreparerWrap::render>("render"),
                        InstanceMethod<&PreparerWrap::tokenize>("tokenize"),
                        InstanceMethod<&PreparerWrap::tokenize_text_prompt>("tokenizeTextPrompt"),
                        InstanceMethod<&PreparerWrap::tokenize_infill>("tokenizeInfill"),
                        InstanceMethod<&PreparerWrap::tokenize_inputs>("tokenizeInputs"),
                        InstanceMethod<&PreparerWrap::tokenize_pairs>("tokenizePairs"),
                        InstanceMethod<&PreparerWrap::pieces>("pieces"),
                        InstanceMethod<&PreparerWrap::unenforced_parts>("unenforcedParts"),
                        InstanceMethod<&PreparerWrap::decode_audio>("decodeAudio"),
                        InstanceMethod<&PreparerWrap::compile_grammar>("compileGrammar"),
                        InstanceMethod<&PreparerWrap::cancel_preparation>("cancelPreparation")});
}

Napi::Object PreparerWrap::wrap(Napi::Env env, std::shared_ptr<Preparation> preparation) {
    Napi::Object object          = AddonState::of(env).preparer_constructor.New({});
    Unwrap(object)->preparation_ = std::move(preparation);
    return object;
}

template <typename Result>
Napi::Value PreparerWrap::prepare(Napi::Env env, Purpose purpose, typename PoolTask<Result>::Work work,
                                  typename PoolTask<Result>::ToJs to_js) {
    if (!preparation_ || !preparation_->preparer) throw to_js_error(env, {ErrorCode::engine_closed, "The engine was closed."});
    return PoolTask<Result>::start(env, *preparation_, preparation_->preparer, purpose, std::move(work),
                                   std::move(to_js));
}

Napi::Value PreparerWrap::render(const Napi::CallbackInfo& call) {
    return prepare<RenderedPrompt>(
        call.Env(), {number_argument(call, 1, "owner"), "Rendering the conversation by the model's chat template"},
        [request = string_argument(call, 0, "requestJson")](Preparer& preparer) {
            return preparer.chat_template().render(request, &preparer.tokenizer().control_tokens());
        },
        rendered_to_js);
}

Napi::Value PreparerWrap::tokenize(const Napi::CallbackInfo& call) {
    const bool add_special = call[1].ToBoolean(), parse_special = call[2].ToBoolean();
    return prepare<std::vector<TokenId>>(
        call.Env(), {number_argument(call, 3, "owner"), "Tokenizing the text"},
        [text = string_argument(call, 0, "text"), add_special, parse_special](Preparer& preparer) {
            return preparer.tokenizer().tokenize(text, add_special, parse_special);
        },
        tokens_to_js);
}

Napi::Value PreparerWrap::tokenize_text_prompt(const Napi::CallbackInfo& call) {
    const uint32_t context_length = number_argument(call, 1, "contextLength");
    return prepare<std::vector<TokenId>>(
        call.Env(), {number_argument(call, 2, "owner"), "Tokenizing the prompt"},
        [prompt = string_argument(call, 0, "prompt"), context_length](Preparer& preparer) {
            return preparer.tokenize_prompt(prompt, context_length);
        },
        tokens_to_js);
}

Napi::Value PreparerWrap::tokenize_infill(const Napi::CallbackInfo& call) {
    return prepare<std::vector<TokenId>>(
        call.Env(), {number_argument(call, 2, "owner"), "Tokenizing the prompt"},
        [prefix = string_argument(call, 0, "prefix"), suffix = string_argument(call, 1, "suffix")](Preparer& preparer) {
            return infill_prompt(preparer.model(), preparer.tokenizer(), prefix, suffix);
        },
        tokens_to_js);
}

Napi::Value PreparerWrap::unenforced_parts(const Napi::CallbackInfo& call) {
    return prepare<std::vector<std::string>>(
        call.Env(), {number_argument(call, 2, "owner"), "Converting the JSON schema"},
        [schema = string_argument(call, 0, "schema"), path = string_argument(call, 1, "path")](Preparer&) {
            return convert_schema(schema, path).unenforced;
        },
        texts_to_js);
}

Napi::Value PreparerWrap::tokenize_inputs(const Napi::CallbackInfo& call) {
    const uint32_t max_tokens = number_argument(call, 1, "most");
    return prepare<TokenLists>(
        call.Env(), {number_argument(call, 2, "owner"), "Tokenizing the texts"},
        [texts = texts_argument(call, 0, "texts"), max_tokens](Preparer& preparer) {
            const Tokenizer& tokenizer = preparer.tokenizer();
            TokenLists       lists;
            for (const std::string& text : texts) {
                PreparePool::check();
                const auto tokenize = [&] { return tokenizer.tokenize(text, true, true); };
                if (!lists.add(tokenizer.min_tokens(text.size()), max_tokens, tokenize)) break;
            }
            return lists;
        },
        token_lists_to_js);
}

Napi::Value PreparerWrap::tokenize_pairs(const Napi::CallbackInfo& call) {
    const uint32_t max_tokens = number_argument(call, 2, "most");
    return prepare<TokenLists>(
        call.Env(), {number_argument(call, 3, "owner"), "Tokenizing the documents"},
        [query = string_argument(call, 0, "query"), documents = texts_argument(call, 1, "documents"),
         max_tokens](Preparer& preparer) {
            const Tokenizer& tokenizer = preparer.tokenizer();
            TokenLists       lists;
            for (const std::string& document : documents) {
                PreparePool::check();
                const auto tokenize = [&] { return ranking_prompt(preparer.model(), tokenizer, query, document); };
                if (!lists.add(tokenizer.min_tokens(query.size() + document.size()), max_tokens, tokenize)) break;
            }
            return lists;
        },
        token_lists_to_js);
}

Napi::Value PreparerWrap::pieces(const Napi::CallbackInfo& call) {
    return prepare<Pieces>(
        call.Env(), {number_argument(call, 1, "owner"), "Spelling the tokens"},
        [tokens = tokens_argument(call, 0, "tokens")](Preparer& preparer) {
            return spell(preparer.tokenizer(), tokens);
        },
        pieces_to_js);
}

Napi::Value PreparerWrap::decode_audio(const Napi::CallbackInfo& call) {
    const uint32_t rate = number_argument(call, 1, "sampleRate"), max_samples = number_argument(call, 2, "maxSamples");
    return prepare<Samples>(
        call.Env(), {number_argument(call, 3, "owner"), "Decoding the audio"},
        [file = bytes_argument(call, 0, "file"), rate, max_samples](Preparer&) {
            return chasqui::decode_audio(file, rate, max_samples);
        },
        samples_to_js);
}

Napi::Value PreparerWrap::compile_grammar(const Napi::CallbackInfo& call) {
    const uint32_t n = number_argument(call, 1, "copies");
    return prepare<std::vector<Constraint>>(
        call.Env(), {number_argument(call, 2, "owner"), "Compiling the grammar"},
        [grammar = grammar_from_js(call[0]), n](Preparer& preparer) { return preparer.compile_grammar(grammar, n); },
        constraints_to_js);
}

void PreparerWrap::cancel_preparation(const Napi::CallbackInfo& call) {
    if (preparation_) preparation_->pool.cancel(number_argument(call, 0, "owner"));
}

}  // namespace chasqui
