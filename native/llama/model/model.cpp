#include "model.h"

#include "../../core/error-code.h"
#include "../system/log.h"

#include <gguf.h>
#include <llama.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sys/stat.h>

namespace chasqui {

// llama.cpp reports all of these errors as a model that does not load.
void check_gguf_file(const std::string& path, const char* option) {
    const std::string named = option == nullptr ? path : "`" + std::string(option) + "`: " + path;
    struct stat info;
    if (stat(path.c_str(), &info) != 0) {
        throw Error(ErrorCode::model_file_missing, named + " is not a readable file (" + std::strerror(errno) +
                                                       "). Check the path.");
    }
    if ((info.st_mode & S_IFMT) == S_IFDIR) {
        throw Error(ErrorCode::model_file_invalid, named + " is a folder. Name the .gguf file in it.");
    }
    // Opening a pipe would block until there is a writer.
    if ((info.st_mode & S_IFMT) != S_IFREG) {
        throw Error(ErrorCode::model_file_invalid, named + " is a device, a pipe or a socket, not a file.");
    }
    std::ifstream file(path, std::ios::binary);
    if (!file) {
        throw Error(ErrorCode::model_file_missing, named + " cannot be read. Check the file's permissions.");
    }
    char magic[4] = {};
    file.read(magic, sizeof magic);
    if (file.gcount() != sizeof magic || std::memcmp(magic, "GGUF", sizeof magic) != 0) {
        throw Error(ErrorCode::model_file_invalid,
                    named + " is not a GGUF file. chasqui serves models in llama.cpp's GGUF format.");
    }
}

namespace {

// llama.cpp has no error code for an invalid file. gguf.cpp logs these phrases for invalid headers, and the loader for
// a tensor beyond the end of the file.
bool is_about_the_file(const std::string& reason) {
    for (const char* phrase : {"gguf_init", "file bounds", "corrupted"}) {
        if (reason.find(phrase) != std::string::npos) return true;
    }
    return false;
}

[[noreturn]] void report_load_failure(const std::string& path) {
    const std::string reason = take_last_errors();
    if (is_about_the_file(reason)) {
        throw Error(ErrorCode::model_file_invalid,
                    path + " is incomplete or damaged; download it again. llama.cpp says: " + reason);
    }
    throw Error(failure_code(reason),
                "llama.cpp could not load " + path + (reason.empty() ? std::string(".") : ": " + reason));
}

// llama.cpp asserts it in computations.
void check_epsilon(const llama_model* model, const std::string& path, int32_t index) {
    char key[128] = {}, value[64] = {};
    llama_model_meta_key_by_index(model, index, key, sizeof key);
    if (std::strstr(key, "epsilon") == nullptr) return;
    llama_model_meta_val_str_by_index(model, index, value, sizeof value);
    if (std::strtod(value, nullptr) >= 0) return;
    throw Error(ErrorCode::model_file_invalid, path + " is damaged: " + key + " is " + value + ".");
}

struct ProgressCall {
    const Model::Progress& progress;
    bool                   aborted = false;
};

}  // namespace

void Model::Free::operator()(llama_model* model) const { llama_model_free(model); }

Model::Model(const std::string& path, const OffloadOptions& offload, const Progress& progress)
    : path_(path), offload_(offload) {
    check_gguf_file(path);
    take_last_errors();
    ProgressCall       call{progress};
    llama_model_params params          = llama_model_default_params();
    params.progress_callback_user_data = &call;
    params.progress_callback           = [](float fraction, void* data) {
        auto* to     = static_cast<ProgressCall*>(data);
        to->aborted |= !to->progress(fraction);
        return !to->aborted;
    };
    offload_.apply(params);
    model_.reset(llama_model_load_from_file(path.c_str(), params));
    if (call.aborted) throw Error(ErrorCode::engine_closed, "Loading the model was aborted.");
    if (!model_) report_load_failure(path);
    if (!llama_model_has_decoder(model_.get()) || llama_model_has_encoder(model_.get()) ||
        llama_model_is_diffusion(model_.get())) {
        throw Error(ErrorCode::model_load_failed, path + " (" + description() + ") does not generate text token by " +
                                                      "token. chasqui serves decoder-only language models, and " +
                                                      "encoders for embeddings and ranking.");
    }
    // Chameleon's graph hides the tokens of images in the first row of logits only, and aborts without rows. WavTokenizer takes all
    // texts of a step for one.
    if (architecture() == "chameleon" || architecture() == "wavtokenizer-dec") {
        throw Error(ErrorCode::model_load_failed, path + " is a " + architecture() +
                                                      " model, which llama.cpp supports only in part.");
    }
    vocab_ = llama_model_get_vocab(model_.get());
    if (vocabulary_type() == LLAMA_VOCAB_TYPE_NONE) {
        throw Error(ErrorCode::model_load_failed, path + " has no vocabulary, so it cannot be used with text.");
    }
    for (int32_t i = 0; i < llama_model_meta_count(model_.get()); ++i) check_epsilon(model_.get(), path, i);
}

std::string Model::description() const {
    char buffer[128] = {};
    llama_model_desc(model_.get(), buffer, sizeof buffer);
    return buffer;
}

uint64_t Model::size_bytes() const { return llama_model_size(model_.get()); }
uint64_t Model::parameter_count() const { return llama_model_n_params(model_.get()); }
int32_t  Model::vocabulary_size() const { return llama_vocab_n_tokens(vocab_); }
int32_t  Model::trained_context_length() const { return llama_model_n_ctx_train(model_.get()); }
bool     Model::has_chat_template() const { return llama_model_chat_template(model_.get(), nullptr) != nullptr; }
int32_t  Model::embedding_length() const { return llama_model_n_embd_out(model_.get()); }

std::string Model::architecture() const {
    char architecture[128] = {};
    llama_model_meta_val_str(model_.get(), "general.architecture", architecture, sizeof architecture);
    return architecture;
}

std::string Model::metadata(const std::string& suffix) const {
    char              value[128] = {};
    const std::string key        = architecture() + suffix;
    if (llama_model_meta_val_str(model_.get(), key.c_str(), value, sizeof value) < 0) return "";
    return value;
}

int32_t Model::layer_count() const {
    return llama_model_n_layer(model_.get()) + llama_model_n_layer_nextn(model_.get()) + 1;
}

int32_t Model::offloaded_layers() const {
    if (offload_.devices().empty()) return 0;
    return std::min(offload_.options().gpu_layers.value_or(layer_count()), layer_count());
}

bool Model::computes_asynchronously() const {
    const auto is_asynchronous = [](ggml_backend_dev_t device) {
        ggml_backend_dev_props props;
        ggml_backend_dev_get_props(device, &props);
        return props.caps.async;
    };
    const auto& devices = offload_.devices();
    return offloaded_layers() > 0 && std::all_of(devices.begin(), devices.end(), is_asynchronous);
}

bool Model::has_recurrent_state() const {
    return llama_model_is_recurrent(model_.get()) || llama_model_is_hybrid(model_.get());
}

bool Model::has_ranking_head() const {
    const gguf_init_params                               params{/*no_alloc=*/true, /*ctx=*/nullptr};
    const std::unique_ptr<gguf_context, void (*)(gguf_context*)> file(gguf_init_from_file(path_.c_str(), params),
                                                                      gguf_free);
    if (!file) return false;
    return gguf_find_tensor(file.get(), "cls.weight") >= 0 || gguf_find_tensor(file.get(), "cls.output.weight") >= 0;
}

std::string Model::quantization() const { return llama_ftype_name(llama_model_ftype(model_.get())); }

int32_t Model::vocabulary_type() const { return llama_vocab_type(vocab_); }

}  // namespace chasqui
