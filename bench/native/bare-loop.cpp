// A loop of llama_decode and argmax: the baseline of all other measurements.
//
//   bare-loop <modules> <model.gguf> <n_prompt> <n_predict> <n_streams> <n_threads> [<module of a GPU>]
//
// All layers run on the GPU if a GPU module is given, otherwise on the CPU.
//
// Each line of standard input runs one round and prints one JSON line: seconds and tokens of the prompt phase and of the
// decode phase. All streams start together, each with its own random prompt and its own KV stream, as in chasqui and
// llama-server.
#include <ggml-backend.h>
#include <ggml-cpu.h>
#include <llama.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

struct Shape {
    int32_t n_prompt, n_predict, n_streams, n_threads;
};

[[noreturn]] void fail(const char* what) {
    std::fprintf(stderr, "bare-loop: %s\n", what);
    std::exit(1);
}

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

llama_token argmax(const float* logits, int32_t n_vocab) {
    return static_cast<llama_token>(std::max_element(logits, logits + n_vocab) - logits);
}

void add(llama_batch& batch, llama_token token, llama_pos pos, llama_seq_id stream, bool output) {
    const int32_t at    = batch.n_tokens++;
    batch.token[at]     = token;
    batch.pos[at]       = pos;
    batch.n_seq_id[at]  = 1;
    batch.seq_id[at][0] = stream;
    batch.logits[at]    = output;
}

void decode(llama_context* context, llama_batch& batch) {
    if (llama_decode(context, batch) != 0) fail("llama_decode failed");
    llama_synchronize(context);
}

// Decodes all prompts in batches of up to n_batch tokens. Returns each stream's first token.
std::vector<llama_token> prefill(llama_context* context, llama_batch& batch, const Shape& shape, uint32_t seed) {
    const int32_t n_vocab = llama_vocab_n_tokens(llama_model_get_vocab(llama_get_model(context)));
    std::mt19937  random(seed);
    std::vector<llama_token> next(static_cast<size_t>(shape.n_streams));
    std::vector<std::pair<llama_seq_id, int32_t>> outputs;
    const auto flush = [&] {
        decode(context, batch);
        for (const auto& [stream, row] : outputs) {
            next[static_cast<size_t>(stream)] = argmax(llama_get_logits_ith(context, row), n_vocab);
        }
        outputs.clear();
        batch.n_tokens = 0;
    };
    batch.n_tokens = 0;
    for (llama_seq_id stream = 0; stream < shape.n_streams; ++stream) {
        for (llama_pos pos = 0; pos < shape.n_prompt; ++pos) {
            const bool last = pos + 1 == shape.n_prompt;
            if (last) outputs.emplace_back(stream, batch.n_tokens);
            add(batch, static_cast<llama_token>(random() % static_cast<uint32_t>(n_vocab)), pos, stream, last);
            if (batch.n_tokens == static_cast<int32_t>(llama_n_batch(context))) flush();
        }
    }
    if (batch.n_tokens > 0) flush();
    return next;
}

void generate(llama_context* context, llama_batch& batch, const Shape& shape, std::vector<llama_token> next) {
    const int32_t n_vocab = llama_vocab_n_tokens(llama_model_get_vocab(llama_get_model(context)));
    for (int32_t step = 1; step < shape.n_predict; ++step) {
        batch.n_tokens = 0;
        for (llama_seq_id stream = 0; stream < shape.n_streams; ++stream) {
            add(batch, next[static_cast<size_t>(stream)], shape.n_prompt + step - 1, stream, true);
        }
        decode(context, batch);
        for (int32_t row = 0; row < shape.n_streams; ++row) {
            next[static_cast<size_t>(row)] = argmax(llama_get_logits_ith(context, row), n_vocab);
        }
    }
}

template <typename Function>
Function* cpu_function(const char* name) {
    ggml_backend_dev_t device = ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU);
    return reinterpret_cast<Function*>(
        ggml_backend_reg_get_proc_address(ggml_backend_dev_backend_reg(device), name));
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 7) fail("usage: bare-loop <modules> <model> <n_prompt> <n_predict> <n_streams> <n_threads> [<module>]");
    const Shape shape{std::atoi(argv[3]), std::atoi(argv[4]), std::atoi(argv[5]), std::atoi(argv[6])};

    llama_log_set([](ggml_log_level, const char*, void*) {}, nullptr);
    ggml_backend_load_all_from_path(argv[1]);
    if (argc > 7 && ggml_backend_load(argv[7]) == nullptr) fail("the module does not load");
    llama_backend_init();
    llama_model_params model_params = llama_model_default_params();
    model_params.n_gpu_layers       = argc > 7 ? -1 : 0;
    llama_model* model              = llama_model_load_from_file(argv[2], model_params);
    if (model == nullptr) fail("the model does not load");

    llama_context_params params = llama_context_default_params();
    params.n_ctx           = static_cast<uint32_t>((shape.n_prompt + shape.n_predict + 255) / 256 * 256 * shape.n_streams);
    params.n_seq_max       = static_cast<uint32_t>(shape.n_streams);
    params.n_outputs_max   = params.n_seq_max;
    params.n_threads       = shape.n_threads;
    params.n_threads_batch = shape.n_threads;
    llama_context* context = llama_init_from_model(model, params);
    if (context == nullptr) fail("the context cannot be set up");
    ggml_threadpool_params pool_params = ggml_threadpool_params_default(shape.n_threads);
    ggml_threadpool_t      pool = cpu_function<decltype(ggml_threadpool_new)>("ggml_threadpool_new")(&pool_params);
    llama_attach_threadpool(context, pool, nullptr);
    llama_batch batch = llama_batch_init(static_cast<int32_t>(llama_n_batch(context)), 0, 1);

    uint32_t    round = 0;
    std::string line;
    for (; std::getline(std::cin, line); ++round) {
        llama_memory_clear(llama_get_memory(context), false);
        const auto   start          = Clock::now();
        auto         first          = prefill(context, batch, shape, round);
        const double prompt_seconds = seconds_since(start);
        const auto   decode_start   = Clock::now();
        generate(context, batch, shape, std::move(first));
        std::printf("{\"promptTokens\":%d,\"promptSeconds\":%.6f,\"decodeTokens\":%d,\"decodeSeconds\":%.6f}\n",
                    shape.n_prompt * shape.n_streams, prompt_seconds, (shape.n_predict - 1) * shape.n_streams,
                    seconds_since(decode_start));
        std::fflush(stdout);
    }
    llama_batch_free(batch);
    llama_free(context);
    cpu_function<decltype(ggml_threadpool_free)>("ggml_threadpool_free")(pool);
    llama_model_free(model);
}
