#include "preparer-to-js.h"

#include "../llama/audio/audio-file.h"
#include "../llama/schema/schema-grammar.h"
#include "../llama/chat/special-prompts.h"
#include "call-values.h"
#include "chat-values.h"

#include <algorithm>
#include <array>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace chasqui {

namespace {

// The bytes of all tokens, concatenated, and the end of each token.
struct Pieces {
    std::string          bytes;
    std::vector<int32_t> ends;
};

Pieces spell(Preparer& preparer, const std::vector<TokenId>& tokens) {
    const Tokenizer& tokenizer = preparer.tokenizer();
    Pieces           pieces;
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

RenderedPrompt render(Preparer& preparer, const std::string& request) {
    return preparer.chat_template().render(request, &preparer.tokenizer().control_tokens());
}

std::vector<TokenId> tokenize(Preparer& preparer, const std::string& text, bool add_special, bool parse_special) {
    return preparer.tokenizer().tokenize(text, add_special, parse_special);
}

std::vector<TokenId> tokenize_text_prompt(Preparer& preparer, const std::string& prompt, uint32_t context_length) {
    return preparer.tokenize_prompt(prompt, context_length);
}

std::vector<TokenId> tokenize_infill(Preparer& preparer, const std::string& prefix, const std::string& suffix) {
    return infill_prompt(preparer.model(), preparer.tokenizer(), prefix, suffix);
}

std::vector<std::string> unenforced_parts(Preparer&, const std::string& schema, const std::string& path) {
    return convert_schema(schema, path).unenforced;
}

TokenLists tokenize_inputs(Preparer& preparer, const std::vector<std::string>& texts, uint32_t max_tokens) {
    const Tokenizer& tokenizer = preparer.tokenizer();
    TokenLists       lists;
    for (const std::string& text : texts) {
        PreparePool::check();
        const auto tokenize = [&] { return tokenizer.tokenize(text, true, true); };
        if (!lists.add(tokenizer.min_tokens(text.size()), max_tokens, tokenize)) break;
    }
    return lists;
}

TokenLists tokenize_pairs(Preparer& preparer, const std::string& query, const std::vector<std::string>& documents,
                          uint32_t max_tokens) {
    const Tokenizer& tokenizer = preparer.tokenizer();
    TokenLists       lists;
    for (const std::string& document : documents) {
        PreparePool::check();
        const auto tokenize = [&] { return ranking_prompt(preparer.model(), tokenizer, query, document); };
        if (!lists.add(tokenizer.min_tokens(query.size() + document.size()), max_tokens, tokenize)) break;
    }
    return lists;
}

Samples decode_samples(Preparer&, const std::vector<uint8_t>& file, uint32_t rate, uint32_t max_samples) {
    return decode_audio(file, rate, max_samples);
}

std::vector<Constraint> compile_grammar(Preparer& preparer, const GrammarSettings& grammar, uint32_t copies) {
    return preparer.compile_grammar(grammar, copies);
}

template <typename... Arguments, size_t... Index>
std::tuple<Arguments...> arguments_of(const Napi::CallbackInfo&                            call,
                                      const std::array<const char*, sizeof...(Arguments)>& names,
                                      std::index_sequence<Index...>) {
    return std::tuple<Arguments...>{argument<Arguments>(call, Index, names[Index])...};
}

// Adds methods that run on the threads of a preparation.
class Methods {
public:
    Methods(Napi::Object object, std::shared_ptr<Preparation> preparation)
        : object_(object), preparation_(std::move(preparation)) {}

    // The method takes the arguments of `work`, then the owner (see Purpose).
    template <typename Result, typename... Arguments>
    void add(const char* name, const char* purpose, std::array<const char*, sizeof...(Arguments)> names,
             Result (*work)(Preparer&, Arguments...), Napi::Value (*to_js)(Napi::Env, const Result&)) {
        const auto method = [preparation = preparation_, purpose, names, work, to_js](const Napi::CallbackInfo& call) {
            const Napi::Env env = call.Env();
            if (!preparation->preparer) throw to_js_error(env, {ErrorCode::engine_closed, "The engine was closed."});
            const auto     indices = std::index_sequence_for<Arguments...>();
            const uint32_t owner   = argument<uint32_t>(call, sizeof...(Arguments), "owner");
            const auto     run     = [work, arguments = arguments_of<std::decay_t<Arguments>...>(call, names, indices)](
                                 Preparer& preparer) {
                return std::apply([&](const auto&... each) { return work(preparer, each...); }, arguments);
            };
            return PoolTask<Result>::start(env, *preparation, preparation->preparer, {owner, purpose}, run, to_js);
        };
        object_.Set(name, Napi::Function::New(object_.Env(), method, name));
    }

private:
    Napi::Object                 object_;
    std::shared_ptr<Preparation> preparation_;
};

}  // namespace

Napi::Object preparer_to_js(Napi::Env env, const std::shared_ptr<Preparation>& preparation) {
    Napi::Object object = Napi::Object::New(env);
    Methods      methods(object, preparation);
    methods.add("render", "Rendering the conversation by the model's chat template", {"requestJson"}, render,
                rendered_to_js);
    methods.add("tokenize", "Tokenizing the text", {"text", "addSpecial", "parseSpecial"}, tokenize, tokens_to_js);
    methods.add("tokenizeTextPrompt", "Tokenizing the prompt", {"prompt", "contextLength"}, tokenize_text_prompt,
                tokens_to_js);
    methods.add("tokenizeInfill", "Tokenizing the prompt", {"prefix", "suffix"}, tokenize_infill, tokens_to_js);
    methods.add("unenforcedParts", "Converting the JSON schema", {"schema", "path"}, unenforced_parts, strings_to_js);
    methods.add("tokenizeInputs", "Tokenizing the texts", {"texts", "most"}, tokenize_inputs, token_lists_to_js);
    methods.add("tokenizePairs", "Tokenizing the documents", {"query", "documents", "most"}, tokenize_pairs,
                token_lists_to_js);
    methods.add("pieces", "Spelling the tokens", {"tokens"}, spell, pieces_to_js);
    methods.add("decodeAudio", "Decoding the audio", {"file", "sampleRate", "maxSamples"}, decode_samples,
                samples_to_js);
    methods.add("compileGrammar", "Compiling the grammar", {"grammar", "copies"}, compile_grammar, constraints_to_js);
    object.Set("cancelPreparation", Napi::Function::New(env, [preparation](const Napi::CallbackInfo& call) {
                   preparation->pool.cancel(argument<uint32_t>(call, 0, "owner"));
               }));
    return object;
}

}  // namespace chasqui
