#include "vocabulary.h"

#include "core/error-code.h"
#include "llama/system/log.h"

#include <llama.h>
#include <mtmd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

// mtmd is not linked, so this replaces what log.cpp calls.
void mtmd_log_set(ggml_log_callback, void*) {}

namespace chasqui {

// Replaces native/llama/model/model.cpp, which loads weights.
Model::Model(const std::string& path, const OffloadOptions& offload, const Progress&)
    : path_(path), offload_(offload) {
    llama_model_params params = llama_model_default_params();
    params.vocab_only         = true;
    model_.reset(llama_model_load_from_file(path.c_str(), params));
    if (!model_) throw Error(ErrorCode::model_load_failed, path + ": " + take_last_errors());
    vocab_ = llama_model_get_vocab(model_.get());
}

void Model::Free::operator()(llama_model* model) const { llama_model_free(model); }

int32_t Model::vocabulary_size() const { return llama_vocab_n_tokens(vocab_); }

namespace fuzz {

void be_quiet() {
    setenv("GGML_NO_BACKTRACE", "1", 1);
    capture_log(false);
}

const Model& small_vocabulary() {
    static const Model model(std::string(CHASQUI_SOURCE) + "/prebuilds/demo/chasqui-demo.gguf", {}, {});
    return model;
}

std::vector<std::string> vocabulary_files() {
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(std::string(LLAMA_SOURCE) + "/models")) {
        if (entry.path().extension() == ".gguf") files.push_back(entry.path().string());
    }
    std::sort(files.begin(), files.end());
    return files;
}

}  // namespace fuzz
}  // namespace chasqui
